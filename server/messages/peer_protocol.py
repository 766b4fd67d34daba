"""The messages between nodes, as docs/nodes.md gives them. It packs, reads and checks them only.

The body of a batch is packed in protocol.py, since clients get it too, and read here. Another
program may publish on these channels by mistake or with bad intent, so a malformed message is
refused as a whole, before anything in it is used. This module never checks who sent a message:
whoever has the key can send one (brokers/sealed.py), or, if there is no key, whoever reaches the
broker.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import msgpack

from flatlands.brokers.base import PAYLOAD_LIMIT
from flatlands.server.messages.protocol import ID_LIMIT, LOOK, TIME_MOST, BatchBody, with_header
from flatlands.server.messages.table import NUMBER, Field, Row, number
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT, TEXT_LIMIT, is_address
from flatlands.world import events
from flatlands.world.batches import RECORD, WIDE, Content
from flatlands.world.events import ENTER, EnterEvent
from flatlands.world.grid import Square
from flatlands.world.things import Thing
from flatlands.world.tiles import WRITE
from flatlands.world.track import PACE_LEAST, PACE_MOST, REACH

# On a square's channel. 45, 48 and 53 were used by earlier versions.
OF_SQUARES = BATCH, FULL_STATE, SYNC_REQUEST, CHANGES, KEEPALIVE = 20, 32, 33, 43, 44
# On the channel of all nodes.
HEARTBEAT, WATCH, BROADCAST, SEEK, PLAN = 34, 50, 52, 55, 56
# On a player's channel.
TAKEOVER, HOSTED, WHERE, LEFT = 35, 38, 39, 41
# On a node's channel.
HANDOVER, HERE, ECHO, SOUGHT = 36, 40, 47, 54
# On the channel of a part of the world.
COUNTS = 51

#: The state of a node in its heartbeats: it was ready for players once; it stops, and its players
#: are to come back; or it has started, and was never ready yet.
ALIVE, DRAINING, STARTING = 0, 1, 2

#: The most ms between two heartbeats of a node.
EVERY_MOST = 60_000

#: The most entries in one page of a full state, parts in one `watch`, and dots in one `counts`, of
#: DOT_FIELDS numbers each. This many fit a broker's payload.
ENTRIES, PARTS, DOTS, DOT_FIELDS = 400, 1000, 2500, 5

#: The most values that a game has of a player, and the most entries in a page if it has any.
VALUES, ENTRIES_WITH_VALUES = 8, ENTRIES // 3

#: The most points of a recorded way: a few more than are recorded, for where it ends.
RECORDED = 260

#: The most machines in a plan, and lines between the whole world and one machine's district.
MACHINES, LINES = 500, 200

#: What leads a player that is handed over: nothing but its track, a direction, or a goal.
_STANDS, _HEADS, _GOES = range(3)

#: A player that was found by its name: its id, name, and square; and the most in one answer.
Found = list[Any]
FOUND_MOST = 20

#: The grain of the dot that has the whole world, and the most players of one node in a dot.
WIDEST, CROWD_MOST = 32, 2**24

#: Units from the origin along each axis: farther than there is ground.
_FAR = 2**42

#: The highest seq in a message. A node answers a foreign seq with a higher one of its own, which
#: must be a number that JavaScript holds exactly. The lowest is 0: this node takes -1 for "nothing
#: is known", so it would refuse what clients believe.
_SEQ = 2**52

#: The fields of all messages and events: a field of one name has the same range everywhere. Clients
#: get batches as the bytes that were published, so every value must be one that a client can read.
_FIELDS = {
    field.name: field
    for field in (
        *[number(name) for name in "column row node to nonce number id player ack".split()],
        *[number(name, 0) for name in "previous replaced page slot memory connections".split()],
        *[number(name, 0) for name in ("heard", "version", "term")],
        *[number(name, -_FAR, _FAR) for name in "xy"],
        *[number(name, -REACH, REACH) for name in ("dx", "dy")],
        *[number(name, -TIME_MOST, TIME_MOST) for name in ("sent", "age", "stored")],
        number("pages", 1, 100),
        number("seq", 0, _SEQ),
        number("state", ALIVE, STARTING),
        number("step", 0, 4),
        number("every", 1, EVERY_MOST),
        number("pace", PACE_LEAST, PACE_MOST),
        number("lasts", 0, TIME_MOST),
        Field("values", list, 0, VALUES),
        Field("recorded", list, 0, 3 * RECORDED),
        number("grain", 0, WIDEST),
        LOOK,
        Field("name", str, 1, PLAYER_NAME_LIMIT),
        Field("known_as", str, 0, PLAYER_NAME_LIMIT),
        Field("text", str, 1, TEXT_LIMIT),
        *[Field(name, str) for name in ("ring", "rules", "store")],
        *[Field(name, bool) for name in ("dimmed", "inhabited", "new")],
        *[Field(name, bytes) for name in ("tracks", "wide")],
        *[
            Field(name, list)
            for name in "things gone others entries writes kept fields around".split()
        ],
        Field("walk", list, 0, 10),
        Field("machine", list, 0, 4),
        Field("plan", list, 1, 4),
        Field("found", list, 0, FOUND_MOST),
        Field("parts", list, 0, 4 * PARTS),
        Field("dots", list, 0, DOT_FIELDS * DOTS),
    )
}


def _table_row(name: str, fields: Iterable[str], agree: Callable[..., bool] | None = None) -> Row:
    return Row(name, tuple(_FIELDS[field] for field in fields), agree=agree)


#: The id and the version of a thing.
THING_ID, THING_VERSION = Field("id", str, 1, ID_LIMIT), number("version", 0)


# The following functions say whether the fields of a message agree with each other (Row.agree).


def _is_next(
    _column: int,
    _row: int,
    _node: int,
    previous: int,
    number: int,
    _sent: int,
    tracks: bytes,
    _others: list[Any],
    _replaced: int,
    wide: bytes,
    writes: list[Any],
) -> bool:
    whole = not len(tracks) % RECORD.size and not len(wide) % WIDE.size
    return previous < number and whole and (not writes or _are_writes(writes))


_FOUND_ROW = ("player", "name", "column", "row")


def _are_found(_node: int, _to: int, _nonce: int, found: list[Any]) -> bool:
    return all(
        isinstance(one, list)
        and len(one) == len(_FOUND_ROW)
        and all(_FIELDS[name].allows(value) for name, value in zip(_FOUND_ROW, one, strict=True))
        for one in found
    )


def _is_page(*fields: Any) -> bool:
    *_, page, pages, _items, writes = fields
    return bool(page < pages) and _are_writes(writes)


def _are_writes(writes: list[Any]) -> bool:
    return len(writes) % 2 == 0 and all(
        type(layer) is int and type(some) is bytes and not len(some) % WRITE.size
        for layer, some in zip(writes[::2], writes[1::2], strict=True)
    )


def _are_changes(*fields: Any) -> bool:
    gone = fields[-1]
    return (
        len(gone) % 2 == 0
        and all(THING_ID.allows(id) for id in gone[::2])
        and all(THING_VERSION.allows(version) for version in gone[1::2])
    )


def _are_parts(_node: int, _new: bool, parts: list[Any]) -> bool:
    return not parts or (
        len(parts) % 4 == 0
        and _are_numbers(parts)
        and all(0 <= grain <= WIDEST for grain in parts[::4])
        and all(1 <= most <= CROWD_MOST for most in parts[3::4])
    )


def _is_around(_node: int, _name: str, _told: list[Any], around: list[Any]) -> bool:
    return not around or (len(around) == 3 and _are_numbers(around) and around[2] >= 0)


def _are_counts(_node: int, _page: int, _grain: int, dots: list[Any]) -> bool:
    return not dots or (
        len(dots) % DOT_FIELDS == 0
        and _are_numbers(dots)
        and all(
            0 <= min(some) and max(some) <= CROWD_MOST
            for some in (dots[n::DOT_FIELDS] for n in (2, 3, 4))
        )
    )


def _goes_on(*fields: Any) -> bool:
    *_, points, _look, walk = fields
    return _is_recorded(points) and (not walk or _is_walk(*walk))


def _is_walk(*walk: Any) -> bool:
    if len(walk) != 10 or not _are_numbers(list(walk)):
        return False
    sent, x, y, dx, dy, start, duration, kind, p, q = walk
    return bool(
        max(abs(sent), abs(start)) <= TIME_MOST
        and max(map(abs, (x, y, p, q))) <= _FAR
        and max(abs(dx), abs(dy)) <= REACH
        and 0 <= duration <= TIME_MOST
        and _STANDS <= kind <= _GOES
        and (kind != _HEADS or max(abs(p), abs(q)) == 1)
    )


def _is_heartbeat(*fields: Any) -> bool:
    machine: list[Any] = fields[-1]
    return not machine or (
        len(machine) in (2, 4) and is_address(machine[0]) and _are_numbers(machine[1:])
    )


def _is_plan(_node: int, _term: int, plan: list[Any]) -> bool:
    left = [(plan[0] if len(plan) == 1 else plan, LINES)]
    for turn, (part, lines) in enumerate(left):
        if isinstance(part, list) and len(part) == 4 and lines and _are_numbers(part[:2]):
            axis, at, low, high = part
            if axis not in (0, 1) and not (axis == 2 and 0 <= at < 64):
                return False
            left += (low, lines - 1), (high, lines - 1)
        elif not is_address(part):
            return False
        if turn > 2 * MACHINES:
            return False
    return True


def _is_recorded(points: list[Any]) -> bool:
    ages = points[::3]
    return not points or (
        len(points) % 3 == 0
        and _are_numbers(points)
        and ages == sorted(ages, reverse=True)
        and ages[-1] == 0 <= ages[0] <= TIME_MOST
        and max(map(abs, points[1::3] + points[2::3])) <= _FAR
    )


def _are_numbers(values: list[Any]) -> bool:
    return {int} == set(map(type, values)) and -NUMBER <= min(values) and max(values) <= NUMBER


#: All messages between nodes: docs/nodes.md.
MESSAGES = {
    kind: _table_row(name, fields.split(), agree)
    for kind, name, agree, fields in (
        (
            BATCH,
            "batch",
            _is_next,
            "column row node previous number sent tracks others replaced wide writes",
        ),
        (
            FULL_STATE,
            "full state",
            _is_page,
            "column row node number sent page pages entries writes",
        ),
        (SYNC_REQUEST, "sync request", None, "column row node nonce"),
        (CHANGES, "changes", _are_changes, "column row node store things gone"),
        (KEEPALIVE, "keepalive", None, "column row node number sent inhabited"),
        (
            HEARTBEAT,
            "heartbeat",
            _is_heartbeat,
            "node sent ring rules state every stored memory connections heard machine",
        ),
        (TAKEOVER, "takeover", None, "node player"),
        (
            HANDOVER,
            "handover",
            _goes_on,
            "node player to known_as seq x y pace lasts values recorded look walk",
        ),
        (HOSTED, "hosted", None, "node player seq"),
        (LEFT, "left", None, "node player seq"),
        (WHERE, "where", None, "node player nonce"),
        (HERE, "here", None, "node to nonce name x y dx dy"),
        (ECHO, "echo", None, "node sent"),
        (WATCH, "watch", _are_parts, "node new parts"),
        (BROADCAST, "broadcast", _is_around, "node name fields around"),
        (PLAN, "plan", _is_plan, "node term plan"),
        (SEEK, "seek", None, "node nonce text column row"),
        (SOUGHT, "sought", _are_found, "node to nonce found"),
        (COUNTS, "counts", _are_counts, "node page grain dots"),
    )
}

#: How many items a batch has before its body, with its kind, and as a whole; and what stands for
#: items of the body that were left out. Its tracks never are.
_BODY_FROM = 7
_BATCH = _BODY_FROM + len(Content._fields)
_EMPTY: list[Any] = [[], 0, b"", []]

#: The content of a batch that says nothing.
_NOTHING = Content(b"")


class Kind(NamedTuple):
    """A kind of event or of thing: the named tuple that it is, and the row of its fields."""

    make: type[Any]
    row: Row


def declare(make: type[Any], *own: Field) -> Kind:
    """Return a kind of event or thing that is a named tuple `make`, whose first field is the kind.
    Its other fields have the ranges that they have in every message, or those of `own`."""
    fields = _FIELDS | {field.name: field for field in own}
    return Kind(make, Row(make.__name__, tuple(fields[name] for name in make._fields[1:])))


def enters(values: Sequence[Field]) -> Kind:
    """Return the kind of the enters in a game that has these values of its players."""
    kind, row = declare(EnterEvent), Row("values", tuple(values))
    return kind._replace(row=replace(kind.row, agree=lambda *said: row.fault(said[-1]) is None))


#: The events of batches and full states in every game: docs/protocol.md.
EVENTS = {kind: declare(event) for kind, event in events.EVENT_CLASSES.items()} | {
    ENTER: enters(())
}

_pack: Callable[[Any], bytes] = msgpack.Packer(autoreset=True).pack


class Malformed(Exception):
    """What came on a channel is not a message between nodes. The text says what it is instead."""


def read(payload: bytes) -> list[Any]:
    """Return a message as [kind, field ...], with each field checked. Raises Malformed.

    A batch has all fields of its body, even those that were left out as empty. The events or
    entries in a message are not checked: call `read_content` or `read_entries` with them.
    """
    if len(payload) > PAYLOAD_LIMIT:
        raise Malformed("it is too long")
    try:
        message = msgpack.unpackb(payload)
    except (ValueError, RecursionError, msgpack.UnpackException):
        raise Malformed("it is not MessagePack") from None
    if type(message) is list and _BODY_FROM < len(message) < _BATCH and message[0] == BATCH:
        message += _EMPTY[len(message) - _BATCH :]
    _check(message, MESSAGES)
    return cast(list[Any], message)


def read_content(
    kinds: Mapping[int, Kind],
    tracks: bytes,
    others: list[Any],
    replaced: int,
    wide: bytes,
    writes: list[Any],
) -> Content:
    """Return what a batch says; its events, which come as arrays, become named tuples of some
    kinds. Raises Malformed."""
    return Content(tracks, _named(others, kinds) if others else [], replaced, wide, writes)


def _named(said: list[Any], kinds: Mapping[int, Kind]) -> list[Any]:
    """Return events or things, which come as arrays, as named tuples. Raises Malformed."""
    for one in said:
        kind = one[0] if type(one) is list and one else None
        known = kinds.get(kind) if type(kind) is int else None
        _fit(one, None if known is None else known.row)
    return [kinds[one[0]].make._make(one) for one in said]


def read_body(payload: bytes, column: int, row: int, *header: int) -> BatchBody:
    """Return the body of a batch without `writes`, as it is in its message; the other arguments are
    the message's first fields, up to `sent`. Raises Malformed if these are packed as no node packs
    them."""
    before = _pack([BATCH, column, row, *header])
    if payload[1 : len(before)] != before[1:]:
        raise Malformed("no node packs a batch like this")
    return BatchBody(payload[0] - before[0], payload[len(before) :])


def read_entries(said: list[Any], kinds: Mapping[int, Kind]) -> list[EnterEvent]:
    """Return the entries of a full state, which come as arrays, as named tuples of the kind that
    enters have. Raises Malformed."""
    return _named(said, {ENTER: kinds[ENTER]})


def read_things(said: list[Any], kinds: Mapping[int, Kind]) -> list[Thing]:
    """Return the things of `changes`, which come as arrays, as named tuples of some kinds. Raises
    Malformed."""
    return _named(said, kinds)


def _check(said: Any, rows: dict[int, Row]) -> None:
    """Raise Malformed unless `said` is an array [kind, field ...] as the row of its kind says."""
    kind = said[0] if type(said) is list and said else None
    _fit(said, rows.get(kind) if type(kind) is int else None)


def _fit(said: Any, row: Row | None) -> None:
    """Raise Malformed unless an array is as a row says, if there is one for its kind."""
    if row is None:
        raise Malformed("it is not an array that begins with a known kind")
    fault = row.fault(said[1:])
    if fault is not None:
        raise Malformed(fault)


def batch(
    square: Square,
    node: int,
    previous: int,
    number: int,
    sent: int,
    body: BatchBody,
    content: Content = _NOTHING,
) -> bytes:
    """Pack what happened in a square.

    `number` is the node's next in any square. `previous` is its last in this square, or 0 if it had
    no player there. `sent` is the node time in ms from which ages in the body count back. `body`
    is that of `content`, of which only the writes are looked at.
    """
    header = [BATCH, *square, node, previous, number, sent]
    return _pack([*header, *content]) if content.writes else with_header(header, body)


def _says(kind: int) -> Callable[..., bytes]:
    """Return a function that packs a message of a kind from its fields, in the order of its row."""
    return lambda *fields: _pack([kind, *fields])


def _says_of_square(kind: int) -> Callable[..., bytes]:
    """Return the same for a kind whose first two fields are a square."""
    return lambda square, *fields: _pack([kind, *square, *fields])


def full_state(
    square: Square,
    node: int,
    number: int,
    sent: int,
    page: int,
    pages: int,
    entries: Sequence[Any],
    writes: Sequence[Any] = (),
) -> bytes:
    """Pack one page, of `pages`, of all players that a node has in a square.

    `number` is the node's next, as for a batch; all pages have the same. Ages in `entries` are ms
    before `sent`. `writes` are as in Content (world/batches.py): what the node knows and the store
    may not have.
    """
    return _pack([FULL_STATE, *square, node, number, sent, page, pages, entries, writes])


#: A request to all nodes for their full states of a square. When it comes back with its `nonce`,
#: the sender knows that it receives what is published there.
sync_request = _says_of_square(SYNC_REQUEST)

#: What has changed about the things of a square. `things` are new or have changed. `gone` is id,
#: version, id, version ... of those that are gone. `store` is the identity of the sender's store
#: (stores/base.py).
changes = _says_of_square(CHANGES)

#: The number of a node's last batch or full state in a square, once more. `inhabited`: the node has
#: players there.
keepalive = _says_of_square(KEEPALIVE)

#: A heartbeat. `ring` is the broker's identity, and `rules` that of Channels. `every` is in how
#: many ms the next one comes, and the last four are those of Load in server/squares/peers.py.
heartbeat = _says(HEARTBEAT)

#: What a node sends to itself, to know that what it publishes comes back.
echo = _says(ECHO)

#: A request to the node that has a player to hand it over.
takeover = _says(TAKEOVER)

#: The answer to a takeover by node `to`, which has the player from now on; or, if `known_as`, the
#: player's name, is "", that it left a while ago. `seq` is its last one, and (x, y) its position.
#: It goes at its `pace` for `lasts` more ms (0: for good), and the game has `values` of it.
#: `recorded` is its way, if that is recorded: how many ms ago, x, y, how many ms ago ... to 0. If
#: it is to walk on, `walk` is as in server/players/takeovers.py.
handover = _says(HANDOVER)

#: The plan by which machines share the world, from the `term`th node that has made it: a line with
#: the plans of its two sides, as in server/cluster/districts.py, or one address.
plan = _says(PLAN)

#: A player came back to a node and plays there; and its last seq.
hosted = _says(HOSTED)

#: A player has left, as far as a node knows; and its last seq.
left = _says(LEFT)

#: The question where a player is, for a guest that it has invited.
where = _says(WHERE)

#: The answer to the question `nonce` of node `to`: the player, of this name, is here. The guest
#: begins at (x, y), and the player is (dx, dy) from there.
here = _says(HERE)

#: The request for counts of parts of the world: grain, column, row, most, grain ... With `new` the
#: node that asks has not heard of them yet.
watch = _says(WATCH)

#: A message of a game to all pages of the world: its name and its fields. `around` is
#: empty, or column, row and tiles: then only pages whose players are that near to the tile, along
#: either axis, are told.
broadcast = _says(BROADCAST)

#: The question `nonce`: who has a name with this text, the nearest to a square first; and the
#: answer to node `to`.
seek, sought = _says(SEEK), _says(SOUGHT)

#: How many players of a node are where in a part of the world. `dots` is column, row, people,
#: computer players, batches, column ... Pages from 1 on continue where the one before ended.
counts = _says(COUNTS)
