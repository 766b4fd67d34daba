"""What a game has written on the tiles of one square: a byte for each tile, and its time.

A rule says which of two writes to a tile counts, and every node has the same rule. So all nodes end
with the same bytes, in whatever order and however often they receive writes. This module never
publishes anything, and never asks who wrote.
"""

import struct
from array import array
from collections.abc import Callable, Iterable
from itertools import starmap
from typing import Final

#: A write, as nodes publish it and stores keep it: the number of the tile in its square, row by
#: row; the value; and the stamp.
WRITE: Final = struct.Struct("<HBQ")

#: A stamp is the time of a write in ms, followed by this many bits of the id of its node.
NODE_BITS: Final = 22

#: A stamp may be this many ms ahead of a node's clock, since a write after it gets a stamp that is
#: later still. A clock that is more than a day fast is taken for broken.
AHEAD: Final = 24 * 3600 * 1000

#: The last write to a tile counts.
RULE_LAST: Final = 0
#: The first write counts.
RULE_FIRST: Final = 1
#: The write with the highest value counts.
RULE_MOST: Final = 2
#: All writes are added up. The store adds, and of two sums the last one counts.
RULE_SUM: Final = 3
#: The names of the rules, by their numbers.
RULES: Final = ("last", "first", "most", "sum")


def next_stamp(ms: int, node: int, known: int) -> int:
    """Return the stamp of a write at a time, in ms, by the node with this id. It is later than the
    stamp `known`, however wrong the clock of its writer is."""
    return max(ms, (known >> NODE_BITS) + 1) << NODE_BITS | node & ((1 << NODE_BITS) - 1)


def wins(rule: int, new: tuple[int, int], known: tuple[int, int]) -> bool:
    """Return whether the new one of two writes to a tile, each (value, stamp), counts. A stamp of 0
    stands for a tile on which nobody has written."""
    (value, at), (before, known_at) = new, known
    if rule == RULE_MOST:
        return value > before
    if rule == RULE_FIRST:
        return not known_at or (at, value) < (known_at, before)
    return (at, value) > (known_at, before)


#: Every stamp is lower than this, so that there is a later one.
_LAST: Final = ((1 << 42) - 2) << NODE_BITS


class Tiles:
    """The bytes of one layer in one square. `count` is the number of tiles, and `rule` one of
    RULES, by its number.

    `values` has a byte for each tile, and `stamps` its stamp, which is 0 if nobody has written
    there.
    """

    __slots__ = ("values", "stamps", "_rule")

    def __init__(self, count: int, rule: int) -> None:
        self.values = bytearray(count)
        self._rule = rule
        self.stamps = array("Q", bytes(8 * count))

    def get(self, tile: int) -> tuple[int, int]:
        """Return the value of a tile and its stamp, which is 0 if nobody has written there."""
        return self.values[tile], self.stamps[tile]

    def apply(self, writes: bytes) -> list[int]:
        """Apply writes, which must fit; return the tiles whose values have changed."""
        values, stamps, rule = self.values, self.stamps, self._rule
        latest = rule not in (RULE_FIRST, RULE_MOST)
        changed: list[int] = []
        for tile, value, at in _unpack(writes):
            before, known_at = values[tile], stamps[tile]
            if (
                (at, value) > (known_at, before)
                if latest
                else wins(rule, (value, at), (before, known_at))
            ):
                stamps[tile], values[tile] = at, value
                if value != before:
                    changed.append(tile)
        return changed

    def fade(self, until: int) -> list[int]:
        """Forget what was written before a time in ms; return the tiles whose values have
        changed."""
        values, stamps, first = self.values, self.stamps, until << NODE_BITS
        changed: list[int] = []
        for tile, at in enumerate(stamps):
            if 0 < at < first:
                if values[tile]:
                    changed.append(tile)
                stamps[tile] = values[tile] = 0
        return changed

    def pack(self, since: int = 0, before: int | None = None) -> bytes:
        """Return the writes that count, as `apply` takes them: those from the time `since` on, and
        before the time `before`, in ms."""
        first = since << NODE_BITS or 1
        last = (1 << 64) - 1 if before is None else max(before << NODE_BITS, first) - 1
        return b"".join(
            [
                _pack(tile, self.values[tile], at)
                for tile, at in enumerate(self.stamps)
                if first <= at <= last
            ]
        )


_pack: Callable[[int, int, int], bytes] = WRITE.pack
_unpack: Callable[[bytes], Iterable[tuple[int, int, int]]] = WRITE.iter_unpack


def pack(writes: Iterable[tuple[int, int, int]]) -> bytes:
    """Return writes, each (tile, value, stamp), as `Tiles.apply` takes them."""
    return b"".join(starmap(_pack, writes))


def fit(writes: bytes, count: int) -> bool:
    """Return whether writes, in whole records, are valid for a square of `count` tiles."""
    for tile, _value, at in _unpack(writes):
        if tile >= count or not 0 < at < _LAST:
            return False
    return True


def between(writes: bytes, first: int, last: int) -> bytes:
    """Return the writes whose times are from `first` to `last`, in ms."""
    least, most = first << NODE_BITS, (last + 1) << NODE_BITS
    for _tile, _value, at in _unpack(writes):
        if not least <= at < most:
            return pack([write for write in _unpack(writes) if least <= write[2] < most])
    return writes
