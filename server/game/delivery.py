"""Delivers what a game sends to pages and to other nodes, wherever in the world these are.

A player's node is subscribed to that player's channel and, if the game declares `presence`, to its
owner's, so a message for one goes only there.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from gevent.event import AsyncResult

from flatlands.brokers.base import PAYLOAD_LIMIT
from flatlands.server.messages import protocol
from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import (
    Broadcast,
    Delivered,
    Malformed,
    News,
    Send,
    SendToOwner,
    pack,
)
from flatlands.server.messages.table import NUMBER
from flatlands.server.players.presence import Presence
from flatlands.server.players.residents import Residents
from flatlands.server.runtime.timers import TimerQueue

#: How long `deliver` waits for an answer, and the time after which it asks once more.
DELIVERY_MS: Final = 1000
TRY_AGAIN_MS: Final = 400

#: How long a node remembers that it has delivered a message, lest it do so twice.
REMEMBERED_MS: Final = 2000


def _ignore(name: str, fields: list[object]) -> None:
    """Ignore news."""


def pack_message(name: str, fields: Sequence[object]) -> bytes:
    """Return a message to a page, packed. Raises ValueError if a page cannot read it."""
    _check_message(name, [name, *fields])
    return protocol.message(name, fields)


def _check_message(name: object, value: object) -> None:
    if isinstance(value, list | tuple):
        for one in value:
            _check_message(name, one)
    elif not (value is None or isinstance(value, bool | str)) and not (
        isinstance(value, int) and -NUMBER <= value <= NUMBER
    ):
        kinds = "None, booleans, whole numbers, texts, and lists of these"
        raise ValueError(f"{name} has {value!r}: pages can be sent only {kinds}")


class _Request(NamedTuple):
    """A message for the page of a `player`, which is sent again until a node time in ms or until it
    is delivered. `shown` is the message as pages get it, and `payload` as nodes do."""

    player: int
    until: int
    shown: bytes
    payload: bytes
    answer: "AsyncResult[bool]"


class Delivery:
    """Sends the messages of a game, and receives those of other nodes. Names and fields are as
    `pack_message` takes them: it raises ValueError for others."""

    def __init__(self, bus: Bus, residents: Residents, presence: Presence) -> None:
        self._bus = bus
        self._node = bus.node
        self._residents = residents
        self._presence = presence
        self._loop = bus.loop
        self._nonces = itertools.count(1)
        #: The requests that wait for an answer, by their nonces.
        self._requests: dict[int, _Request] = {}
        self._tries = TimerQueue(self._loop, lambda nonce, _due: self._try(nonce))
        #: The messages, as (node, nonce), that this node has delivered for another one lately.
        self._delivered = TimerQueue(self._loop, lambda _key, _due: None)
        self._news_listener: Callable[[str, list[object]], None] = _ignore

    def set_news_listener(self, listener: Callable[[str, list[object]], None]) -> None:
        """Call `listener` with the name and the fields of all news."""
        self._news_listener = listener

    # What this node sends.

    def broadcast(self, name: str, fields: list[object], around: list[int]) -> None:
        """Send to the pages of all players in the world, or of those within `around`: column, row,
        tiles along either axis."""
        pack_message(name, fields)
        message = Broadcast(self._node, name, fields, around)
        if not self._bus.to_all(pack(message)):
            self.on_broadcast(message)

    def publish(self, name: str, fields: list[object]) -> None:
        """Publish news to all nodes of the world, this one included."""
        pack_message(name, fields)
        message = News(self._node, name, fields)
        if not self._bus.to_all(pack(message)):
            self.on_news(message)

    def send(self, player: int, name: str, fields: list[object]) -> None:
        """Send to the page of a player, at whichever node it is."""
        shown, payload = self._pack_send(player, 0, name, fields)
        if not self._show(player, shown):
            self._bus.to_player(player, payload)

    def send_to_owner(self, owner: str, name: str, fields: list[object]) -> None:
        """Send to all pages on which a person plays, at whichever nodes."""
        pack_message(name, fields)
        message = SendToOwner(self._node, owner, name, fields)
        if not self._bus.to_owner(owner, pack(message)):
            self.on_send_to_owner(message)

    def deliver(self, player: int, name: str, fields: list[object]) -> bool:
        """Send to the page of a player, and return whether a node that has the player has written
        that to an open connection. It waits for DELIVERY_MS at most."""
        nonce = next(self._nonces)
        shown, payload = self._pack_send(player, nonce, name, fields)
        until, answer = self._loop.now() + DELIVERY_MS, self._loop.result()
        self._requests[nonce] = _Request(player, until, shown, payload, answer)
        try:
            self._try(nonce)
            return bool(answer.get())
        finally:
            del self._requests[nonce]
            self._tries.drop(nonce)

    def _pack_send(
        self, player: int, nonce: int, name: str, fields: list[object]
    ) -> tuple[bytes, bytes]:
        """Return a message as the player's page gets it, and as its node does. What would be too
        long for another node is refused, though the player may be here. Raises ValueError."""
        shown, payload = (
            pack_message(name, fields),
            pack(Send(self._node, player, nonce, name, fields)),
        )
        if len(payload) > PAYLOAD_LIMIT:
            raise ValueError(f"a payload has at most {PAYLOAD_LIMIT} bytes, not {len(payload)}")
        return shown, payload

    def _try(self, nonce: int) -> None:
        """Deliver a message that waits for an answer, or ask other nodes to do so."""
        request, now = self._requests[nonce], self._loop.now()
        if self._show(request.player, request.shown):
            request.answer.set(True)
        elif now >= request.until:
            request.answer.set(False)
        else:
            self._bus.to_player(request.player, request.payload)
            self._tries.put(nonce, min(now + TRY_AGAIN_MS, request.until))

    # What other nodes have sent.

    def on_broadcast(self, message: Broadcast) -> None:
        """Show a message of the game to those players of this node for whom it is."""
        shown = _read(message.name, message.fields)
        self._residents.each_session(lambda session: session.answer(shown), message.around)

    def on_news(self, message: News) -> None:
        """Give news to the game."""
        _read(message.name, message.fields)
        self._news_listener(message.name, message.fields)

    def on_send_to_owner(self, message: SendToOwner) -> None:
        """Show a message to a person, in each of its windows at this node."""
        shown = _read(message.name, message.fields)
        for player in self._presence.players_of(message.owner):
            self._show(player, shown)

    def on_send(self, message: Send) -> None:
        """Show a message to a player if it is here, and answer if the sender waits for that."""
        shown = _read(message.name, message.fields)
        key = message.node, message.nonce
        if key not in self._delivered and not self._show(message.player, shown):
            return
        if message.nonce:
            self._delivered.put(key, self._loop.now() + REMEMBERED_MS)
            answer = Delivered(self._node, message.node, message.nonce)
            self._bus.to_node(message.node, pack(answer))

    def on_delivered(self, message: Delivered) -> None:
        """Note that a message of this node was delivered."""
        if message.to == self._node and message.nonce in self._requests:
            self._requests[message.nonce].answer.set(True)

    def _show(self, player: int, message: bytes) -> bool:
        """Write a message to a player's connection; return False if this node has none."""
        resident = self._residents.by_id.get(player)
        if resident is None or resident.session is None:
            return False
        resident.session.answer(message)
        return True


def _read(name: str, fields: Sequence[object]) -> bytes:
    """Return another node's message as pages get it. Raises Malformed."""
    try:
        return pack_message(name, fields)
    except ValueError as error:
        raise Malformed(str(error)) from None
