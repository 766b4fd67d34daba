"""A bounded cache, which forgets what has not been used for the longest time."""

from collections.abc import Callable, Hashable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LRUCache(dict[K, V]):
    """The results of a function by its argument, of which at most `most` are kept.

    `recent[key]` computes a missing result. What was used lately is in the dictionary itself, so
    finding it costs nothing more. When this half is full, it becomes the older half; the previous
    older half is forgotten, except for what was used since.
    """

    def __init__(self, function: Callable[[K], V], most: int) -> None:
        super().__init__()
        self._function = function
        self._half = most // 2
        self._older: dict[K, V] = {}

    def __missing__(self, key: K) -> V:
        value = self._older.pop(key) if key in self._older else self._function(key)
        if len(self) >= self._half:
            self._older = dict(self)
            self.clear()
        self[key] = value
        return value
