"""Counts this node's own players by place, and publishes the numbers while somebody asks for them.

Nodes whose clients look at the map of everybody, and programs that ask the world in SQL, ask for
areas of the world, each time for a short lease. As long as a lease runs, this node counts its
players once a second, and publishes all that it has in the area, joined to at most as many dots as
were asked for. Without a lease nothing is counted. No player is ever named.
"""

from collections.abc import Callable
from typing import Final

from flatlands.server.atlas.dots import SHIFTS, WORLD_SQUARES, DotPosition, MapArea, dot_at, finest
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import DOT_FIELDS, PATCH_DOTS_MOST, Counts
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.squares.outbox import Outbox
from flatlands.world.events import Player
from flatlands.world.grid import Square

#: Time between two counts.
CENSUS_EVERY_MS: Final = 1000

#: How long an area is counted after it was asked for.
AREA_LEASE_MS: Final = 8000

#: All who are new to an area within this time get one answer.
ANSWER_EVERY_MS: Final = 150

#: Stands for the time and the grain of the last publication of an area, if there was none.
NEVER_PUBLISHED: Final = (0, 1)

#: The most areas that are counted. Those that are asked for beyond that get no answer.
LEASED_AREAS_MOST: Final = 16_384


class Census:
    """The counts of this node's own players, which it publishes as long as a lease runs. `on_map`
    returns whether a mover is counted as a computer player."""

    def __init__(self, bus: Bus, outbox: Outbox, on_map: Callable[[Player], bool]) -> None:
        self._on_map = on_map
        self._node = bus.node
        self._channels = bus.channels
        self._bus = bus
        self._loop = loop = bus.loop
        self._outbox = outbox
        #: MapArea -> the node time in ms at which its lease ends.
        self._leases: dict[MapArea, int] = {}
        #: MapArea -> the node time in ms at which this node last published it, and the grain. Those
        #: in which it then had nobody are left out.
        self._published: dict[MapArea, tuple[int, int]] = {}
        #: Square -> people and computer players there, when this node last counted; and these
        #: squares by grain and dot, for each grain of areas that was asked for since.
        self._squares: dict[Square, tuple[int, int]] = {}
        self._by_dot: dict[int, dict[DotPosition, list[Square]]] = {}
        self._counting = loop.timer(self._count)

    def on_watch(self, new: bool, flat: list[int]) -> None:
        """Count some areas for another lease, and publish them at once if whoever asks is new to
        them: `flat` is grain, column, row, most, grain ..."""
        now = self._loop.now()
        if not self._leases:
            # A node that asks for one area after the other makes this one count no more often.
            self._outbox.take_batch_counts(keep_counting=True)
            self._locate_players()
            self._counting.set(now + CENSUS_EVERY_MS)
        for at in range(0, len(flat), len(MapArea._fields)):
            area = MapArea(*flat[at : at + len(MapArea._fields)])
            if area in self._leases or len(self._leases) < LEASED_AREAS_MOST:
                self._leases[area] = now + AREA_LEASE_MS
                if new and now - self._published.get(area, NEVER_PUBLISHED)[0] >= ANSWER_EVERY_MS:
                    self._publish_area(area, {})

    def _count(self) -> None:
        """Publish all areas whose leases run."""
        now = self._loop.now()
        self._leases = {area: until for area, until in self._leases.items() if until > now}
        self._published = {area: it for area, it in self._published.items() if area in self._leases}
        batch_counts = self._outbox.take_batch_counts(keep_counting=bool(self._leases))
        self._locate_players()
        for area in self._leases:
            self._publish_area(area, batch_counts)
        if self._leases:
            self._counting.set(now + CENSUS_EVERY_MS)

    def _locate_players(self) -> None:
        """Find out where this node's players are."""
        self._by_dot = {}
        self._squares = {}
        for square, players in self._outbox.players_by_square.items():
            people, computers = len(players), 0
            if min(players) < FIRST_PERSON_ID:
                movers = [one for id, one in players.items() if id < FIRST_PERSON_ID]
                people -= len(movers)
                computers = sum(map(self._on_map, movers))
            self._squares[square] = people, computers

    def _publish_area(self, area: MapArea, batch_counts: dict[Square, int]) -> None:
        """Publish how many players are where in an area; `batch_counts` is how many batches were
        published in each square since the last count."""
        last = self._published.pop(area, NEVER_PUBLISHED)
        by_dot = self._by_dot.get(area.grain)
        if by_dot is None:
            by_dot = self._by_dot[area.grain] = {}
            for square in self._squares:
                by_dot.setdefault(dot_at(square, area.grain), []).append(square)
        squares = by_dot.get((area.column, area.row), [])
        # That all have gone is published once. Nodes that do not receive it forget them a little
        # later.
        if not squares and last is NEVER_PUBLISHED:
            return
        grain = finest(squares, area, last[1])
        if squares:
            self._published[area] = self._loop.now(), grain
        self._publish(area, grain, self._dots(squares, grain, area == WORLD_SQUARES, batch_counts))

    def _dots(
        self, squares: list[Square], grain: int, wild: bool, batch_counts: dict[Square, int]
    ) -> list[int]:
        """Return the dots of a grain that hold some squares; with `wild` also those without anybody
        who counts."""
        shift = SHIFTS[grain >> 2]
        dots: dict[DotPosition, tuple[int, int, int]] = {}
        for square in squares:
            people, computers = self._squares[square]
            if not (people or computers or wild):
                continue
            batches = batch_counts.get(square, 0)
            if grain:
                square = (square[0] + shift) >> grain, (square[1] + shift) >> grain
                if square in dots:
                    some, others, more = dots[square]
                    people, computers, batches = people + some, computers + others, batches + more
            dots[square] = people, computers, batches
        return [number for dot, crowd in dots.items() for number in (*dot, *crowd)]

    def _publish(self, area: MapArea, grain: int, flat: list[int]) -> None:
        """Publish what was counted in an area, in several messages if it is much."""
        channel, step = self._channels.area(area), DOT_FIELDS * PATCH_DOTS_MOST
        for page, at in enumerate(range(0, max(len(flat), 1), step)):
            counts = Counts(self._node, page, grain, flat[at : at + step])
            self._loop.stats["counts"] += 1
            # What the broker refuses is published again a second later.
            self._bus.broker.publish(channel, peer_protocol.pack(counts))
