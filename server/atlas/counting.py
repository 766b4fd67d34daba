"""What this node tells for the map of everybody: how many of its own players are in which dot.

Nodes with clients that look at the map ask for sheets, each time for a short lease. As long as a
lease runs, this node counts its players once a second and publishes what has changed, on the
channel of each sheet that somebody asked for. Without a lease nothing is counted. It never knows
who looks, and nothing of other nodes' players.
"""

from collections.abc import Callable, Iterable
from typing import Final

from flatlands.brokers.base import Broker
from flatlands.server.atlas.sheets import Place, Sheet, around
from flatlands.server.loop import Loop
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import Channels
from flatlands.server.messages.protocol import DEER_FROM
from flatlands.server.squares.outbox import Outbox
from flatlands.world.grid import Square

#: ms between two counts, and ms for which a sheet is counted after it was asked for.
COUNT_EVERY: Final = 1000
LEASE: Final = 8000

#: ms in which requests for one sheet get one answer.
GATHER: Final = 150

#: The most sheets that are counted. Those that are asked for beyond that get no answer.
LEASES_MOST: Final = 4096

#: How many are in a dot: people, computer players, and batches published since the last count.
Crowd = tuple[int, int, int]


class Counting:
    """See the module. `computers` returns the id and the square of each computer player of this
    node."""

    def __init__(
        self,
        node: int,
        channels: Channels,
        broker: Broker,
        loop: Loop,
        outbox: Outbox,
        computers: Callable[[], Iterable[tuple[int, Square]]],
    ) -> None:
        self._node = node
        self._channels = channels
        self._broker = broker
        self._loop = loop
        self._outbox = outbox
        self._computers = computers
        #: Sheet -> the node time in ms at which its lease ends.
        self._leases: dict[Sheet, int] = {}
        #: Sheet -> index of a dot -> (people, computer players), as this node told last.
        self._told: dict[Sheet, dict[int, tuple[int, int]]] = {}
        #: The sheets that were asked for since the last answer.
        self._asked: set[Sheet] = set()
        self._answering = loop.alarm(self._answer)
        self._counting = loop.alarm(self._count)
        #: Square -> batches published there since the last count.
        self._delivered: dict[Square, int] = {}
        #: Where this node's players were when it looked last: for each level, sheet -> index of a
        #: dot -> crowd. And the node time in ms of that.
        self._levels: list[dict[Place, dict[int, Crowd]]] = []
        self._looked = 0

    def asked(self, _node: int, flat: list[int]) -> None:
        """Answer a node that asks for sheets: `flat` is level, column, row, level, column ..."""
        now = self._loop.now()
        if not self._leases:
            self._delivered = self._outbox.delivered = {}
            self._counting.set(now + COUNT_EVERY)
        for at in range(0, len(flat), 3):
            sheet = Sheet(*flat[at : at + 3])
            if sheet in self._leases or len(self._leases) < LEASES_MOST:
                self._leases[sheet] = now + LEASE
                if not self._asked:
                    self._answering.set(now + (GATHER if sheet in self._told else 0))
                self._asked.add(sheet)

    def _answer(self) -> None:
        """Publish everything about the sheets that were asked for."""
        asked, self._asked = self._asked, set()
        # Whoever asks for one sheet after the other makes this node look no more often.
        if not self._levels or self._loop.now() - self._looked >= COUNT_EVERY:
            self._look({})
        for sheet in asked:
            crowds = {i: (*crowd[:2], 0) for i, crowd in self._crowds(sheet).items()}
            # A node that has nobody there says so if it told of somebody during this lease: the
            # message that they have gone may have been lost.
            if crowds or sheet in self._told:
                self._publish(sheet, True, crowds)

    def _count(self) -> None:
        """Publish what has changed since the last time, and forget leases that have ended."""
        now = self._loop.now()
        for sheet in [sheet for sheet, until in self._leases.items() if until <= now]:
            del self._leases[sheet]
            self._told.pop(sheet, None)
        if not self._leases:
            self._outbox.delivered = None
            self._levels.clear()
            return
        self._counting.set(now + COUNT_EVERY)
        delivered, self._delivered = self._delivered, {}
        self._outbox.delivered = self._delivered
        self._look(delivered)
        for sheet in self._leases:
            crowds = self._crowds(sheet)
            told = self._told.get(sheet, {})
            changed = {
                index: crowd
                for index, crowd in crowds.items()
                if crowd[2] or told.get(index) != crowd[:2]
            }
            changed.update(dict.fromkeys(told.keys() - crowds.keys(), (0, 0, 0)))
            if changed:
                self._publish(sheet, False, changed, crowds)

    def _publish(
        self,
        sheet: Sheet,
        full: bool,
        crowds: dict[int, Crowd],
        all: dict[int, Crowd] | None = None,
    ) -> None:
        """Publish crowds of a sheet; `all` are those that it has, if `crowds` are only changes."""
        flat = [number for index, crowd in crowds.items() for number in (index, *crowd)]
        message = peer_protocol.counts(*sheet, self._node, full, flat)
        self._loop.stats["counts"] += 1
        # What the broker refuses is told again in full when it is asked for the next time.
        self._broker.publish(self._channels.sheet(sheet), message)
        now_there = crowds if all is None else all
        self._told[sheet] = {index: crowd[:2] for index, crowd in now_there.items()}

    def _look(self, delivered: dict[Square, int]) -> None:
        """Find out where this node's players are.

        `delivered` is how many batches were published in each square; they are told of in sheets of
        level 0 only.
        """
        self._looked = self._loop.now()
        found: dict[Square, tuple[int, int]] = {}
        for id, square in self._computers():
            people, computers = found.get(square, (0, 0))
            # Deer are no people, and are not counted.
            found[square] = people - 1, computers + (id < DEER_FROM)
        sheets: dict[Place, dict[int, Crowd]] = {}
        for square, players in self._outbox.present.items():
            others, computers = found.get(square, (0, 0))
            people = len(players) + others
            if people or computers:
                place, index = around(square)
                crowd = people, computers, delivered.get(square, 0)
                sheets.setdefault(place, {})[index] = crowd
        self._levels = [sheets]

    def _crowds(self, sheet: Sheet) -> dict[int, Crowd]:
        """Return the crowds in a sheet when this node looked last, by the index of the dot."""
        while len(self._levels) <= sheet.level:
            above: dict[Place, dict[int, Crowd]] = {}
            for dot, below in self._levels[-1].items():
                place, index = around(dot)
                people = sum(crowd[0] for crowd in below.values())
                computers = sum(crowd[1] for crowd in below.values())
                above.setdefault(place, {})[index] = people, computers, 0
            self._levels.append(above)
        return self._levels[sheet.level].get(sheet[1:], {})
