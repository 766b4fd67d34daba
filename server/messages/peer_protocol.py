"""What nodes tell each other besides batches, as docs/nodes.md gives it. Only packs and unpacks.

Whoever has the key is believed (brokers/sealed.py), or where there is none whoever reaches the
broker; but all must make sense: what does not is refused as a whole, before any of it is taken in,
for a program with other plans may publish on these channels too.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import msgpack

from brokers.base import PAYLOAD_LIMIT
from server.messages.protocol import BATCH, NAME_LIMIT, TEXT_LIMIT
from server.messages.table import NUMBER, Field, Row, number
from world.events import ENTER, EVENTS, EnterEvent, Entry, Event, named
from world.grid import Square
from world.track import REACH

# On a square's channel, besides protocol.BATCH.
FULL_STATE, SYNC_REQUEST = 32, 33
# On the channel of nodes.
HEARTBEAT, TAKEOVER, HANDOVER, ORDER = 34, 35, 36, 37
HOSTED, WHERE, HERE, LEFT, DEPARTED = 38, 39, 40, 41, 42

#: What a heartbeat says of its node: it goes on; it stops, and its residents come back; or it has
#: just started, and was never ready for players yet.
ALIVE, DRAINING, STARTING = 0, 1, 2

#: What an operator orders: nobody comes back as a player, or from an address; a player is silent;
#: no newcomers are let in; all are told something.
KICK, BAR, MUTE, DOOR, NOTICE = range(5)

#: Seconds that an order lasts at most, and characters that it has.
ORDER_MOST, ORDER_TEXT = 7 * 24 * 3600, 120

#: Entries in one page of a full state, squares in one heartbeat, and players in one message of
#: those who came back: all fit a broker's payload.
ENTRIES, SQUARES, PAIRS = 400, 3000, 3000

#: Units from the origin: farther than there is ground.
_FAR = 2**42

#: A seq that any player could have. Nodes outlive what they hear, and need numbers for that: one
#: below 0 would be older than nothing at all here, and new to clients.
_SEQ = 2**52

#: Times and ages in ms up or down, at most: their sums are numbers too, and told to clients.
_TIME = 2**50

#: Clients get the bytes of events and batches as they were published, so all must be what a client
#: can take. A field of one name has the same range in all messages and events.
_FIELDS = {
    field.name: field
    for field in (
        number("column"), number("row"), number("x", -_FAR, _FAR), number("y", -_FAR, _FAR),
        number("dx", -REACH, REACH), number("dy", -REACH, REACH),
        number("node"), number("to"), number("nonce"),
        number("previous", 0), number("number"), number("replaced"),
        number("page", 0), number("pages", 1, 100), number("part", 0), number("parts", 1, 100),
        number("sent", -_TIME, _TIME), number("age", -_TIME, _TIME), number("duration", 0, _TIME),
        number("id"), number("player"), number("seq", 0, _SEQ), number("ack"),
        number("state", ALIVE, STARTING), number("deed", KICK, NOTICE),
        number("seconds", 0, ORDER_MOST),
        Field("name", str, 1, NAME_LIMIT), Field("dimmed", bool), Field("text", str, 1, TEXT_LIMIT),
        Field("ring", str), Field("ground", str), Field("who", str, 0, ORDER_TEXT),
        Field("events", list), Field("entries", list), Field("pairs", list), Field("squares", list),
    )
}  # fmt: skip


def _table_row(name: str, fields: Iterable[str], agree: Callable[..., bool] | None = None) -> Row:
    return Row(name, tuple(_FIELDS[field] for field in fields), agree=agree)


def _is_next(
    _column: int, _row: int, _node: int, previous: int, number: int, *_rest: Any
) -> bool:
    return previous < number


def _is_page(*fields: Any) -> bool:
    *_, page, pages, _items = fields
    return bool(page < pages)


def _is_heartbeat(*fields: Any) -> bool:
    squares = fields[-1]
    return _is_page(*fields) and len(squares) % 3 == 0 and _are_numbers(squares)


def _are_pairs(_node: int, pairs: list[Any]) -> bool:
    return (
        len(pairs) % 2 == 0 and _are_numbers(pairs) and all(0 <= seq <= _SEQ for seq in pairs[1::2])
    )


def _is_order(_node: int, deed: int, who: str, _seconds: int) -> bool:
    return deed not in (KICK, MUTE) or (who.isascii() and who.isdecimal())


def _are_numbers(values: list[Any]) -> bool:
    return not values or (
        {int} == set(map(type, values)) and -NUMBER <= min(values) and max(values) <= NUMBER
    )


#: All that nodes tell each other: docs/nodes.md.
MESSAGES = {
    BATCH: _table_row(
        "batch",
        ("column", "row", "node", "previous", "number", "sent", "replaced", "events"),
        _is_next,
    ),
    FULL_STATE: _table_row(
        "full state",
        ("column", "row", "node", "number", "sent", "page", "pages", "entries"),
        _is_page,
    ),
    SYNC_REQUEST: _table_row("sync request", ("column", "row", "node", "nonce")),
    HEARTBEAT: _table_row(
        "heartbeat",
        ("node", "sent", "ring", "ground", "state", "part", "parts", "squares"),
        _is_heartbeat,
    ),
    TAKEOVER: _table_row("takeover", ("node", "player")),
    HANDOVER: _table_row("handover", ("node", "player", "to", "name", "seq", "x", "y")),
    DEPARTED: _table_row("departed", ("node", "player", "to", "seq", "x", "y")),
    HOSTED: _table_row("hosted", ("node", "pairs"), _are_pairs),
    LEFT: _table_row("left", ("node", "pairs"), _are_pairs),
    ORDER: _table_row("order", ("node", "deed", "who", "seconds"), _is_order),
    WHERE: _table_row("where", ("node", "player", "nonce")),
    HERE: _table_row("here", ("node", "to", "nonce", "x", "y")),
}

#: The events of batches and full states: docs/protocol.md.
_EVENTS = {kind: _table_row(event.__name__, event._fields[1:]) for kind, event in EVENTS.items()}

_pack: Callable[[Any], bytes] = msgpack.Packer(autoreset=True).pack


class Malformed(Exception):
    """What was heard is no message of nodes."""


def read(payload: bytes) -> list[Any]:
    """Return a message as [kind, field ...]. Its events are still to be read. Raises Malformed."""
    if len(payload) > PAYLOAD_LIMIT:
        raise Malformed("more bytes than nodes publish")
    try:
        message = msgpack.unpackb(payload)
    except (ValueError, RecursionError, msgpack.UnpackException):
        raise Malformed("what is no MessagePack") from None
    _check(message, MESSAGES)
    return cast(list[Any], message)


def read_events(said: list[Any]) -> list[Event]:
    """Return the events of a batch by their names. Raises Malformed."""
    for event in said:
        _check(event, _EVENTS)
    return list(map(named, said))


def read_entries(said: list[Any]) -> list[EnterEvent]:
    """Return the entries of a full state by their names. Raises Malformed."""
    for event in said:
        _check(event, {ENTER: _EVENTS[ENTER]})
    return list(map(EnterEvent._make, said))


def _check(said: Any, rows: dict[int, Row]) -> None:
    """Raise Malformed unless one of the rows describes an array."""
    kind = said[0] if type(said) is list and said else None
    row = rows.get(kind) if type(kind) is int else None
    if row is None:
        raise Malformed("no array that begins with a kind that belongs there")
    fault = row.fault(said[1:])
    if fault is not None:
        raise Malformed(f"something else: {fault}")


def full_state(
    square: Square, node: int, number: int, sent: int, page: int, pages: int,
    entries: Sequence[Entry],
) -> bytes:  # fmt: skip
    """A page of everything that a node has in a square; `number` is that of a batch."""
    return _pack([FULL_STATE, *square, node, number, sent, page, pages, entries])


def sync_request(square: Square, node: int, nonce: int) -> bytes:
    """Asks all nodes for their full state of a square, and oneself whether one hears it."""
    return _pack([SYNC_REQUEST, *square, node, nonce])


def heartbeat(
    node: int, sent: int, ring: str, ground: str, state: int, part: int, parts: int,
    squares: list[int],
) -> bytes:  # fmt: skip
    """A part of a heartbeat; `squares` is column, row, last batch number, and so on."""
    return _pack([HEARTBEAT, node, sent, ring, ground, state, part, parts, squares])


def takeover(node: int, player: int) -> bytes:
    """Asks whoever has a player to hand it over."""
    return _pack([TAKEOVER, node, player])


def handover(
    node: int, player: int, to: int, name: str, seq: int, x: int, y: int
) -> bytes:
    """Answers a takeover: the player is the asking node's from now on."""
    return _pack([HANDOVER, node, player, to, name, seq, x, y])


def departed(node: int, player: int, to: int, seq: int, x: int, y: int) -> bytes:
    """Answers a takeover: the player left this node a while ago, at (x, y)."""
    return _pack([DEPARTED, node, player, to, seq, x, y])


def hosted(node: int, pairs: list[int]) -> bytes:
    """Says which players came back to a node and play there: player, seq, and so on."""
    return _pack([HOSTED, node, pairs])


def left(node: int, pairs: list[int]) -> bytes:
    """Says which players have left, as far as a node knows: player, last seq, and so on."""
    return _pack([LEFT, node, pairs])


def order(node: int, deed: int, who: str, seconds: int) -> bytes:
    """Tells what an operator has ordered, and for how long; see server/players/orders.py."""
    return _pack([ORDER, node, deed, who, seconds])


def where(node: int, player: int, nonce: int) -> bytes:
    """Asks where a player is, for a guest that it invited."""
    return _pack([WHERE, node, player, nonce])


def here(node: int, to: int, nonce: int, x: int, y: int) -> bytes:
    """Answers that the player is at (x, y)."""
    return _pack([HERE, node, to, nonce, x, y])
