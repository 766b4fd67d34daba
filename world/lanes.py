"""Many whole numbers in one: Python then computes with all of them at once.

A Python integer may have any number of bits. An integer of 10,240 bits has room for 256 *lanes* of
40 bits, one for each tile of a chunk, and adding two such integers costs as much as adding a few
small ones. The technique is that of L. Lamport, "Multiple byte processing with full-word
instructions" (Communications of the ACM 18, 1975).

Integers of lanes may be added, and multiplied by a small number. A lane may be negative in between.
Code that looks at single lanes (`at_least`, shifts, masks) must know that each lane's value fits.
"""

from collections.abc import Iterable, Iterator
from typing import Final

#: The number of lanes, and the bits of each.
COUNT: Final = 256
WIDTH: Final = 40

_HALF: Final = 1 << WIDTH - 1
_SIZE: Final = WIDTH // 8

#: A factor that turns a number into lanes that all have it as their value.
ALL: Final = sum(1 << WIDTH * lane for lane in range(COUNT))

#: The highest bit of each lane: the flag that `at_least` sets.
FLAGS: Final = ALL * _HALF

#: The low 16 bits of each lane.
LOW_16: Final = ALL * 0xFFFF

# A flag, shifted to the lowest bit, as a binary digit.
_DIGITS: Final = b"01" + bytes(254)


def pack(values: Iterable[int]) -> int:
    """Return lanes with these values, of 0 to 2^WIDTH - 1; missing ones are 0."""
    return int.from_bytes(b"".join([v.to_bytes(_SIZE, "little") for v in values]), "little")


def at_least(lanes: int, bound: int) -> int:
    """Set the flag of each lane whose value is `bound` or more.

    The other bits of the result mean nothing. No value may differ from `bound` by 2^(WIDTH - 1).
    """
    return lanes + ALL * (_HALF - bound)


def between(lanes: int, first: int, end: int) -> int:
    """Set the flag of each lane whose value is `first` or more, and less than `end`.

    The limits of `at_least` apply, and `first` must not be more than `end`.
    """
    return at_least(lanes, first) ^ at_least(lanes, end)


def flag_bits(flags: int) -> int:
    """Return the flags of all lanes as neighbouring bits, the first lane as the lowest bit."""
    ones = ((flags & FLAGS) >> WIDTH - 1).to_bytes(COUNT * _SIZE, "little")[::_SIZE]
    return int(ones.translate(_DIGITS)[::-1], 2)


def numbers_of(bits: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, from the lowest."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def value(lanes: int, lane: int) -> int:
    """Return the value of one lane; no lane may be negative."""
    return lanes >> lane * WIDTH & (1 << WIDTH) - 1


def flag(lane: int) -> int:
    """Return the flag of one lane."""
    return 1 << (lane + 1) * WIDTH - 1
