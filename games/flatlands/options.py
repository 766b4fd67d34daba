"""The options of Flatlands, in addition to those of every server."""

from dataclasses import dataclass

from flatlands.server.settings import option, seconds, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The values of the options; see `python -m server --help`."""

    walkers: int = option(
        "number of computer players that wander near the plaza, in the whole world: the same "
        "for all its servers; 0 for load tests",
        whole(0, 10_000),
        20,
    )
    deer: int = option(
        "number of deer that graze near the plaza and flee from players, in the whole world",
        whole(0, 10_000),
        8,
    )
    # A part of the world has 100 things at most.
    gems: int = option(
        "number of gems in each part of the world, of 64 x 64 tiles, that somebody came near",
        whole(0, 60),
        3,
    )
    twins: int = option(
        "number of twin stones, whose gem opens for two, in each such part of the world",
        whole(0, 40),
        1,
    )
    gem_pause: float = option(
        "seconds until a gem that was taken appears somewhere else, give or take half of it",
        seconds,
        120,
    )
