"""The sheets of the map of everybody that this node hears: what all nodes tell, added up.

Whoever looks at the map needs some sheets. This node subscribes to them, asks all nodes for them as
long as they are needed, and adds up what the nodes tell. It begins with the sheet of the whole
world, and goes down only where somebody is. It never learns of a player, nor who looks.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple

from flatlands.brokers.base import Broker, Reset
from flatlands.server.atlas.layers import Dot
from flatlands.server.atlas.sheets import ROOT, TOP, Place, Sheet, dot_of, dots_within, patch_of
from flatlands.server.loop import Loop
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import Channels
from flatlands.server.messages.peer_protocol import COUNTS, DOTS, Malformed
from flatlands.world.grid import Rect

#: ms after which a sheet is asked for again, if no node has asked for it meanwhile; and the same
#: while no answer has come, for the first few times.
RENEW_EVERY: Final = 3000
AGAIN_EVERY: Final = 300
TRIES: Final = 4

#: What a node that lives told of a sheet is forgotten after so many ms without news of it.
FORGET_AFTER: Final = 10_000

#: The most sheets of one level that are asked for to see the whole world, or one view of it; and of
#: all views together.
SHEETS_MOST: Final = 64
SHEETS_IN_ALL: Final = 1024

EVERYWHERE: Final = Rect(-(2**31), -(2**31), 2**31, 2**31)


class Asked(NamedTuple):
    """What a client asks to see: dots of `grain` or coarser, in some squares. Without squares it
    is told the totals only."""

    grain: int
    squares: Rect | None


class Told:
    """What one node told of a sheet: index of a dot -> (people, computer players); and when it
    did last, in ms of node time."""

    __slots__ = ("dots", "at")

    def __init__(self) -> None:
        self.dots: dict[int, tuple[int, int]] = {}
        self.at = 0


class Known:
    """A sheet that this node is subscribed to. `tries` is how often it was asked for without an
    answer."""

    __slots__ = (
        "channel",
        "nodes",
        "delivered",
        "asked",
        "tries",
        "heard",
        "_places",
        "_inhabited",
    )

    def __init__(self, channel: str) -> None:
        self.channel = channel
        self.nodes: dict[int, Told] = {}
        #: Index of a dot -> batches since the last message to clients.
        self.delivered: dict[int, int] = {}
        self.asked: int | None = None
        self.tries = 0
        self.heard = False
        self._places: dict[int, list[tuple[Place, int]]] = {}
        self._inhabited: set[int] | None = None

    def places(self, sheet: Sheet, shift: int) -> list[tuple[Place, int]]:
        """Return for each dot of this sheet in which patch of dots it is that are 2^shift as wide,
        and at which index there."""
        places = self._places.get(shift)
        if places is None:
            dots = (dot_of(sheet[1:], index) for index in range(DOTS))
            places = self._places[shift] = [
                patch_of((column >> shift, row >> shift)) for column, row in dots
            ]
        return places

    def inhabited(self) -> set[int]:
        """Return the indexes of the dots in which anybody is."""
        if self._inhabited is None:
            self._inhabited = {index for told in self.nodes.values() for index in told.dots}
        return self._inhabited

    def changed(self) -> None:
        """Note that nodes have told something else, or that what they told is forgotten."""
        self._inhabited = None


class Hearing:
    """See the module. `others` returns the ids of the other nodes that are alive."""

    def __init__(
        self,
        node: int,
        channels: Channels,
        broker: Broker,
        loop: Loop,
        others: Callable[[], Iterable[int]],
    ) -> None:
        self._node = node
        self._channels = channels
        self._broker = broker
        self._loop = loop
        self._others = others
        #: Channel -> the sheet of it that this node is subscribed to.
        self.channels: dict[str, Sheet] = {}
        self._known: dict[Sheet, Known] = {}
        #: The finest level at which the whole world is known.
        self.level = TOP

    # What nodes say.

    def asked(self, _node: int, flat: list[int]) -> None:
        """Note that a node asks for sheets: what they tell, this node hears too."""
        now = self._loop.now()
        for at in range(0, len(flat), 3):
            known = self._known.get(Sheet(*flat[at : at + 3]))
            # Without an answer yet, the subscription may have come too late.
            if known is not None and known.heard:
                known.asked = now

    def receive(self, channel: str, payload: bytes) -> bool:
        """Apply what a node tells of a sheet, on the sheet's channel. Raises Malformed.

        Returns whether sheets below it may be needed now that were not before.
        """
        sheet = self.channels[channel]
        kind, *fields = peer_protocol.read(payload)
        if kind != COUNTS or Sheet(*fields[:3]) != sheet:
            raise Malformed("what does not belong to a sheet of the map")
        node, full, flat = fields[3:]
        if node != self._node and node not in self._others():
            return False
        known = self._known[sheet]
        told = known.nodes.get(node)
        new = told is None or any(index not in told.dots for index in flat[::4])
        if told is None or full:
            told = known.nodes[node] = Told()
        told.at = self._loop.now()
        for at in range(0, len(flat), 4):
            index, people, computers, batches = flat[at : at + 4]
            if people or computers:
                told.dots[index] = people, computers
            else:
                told.dots.pop(index, None)
            if batches:
                known.delivered[index] = known.delivered.get(index, 0) + batches
        known.heard = True
        known.changed()
        return new and sheet.level > 0

    def reset(self, lost: Reset) -> None:
        """Ask again for the sheets of which messages may have been lost."""
        for channel, sheet in self.channels.items():
            if lost.channels is None or channel in lost.channels:
                self._known[sheet].heard, self._known[sheet].tries = False, 0

    # Which sheets this node asks for.

    def descend(self, now: int, views: Collection[Asked]) -> bool:
        """Subscribe to the sheets that these views need, unsubscribe from the others, and ask for
        them. Without views nothing is needed.

        Returns whether what is known is complete.
        """
        wanted = {ROOT: None} if views else {}
        looks = [asked for asked in views if asked.squares is not None]
        if looks:
            self.level = self._go_down(wanted, EVERYWHERE, 0)
            for asked in looks:
                if asked.grain >> 2 < self.level and len(wanted) < SHEETS_IN_ALL:
                    assert asked.squares is not None
                    self._go_down(wanted, asked.squares, asked.grain >> 2)
        unwanted = [sheet for sheet in self._known if sheet not in wanted]
        for sheet in unwanted:
            del self.channels[self._known.pop(sheet).channel]
        if unwanted:
            self._broker.unsubscribe(*map(self._channels.sheet, unwanted))
        new = [sheet for sheet in wanted if sheet not in self._known]
        for sheet in new:
            known = self._known[sheet] = Known(self._channels.sheet(sheet))
            self.channels[known.channel] = sheet
        if new:
            self._broker.subscribe(*map(self._channels.sheet, new))
        self._ask(now)
        return not new and all(known.heard or known.tries > 1 for known in self._known.values())

    def _go_down(self, wanted: dict[Sheet, None], squares: Rect, floor: int) -> int:
        """Add the sheets to `wanted` that show who is in some squares, from the top down to the
        level `floor`, or as far as there are not too many. Returns the level that was reached."""
        some = [ROOT]
        for level in range(TOP, floor, -1):
            dots = dots_within(squares, 4 * level)
            below: list[Sheet] = []
            for sheet in some:
                below += (Sheet(level - 1, *dot) for dot in self._inhabited(sheet, dots))
                # Many clients may look at as many parts of the world, so not all are counted.
                if len(below) > SHEETS_MOST:
                    return level
            wanted.update(dict.fromkeys(below))
            some = below
        return floor

    def reached(self, asked: Asked) -> int:
        """Return the finest level of sheets that there are for what a client has asked to see."""
        floor = asked.grain >> 2
        if floor >= self.level:
            return floor
        wanted: dict[Sheet, None] = {}
        assert asked.squares is not None
        level = self._go_down(wanted, asked.squares, floor)
        # With too many views of other clients some sheets may not be asked for.
        missing = [sheet.level + 1 for sheet in wanted if sheet not in self._known]
        return min(self.level, max(level, *missing) if missing else level)

    def _inhabited(self, sheet: Sheet, dots: Rect) -> list[Place]:
        """Return those of some dots that are on a sheet and in which anybody is, as far as that is
        known."""
        known = self._known.get(sheet)
        if known is None:
            return []
        inhabited = known.inhabited()
        c0, r0 = dot_of(sheet[1:], 0)
        columns = range(max(dots.c0, c0), min(dots.c1, c0 + 15) + 1)
        rows = range(max(dots.r0, r0), min(dots.r1, r0 + 15) + 1)
        if len(columns) * len(rows) < len(inhabited):
            return [(c, r) for r in rows for c in columns if (r - r0) << 4 | (c - c0) in inhabited]
        found = (dot_of(sheet[1:], index) for index in inhabited)
        return [(c, r) for c, r in found if c in columns and r in rows]

    def _ask(self, now: int) -> None:
        """Ask for the sheets for which nobody has asked for a while."""
        due: list[int] = []
        for sheet, known in self._known.items():
            fast = not known.heard and known.tries < TRIES
            if known.asked is None or now - known.asked >= (AGAIN_EVERY if fast else RENEW_EVERY):
                known.asked = now
                if not known.heard:
                    known.tries += 1
                due += sheet
        for at in range(0, len(due), 3 * peer_protocol.SHEETS):
            message = peer_protocol.watch(self._node, due[at : at + 3 * peer_protocol.SHEETS])
            self._broker.publish(self._channels.nodes, message)

    # What is known.

    def forget(self, now: int) -> None:
        """Forget what nodes told that are gone, or that have told nothing for too long."""
        alive = {self._node, *self._others()}
        for known in self._known.values():
            known.nodes = {
                node: told
                for node, told in known.nodes.items()
                if node in alive and now - told.at < FORGET_AFTER
            }
            known.changed()

    def forget_batches(self) -> None:
        """Begin to count batches anew, since clients were told of those until now."""
        for known in self._known.values():
            known.delivered.clear()

    def totals(self) -> tuple[int, int]:
        """Return how many people and how many computer players there are."""
        people = computers = 0
        for told in self._known[ROOT].nodes.values() if ROOT in self._known else ():
            for some, others in told.dots.values():
                people += some
                computers += others
        return people, computers

    def squares(self) -> int | None:
        """Return how many squares are inhabited, or None while only larger dots are known."""
        if self.level:
            return None
        bottom = [known for sheet, known in self._known.items() if not sheet.level]
        return sum(len(known.inhabited()) for known in bottom)

    def dots(self, grain: int) -> dict[Place, dict[int, Dot]]:
        """Return all dots of a grain that are known, by patch and index."""
        level, shift = grain >> 2, grain & 3
        numbers = {id: n for n, id in enumerate(sorted({self._node, *self._others()}))}
        found: dict[Place, dict[int, Dot]] = {}
        for sheet, known in self._known.items():
            if sheet.level != level:
                continue
            places = known.places(sheet, shift)
            # A square is told of by each node that has players there, but its batches count once.
            batches = known.delivered.copy()
            for node, told in known.nodes.items():
                number = numbers.get(node, 0)
                for index, (people, computers) in told.dots.items():
                    place, at = places[index]
                    patch = found.get(place)
                    if patch is None:
                        patch = found[place] = {}
                    dot = patch.get(at)
                    if dot is None:
                        all = people + computers
                        patch[at] = [people, computers, number, all, batches.pop(index, 0)]
                        continue
                    dot[0] += people
                    dot[1] += computers
                    dot[4] += batches.pop(index, 0)
                    if people + computers > dot[3]:
                        dot[2], dot[3] = number, people + computers
        return found
