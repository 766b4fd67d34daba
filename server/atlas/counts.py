"""Adds up how many players of all nodes are where, in the areas of the world that clients look at.

It asks all nodes for these areas as long as they are needed. It learns numbers, and no names.
"""

from collections.abc import Callable, Iterator, Mapping, Set
from functools import partial
from typing import Final, NamedTuple

from flatlands.server.atlas.dots import SHIFTS, WORLD_DOTS, WORLD_TOTALS, DotPosition, MapArea
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import AREAS_MOST, DOT_FIELDS, Malformed, Watch, pack
from flatlands.world.grid import Square

#: An area is asked for again after this, if no node has asked for it meanwhile.
ASK_EVERY_MS: Final = 3000

#: The same for an area of which no node has published anything.
ASK_UNKNOWN_EVERY_MS: Final = 300

#: The counts of a node are forgotten after this, if no newer ones come.
FORGET_AFTER_MS: Final = 3500

#: All answers of nodes come within this time.
ANSWERS_WITHIN_MS: Final = 150

#: If no answer has come after this, nobody is there.
NO_ANSWERS_MS: Final = 700

#: Dots of this grain and coarser ones do not show how many batches were published in them.
NO_BATCHES_FROM: Final = 4

#: A dot as clients see it: people, computer players, the number of the node that has most of them,
#: how many these are, and batches.
Dot = list[int]


class NodeDots(NamedTuple):
    """The dots of an area that one node published at a node time in ms. `flat` is as in the
    message."""

    at: int
    grain: int
    flat: list[int]

    def dots(self) -> Iterator[tuple[int, ...]]:
        """Yield (column, row, people, computer players, batches) of each dot."""
        return zip(*[iter(self.flat)] * DOT_FIELDS, strict=True)


class TrackedArea:
    """An area of which this node receives counts.

    `since` and `asked` are the node times in ms at which it was first needed, and last asked for by
    any node; `reports` has the last counts of each node.
    """

    __slots__ = ("since", "asked", "reports")

    def __init__(self, now: int) -> None:
        self.since = now
        self.asked = now - ASK_EVERY_MS
        self.reports: dict[int, NodeDots] = {}

    @property
    def grain(self) -> int:
        """The finest grain in which all nodes publish it."""
        return max((report.grain for report in self.reports.values()), default=0)


class PlayerCounts:
    """The sums of the counts that all nodes publish. `believes` says whether a node is believed."""

    def __init__(self, bus: Bus, believes: Callable[[int], bool]) -> None:
        self._node = bus.node
        self._channels = bus.channels
        self._bus = bus
        self._loop = bus.loop
        self._believes = believes
        #: Channel -> the area of it that this node is subscribed to.
        self.channels: dict[str, MapArea] = {}
        self._tracked: dict[MapArea, TrackedArea] = {}

    # What nodes publish.

    def on_watch(self, flat: list[int]) -> None:
        """Note that a node asks for areas: this node receives the answers, too."""
        for at in range(0, len(flat), len(MapArea._fields)):
            tracked = self._tracked.get(MapArea(*flat[at : at + len(MapArea._fields)]))
            if tracked is not None and tracked.reports:
                tracked.asked = self._loop.now()

    def _receive(self, area: MapArea, payload: bytes) -> None:
        """Take the counts that a node has published on an area's channel. Raises Malformed."""
        counts = peer_protocol.read(payload)
        if not isinstance(counts, peer_protocol.Counts):
            raise Malformed("it does not belong to an area of the map")
        node, page, grain, flat = counts
        if self._believes(node):
            reports = self._tracked[area].reports
            if page and node in reports:
                flat = reports[node].flat + flat
            reports[node] = NodeDots(self._loop.now(), grain, flat)

    # What this node asks.

    def need(self, areas: Set[MapArea]) -> None:
        """Receive these areas and no others. This should be called once a second."""
        now = self._loop.now()
        unwanted = self._tracked.keys() - areas
        new = areas - self._tracked.keys()
        for area in unwanted:
            del self._tracked[area]
            channel = self._channels.area(area)
            del self.channels[channel]
            self._bus.drop_receiver(channel)
        for area in new:
            self._tracked[area] = TrackedArea(now)
            channel = self._channels.area(area)
            self.channels[channel] = area
            self._bus.set_receiver(channel, partial(self._receive, area))
        if unwanted:
            self._bus.unsubscribe(*map(self._channels.area, unwanted))
        if new:
            self._bus.subscribe(*map(self._channels.area, new))
        for tracked in self._tracked.values():
            tracked.reports = {
                node: report
                for node, report in tracked.reports.items()
                if self._believes(node) and now - report.at < FORGET_AFTER_MS
            }
        self._ask(False, ASK_EVERY_MS, now)
        self._ask(True, ASK_UNKNOWN_EVERY_MS, now)

    def _ask(self, new: bool, every: int, now: int) -> None:
        """Ask for the areas that some node has published, or for the `new` ones, which none has."""
        due: list[int] = []
        for area, tracked in self._tracked.items():
            if bool(tracked.reports) != new and now - tracked.asked >= every:
                tracked.asked = now
                due += area
        step = len(MapArea._fields) * AREAS_MOST
        for at in range(0, len(due), step):
            message = pack(Watch(self._node, new, due[at : at + step]))
            self._bus.to_all(message)

    # What was received.

    def settled(self, area: MapArea) -> bool:
        """Return whether all nodes should have published an area by now."""
        tracked = self._tracked.get(area)
        if tracked is None:
            return False
        waited = self._loop.now() - tracked.since
        return waited >= (ANSWERS_WITHIN_MS if tracked.reports else NO_ANSWERS_MS)

    def grain(self, area: MapArea) -> int:
        """Return the finest grain in which an area was received."""
        return self._tracked[area].grain if area in self._tracked else 0

    def totals(self) -> tuple[int, int]:
        """Return how many people and how many computer players there are."""
        dots = [
            dot for report in self._tracked[WORLD_TOTALS].reports.values() for dot in report.dots()
        ]
        return sum(dot[2] for dot in dots), sum(dot[3] for dot in dots)

    def squares(self, area: MapArea) -> set[Square] | None:
        """Return the inhabited squares of an area, or None if only larger dots were received."""
        if area not in self._tracked or self.grain(area):
            return None
        all = self._tracked[area].reports.values()
        return {(column, row) for report in all for column, row, *_ in report.dots()}

    def forget_batches(self) -> None:
        """Start counting batches from 0, since those until now were sent to clients."""
        for tracked in self._tracked.values():
            for report in tracked.reports.values():
                report.flat[4::DOT_FIELDS] = [0] * (len(report.flat) // DOT_FIELDS)

    def dots(self, grain: int, numbers: Mapping[int, int]) -> dict[DotPosition, Dot]:
        """Return all dots of a grain that were received. `numbers` are the nodes' small numbers."""
        found: dict[DotPosition, Dot] = {}
        coarse = grain >= self.grain(WORLD_DOTS)
        for area, tracked in self._tracked.items():
            # Areas may lie in each other, so each dot is taken from one area only.
            if (
                area == WORLD_DOTS
                if coarse
                else tracked.grain <= grain <= area.grain and area != WORLD_TOTALS
            ):
                found.update(_joined(tracked, grain, numbers))
        return found


def _joined(tracked: TrackedArea, grain: int, numbers: Mapping[int, int]) -> dict[DotPosition, Dot]:
    """Return the dots of a grain in an area."""
    found: dict[DotPosition, Dot] = {}
    for node, report in tracked.reports.items():
        number, fine = numbers.get(node, 0), report.grain
        shift = SHIFTS[grain >> 2] - SHIFTS[fine >> 2]
        for column, row, people, computers, batches in report.dots():
            all = people + computers
            place = ((column << fine) + shift) >> grain, ((row << fine) + shift) >> grain
            if grain >= NO_BATCHES_FROM:
                batches = 0
            dot = found.get(place)
            if dot is None:
                found[place] = [people, computers, number, all, batches]
                continue
            dot[0] += people
            dot[1] += computers
            dot[4] += batches
            if all > dot[3]:
                dot[2], dot[3] = number, all
    return found
