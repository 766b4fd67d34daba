"""Sends one client what happens in its squares, and checks whether the client keeps up.

A client acknowledges flushes with its pings, at least once a second while there are flushes. One
that does not read, or acknowledges too late, lags: it misses events, and gets a resync when it has
caught up. There is no queue.
"""

from collections.abc import Iterable
from typing import Any, Final

from flatlands.server.clients.tokens import Tokens
from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import Refused
from flatlands.server.net.connection import Connection
from flatlands.server.net.frames import frame
from flatlands.server.node import Node
from flatlands.server.players.invitations import Inviter
from flatlands.server.players.resident import Resident, incarnation
from flatlands.world.grid import Rect, Square

#: A client that has not acknowledged a flush for this long is late by a second or more: it lags.
LAGGING_AFTER_MS: Final = 2000

#: A client also lags if this many bytes are not acknowledged.
LAGGING_BYTES = 256 * 1024


class ClientScreen:
    """The screen of a client: what it holds, what it was sent, and whether it lags. It is the
    ClientSession that the hub and the residents use (server/squares/hub.py)."""

    __slots__ = (
        "connection",
        "node",
        "resident",
        "player",
        "error",
        "lags_since",
        "sent",
        "earlier",
        "tokens",
        "_mark",
        "_marked",
        "_marked_bytes",
        "_later_bytes",
        "_token_of",
        "_link_sent",
        "_arriving",
    )

    def __init__(self, connection: Connection | Any, node: Node, tokens: Tokens) -> None:
        self.connection = connection
        self.node = node
        self.resident: Resident | None = None
        #: The id of its player, even if that no longer plays here.
        self.player: int | None = None
        #: The code of the last refusal, for the log.
        self.error: str | None = None
        #: Node time in ms since which the client lags, or None.
        self.lags_since: int | None = None
        #: The number of the last flush that was sent, and of the last one that another worker sent
        #: before it passed the player on.
        self.sent = self.earlier = 0
        self.tokens = tokens
        # The mark: the flush whose acknowledgement is awaited (0: all are acknowledged). Then since
        # what node time it is awaited, the bytes up to it, and those of later flushes.
        self._mark = self._marked = self._marked_bytes = self._later_bytes = 0
        #: The incarnation and the position in the client's last token, and the persistent fields.
        self._token_of: tuple[int, tuple[int, int], dict[str, Any]] | None = None
        #: Whether the last message about the link to other nodes said that there is one.
        self._link_sent = True
        #: Whether the player has come from another worker, and its squares are still to be shown.
        self._arriving = False

    @property
    def address(self) -> str:
        """The IP address of the client, as far as proxies give it."""
        return self.connection.address

    @property
    def last_heard(self) -> int:
        """Node time at which the last bytes came from the client."""
        return self.node.loop.at(self.connection.last_heard)

    @property
    def latency_ms(self) -> int | None:
        """How long the client took to answer the last ping; None before it has answered one."""
        seconds: float = self.connection.round_trip
        return round(seconds * 1000) if seconds else None

    @property
    def connected(self) -> bool:
        """Whether the connection is open."""
        return self.connection.open

    @property
    def playing(self) -> Resident:
        """The resident as which the client plays."""
        assert self.resident is not None
        return self.resident

    def ping(self) -> None:
        """Ask the client for a sign of life."""
        self.connection.ping()

    # Answers, which may come when the connection has ended.

    def answer(self, message: bytes) -> None:
        """Send an answer to what the client asked, if the connection is still open."""
        self.connection.send_control(frame(message))

    def refuse(self, refused: Refused) -> None:
        """Send the client a refusal, and close the connection if the refusal has a close code.

        If the connection is closed already, nothing is sent.
        """
        if not self.connection.open:
            return
        self.node.stats[f"refused_{refused.code}"] += 1
        self.answer(protocol.error(refused.code, refused.sentence))
        if refused.close is not None:
            self.error = self.error or refused.code
            self.connection.close(refused.close, refused.sentence)

    # What the client must not miss.

    def _write(self, data: bytes) -> bool:
        """Send frames that the client must not miss. If they cannot be sent, the client lags."""
        if self.lags_since is not None or not self.connection.open:
            return False
        if self.connection.send(data):
            return True
        self._begin_to_lag()
        return False

    def send_link(self) -> None:
        """Send the client whether this node is linked to the others."""
        linked = self.node.peers.is_linked
        if self._write(frame(protocol.link(linked))):
            self._link_sent = linked

    def send_host(self, host: Inviter) -> None:
        """Send the client who has invited it, and whether that player is in play."""
        self._write(frame(protocol.host(host.name, host.way is not None)))

    def renew_token(self, seq: int | None = None, first: bytes = b"") -> None:
        """Send a token with the player's incarnation, its present place and its persistent fields,
        unless the last token had the same. It has this `seq`, or else the player's present one.
        `first` are frames that are sent before it, in one write."""
        resident = self.playing
        place = resident.track.at(self.node.loop.now())
        fields = self.node.residents.persistent(resident)
        reached = resident.seq if seq is None else seq
        of = incarnation(reached), place, fields
        if self._token_of != of:
            token = self.tokens.make(resident.id, reached, place, fields)
            if self._write(first + frame(protocol.token(token))):
                self._token_of = of

    def hold(self, before: Rect | None, rect: Rect) -> None:
        """Send the client the squares that it holds now, with snapshots of the new ones."""
        if self.lags_since is None:
            self._write(self._holding(before, rect))

    def _holding(self, before: Rect | None, rect: Rect) -> bytes:
        new = rect.squares()
        if before is not None:
            new = [square for square in new if not before.holds(square)]
        return frame(protocol.held(rect)) + self.node.subscriptions.snapshot(new)

    def show(self, squares: Iterable[Square]) -> None:
        """Send snapshots of these squares."""
        snapshot = self.node.subscriptions.snapshot(squares)
        if snapshot:
            self._write(snapshot)

    # What a lagging client misses.

    def flush(self, data: bytes, number: int, now: int) -> None:
        """Send a flush, unless the client lags; see server/squares/hub.py."""
        if self.lags_since is not None:
            self.node.stats["skipped"] += 1
            return
        if not self.connection.send(data):
            self.node.stats["skipped"] += 1
            self._begin_to_lag()
            return
        self.sent = number
        if not self._mark:
            self._mark, self._marked, self._marked_bytes = number, now, len(data)
            return
        self._later_bytes += len(data)
        waited = now - self._marked
        # While this server is late, the acknowledgement may have come and is still to be read.
        if self._marked_bytes + self._later_bytes > LAGGING_BYTES or (
            waited > LAGGING_AFTER_MS
            and waited > LAGGING_AFTER_MS + self.node.loop.recent_stall_ms()
        ):
            self._begin_to_lag()

    def show_map(self, data: bytes) -> bool:
        """Send frames of the map of everybody; return False if that is not possible now."""
        if self.lags_since is None and self.connection.send(data):
            return True
        if self.resident is None and self.lags_since is None:
            # Nobody plays here, so there are no flushes that would reveal the lag.
            self._begin_to_lag()
        return False

    def _begin_to_lag(self) -> None:
        self.lags_since = self.node.loop.now()
        self.node.stats["lagged"] += 1

    def acknowledge(self, number: int) -> None:
        """Note that the client has received all flushes up to a number. Raises Refused."""
        if number > self.sent:
            if number > self.earlier:
                raise Refused("flush", "only a flush that the server has sent can be acknowledged")
            # Otherwise it was under way when the player was passed on.
        elif self._mark and number >= self._mark:
            if number == self.sent:
                self._mark = self._marked_bytes = self._later_bytes = 0
            else:
                self._mark, self._marked = self.sent, self.node.loop.now()
                self._marked_bytes, self._later_bytes = self._later_bytes, 0

    def catch_up(self) -> None:
        """Send a resync if the client lagged and has now acknowledged all that was sent."""
        if self.lags_since is None or self._mark or self._arriving or self.connection.backlogged:
            return
        resident = self.resident
        if resident is None:
            self.lags_since = None
            return
        if resident.held is None:
            return
        self.lags_since = None
        self.node.stats["resyncs"] += 1
        if self._link_sent != self.node.peers.is_linked:
            self.send_link()
        self._write(frame(protocol.resync()) + self._holding(None, resident.held))
