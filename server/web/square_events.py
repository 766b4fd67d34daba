"""What happens in a square, as an author reads it: its messages, decoded as they come from the
broker. While nobody looks at a square, its messages take their usual way.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from flatlands.server.messages import peer_batches, peer_protocol
from flatlands.server.messages.peer_protocol import ThingChanges
from flatlands.server.node import Node
from flatlands.server.storage.kinds import of_row
from flatlands.world.batches import RECORD, WIDE, BatchContent, SquareCoordinates
from flatlands.world.events import EnterEvent, GoneEvent, LeaveEvent, SayEvent
from flatlands.world.grid import Square
from flatlands.world.tiles import WRITE
from flatlands.world.track import UNIT

#: How many messages of a square wait to be decoded; the oldest of more are left out.
MESSAGES_WAITING: Final = 100

#: How many events are decoded at a time; more are left out.
EVENTS_AT_ONCE: Final = 100

#: How many tiles of one write are named.
TILES_NAMED: Final = 3

#: An event as a page gets it: `at` (node time in ms), `what`, `player`, `name`, and what it `says`.
Shown = dict[str, object]


class _Who(NamedTuple):
    """A player, by its id, and its name: "" if that is not known."""

    id: int
    name: str


class Tap:
    """The messages of a square that one page waits for."""

    def __init__(self, square: Square, node: Node) -> None:
        self._square, self._node = square, node
        self._waiting: deque[tuple[int, bytes]] = deque(maxlen=MESSAGES_WAITING)
        self._missed = 0
        #: (node, slot) -> the player that it named last, even if that has left since.
        self._named: dict[tuple[int, int], _Who] = {}
        self._note_players()

    def note(self, payload: bytes) -> None:
        """Keep a message that has come."""
        self._missed += len(self._waiting) == MESSAGES_WAITING
        self._waiting.append((self._node.loop.now(), payload))

    def take(self) -> tuple[list[Shown], int]:
        """Return the events that have come since the last call, and how many events and messages
        were left out."""
        missed, self._missed = self._missed, 0
        self._note_players()
        events: list[Shown] = []
        while self._waiting:
            at, payload = self._waiting.popleft()
            events += [{"at": at, **event} for event in self._read(payload)]
        return events[:EVENTS_AT_ONCE], missed + max(len(events) - EVENTS_AT_ONCE, 0)

    def _note_players(self) -> None:
        for player in self._node.subscriptions.by_square[self._square].replica.players.values():
            self._named[player.node, player.slot] = _Who(player.id, player.name)

    def _read(self, payload: bytes) -> Iterator[Shown]:
        """Yield the events of a message. What only keeps nodes in step, such as full states, has
        none; nor has a message that no node reads."""
        try:
            message = peer_protocol.read(payload)
            if isinstance(message, list):
                yield from self._batch(*message)
            elif isinstance(message, ThingChanges):
                yield from self._changes(message)
        except peer_protocol.Malformed as error:
            yield _shown("malformed", None, {"sentence": str(error)})

    def _batch(
        self, _column: int, _row: int, node: int, _before: int, _number: int, sent: int, *said: Any
    ) -> Iterator[Shown]:
        content = peer_batches.read_content(self._node.square_context.events, *said)
        coordinates = SquareCoordinates(self._square, self._node.grid.span, sent)
        for form, records in ((RECORD, content.tracks), (WIDE, content.wide)):
            for slot, _seq, _ack, x, y, dx, dy, _age in form.iter_unpack(records):
                start = coordinates.middle_x + x, coordinates.middle_y + y
                yield _shown("move", self._named.get((node, slot)), _way(*start, dx, dy))
        for event in content.others:
            yield self._event(coordinates, event)
        yield from self._writes(content)

    def _event(self, coordinates: SquareCoordinates, event: Any) -> Shown:
        if isinstance(event, EnterEvent):
            names = [field.name for field in self._node.game.me.fields]
            way = _way(event.x + coordinates.x, event.y + coordinates.y, event.dx, event.dy)
            says = {**way, **dict(zip(names, event.values, strict=True))}
            if event.dimmed:
                says["dimmed"] = True
            return _shown("enter", _Who(event.id, event.name), says)
        known = (who for who in self._named.values() if who.id == event.id)
        player = next(known, _Who(event.id, ""))
        if isinstance(event, LeaveEvent):
            return _shown("leave", player, {"to": [event.column, event.row]})
        if isinstance(event, GoneEvent):
            return _shown("gone", player, {})
        if isinstance(event, SayEvent):
            return _shown("say", player, {"text": event.text})
        fields = dict(zip(event._fields[2:], event[2:], strict=True))
        return _shown(type(event).__name__, player, fields)

    def _writes(self, content: BatchContent) -> Iterator[Shown]:
        (column, row), side = self._square, self._node.grid.side
        for number, packed in zip(content.writes[::2], content.writes[1::2], strict=True):
            written = list(WRITE.iter_unpack(packed))
            tiles = [
                [column * side + tile % side, row * side + tile // side, value]
                for tile, value, _stamp in written[:TILES_NAMED]
            ]
            layer = self._node.play.layers[number].name.partition(".")[2]
            says = {"layer": layer, "count": len(written), "tiles": tiles}
            yield _shown("write", None, says)

    def _changes(self, changes: ThingChanges) -> Iterator[Shown]:
        node, items = self._node, self._node.play.items
        for row in peer_batches.read_things(changes.things, node.square_context.things):
            thing = of_row(items.numbered[row.kind], row, self._square, node.grid.side)
            values = {field.name: getattr(thing, field.name) for field in thing._shown}
            says = {"kind": type(thing).__name__, "id": thing.id, "tile": list(thing.tile)}
            yield _shown("thing", None, {**says, **values})
        for id in changes.gone[::2]:
            yield _shown("thing gone", None, {"id": id})


class SquareTaps:
    """All taps of a node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._taps: dict[Square, list[Tap]] = {}

    @contextmanager
    def open(self, square: Square) -> Iterator[Tap]:
        """Receive a square, and let a tap have its messages, too."""
        node = self._node
        node.subscriptions.need([square])
        tap = Tap(square, node)
        channel, receive = (
            node.channels.square(square),
            node.subscriptions.by_square[square].receive,
        )
        taps = self._taps.setdefault(square, [])
        taps.append(tap)

        def noted(payload: bytes) -> None:
            for each in taps:
                each.note(payload)
            receive(payload)

        node.bus.set_receiver(channel, noted)
        try:
            yield tap
        finally:
            taps.remove(tap)
            if not taps:
                del self._taps[square]
                node.bus.set_receiver(channel, receive)
            node.subscriptions.let_go([square])


def _shown(what: str, who: _Who | None, says: Mapping[str, object]) -> Shown:
    id, name = who or (None, "")
    return {"what": what, "player": id, "name": name, "says": says}


def _way(x: int, y: int, dx: int, dy: int) -> dict[str, object]:
    """Return a way in tiles: where it begins, and how far it goes, unless it goes nowhere."""
    goes = {"by": _tiles((dx, dy))} if dx or dy else {}
    return {"at": _tiles((x, y)), **goes}


def _tiles(units: Sequence[int]) -> list[float]:
    return [round(each / UNIT, 2) for each in units]
