"""What nodes tell each other besides batches, as docs/nodes.md gives it. Only packs and unpacks.

Whoever has the key is believed (brokers/sealed.py), or where there is none whoever reaches the
broker; but all must make sense: what does not is refused as a whole, before any of it is taken in,
for a program with other plans may publish on these channels too.
"""

from collections.abc import Callable, Collection
from typing import Any

import msgpack

from brokers.base import PAYLOAD_LIMIT
from server.messages.protocol import BATCH, NAME_LIMIT, TEXT_LIMIT
from world.events import ENTER, GONE, LEAVE, SAY, TRACK, Event
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

_STATES = (ALIVE, DRAINING, STARTING)

#: What an operator orders: nobody comes back as a player, or from an address; a player is silent;
#: no newcomers are let in; all are told something.
KICK, BAR, MUTE, DOOR, NOTICE = range(5)

#: Seconds that an order lasts at most, and characters that it has.
ORDER_MOST, ORDER_TEXT = 7 * 24 * 3600, 120

#: Entries in one page of a full state, squares in one heartbeat, and players in one message of
#: those who came back: all fit a broker's payload.
ENTRIES, SQUARES, PAIRS = 400, 3000, 3000

#: Pages of one message, and numbers up or down, at most: what every language can hold exactly.
_PAGES, _NUMBER = 100, 2**53 - 1

#: Times and ages up or down, at most: their sums are numbers too, and told to clients.
_TIME = 2**50

#: A seq that any player could have. Nodes outlive what they hear, and need numbers for that.
_SEQ = 2**52

#: Units from the origin: farther than there is ground.
_FAR = 2**42

#: The types of a message's kind and fields, and of an event's.
_MESSAGES: dict[int, set[tuple[type, ...]]] = {
    BATCH: {(int,) * 8 + (list,)},
    FULL_STATE: {(int,) * 8 + (list,)},
    SYNC_REQUEST: {(int,) * 5},
    HEARTBEAT: {(int, int, int, str, str, int, int, int, list)},
    TAKEOVER: {(int, int, int)},
    HOSTED: {(int, int, list)},
    LEFT: {(int, int, list)},
    HANDOVER: {(int, int, int, int, str, int, int, int)},
    DEPARTED: {(int,) * 7},
    ORDER: {(int, int, int, str, int)},
    WHERE: {(int,) * 4},
    HERE: {(int,) * 6},
}
_EVENTS: dict[int, set[tuple[type, ...]]] = {
    ENTER: {(int, int, int, int, str, bool) + (int,) * 6},
    TRACK: {(int,) * 10},
    LEAVE: {(int,) * 5},
    GONE: {(int,) * 3},
    SAY: {(int, int, str)},
}

_pack: Callable[[Any], bytes] = msgpack.Packer(autoreset=True).pack


class Malformed(Exception):
    """What was heard is no message of nodes."""


def read(payload: bytes) -> list[Any]:
    """Return a message as [kind, field ...]. Events are still to be checked. Raises Malformed."""
    if len(payload) > PAYLOAD_LIMIT:
        raise Malformed("more bytes than nodes publish")
    try:
        message: list[Any] = msgpack.unpackb(payload)
        kind = message[0]
        sound = _are(message, _MESSAGES[kind])
    except (ValueError, LookupError, TypeError, RecursionError, msgpack.UnpackException):
        raise Malformed("no array that begins with a kind") from None
    if sound and kind == HEARTBEAT:
        squares = message[-1]
        sound = _is_page(*message[-3:-1]) and len(squares) % 3 == 0 and message[5] in _STATES
        sound = sound and _is_time(message[2]) and _are(squares, {(int,) * len(squares)})
    elif sound and kind == BATCH:
        sound = 0 <= message[4] < message[5] and _is_time(message[6])
    elif sound and kind == FULL_STATE:
        sound = _is_page(*message[-3:-1]) and _is_time(message[5])
    elif sound and kind in (HOSTED, LEFT):
        pairs = message[-1]
        sound = len(pairs) % 2 == 0 and _are(pairs, {(int,) * len(pairs)})
        sound = sound and all(map(_is_seq, pairs[1::2]))
    elif sound and kind in (HANDOVER, DEPARTED):
        sound = _is_seq(message[-3]) and _is_on_ground(*message[-2:])
        sound = sound and (kind == DEPARTED or 0 < len(message[4]) <= NAME_LIMIT)
    elif sound and kind == ORDER:
        sound = _is_order(*message[2:])
    elif sound and kind == HERE:
        sound = _is_on_ground(*message[-2:])
    if not sound:
        raise Malformed(f"a message of kind {kind} with other fields")
    return message


def check(events: list[Any], kinds: Collection[int] = tuple(_EVENTS)) -> None:
    """Raise Malformed unless all of these are events of these kinds."""
    for event in events:
        if type(event) is not list or not event or event[0] not in kinds:
            raise Malformed("no event of a kind that belongs there")
        if not _are(event, _EVENTS[event[0]]):
            raise Malformed(f"an event of kind {event[0]} with other fields")
        if not _is_in_range(event):
            raise Malformed(f"an event of kind {event[0]} that is longer than any of ours")


def _is_in_range(event: Event) -> bool:
    """Say whether clients can take an event as it is: they get the bytes that were published."""
    kind = event[0]
    if kind == SAY:
        return 0 < len(event[2]) <= TEXT_LIMIT
    # One below 0 would be older than nothing at all here, and new to clients.
    if not _is_seq(event[2]):
        return False
    if kind in (ENTER, TRACK):
        x, y, dx, dy, age, duration = event[-6:]
        if not (-REACH <= dx <= REACH and -REACH <= dy <= REACH and 0 <= duration <= _TIME):
            return False
        if not (_is_on_ground(x, y) and _is_time(age)):
            return False
    return kind != ENTER or 0 < len(event[4]) <= NAME_LIMIT


def _are(values: list[Any], types: set[tuple[type, ...]]) -> bool:
    these = tuple(map(type, values))
    if these not in types:
        return False
    if these.count(int) < len(these):
        values = [value for value in values if type(value) is int]
    return not values or (-_NUMBER <= min(values) and max(values) <= _NUMBER)


def _is_seq(seq: int) -> bool:
    return 0 <= seq <= _SEQ


def _is_time(time: int) -> bool:
    return -_TIME <= time <= _TIME


def _is_on_ground(x: int, y: int) -> bool:
    return -_FAR <= x <= _FAR and -_FAR <= y <= _FAR


def _is_order(deed: int, who: str, seconds: int) -> bool:
    if deed in (KICK, MUTE) and not (who.isascii() and who.isdecimal()):
        return False
    return KICK <= deed <= NOTICE and len(who) <= ORDER_TEXT and 0 <= seconds <= ORDER_MOST


def _is_page(page: int, pages: int) -> bool:
    return 0 <= page < pages <= _PAGES


def full_state(
    square: Square, node: int, number: int, sent: int, page: int, pages: int, entries: list[Event]
) -> bytes:
    """A page of everything that a node has in a square; `number` is that of a batch."""
    return _pack([FULL_STATE, *square, node, number, sent, page, pages, entries])


def sync_request(square: Square, node: int, nonce: int) -> bytes:
    """Asks all nodes for their full state of a square, and oneself whether one hears it."""
    return _pack([SYNC_REQUEST, *square, node, nonce])


def heartbeat(
    node: int, sent: int, ring: str, world: str, state: int, part: int, parts: int,
    squares: list[int],
) -> bytes:  # fmt: skip
    """A part of a heartbeat; `squares` is column, row, last batch number, and so on."""
    return _pack([HEARTBEAT, node, sent, ring, world, state, part, parts, squares])


def takeover(node: int, id: int) -> bytes:
    """Asks whoever has a player to hand it over."""
    return _pack([TAKEOVER, node, id])


def handover(
    node: int, id: int, to: int, name: str, seq: int, x: int, y: int
) -> bytes:
    """Answers a takeover: the player is the asking node's from now on."""
    return _pack([HANDOVER, node, id, to, name, seq, x, y])


def departed(node: int, id: int, to: int, seq: int, x: int, y: int) -> bytes:
    """Answers a takeover: the player left this node a while ago, at (x, y)."""
    return _pack([DEPARTED, node, id, to, seq, x, y])


def hosted(node: int, pairs: list[int]) -> bytes:
    """Says which players came back to a node and play there: player, seq, and so on."""
    return _pack([HOSTED, node, pairs])


def left(node: int, pairs: list[int]) -> bytes:
    """Says which players have left, as far as a node knows: player, last seq, and so on."""
    return _pack([LEFT, node, pairs])


def order(node: int, deed: int, who: str, seconds: int) -> bytes:
    """Tells what an operator has ordered, and for how long; see server/players/orders.py."""
    return _pack([ORDER, node, deed, who, seconds])


def where(node: int, id: int, nonce: int) -> bytes:
    """Asks where a player is, for a guest that it invited."""
    return _pack([WHERE, node, id, nonce])


def here(node: int, to: int, nonce: int, x: int, y: int) -> bytes:
    """Answers that the player is at (x, y)."""
    return _pack([HERE, node, to, nonce, x, y])
