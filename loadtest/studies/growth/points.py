"""The points of each series of growth. `size` is their place on the x axis; figures that are not
known are None."""

from typing import Literal, NotRequired, TypedDict

from flatlands.loadtest.studies.study import Judged


class Workers(Judged):
    """Some workers, see swarms.workers."""

    series: Literal["workers"]
    size: int
    scenario: str
    us: float | None
    times: float | None
    cpu: float | None
    broker: float | None
    deliveries: float | None
    bytes_event: float
    p50: float | None
    p99: float | None


class Machines(Judged):
    """Machines without addresses or with, see swarms.machines."""

    series: Literal["machines"]
    size: int
    addresses: bool
    heard: float
    most: int
    received: float
    batches: float
    times: float


class Walked(TypedDict):
    """What players of some nodes have found while they walked, see nodes.Players.walk."""

    cpu: float
    received: float
    p99: float
    invalid: list[str]


class Nodes(Judged, Walked):
    """One node of some, see nodes.nodes."""

    series: Literal["nodes"]
    size: int
    heartbeats: float | None
    rest: float
    near: int
    beats: float
    beats_bytes: float
    others_cpu: NotRequired[float]


class Real(Judged, Walked):
    """Some nodes that are all real, see nodes.real."""

    series: Literal["real"]
    size: int
    made_cpu: float
    made_received: float


class Crowd(Judged):
    """A crowd in one square, see swarms.crowds."""

    series: Literal["crowd"]
    size: int
    cpu: float | None
    p50: float | None
    p99: float | None
    told: float
    replaced: float
    bytes_each: float
    lagging: float | None


Point = Workers | Machines | Nodes | Real | Crowd


class Law(TypedDict):
    """How a figure grows: its points, as (size, figure), and the power of the size."""

    points: list[tuple[float, float]]
    exponent: float | None
