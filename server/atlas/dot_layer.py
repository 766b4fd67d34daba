"""The dots of the map of everybody as clients see them: what has changed, and packed patches.

Each patch of dots is packed once for all clients that look at it. This module uses neither clients
nor nodes.
"""

from typing import TypeVar

from flatlands.server.atlas.counts import Dot
from flatlands.server.atlas.dots import DotPosition, patch_of
from flatlands.server.messages import protocol
from flatlands.world.grid import Rect


class DotLayer:
    """All dots of one grain: patch -> index -> [index, people, computer players, node].

    `changes` are packed patches, with what has changed in the second that has just ended.
    """

    __slots__ = ("patches", "changes")

    def __init__(self, dots: dict[DotPosition, Dot]) -> None:
        self.patches: dict[DotPosition, dict[int, list[int]]] = {}
        self.changes: dict[DotPosition, bytes] = {}
        self.update(dots)

    def update(self, dots: dict[DotPosition, Dot]) -> None:
        """Take the dots as they are now, and note what has changed."""
        before, self.patches = self.patches, {}
        changes: dict[DotPosition, list[int]] = {}
        for dot, (people, computers, node, _, batches) in dots.items():
            place, index = patch_of(dot)
            now = self.patches.setdefault(place, {})[index] = [index, people, computers, node]
            was = before.get(place, {}).pop(index, None)
            if batches or was != now:
                changes.setdefault(place, []).extend((*now, batches))
        for place, gone in before.items():
            for index in gone:
                changes.setdefault(place, []).extend((index, 0, 0, 0, 0))
        self.changes = {place: protocol.patch(*place, flat) for place, flat in changes.items()}

    def count(self, patches: Rect) -> int:
        """Return the number of dots in some patches."""
        return sum(map(len, _within(self.patches, patches)))

    def changed(self, patches: Rect) -> list[bytes]:
        """Return what has changed in some patches, packed."""
        return _within(self.changes, patches)

    def picture(self, patches: Rect) -> list[bytes]:
        """Return those of some patches in which anybody is, packed."""
        return [
            protocol.patch(*place, [number for dot in dots.values() for number in (*dot, 0)])
            for place, dots in self.patches.items()
            if patches.holds(place)
        ]


_T = TypeVar("_T")


def _within(some: dict[DotPosition, _T], patches: Rect) -> list[_T]:
    """Return the values of those places that are in a rectangle."""
    c0, r0, c1, r1 = patches
    if (c1 - c0 + 1) * (r1 - r0 + 1) < len(some):
        return [some[place] for place in patches.squares() if place in some]
    return [value for (c, r), value in some.items() if c0 <= c <= c1 and r0 <= r <= r1]
