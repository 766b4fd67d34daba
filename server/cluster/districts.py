"""The plan by which the workers of one machine, or machines, share the world: which of them serves
which squares.

Lines along the borders of squares divide the world into districts, each of which one worker serves.
What players do then costs the least, since their neighbours are at the same worker. There are only
as many districts as are needed. The district of a busy worker is divided in two, so that half of
its players go to a worker without a district; two quiet districts on either side of a line become
one again. Players in the same square are divided by their ids.

These are pure rules: nothing here reads a clock, uses a socket, or moves a player (placement.py
does). The supervisor makes the plan of its workers, and sends it to them; one node makes that of
all machines (router.py). All of this is true of machines as well as of workers.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

import msgpack

from flatlands.world.grid import Square

#: The axes of lines: a line divides columns, rows, or the players by one bit of their ids.
COLUMNS: Final = 0
ROWS: Final = 1
PLAYERS: Final = 2

#: The server of a district: the number of a worker, from 0, or the address of a machine.
Shard = TypeVar("Shard", int, str)

#: A tree that divides the world among shards: a shard, or a line with the trees of its two sides,
#: (axis, at, below, from `at` on). For PLAYERS, `at` is the number of the bit.
Partition: TypeAlias = Shard | "tuple[int, int, Partition[Shard], Partition[Shard]]"

#: How long after a change of the plan its effect on workers can be judged.
WORKERS_SETTLED_S: Final = 6.0

#: Two districts become one if their workers together are less busy than this.
QUIET_CORES: Final = 0.5

#: If no worker is free to relieve a busy one, two others become one if together they are less busy
#: than this share of the busy one.
QUIETER_SHARE: Final = 0.5

#: A line leaves at least this share of the players on either side.
LEAST_SHARE: Final = 0.3


class Line(NamedTuple):
    """A line along which a district may be divided."""

    axis: int
    at: int


class WorkerLoad(NamedTuple):
    """The load of a worker: at 1 it has as much to do as a worker should have.

    `line` divides its players; None if they are too close together. `takes`: players may be passed
    to it.
    """

    busy: float
    line: Line | None = None
    takes: bool = True


def shard_name(shard: int) -> str:
    """Return the name in the folder of passages by which a worker is reached."""
    return f"slot-{shard}"


def pack_plan(
    plan: Partition[int], takes: Sequence[int], workers: int, full: Sequence[int] = ()
) -> bytes:
    """Return the message with the plan for this many workers; `takes` are the shards whose workers
    take players, and `full` those whose workers have no room just now."""
    packed: bytes = msgpack.packb([plan, takes, workers, full])
    return packed


def read_plan(message: bytes) -> tuple[Partition[int], frozenset[int], int, frozenset[int]]:
    """Return what `pack_plan` has packed."""
    # A supervisor of an older version, whose workers were replaced, does not say which are full.
    plan, takes, workers, *full = msgpack.unpackb(message, use_list=False)
    return plan, frozenset(takes), workers, frozenset(*full)


def shard_of(plan: Partition[Shard], square: Square, id: int) -> Shard:
    """Return the shard that serves a player in a square."""
    while isinstance(plan, tuple):
        axis, at, low, high = plan
        beyond = id >> at & 1 if axis == PLAYERS else square[axis] >= at
        plan = high if beyond else low
    return plan


def line(squares: Sequence[Square]) -> Line | None:
    """Return a line that divides the players in these squares into about two halves, or None.

    It crosses the longer side of the area that has most of them, so that few squares lie along it.
    """
    best: tuple[int, float, Line] | None = None
    for axis in (COLUMNS, ROWS):
        places = sorted(square[axis] for square in squares)
        number = len(places)
        if not number:
            return None
        reach = places[number * 9 // 10] - places[number // 10]
        for at in (places[number // 2], places[number // 2] + 1):
            below = bisect_left(places, at)
            share = min(below, number - below) / number
            if share >= LEAST_SHARE and (best is None or (reach, share) > best[:2]):
                best = reach, share, Line(axis, at)
    return best and best[2]


def shards(plan: Partition[Shard]) -> list[Shard]:
    """Return the shards that have a district."""
    if isinstance(plan, tuple):
        return shards(plan[2]) + shards(plan[3])
    return [plan]


class Districts(Generic[Shard]):
    """Makes the plan, and changes it as the load of workers changes. It begins as `plan`; `settles`
    is like WORKERS_SETTLED_S."""

    def __init__(self, plan: Partition[Shard], settles: float = WORKERS_SETTLED_S) -> None:
        self.plan: Partition[Shard] = plan
        self._settles = settles
        self._settled = 0.0

    def follow(self, loads: Mapping[Shard, WorkerLoad], now: float) -> None:
        """Change the plan if the loads require it. This should be called once a second.

        `loads` are those of the workers that live, by shard; `now` is a time in seconds.
        """
        if now < self._settled:
            return
        before = self.plan
        for shard, load in sorted(loads.items(), key=lambda item: -item[1].busy):
            if load.busy > 1 and shard in shards(before):
                self._relieve(shard, load, loads)
        if self.plan == before:
            self._unite(loads, QUIET_CORES)
        if self.plan != before:
            self._settled = now + self._settles

    def part_with(self, gone: Shard, loads: Mapping[Shard, WorkerLoad]) -> None:
        """Give the district of a shard that is gone for good to a free one, or else to those on the
        other side of its line."""
        if free := self._free(loads):
            self.plan = _changed(self.plan, gone, free[0])
        for part in list(_lines(self.plan)):
            _, _, low, high = part
            if gone in (low, high):
                self.plan = _changed(self.plan, part, high if low == gone else low)

    def _relieve(self, shard: Shard, load: WorkerLoad, loads: Mapping[Shard, WorkerLoad]) -> None:
        """Divide the district of a busy worker, if another worker is free or can be made free."""
        free = self._free(loads)
        if not free:
            self._unite(loads, min(load.busy * QUIETER_SHARE, 1.0))
            free = self._free(loads)
        if free and shard in shards(self.plan):
            bits = [at for axis, at, _, _ in _lines(self.plan) if axis == PLAYERS]
            line = load.line or Line(PLAYERS, max(bits, default=-1) + 1)
            self.plan = _changed(self.plan, shard, (line.axis, line.at, shard, free[0]))

    def _free(self, loads: Mapping[Shard, WorkerLoad]) -> list[Shard]:
        """Return the shards that take players and have no district, the quietest first."""
        used = shards(self.plan)
        free = [shard for shard, load in loads.items() if load.takes and shard not in used]
        return sorted(free, key=lambda shard: loads[shard].busy)

    def _unite(self, loads: Mapping[Shard, WorkerLoad], most: float) -> None:
        """Make one district of the two quietest on either side of a line, if together they are less
        busy than `most`. The busier worker keeps it, so that fewer players must go."""
        pairs = [
            (
                loads[low].busy + loads[high].busy,
                max(low, high, key=lambda at: loads[at].busy),
                part,
            )
            for part in _lines(self.plan)
            if not isinstance(low := part[2], tuple) and not isinstance(high := part[3], tuple)
            if low in loads and high in loads and loads[low].takes and loads[high].takes
        ]
        if pairs:
            busy, keeps, part = min(pairs, key=lambda pair: pair[0])
            if busy < most:
                self.plan = _changed(self.plan, part, keeps)


def _lines(plan: Partition[Shard]) -> Iterator[tuple[int, int, Partition[Shard], Partition[Shard]]]:
    """Yield all lines of a plan, with the plans of their sides."""
    if isinstance(plan, tuple):
        yield plan
        yield from _lines(plan[2])
        yield from _lines(plan[3])


def _changed(
    plan: Partition[Shard], part: Partition[Shard], new: Partition[Shard]
) -> Partition[Shard]:
    """Return a plan with another one in place of a part of it."""
    if plan == part:
        return new
    if not isinstance(plan, tuple):
        return plan
    axis, at, low, high = plan
    return axis, at, _changed(low, part, new), _changed(high, part, new)
