"""Ground of which a test says where nobody can stand."""

from collections.abc import Callable

from world.terrain import Terrain


class Ground(Terrain):
    """Terrain that is blocked where a function of column and row says so, and knows nothing of
    boxes: a walk on it is looked at tile by tile."""

    def __init__(self, blocked: Callable[[int, int], bool], seed: int = 2013) -> None:
        super().__init__(seed)
        self._blocked = blocked

    def blocked(self, x: int, y: int) -> bool:
        return self._blocked(x, y)

    def free(self, x0: int, y0: int, x1: int, y1: int) -> bool:
        return False
