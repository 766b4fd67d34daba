"""What is compared, and the figures of 2016 and 2021."""

from dataclasses import dataclass
from typing import Any

from flatlands.loadtest.studies.work_queues import ways
from flatlands.loadtest.studies.work_queues.ways import Way

#: One take has so many messages, as in 2016.
TAKEN_AT_ONCE = 50
#: A queue that is emptied by takes has so many messages, as in 2016.
FILLED_MESSAGES = 1000

#: The most turns that are rejected, for each that is wanted.
REJECTS = 10


@dataclass(frozen=True)
class Take:
    """A way to take messages, TAKEN_AT_ONCE at a time. `server` is the URL of its server, which
    is started, or of its file, and `past` are the ms of a take in 2016, on average."""

    name: str
    way: type[Way[Any]]
    label: str
    server: str = "redis://"
    past: float | None = None

    @property
    def acknowledged(self) -> bool:
        """Whether a message stays in the queue until it is acknowledged."""
        return self.way.done is not Way.done


@dataclass(frozen=True)
class Fifo:
    """A pusher, and pullers with a queue for each; messages go to the queues in turn."""

    name: str
    label: str
    pullers: int = 1
    #: Messages of one round trip of the pusher.
    pushed: int = 1
    #: Messages that a puller asks for.
    pulled: int = 1
    #: Whether each push is followed by an LTRIM.
    trims: bool = False
    #: Messages a second in 2021: those of the pusher, and those of all pullers together.
    past: tuple[float, float] | None = None


TAKES = {
    one.name: one
    for one in (
        Take("lpop", ways.OneByOne, "LPOP, one by one", past=3.235),
        Take("pipeline", ways.Pipelined, "a pipeline of 50 LPOP", past=1.608),
        Take("script", ways.Scripted, "script: LRANGE, LTRIM", past=0.860),
        Take("script-delayed", ways.Delayed, "the same, once they are due"),
        Take("lpop-count", ways.Counted, "LPOP with a count"),
        Take("lmpop", ways.Multiple, "LMPOP"),
        Take("blmove", ways.Moved, "BLMOVE and LREM, one by one"),
        Take("stream", ways.Streamed, "XREADGROUP, XACK and XDEL"),
        Take("store-redis", ways.Stored, "the game's store in Redis"),
        Take("store-sqlite", ways.Stored, "the game's store in sqlite", "sqlite:///"),
    )
}

#: The names of the ways whose consumers may die.
LASTING = [name for name, take in TAKES.items() if issubclass(take.way, ways.Lasting)]

FIFOS = {
    one.name: one
    for one in (
        Fifo("1x1-ltrim", "1x1, push and LTRIM", trims=True, past=(2281.3, 2145.1)),
        Fifo("1x1", "1x1, push alone", past=(4102.7, 2719.2)),
        Fifo("1x5", "1x5", pullers=5, past=(3427.4, 4306.5)),
        Fifo("1x1-by-5", "1x1, pushed by 5", pushed=5, past=(11041.4, 2665.8)),
        Fifo("1x5-by-5", "1x5, pushed by 5", pullers=5, pushed=5, past=(9152.4, 9118.1)),
        Fifo("1x1-by-50", "1x1, BLMPOP by 50", pushed=50, pulled=50),
        Fifo("1x5-by-50", "1x5, BLMPOP by 50", pullers=5, pushed=50, pulled=50),
    )
}

SERIES: dict[str, Take | Fifo] = {**TAKES, **FIFOS}
