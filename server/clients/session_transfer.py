"""The state that goes from one worker of a machine to another with the socket of a client.

It is packed by the names of fields, so that two versions of this program that run side by side
during an update refuse each other's messages, and never take one field for another.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import msgpack

from flatlands.server.clients.admission import Hello, Spawn
from flatlands.server.players.invitations import Inviter
from flatlands.server.players.resident import State
from flatlands.world.grid import Viewport
from flatlands.world.track import Goal, Heading, Track


class PendingHello(NamedTuple):
    """The hello of a client that was neither welcomed nor refused yet. `early` is what the client
    has sent since, as (kind, fields)."""

    hello: Hello
    spawn: Spawn
    early: Sequence[tuple[int, Sequence[object]]]


class SessionState(NamedTuple):
    """The state that another session needs to go on with a player.

    Besides the player's state these are the numbers of the last intent and of the last flush,
    whether the client's last message about the link said that there is one, its rates
    (Rates.full_at), and whether the player may be at another node too.
    """

    player: State
    view: Viewport
    intent: int
    flush: int
    linked: bool
    rates: Sequence[tuple[Hashable, float]]
    announced: bool


#: Class -> the names of its fields, by which it is packed. Its position is its MessagePack type.
_CLASSES: dict[Callable[..., object], tuple[str, ...]] = {
    **{
        each: each._fields
        for each in (PendingHello, SessionState, Hello, Spawn, Inviter, State, Viewport)
    },
    Track: ("x", "y", "dx", "dy", "start", "duration"),
    Heading: ("x", "y"),
    Goal: ("x", "y"),
}


def pack(what: object) -> bytes:
    """Pack plain values and objects of these classes, which may be nested."""
    packed: bytes = msgpack.packb(what, default=_plain, strict_types=True)
    return packed


def unpack(packed: bytes) -> Any:
    """Return what was packed, with tuples in place of lists. Raises what msgpack raises, or a class
    that gets other fields than it has."""
    return msgpack.unpackb(packed, use_list=False, ext_hook=_made)


def _plain(what: object) -> object:
    kind = type(what)
    if isinstance(what, tuple) and kind is tuple:
        return list(what)
    fields = {name: getattr(what, name) for name in _CLASSES[kind]}
    return msgpack.ExtType(list(_CLASSES).index(kind), pack(fields))


def _made(code: int, packed: bytes) -> object:
    return list(_CLASSES)[code](**unpack(packed))
