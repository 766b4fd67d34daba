"""The messages between nodes, as docs/nodes.md gives them. It packs, reads and checks them only.

Each message is a named tuple, from which its row of the table follows, but for the batch, of which
most messages are: peer_batches.py packs it, and reads what is in it. Another program may publish on
these channels by mistake or with bad intent, so a malformed message is refused as a whole, before
anything in it is used. This module never checks who sent a message: whoever has the key can send
one (brokers/sealed.py), or, if there is no key, whoever reaches the broker.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgpack

from flatlands.brokers.base import PAYLOAD_LIMIT
from flatlands.server.messages.protocol import FIRST_UNSTORED_ID, ID_LIMIT, LOOK, TIME_MOST
from flatlands.server.messages.table import NUMBER, Field, Row, number
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT, TEXT_LIMIT, is_address
from flatlands.world.batches import RECORD, WIDE, BatchContent, Writes
from flatlands.world.tiles import WRITE
from flatlands.world.track import INTENTS, PACE_LEAST, PACE_MOST, REACH, Heading

# The kinds of messages on a square's channel. 45, 48 and 53 were used by earlier versions.
BATCH = 20
FULL_STATE = 32
SYNC_REQUEST = 33
THING_CHANGES = 43
KEEPALIVE = 44
# On the channel of all nodes.
HEARTBEAT = 34
WATCH = 50
BROADCAST = 52
NAME_QUERY = 55
PLAN = 56
NEWS = 57
SEND_TO_OWNER = 58
PRESENCE_QUERY = 61
MOVER_SPAWNED = 63
TRACK_QUERY = 64
# On a player's channel.
TAKEOVER = 35
HOSTED = 38
HOST_QUERY = 39
LEFT = 41
SEND = 59
MOVER_CHANGED = 65
MOVER_GO = 66
MOVER_SWAP = 68
# On a node's channel.
HANDOVER = 36
HOST_ANSWER = 40
ECHO = 47
NAME_ANSWER = 54
DELIVERED = 60
PRESENCE_ANSWER = 62
TRACK_ANSWER = 67
MOVER_SWAPPED = 69
# On the channel of an area of the world.
COUNTS = 51

# The state of a node in its heartbeats.
#: It was ready for players once.
ALIVE = 0
#: It stops, and its players are to come back.
DRAINING = 1
#: It has started, and was never ready yet.
STARTING = 2

#: The most ms between two heartbeats of a node.
HEARTBEAT_INTERVAL_MOST_MS = 60_000

# What fits a broker's payload.
#: The most entries in one page of a full state.
ENTRIES = 400
#: The most areas in one `watch`.
AREAS_MOST = 1000
#: The numbers of a dot in `counts`, and the most dots in one.
DOT_FIELDS = 5
PATCH_DOTS_MOST = 2500

#: The most values that a game has of a player, and the most entries in a page if it has any.
VALUES_MOST = 8
ENTRIES_WITH_VALUES = ENTRIES // 3

#: The most characters of an owner, which is a hash (storage/boards.py).
OWNER_CHARS_MOST = 64

#: The most points of a recorded way: a few more than are recorded, for where it ends.
RECORDED_POINTS_MOST = 260

#: The most players in a question who of them is there.
PRESENCE_PLAYERS_MOST = 1000

#: The numbers of a track of a mover: its number, its seq, its square, where it begins, where that
#: leads, when it began, and for how long; and the most of them in one answer.
MOVER_TRACK_NUMBERS = 10
MOVER_TRACKS_MOST = 400

#: The most places of the way of a mover, and the groups of movers.
MOVER_PATH_MOST = 50

#: The most movers that a node spawns at once.
MOVERS_SPAWNED_MOST = 100
MOVER_GROUPS = 32

#: The most machines in a plan.
MACHINES = 500
#: The most lines between the whole world and one machine's district.
LINES_MOST = 200

#: A player that was found by its name: its id, name, and square.
Found = list[Any]
#: The most of them in one answer.
FOUND_MOST = 20

#: The grain of the dot that has the whole world.
WIDEST = 32
#: The most players of one node in a dot.
CROWD_MOST = 2**24

#: Units from the origin along each axis: farther than there is ground.
_FAR = 2**42

#: The highest seq in a message. A node answers a foreign seq with a higher one of its own, which
#: must be a number that JavaScript holds exactly. The lowest is 0: to this node -1 means that it
#: has no seq of the player, so it would refuse what clients believe.
_SEQ = 2**52

#: The fields of all messages and events: a field of one name has the same range everywhere. Clients
#: get batches as the bytes that were published, so every value must be one that a client can read.
FIELDS = {
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
        number("every", 1, HEARTBEAT_INTERVAL_MOST_MS),
        number("pace", PACE_LEAST, PACE_MOST),
        number("lasts", 0, TIME_MOST),
        Field("values", list, 0, VALUES_MOST),
        Field("recorded", list, 0, 3 * RECORDED_POINTS_MOST),
        number("grain", 0, WIDEST),
        LOOK,
        Field("name", str, 1, PLAYER_NAME_LIMIT),
        Field("known_as", str, 0, PLAYER_NAME_LIMIT),
        Field("text", str, 1, TEXT_LIMIT),
        Field("owner", str, 1, OWNER_CHARS_MOST),
        *[Field(name, str) for name in ("ring", "rules", "store")],
        *[Field(name, bool) for name in ("dimmed", "inhabited", "new", "done", "moves")],
        *[Field(name, bytes) for name in ("tracks", "wide")],
        *[
            Field(name, list)
            for name in "things gone others entries writes kept fields around".split()
        ],
        Field("walk", list, 0, 10),
        Field("machine", list, 0, 4),
        Field("plan", list, 1, 4),
        Field("found", list, 0, FOUND_MOST),
        Field("areas", list, 0, 4 * AREAS_MOST),
        Field("players", list, 0, PRESENCE_PLAYERS_MOST),
        Field("dots", list, 0, DOT_FIELDS * PATCH_DOTS_MOST),
        Field("heading", list, 0, 2),
        Field("path", list, 0, 2 * MOVER_PATH_MOST),
        Field("groups", list, 1, MOVER_GROUPS),
        Field("numbers", list, 1, MOVERS_SPAWNED_MOST),
        Field("seen", list, 0, MOVER_TRACK_NUMBERS * MOVER_TRACKS_MOST),
    )
}


#: The id and the version of a thing.
THING_ID = Field("id", str, 1, ID_LIMIT)
THING_VERSION = number("version", 0)


class FullState(NamedTuple):
    """One page, of `pages`, of all players that a node has in a square.

    `number` is the node's next, as for a batch; all pages have the same. Ages in `entries` are ms
    before `sent`. `writes` are those that the store may not have.
    """

    column: int
    row: int
    node: int
    number: int
    sent: int
    page: int
    pages: int
    entries: Sequence[Any]
    writes: Writes = ()


class SyncRequest(NamedTuple):
    """A request to all nodes for their full states of a square. When it comes back with its
    `nonce`, the sender is certain that it receives what is published there."""

    column: int
    row: int
    node: int
    nonce: int


class ThingChanges(NamedTuple):
    """The things of a square that have changed.

    `things` are new or have changed. `gone` is id, version, id, version ... of those that are gone.
    `store` is the identity of the sender's store (stores/base.py).
    """

    column: int
    row: int
    node: int
    store: str
    things: Sequence[Any]
    gone: Sequence[Any]


class Keepalive(NamedTuple):
    """A node's last number in a square, repeated because it has published nothing there since.
    `inhabited`: the node has players there."""

    column: int
    row: int
    node: int
    number: int
    sent: int
    inhabited: bool


class Heartbeat(NamedTuple):
    """The state of a node, which it publishes to all.

    `ring` is the broker's identity, and `rules` that of Channels. `every` is in how many ms the
    next one comes. `moves`: it shares in moving the movers of the store. The last four are those of
    NodeLoad in server/squares/peers.py.
    """

    node: int
    sent: int
    ring: str
    rules: str
    state: int
    every: int
    stored: int
    moves: bool
    memory: int
    connections: int
    heard: int
    machine: Sequence[Any]


class Watch(NamedTuple):
    """The request for counts of areas of the world: grain, column, row, most, grain ... `new`: the
    node that asks has received nothing of them yet."""

    node: int
    new: bool
    areas: list[int]


class Broadcast(NamedTuple):
    """A message of a game to all pages of the world: its name and its fields. `around` is empty, or
    column, row and tiles: then only pages whose players are that near to the tile, along either
    axis, get it."""

    node: int
    name: str
    fields: list[Any]
    around: list[int]


class News(NamedTuple):
    """A message of a game to all nodes of the world: its name and its fields."""

    node: int
    name: str
    fields: list[Any]


class SendToOwner(NamedTuple):
    """A message of a game to all pages on which the person `owner` plays."""

    node: int
    owner: str
    name: str
    fields: list[Any]


class Send(NamedTuple):
    """A message of a game to the page of a player. With a `nonce` above 0 the node that writes it
    to the player's connection answers."""

    node: int
    player: int
    nonce: int
    name: str
    fields: list[Any]


class Delivered(NamedTuple):
    """The answer to the `send` with this `nonce` of node `to`."""

    node: int
    to: int
    nonce: int


class PresenceQuery(NamedTuple):
    """The question `nonce`: which of these players, by their ids, are there?"""

    node: int
    nonce: int
    players: list[int]


class PresenceAnswer(NamedTuple):
    """The answer to the question `nonce` of node `to`: these players are here."""

    node: int
    to: int
    nonce: int
    players: list[int]


class MoverSpawned(NamedTuple):
    """The numbers of movers that the store has now, in groups that the sender does not hold."""

    node: int
    numbers: list[int]


class MoverGo(NamedTuple):
    """A way for a mover, which its node is to let it go: in the direction `heading` (dx, dy), or
    over the places of `path` (x, y, x, y ...); it stands if both are empty."""

    node: int
    player: int
    heading: list[int]
    path: list[int]


class MoverChanged(NamedTuple):
    """A mover that has changed in the store, or is gone from there: its node is to read it."""

    node: int
    player: int


class MoverSwap(NamedTuple):
    """The request `nonce` to the node of a mover that no store has: give it these values if it has
    this version, or remove it if there are none."""

    node: int
    player: int
    nonce: int
    version: int
    values: Sequence[Any]


class MoverSwapped(NamedTuple):
    """The answer to the request `nonce` of node `to`: whether that was done, and the values of the
    mover then; none if it is gone."""

    node: int
    to: int
    nonce: int
    done: bool
    values: Sequence[Any]


class TrackQuery(NamedTuple):
    """The question `nonce` of a node that has claimed these groups of movers: where were they seen
    last?"""

    node: int
    nonce: int
    groups: list[int]


class TrackAnswer(NamedTuple):
    """An answer to the question `nonce` of node `to`: of each mover MOVER_TRACK_NUMBERS numbers,
    which are id, seq, column, row, x, y, dx, dy, start, duration. Times are the sender's, who sent
    the message at `sent`."""

    node: int
    to: int
    nonce: int
    sent: int
    seen: list[int]


class Plan(NamedTuple):
    """The plan by which machines share the world, from the `term`th node that has made it: a line
    with the plans of its two sides, as in server/cluster/districts.py, or one address."""

    node: int
    term: int
    plan: Sequence[Any]


class NameQuery(NamedTuple):
    """The question `nonce`: who has a name with this text? The nearest to a square come first."""

    node: int
    nonce: int
    text: str
    column: int
    row: int


class NameAnswer(NamedTuple):
    """The answer to the question `nonce` of node `to`: the players of this node that were found."""

    node: int
    to: int
    nonce: int
    found: list[Found]


class Takeover(NamedTuple):
    """A request to the node that has a player to hand it over."""

    node: int
    player: int


class Handover(NamedTuple):
    """The answer to a takeover by node `to`, which has the player from now on; or, if `known_as`,
    the player's name, is "", that it left a while ago.

    `seq` is its last one, and (x, y) its position. It goes at its `pace` for `lasts` more ms (0:
    for good), and the game has `values` of it. `recorded` is its way, if that is recorded: how many
    ms ago, x, y, how many ms ago ... to 0. If it is to walk on, `walk` is as in
    server/players/takeovers.py.
    """

    node: int
    player: int
    to: int
    known_as: str
    seq: int
    x: int
    y: int
    pace: int
    lasts: int
    values: Sequence[Any]
    recorded: Sequence[int]
    look: int
    walk: Sequence[int]


class Hosted(NamedTuple):
    """A player came back to a node and plays there; and its last seq."""

    node: int
    player: int
    seq: int


class Left(NamedTuple):
    """A player that a node had has left; and its last seq."""

    node: int
    player: int
    seq: int


class HostQuery(NamedTuple):
    """The question `nonce`: where is this player, who has invited a guest?"""

    node: int
    player: int
    nonce: int


class HostAnswer(NamedTuple):
    """The answer to the question `nonce` of node `to`: the host, of this name, is at this node. The
    guest begins at (x, y), and the host is (dx, dy) from there."""

    node: int
    to: int
    nonce: int
    name: str
    x: int
    y: int
    dx: int
    dy: int


class Echo(NamedTuple):
    """A message of a node to itself, which proves that what it publishes comes back."""

    node: int
    sent: int


class Counts(NamedTuple):
    """The numbers of a node's players in the dots of an area. `dots` is column, row, people,
    computer players, batches, column ... Pages from 1 on continue where the one before ended."""

    node: int
    page: int
    grain: int
    dots: list[int]


# The following functions return whether the fields of a message agree with each other.


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


def _is_page(state: FullState) -> bool:
    return state.page < state.pages and _are_writes(state.writes)


def _are_writes(writes: Writes) -> bool:
    return len(writes) % 2 == 0 and all(
        type(layer) is int and type(some) is bytes and not len(some) % WRITE.size
        for layer, some in zip(writes[::2], writes[1::2], strict=True)
    )


def _are_changes(changes: ThingChanges) -> bool:
    gone = changes.gone
    return (
        len(gone) % 2 == 0
        and all(THING_ID.allows(id) for id in gone[::2])
        and all(THING_VERSION.allows(version) for version in gone[1::2])
    )


def _is_heartbeat(beat: Heartbeat) -> bool:
    machine = beat.machine
    return not machine or (
        len(machine) in (2, 4) and is_address(machine[0]) and _are_numbers(machine[1:])
    )


def _are_areas(watch: Watch) -> bool:
    areas = watch.areas
    return not areas or (
        len(areas) % 4 == 0
        and _are_numbers(areas)
        and all(0 <= grain <= WIDEST for grain in areas[::4])
        and all(1 <= most <= CROWD_MOST for most in areas[3::4])
    )


def _is_around(broadcast: Broadcast) -> bool:
    around = broadcast.around
    return not around or (len(around) == 3 and _are_numbers(around) and around[2] >= 0)


def _are_players(message: PresenceQuery | PresenceAnswer) -> bool:
    return not message.players or _are_numbers(message.players)


def _is_way(message: MoverGo) -> bool:
    heading, path = message.heading, message.path
    return (
        (not heading or (len(heading) == 2 and _are_numbers(heading)))
        and all(abs(n) <= 1 for n in heading)
        and (not path or (len(path) % 2 == 0 and _are_numbers(path)))
        and all(abs(n) <= _FAR for n in path)
    )


def _are_spawned(spawned: MoverSpawned) -> bool:
    return _are_numbers(spawned.numbers) and all(
        0 <= n < FIRST_UNSTORED_ID for n in spawned.numbers
    )


def _are_groups(query: TrackQuery) -> bool:
    return _are_numbers(query.groups) and all(0 <= n < MOVER_GROUPS for n in query.groups)


def _are_seen(answer: TrackAnswer) -> bool:
    seen, size = answer.seen, MOVER_TRACK_NUMBERS
    return not seen or (
        len(seen) % size == 0
        and _are_numbers(seen)
        and all(
            0 <= seq <= _SEQ
            and max(abs(x), abs(y)) <= _FAR
            and max(abs(dx), abs(dy)) <= REACH
            and abs(start) <= TIME_MOST
            and 0 <= duration <= TIME_MOST
            for _, seq, _, _, x, y, dx, dy, start, duration in (
                seen[at : at + size] for at in range(0, len(seen), size)
            )
        )
    )


def _is_plan(message: Plan) -> bool:
    plan = message.plan
    left = [(plan[0] if len(plan) == 1 else plan, LINES_MOST)]
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


_FOUND_ROW = ("player", "name", "column", "row")


def _are_found(answer: NameAnswer) -> bool:
    return all(
        isinstance(one, list)
        and len(one) == len(_FOUND_ROW)
        and all(FIELDS[name].allows(value) for name, value in zip(_FOUND_ROW, one, strict=True))
        for one in answer.found
    )


def _goes_on(player: Handover) -> bool:
    return _is_recorded(player.recorded) and (not player.walk or _is_walk(player.walk))


def _is_recorded(points: Sequence[Any]) -> bool:
    ages = points[::3]
    return not points or (
        len(points) % 3 == 0
        and _are_numbers(points)
        and ages == sorted(ages, reverse=True)
        and ages[-1] == 0 <= ages[0] <= TIME_MOST
        and all(abs(at) <= _FAR for at in (*points[1::3], *points[2::3]))
    )


def _is_walk(walk: Sequence[Any]) -> bool:
    if len(walk) != 10 or not _are_numbers(walk):
        return False
    sent, x, y, dx, dy, start, duration, kind, p, q = walk
    return bool(
        max(abs(sent), abs(start)) <= TIME_MOST
        and max(map(abs, (x, y, p, q))) <= _FAR
        and max(abs(dx), abs(dy)) <= REACH
        and 0 <= duration <= TIME_MOST
        and 0 <= kind < len(INTENTS)
        and (INTENTS[kind] is not Heading or max(abs(p), abs(q)) == 1)
    )


def _are_counts(counts: Counts) -> bool:
    dots = counts.dots
    return not dots or (
        len(dots) % DOT_FIELDS == 0
        and _are_numbers(dots)
        and all(
            0 <= min(some) and max(some) <= CROWD_MOST
            for some in (dots[n::DOT_FIELDS] for n in (2, 3, 4))
        )
    )


def _are_numbers(values: Sequence[Any]) -> bool:
    return {int} == set(map(type, values)) and -NUMBER <= min(values) and max(values) <= NUMBER


#: A message between nodes other than a batch.
PeerMessage = (
    FullState
    | SyncRequest
    | ThingChanges
    | Keepalive
    | Heartbeat
    | Watch
    | Broadcast
    | News
    | SendToOwner
    | Send
    | Delivered
    | PresenceQuery
    | PresenceAnswer
    | MoverSpawned
    | MoverGo
    | MoverChanged
    | MoverSwap
    | MoverSwapped
    | TrackQuery
    | TrackAnswer
    | Plan
    | NameQuery
    | NameAnswer
    | Takeover
    | Handover
    | Hosted
    | Left
    | HostQuery
    | HostAnswer
    | Echo
    | Counts
)

#: Its kinds: docs/nodes.md.
MESSAGES: Final[dict[int, type[PeerMessage]]] = {
    FULL_STATE: FullState,
    SYNC_REQUEST: SyncRequest,
    THING_CHANGES: ThingChanges,
    KEEPALIVE: Keepalive,
    HEARTBEAT: Heartbeat,
    WATCH: Watch,
    BROADCAST: Broadcast,
    NEWS: News,
    SEND_TO_OWNER: SendToOwner,
    SEND: Send,
    DELIVERED: Delivered,
    PRESENCE_QUERY: PresenceQuery,
    PRESENCE_ANSWER: PresenceAnswer,
    MOVER_SPAWNED: MoverSpawned,
    MOVER_GO: MoverGo,
    MOVER_SWAP: MoverSwap,
    MOVER_SWAPPED: MoverSwapped,
    MOVER_CHANGED: MoverChanged,
    TRACK_QUERY: TrackQuery,
    TRACK_ANSWER: TrackAnswer,
    PLAN: Plan,
    NAME_QUERY: NameQuery,
    NAME_ANSWER: NameAnswer,
    TAKEOVER: Takeover,
    HANDOVER: Handover,
    HOSTED: Hosted,
    LEFT: Left,
    HOST_QUERY: HostQuery,
    HOST_ANSWER: HostAnswer,
    ECHO: Echo,
    COUNTS: Counts,
}
_KINDS: Final[dict[type[Any], int]] = {make: kind for kind, make in MESSAGES.items()}

#: The messages about movers, which only nodes whose game has any obey.
OF_MOVERS: Final = (
    *(MoverSpawned, MoverGo, MoverChanged, MoverSwap, MoverSwapped),
    *(TrackQuery, TrackAnswer),
)

#: The messages on a square's channel, besides batches.
OF_SQUARES: Final = (FullState, SyncRequest, ThingChanges, Keepalive)

#: The checks of those whose fields must agree with each other.
_CROSS_CHECKS: Final[dict[int, Callable[[Any], bool]]] = {
    FULL_STATE: _is_page,
    THING_CHANGES: _are_changes,
    HEARTBEAT: _is_heartbeat,
    WATCH: _are_areas,
    BROADCAST: _is_around,
    PRESENCE_QUERY: _are_players,
    PRESENCE_ANSWER: _are_players,
    MOVER_SPAWNED: _are_spawned,
    MOVER_GO: _is_way,
    TRACK_QUERY: _are_groups,
    TRACK_ANSWER: _are_seen,
    PLAN: _is_plan,
    NAME_ANSWER: _are_found,
    HANDOVER: _goes_on,
    COUNTS: _are_counts,
}

#: A batch: the values of its fields.
Batch = list[Any]
_BATCH_HEADER = ("column", "row", "node", "previous", "number", "sent")


def _row(name: str, fields: Iterable[str], agree: Callable[..., bool] | None = None) -> Row:
    return Row(name, tuple(FIELDS[field] for field in fields), agree=agree)


def _name(make: type[PeerMessage]) -> str:
    """Return the name of a kind as docs/nodes.md has it: "full state" of FullState."""
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", make.__name__).lower()


#: The rows of all messages between nodes.
MESSAGE_ROWS: Final = {
    BATCH: _row("batch", (*_BATCH_HEADER, *BatchContent._fields), _is_next),
    **{kind: _row(_name(make), make._fields) for kind, make in MESSAGES.items()},
}

#: The values of items of a batch's body that were left out. Its tracks never are.
_LEFT_OUT: Final[list[Any]] = [[], 0, b"", []]
_BATCH_FIELDS: Final = len(_BATCH_HEADER) + len(BatchContent._fields)

_pack: Callable[[Any], bytes] = msgpack.Packer(autoreset=True).pack


class Malformed(Exception):
    """A payload from a channel is not a message between nodes. The text says what it is instead."""


def pack(message: PeerMessage) -> bytes:
    """Pack a message other than a batch."""
    return _pack([_KINDS[type(message)], *message])


def read(payload: bytes) -> PeerMessage | Batch:
    """Return a message, with each field checked. Raises Malformed.

    A batch has all fields of its body, even those that were left out as empty. The events or
    entries in a message are not checked: call `read_content` or `read_entries` (peer_batches.py)
    with them.
    """
    if len(payload) > PAYLOAD_LIMIT:
        raise Malformed("it is too long")
    try:
        message = msgpack.unpackb(payload)
    except (ValueError, RecursionError, msgpack.UnpackException):
        raise Malformed("it is not MessagePack") from None
    kind: Any = message[0] if type(message) is list and message else None
    row = MESSAGE_ROWS.get(kind) if type(kind) is int else None
    if row is None:
        raise Malformed(NOT_KNOWN)
    fields: list[Any] = message[1:]
    if kind == BATCH:
        if len(_BATCH_HEADER) < len(fields) < _BATCH_FIELDS:
            fields += _LEFT_OUT[len(fields) - _BATCH_FIELDS :]
        fit(fields, row)
        return fields
    fit(fields, row)
    named = MESSAGES[kind]._make(fields)
    agree = _CROSS_CHECKS.get(kind)
    if agree is not None and not agree(named):
        raise Malformed(row.disagree)
    return named


def fit(fields: Sequence[Any], row: Row) -> None:
    """Raise Malformed unless fields agree with a row."""
    fault = row.fault(fields)
    if fault is not None:
        raise Malformed(fault)


#: The fault of a message, an event or a thing of no known kind.
NOT_KNOWN = "it is not an array that begins with a known kind"
