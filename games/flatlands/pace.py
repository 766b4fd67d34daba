"""How fast people are on a road; and who may be in a race, where all go at the same pace."""

from typing import Final

from flatlands import Me

#: How much faster a player is on a road.
FASTER: Final = 1.15

#: The most ms of a race that counts.
LONGEST: Final = 60_000

#: The most ms for which a player may wait at the start of a race.
WAITS: Final = 60_000


def races(me: Me) -> bool:
    """Return whether a player may be in a race."""
    way = me.recorded()
    return bool(way) and way[-1][0] < WAITS + LONGEST
