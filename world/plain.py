"""A plain: ground on which everybody can walk everywhere, and which looks the same everywhere."""

from typing import Final


class Plain:
    """A plain, as the ground of a world. `seed` is that of the world; a plain does not use it."""

    #: See Terrain: clients need not know it.
    function: Final = 0

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def blocked(self, _x: int, _y: int) -> bool:
        """Return whether nobody can stand on a tile."""
        return False

    def free(self, _x0: int, _y0: int, _x1: int, _y1: int) -> bool:
        """Return whether no tile is blocked in the box with these opposite corners."""
        return True

    def high(self, _x: int, _y: int) -> bool:
        """Return whether a tile may have no way down: see terrain.py."""
        return False
