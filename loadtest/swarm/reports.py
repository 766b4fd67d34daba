"""What the processes of a swarm tell the one that leads them: their progress, and what bots did.

All are dictionaries, since they may come from another machine. Times are in us of the run's clock.
"""

from typing import Literal, NotRequired, TypedDict, get_args

from flatlands.loadtest.kit.histogram import Integers
from flatlands.wire import Square

#: What lies in each held square, as hashable descriptions, and the bytes of each layer of cells
#: there, by ("things", square) and (layer, square).
Look = dict[tuple[str | int, Square], "set[tuple[object, ...]] | bytes"]

#: Counts of a process since its start.
Count = Literal[
    "playing",
    "joined",
    "moves",
    "joins",
    "deliveries",
    "events",
    "bytes",
    "snapshots",
    "resyncs",
    "steps",
    "actions",
    "refusals",
    "cpu",
    "unanswered",
    "away",
]
COUNTS: tuple[Count, ...] = get_args(Count)


class Counted(TypedDict):
    """What a process has received and sent. Histograms are as `Histogram.sparse` has them."""

    moves: int
    joins: int
    deliveries: int
    events: int
    bytes: int
    snapshots: int
    resyncs: int
    steps: int
    actions: int
    refusals: int
    measured_actions: int
    effect: tuple[Integers, Integers]
    latency: tuple[Integers, Integers]
    late: tuple[Integers, Integers]
    counted: dict[str, int]
    complaints: dict[str, int]
    cuts: dict[str, int]


class Progress(Counted):
    """The counts of a process, and of its bots, at the time `at`. `cpu` is in seconds."""

    at: int
    playing: int
    joined: int
    cpu: float
    away: int
    unanswered: int


class Observed(TypedDict):
    """The log and the beliefs of an observer; observer.py describes their rows."""

    news: Integers
    rows: Integers
    beliefs: Integers
    behind: list[tuple[int, int]]
    holds: Integers
    links: list[tuple[int, int]]
    looks: Integers
    screens: Integers
    duplicate: int
    reordered: int
    lacking: int


class LifeLog(TypedDict):
    """What a bot intended in a life, and where it was told that it is; see IntentLog."""

    intents: Integers
    late: Integers
    timeline: Integers
    told_at: Integers


class LifeFacts(TypedDict):
    """All else of a life: from when a bot asked to join until it left, or 0 if it goes on.

    `why` is the reason why it left, empty if it said goodbye. `former_seq` is the last seq of its
    life before. Bots on one node have the same `node`. `observed` is there if it observes.
    """

    index: int
    id: int
    viewport: tuple[int, int]
    asked: int
    ready: int
    left: int
    why: str
    welcomed: int
    former_seq: int
    offset: float
    honest: bool
    node: object
    held_changes: int
    observed: Observed | None
    looked: list[Look]


class Life(LifeFacts, LifeLog):
    """A life of a bot."""


class Report(TypedDict):
    """What all bots of a process did and were told. `rules` are the side of a square and the outer
    margin, in 1/1024 tile; `who` is whose process it is, once its leader has it."""

    lives: list[Life]
    at: int
    rules: tuple[int, int]
    slow: list[tuple[int, int]]
    stalled: list[int]
    who: NotRequired[str]
