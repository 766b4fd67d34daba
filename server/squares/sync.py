"""The sync requests of one square, by which nodes ask each other for their full states, and the
answers.

A request is repeated until it has come back from the broker: only then is it certain that messages
are received. If it does not come back, though other messages do, this node subscribes again. An
answer has the players of this node in the square, and the writes there that the store may not have.
This module never decides that something is missing, and never reads the answers of others:
subscription.py does.
"""

import random
from collections.abc import Callable
from typing import Final

from flatlands.server.messages.peer_protocol import FullState, SyncRequest, pack
from flatlands.server.squares.context import SquareContext
from flatlands.server.squares.layers import Layers
from flatlands.world.grid import Square

#: A sync request that has not come back from the broker is repeated after this. The pause doubles
#: each time.
REQUEST_AGAIN_MS = 100

#: The longest pause until a sync request is repeated.
REQUEST_AGAIN_MOST_MS = 2000

#: A node publishes its full state of a square at most once in this time. For as long after a sync
#: request it does not ask again for what was lost in the square.
FULL_STATE_EVERY_MS: Final = 200


#: If what this node published SQUARE_DEAF_MS after a sync request has come back, and the request
#: has not, the square is deaf: this node subscribes to it again. After RESUBSCRIPTIONS times it has
#: the link renewed, and after that it reports the square as deaf.
SQUARE_DEAF_MS: Final = 5000
RESUBSCRIPTIONS: Final = 3


class Sync:
    """Asks the other nodes for their full states of one square, and answers their requests. Times
    are node time in ms."""

    def __init__(
        self, square: Square, channel: str, context: SquareContext, layers: Layers | None
    ) -> None:
        #: Whether the last sync request has come back, so that what is published from now on is
        #: received.
        self.is_confirmed = False
        #: When the last sync request was begun, and when one last came back.
        self.requested_at = self.returned_at = 0
        self._square = square
        self._channel = channel
        self._context = context
        self._layers = layers
        #: The nodes from which something may be missing that was not asked for yet, and whether
        #: something from any node may be.
        self._gaps: tuple[int, ...] = ()
        self._gap_anywhere = False
        #: The last sync request, packed, by which it is recognised when it comes back.
        self.message = b""
        #: The ms until the last sync request is repeated.
        self._wait = REQUEST_AGAIN_MS
        #: When this node's full state was last published.
        self._state_published_at = 0
        #: How often this node has subscribed again since a sync request last came back.
        self._resubscriptions = 0

    def end(self) -> None:
        """Cancel everything that is due, because the node is not subscribed any more."""
        for act in _ACTS:
            self._context.due.drop((self, act))
        self._context.peers.note_deaf(self._channel, False)

    def _later(self, act: "Callable[[Sync, int], None]", due: int) -> None:
        self._context.due.put((self, act), due)

    # What is asked.

    def request(self) -> None:
        """Ask the other nodes for their full states here, again and again until the request has
        come back from the broker."""
        self._gaps = ()
        self._gap_anywhere = self.is_confirmed = False
        self.requested_at = self._context.loop.now()
        nonce = random.getrandbits(32)
        self.message = pack(SyncRequest(*self._square, self._context.node, nonce))
        self._send()

    def _send(self, _due: int = 0) -> None:
        context, now = self._context, self._context.loop.now()
        peers = context.peers
        if (
            peers.echoed_until - self.requested_at >= SQUARE_DEAF_MS
            and peers.echoes_return
            and not peers.broken
        ):
            self._resubscribe()
            self.requested_at = now
        if not context.bus.publish(self._square, self.message):
            self.requested_at = now
        self._later(Sync._send, now + self._wait)
        self._wait = min(self._wait * 2, REQUEST_AGAIN_MOST_MS)

    def _resubscribe(self) -> None:
        context = self._context
        context.loop.stats["resubscriptions"] += 1
        context.bus.unsubscribe(self._channel)
        context.bus.subscribe(self._channel)
        self._resubscriptions += 1
        if self._resubscriptions > RESUBSCRIPTIONS + 1:
            context.peers.note_deaf(self._channel, True)
        elif self._resubscriptions > RESUBSCRIPTIONS and context.renewals.allows(
            context.loop.now() / 1000
        ):
            context.bus.broker.renew(self._channel)

    def request_after_gap(self, node: int) -> None:
        """Note that something from a node is missing, and publish a sync request for it: now, or
        FULL_STATE_EVERY_MS after the last one."""
        if node not in self._gaps:
            self._gaps += (node,)
        self._schedule_request()

    def request_soon(self) -> None:
        """Note that something of any node may be missing, and publish a sync request: see
        `request_after_gap`."""
        self._gap_anywhere = True
        self._schedule_request()

    def _schedule_request(self) -> None:
        self._later(Sync._request_now, self.requested_at + FULL_STATE_EVERY_MS)

    def _request_now(self, _due: int) -> None:
        if (self._gaps or self._gap_anywhere) and self.is_confirmed:
            self.request()

    def close_gap(self, node: int) -> None:
        """Note that nothing from a node is missing any more."""
        if self._gaps:
            self._gaps = tuple([other for other in self._gaps if other != node])

    # What is answered.

    def request_returned(self) -> None:
        """Note that the last sync request has come back: this node receives what is published."""
        context = self._context
        self.is_confirmed = True
        self.returned_at = context.loop.now()
        self._wait = REQUEST_AGAIN_MS
        self._resubscriptions = 0
        context.peers.note_deaf(self._channel, False)
        context.due.drop((self, Sync._send))
        # Another node may have asked while this node was not subscribed yet.
        self.publish_full_state()

    def publish_full_state(self) -> None:
        """Publish this node's full state, if it has players or unsaved writes here, or a keepalive,
        if it had players a moment ago: now, or FULL_STATE_EVERY_MS after the last time."""
        outbox = self._context.outbox
        wrote = self._layers is not None and bool(self._layers.tiles)
        if self._square in outbox.players_by_square or self._square in outbox.keepalives or wrote:
            due = self._state_published_at + FULL_STATE_EVERY_MS
            if due <= self._context.loop.now():
                self._publish_now(due)
            else:
                self._later(Sync._publish_now, due)

    def _publish_now(self, _due: int) -> None:
        context, now = self._context, self._context.loop.now()
        entries = context.outbox.entries(self._square, now)
        writes = [] if self._layers is None else self._layers.pages()
        self._state_published_at = now
        if not entries and not writes:
            context.outbox.keepalives.send(self._square)
            return
        number, size = context.outbox.next_number(self._square), context.entries
        pages = max(-(-len(entries) // size), len(writes))
        for page in range(pages):
            some = entries[page * size : (page + 1) * size]
            wrote = writes[page] if page < len(writes) else ()
            message = FullState(*self._square, context.node, number, now, page, pages, some, wrote)
            context.bus.publish(self._square, pack(message))
        context.outbox.forget(self._square)
        context.loop.stats["full_states"] += 1


#: All methods that may be due.
_ACTS: Final = (Sync._send, Sync._request_now, Sync._publish_now)
