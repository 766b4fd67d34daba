"""The options of Flatlands, in addition to those of every server."""

from dataclasses import dataclass

from flatlands.server.movers.movers import GROUP_MOST
from flatlands.server.settings import option, seconds, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The values of the options; see `python -m server --help`."""

    walkers: int = option(
        "number of computer players near the plaza, in the whole world: the same for all its "
        "servers; 0 for load tests",
        whole(0, GROUP_MOST),
        20,
    )
    deer: int = option(
        "number of deer that graze near the plaza, in the whole world",
        whole(0, 10_000),
        8,
    )
    # A part of the world has 100 things at most.
    gems: int = option(
        "number of gems in each part of the world (64 x 64 tiles) that players have come near",
        whole(0, 60),
        3,
    )
    twins: int = option(
        "number of pairs of twin stones in each such part of the world",
        whole(0, 40),
        1,
    )
    gem_pause: float = option(
        "seconds, give or take half of that, until a taken gem appears somewhere else",
        seconds,
        120,
    )
