"""Terrain in which a test chooses the blocked tiles."""

from collections.abc import Callable
from typing import Any

from flatlands.world.terrain import Terrain


class PatchedTerrain:
    """Terrain in which a function of column and row says which tiles are blocked.

    Otherwise it is real terrain. It never says that a box is free, so each tile of a walk is
    checked.
    """

    def __init__(self, blocked: Callable[[int, int], bool], seed: int = 2013) -> None:
        self._blocked = blocked
        self._terrain = Terrain(seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._terrain, name)

    def blocked(self, x: int, y: int) -> bool:
        return self._blocked(x, y)

    def free(self, x0: int, y0: int, x1: int, y1: int) -> bool:
        return False
