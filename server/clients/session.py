"""One player on one connection: what a client asks, and what it is told.

It checks and obeys messages, and decides whether a client keeps up. It never waits, and keeps no
queue: a client that falls behind misses events and is told everything anew when it has caught up.
"""

import logging
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from server.clients.tokens import Claim, Tokens
from server.limits import JOINS, RETURNS, SAYINGS, Bucket, Limits, Rates
from server.logs import tell
from server.messages import protocol
from server.messages.protocol import MESSAGES, Refused
from server.node import Node
from server.players.claims import Granted
from server.players.resident import Resident, incarnation_of
from server.players.spots import Place
from server.websocket.connection import Connection
from server.websocket.frames import ABNORMAL, NORMAL, PROTOCOL_ERROR, TEXT, TOO_BIG, frame
from world.grid import Rect, Square, Viewport, viewport
from world.track import DIAGONAL, SPEED, UNIT, Goal, Heading

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger("flatlands")

#: Whom or what somebody begins beside: a player of this node, or a place.
Near = int | Place | None

#: A client acknowledges flushes with its pings, at least once a second while there are any. One
#: that has not for this many ms lags by a second or more: it is behind.
BEHIND_AFTER = 2000

#: So is one that has not acknowledged this many bytes.
BEHIND_BYTES = 256 * 1024

#: Who stays behind for so many ms is let go.
STUCK_AFTER = 30_000

#: What a connection is told whose player goes on at another one.
TAKEN_OVER = "you went on playing somewhere else"

#: Messages over their rate that a client may send, at once and per second, before it is closed.
PATIENCE, PATIENCE_RATE = 40, 2.0


class Session:
    """See the module. `capacity` is how many players the node takes, `limits` what anybody may do.

    Rates belong to the player, not to the session: to come back does not begin them anew.
    """

    __slots__ = (
        "connection", "opened", "resident", "behind_since", "_node", "_tokens", "_capacity",
        "_limits", "_seat", "_intent", "_rates", "_rated", "_sent", "_mark", "_marked",
        "_marked_bytes", "_later_bytes", "_token_at", "_link_told", "_claiming", "_early", "_ended",
        "player", "error",
    )  # fmt: skip

    def __init__(
        self,
        connection: Connection,
        node: Node,
        tokens: Tokens,
        capacity: int,
        limits: Limits,
    ) -> None:
        self.connection = connection
        self.opened = node.loop.now()
        self.resident: Resident | None = None
        #: For the log: the id of who plays or has played here, and why it was sent away, if so.
        self.player: int | None = None
        self.error: str | None = None
        #: Node time since when the client is behind, or None.
        self.behind_since: int | None = None
        self._node = node
        self._tokens = tokens
        self._capacity = capacity
        self._limits = limits
        #: What its address counts as while it plays; see Limits.take_seat.
        self._seat: Hashable | None = None
        self._intent = 0
        self._rates = Rates(Bucket(PATIENCE_RATE, PATIENCE, self.opened))
        #: Whose rates these are, once that is known.
        self._rated: int | None = None
        # Flushes: the last one sent; the oldest one not acknowledged (0: all are) and when it was
        # sent; the bytes up to it, and those sent since.
        self._sent = self._mark = self._marked = self._marked_bytes = self._later_bytes = 0
        #: The position that the client's token tells.
        self._token_at: tuple[int, int] | None = None
        #: What the client was told last of the link between nodes.
        self._link_told = True
        self._claiming = False
        #: What came between hello and welcome, as (kind, fields); the rates bound how much.
        self._early: list[tuple[int, list[Any]]] = []
        #: The close code with which the connection ended while a claim was not answered, or None.
        self._ended: int | None = None
        connection.on_message = self._message
        connection.on_drain = self._caught_up

    @property
    def address(self) -> str:
        """The IP address of the client, as far as proxies tell it."""
        return self.connection.address

    @property
    def heard(self) -> int:
        """Node time at which the last bytes came from the client."""
        return self._node.loop.at(self.connection.heard)

    # What the client asks.

    def _message(self, opcode: int, payload: bytes) -> None:
        try:
            if opcode == TEXT:
                raise Refused("text", "messages must be binary frames", protocol.UNSUPPORTED)
            kind, *fields = protocol.read(payload)
            greeted = self.resident is not None or self._claiming
            if kind == protocol.HELLO and greeted:
                raise Refused("hello", "hello may be sent only once")
            if kind != protocol.HELLO and not greeted:
                raise Refused("hello", "the first message must be hello")
            self._check_rate(kind)
            if self._claiming:
                self._early.append((kind, fields))
            else:
                _OBEY[kind](self, *fields)
        except Refused as refused:
            self.refuse(refused)

    def _obey_early(self) -> None:
        """Obey what came between hello and welcome, now that the player is in play."""
        early, self._early = self._early, []
        for kind, fields in early:
            if not self.connection.open:
                return
            try:
                _OBEY[kind](self, *fields)
            except Refused as refused:
                self.refuse(refused)

    def refuse(self, refused: Refused) -> None:
        """Tell the client why it is not obeyed, and close where that is the end of it."""
        self._node.stats[f"refused_{refused.code}"] += 1
        self.connection.send_control(frame(protocol.error(refused.code, refused.sentence)))
        if refused.close is not None:
            self.error = self.error or refused.code
            self.connection.close(refused.close, refused.sentence)

    def _check_rate(self, kind: int) -> None:
        row = MESSAGES[kind]
        now = self._node.loop.now()
        buckets = self._rates.buckets
        bucket = buckets.get(kind)
        if bucket is None:
            bucket = buckets[kind] = Bucket(row.rate, row.burst, now)
        if bucket.take(now):
            return
        # What waited while this server stood still comes all at once, and is nobody's fault.
        late = self._node.loop.late()
        if late and bucket.take(now, late=late):
            return
        patient = self._rates.patience.take(now)
        raise Refused(
            "flood",
            f"too many messages of kind {row.name}: at most {row.rate:g} a second",
            None if patient else protocol.POLICY,
        )

    def _come_back(self, id: int) -> None:
        """Somebody shows a player's token: go on with what is left of the player's rates."""
        if not self._limits.allow(RETURNS, id):
            raise Refused(
                "returns", "you come back too often: wait some seconds", protocol.FULL
            )
        resident = self._node.residents.get(id)
        if resident is not None and resident.session is not None:
            # They are of use to this session now.
            resident.session._keep_rates()
        self._rated = id
        rates = self._limits.take_rates(id)
        if rates is not None:
            self._rates = rates
        else:
            # It may have said all that it could at another node a moment ago.
            row, now = MESSAGES[protocol.SAY], self._node.loop.now()
            bucket = self._rates.buckets[protocol.SAY] = Bucket(row.rate, row.burst, now)
            bucket.take(now, row.burst - 1)

    def _leave_seat(self) -> None:
        self._limits.leave_seat(self._seat)
        self._seat = None

    def _keep_rates(self) -> None:
        if self._rated is not None:
            self._limits.keep_rates(self._rated, self._rates)
            self._rated = None

    def _hello(
        self,
        version: int,
        name: str,
        width: int,
        height: int,
        token: str | None,
        near: int | str | None,
    ) -> None:
        if version != protocol.VERSION:
            raise Refused("version", f"version {protocol.VERSION} is spoken here: reload the page")
        cleaned = protocol.clean(name, protocol.NAME_LIMIT)
        if cleaned is None:
            raise Refused(
                "name",
                f"a name must have 1 to {protocol.NAME_LIMIT} characters that can be seen",
            )
        view = viewport(width, height)
        invitation = self._tokens.read_invitation(near) if isinstance(near, str) else None
        if invitation is None:
            self._greet(cleaned, view, token, near if isinstance(near, int) else None)
            return
        # Who invited may be at another node, or have gone from where it did.
        self._claiming = True
        self._node.invitations.find(
            invitation.id,
            lambda place: self._invited(cleaned, view, token, place or invitation.place),
        )

    def _invited(self, name: str, view: Viewport, token: str | None, place: Place) -> None:
        """It is known where the player is, or was, that invited this one."""
        self._claiming = False
        if not self.connection.open:
            return
        try:
            self._greet(name, view, token, place)
        except Refused as refused:
            self.refuse(refused)
            return
        if not self._claiming:
            self._obey_early()

    def _greet(self, cleaned: str, view: Viewport, token: str | None, near: Near) -> None:
        """Let the player of a token go on, or a new one join."""
        claim = self._tokens.read(token) if token is not None else None
        self._node.orders.admit(None if claim is None else claim.id, self.address)
        if claim is None:
            self._join(cleaned, near, view)
            return
        self._come_back(claim.id)
        # Of two connections that show a player's token, the later one is the player.
        self._node.claims.withdraw(claim.id)
        resident = self._node.residents.get(claim.id)
        if resident is not None:
            if resident.session is not None:
                resident.session.give_up()
            self._welcome(resident, view)
            return
        # Before another node lets go of the player: there must be room for it then.
        self._check_room()
        if self._node.peers.peers:
            # Another node may have the player, and lets go of it when asked.
            self._claiming = True
            self._node.claims.ask(
                claim.id,
                lambda granted: self._answered(claim, granted, cleaned, near, view),
                self._withdrawn,
            )
        else:
            self._welcome(self._return(claim, None, cleaned, near), view)

    def _answered(
        self, claim: Claim, granted: Granted | None, name: str, near: Near, view: Viewport
    ) -> None:
        """The claim of the player that a token tells was answered, or nobody did in time."""
        self._claiming = False
        if self.connection.open:
            try:
                self._node.orders.admit(claim.id, self.address)
            except Refused as refused:
                self.refuse(refused)
        if self.connection.open:
            self._welcome(self._return(claim, granted, name, near), view)
            self._obey_early()
        elif granted is not None and granted.name is not None:
            # The client has gone, but the player's node has let go of it: from now on this node
            # alone can tell the others what becomes of it.
            self._part(self._return(claim, granted, name, near), self._ended or ABNORMAL)

    def _withdrawn(self) -> None:
        """Another connection has shown the same player's token meanwhile."""
        self._claiming = False
        self.connection.close(protocol.TAKEN_OVER, TAKEN_OVER)

    def _return(
        self, claim: Claim, granted: Granted | None, name: str, near: Near
    ) -> Resident:
        """Let the player that a token tells go on here, where its node or else the token says."""
        node = self._node
        incarnation, place = claim.incarnation, claim.place if claim.fresh else None
        if claim.id in node.left:
            seq, place = node.left[claim.id]
            incarnation = max(incarnation, incarnation_of(seq))
        if granted is not None:
            name, place = granted.name or name, granted.place
            incarnation = max(incarnation, incarnation_of(granted.seq))
        # Whatever was told of the player: what is told from now on must be newer.
        incarnation = max(incarnation, incarnation_of(node.replicas.seq(claim.id)))
        # The ground may have changed: another seed may have water there.
        if place is None or node.terrain.blocked(place[0] // UNIT, place[1] // UNIT):
            place = node.spot(near)
        resident = node.join(name, place, id=claim.id, incarnation=incarnation + 1)
        node.claims.watch(resident.id)
        return resident

    def _join(self, name: str, near: Near, view: Viewport) -> None:
        self._check_room()
        self._welcome(self._node.join(name, self._node.spot(near)), view, back=False)

    def _check_room(self) -> None:
        # Who has lost its connection takes nobody's place, nor does a computer player.
        if self._node.hub.sessions_holding >= self._capacity:
            raise Refused("full", "this world is full: try again later", protocol.FULL)
        if not self._limits.has_seat(self.address, self._capacity):
            raise Refused(
                "joins", "your address has its share of places here: try again later", protocol.FULL
            )
        if not self._limits.allow_address(JOINS, self.address):
            raise Refused(
                "joins",
                "too many players come from your address: try again in a minute",
                protocol.FULL,
            )

    def _welcome(self, resident: Resident, view: Viewport, *, back: bool = True) -> None:
        """Begin to play as a resident."""
        node, grid = self._node, self._node.grid
        self.resident = resident
        self._seat = self._limits.take_seat(self.address)
        self.player = resident.id
        tell(
            "join", player=resident.id, name=resident.name, how="back" if back else "new",
            address=self.address, node=node.id,
        )  # fmt: skip
        self._rated = resident.id
        now = node.loop.now()
        welcome = protocol.welcome(
            resident.id,
            now,
            node.terrain.seed,
            resident.track.at(now),
            (grid.side, SPEED, DIAGONAL, grid.lead, grid.drop),
            _tiles(view),
        )
        self._write(frame(welcome))
        self.tell_clocks()
        if not node.peers.linked:
            self.tell_link()
        self.renew_token()
        node.attach(resident, self, view)

    def tell_clocks(self) -> None:
        """Tell how the clocks of other nodes differ, if there are any."""
        clocks = self._node.peers.clocks
        if clocks:
            self._write(frame(protocol.clocks(list(clocks.items()))))

    def tell_link(self) -> None:
        """Tell whether this node hears the others."""
        linked = self._node.peers.linked
        if self._write(frame(protocol.link(linked))):
            self._link_told = linked

    def give_up(self) -> None:
        """Let the player go on in another session: this one ends."""
        assert self.resident is not None
        self._keep_rates()
        self._leave_seat()
        self._node.detach(self.resident)
        self.resident = None
        self.connection.close(protocol.TAKEN_OVER, TAKEN_OVER)

    def _walk(self, number: int, t: int, dx: int, dy: int) -> None:
        intent = Heading(dx, dy) if dx or dy else None
        self._node.act(self._numbered(number), number, t, intent)

    def _go(self, number: int, t: int, x: int, y: int) -> None:
        self._node.act(self._numbered(number), number, t, Goal(x, y))

    def _home(self, number: int) -> None:
        self._node.home(self._numbered(number), number)

    def _numbered(self, number: int) -> Resident:
        if number <= self._intent:
            raise Refused("number", "the numbers of intents must rise")
        self._intent = number
        assert self.resident is not None
        self.resident.acted = True
        return self.resident

    def _viewport(self, width: int, height: int) -> None:
        assert self.resident is not None
        self._node.look(self.resident, viewport(width, height))

    def _say(self, text: str) -> None:
        cleaned = protocol.clean(text, protocol.TEXT_LIMIT)
        if cleaned is None:
            raise Refused(
                "say", f"say 1 to {protocol.TEXT_LIMIT} characters that can be seen"
            )
        resident = self.resident
        assert resident is not None
        self._node.orders.check_voice(resident.id)
        # Nothing said is ever replaced by something newer, as a move is.
        if not self._limits.allow(SAYINGS, resident.square):
            raise Refused("crowded", "too much is said here at once: say it again soon", None)
        resident.acted = True
        self._node.say(resident, cleaned)

    def _invite(self) -> None:
        resident = self.resident
        assert resident is not None
        text = self._tokens.invite(resident.id, resident.track.at(self._node.loop.now()))
        self.connection.send_control(frame(protocol.invitation(text)))

    def _ping(self, time: int, number: int) -> None:
        if number > self._sent:
            raise Refused("flush", "a ping must tell a flush that was sent")
        if self._mark and number >= self._mark:
            if number == self._sent:
                self._mark = self._marked_bytes = self._later_bytes = 0
            else:
                self._mark, self._marked = self._sent, self._node.loop.now()
                self._marked_bytes, self._later_bytes = self._later_bytes, 0
        self.connection.send_control(frame(protocol.pong(time, self._node.loop.now())))
        self._caught_up()

    # What the client is told.

    def _write(self, data: bytes) -> bool:
        """Send frames that the client must not miss; where it cannot take them, it is behind."""
        if self.behind_since is not None:
            return False
        if self.connection.send(data):
            return True
        self._fall_behind()
        return False

    def hold(self, before: Rect | None, rect: Rect) -> None:
        """Tell the client which squares it holds now, and all of those that are new to it."""
        if self.behind_since is None:
            self._write(self._holding(before, rect))

    def _holding(self, before: Rect | None, rect: Rect) -> bytes:
        parts = [frame(protocol.held(rect))]
        for square in rect.squares():
            if before is None or not before.holds(square):
                snapshot = self._node.replicas.snapshot(square)
                # One that is not known enough yet is shown as soon as it is.
                if snapshot is not None:
                    parts.append(snapshot)
        return b"".join(parts)

    def show(self, square: Square) -> None:
        """Show all of a square, for the first time or anew."""
        snapshot = self._node.replicas.snapshot(square)
        if snapshot is not None:
            self._write(snapshot)

    def flush(self, data: bytes, number: int, now: int) -> None:
        """Send one flush, unless the client is behind; see server/squares/hub.py."""
        if self.behind_since is not None:
            self._node.stats["skipped"] += 1
            return
        if not self.connection.send(data):
            self._node.stats["skipped"] += 1
            self._fall_behind()
            return
        self._sent = number
        if not self._mark:
            self._mark, self._marked, self._marked_bytes = number, now, len(data)
            return
        self._later_bytes += len(data)
        if (
            now - self._marked > BEHIND_AFTER
            or self._marked_bytes + self._later_bytes > BEHIND_BYTES
        ):
            self._fall_behind()

    def _fall_behind(self) -> None:
        self.behind_since = self._node.loop.now()
        self._node.stats["fell_behind"] += 1

    def _caught_up(self) -> None:
        """If the client was behind and has taken all that was sent, tell it everything."""
        if self.behind_since is None or self._mark or self.connection.backlogged:
            return
        resident = self.resident
        if resident is None or resident.held is None:
            return
        self.behind_since = None
        self._node.stats["resyncs"] += 1
        # Before anything whose times they change.
        self.tell_clocks()
        if self._link_told != self._node.peers.linked:
            self.tell_link()
        self._write(frame(protocol.resync()) + self._holding(None, resident.held))

    def renew_token(self, *, anyway: bool = False) -> None:
        """Send a token that tells where the player is now, if the client has none that does.

        With `anyway` also if it has, for an old one's place counts for a minute only.
        """
        resident = self.resident
        assert resident is not None
        place = resident.track.at(self._node.loop.now())
        if anyway or self._token_at != place:
            token = self._tokens.make(resident.id, resident.incarnation, place)
            if self._write(frame(protocol.token(token))):
                self._token_at = place

    # Its end.

    def closed(self, code: int) -> None:
        """The connection has ended with this close code."""
        self._keep_rates()
        self._leave_seat()
        resident, self.resident = self.resident, None
        if resident is not None:
            self._part(resident, code)
        elif self._claiming:
            self._ended = code

    def _part(self, resident: Resident, code: int) -> None:
        """Decide what becomes of a player whose connection has ended."""
        by_client = self.connection.closed_by_peer
        if code == NORMAL or (code in _OUR_ERRORS and not by_client):
            self._node.detach(resident)
            self._node.leave(resident)
        elif code == protocol.RESTART and not by_client:
            self._node.pause(resident)
        else:
            self._node.lose(resident)


def _tiles(view: Viewport) -> tuple[int, int]:
    return view.half_width * 2 // UNIT, view.half_height * 2 // UNIT


#: Who is closed with one of these has broken the protocol, and is not waited for.
_OUR_ERRORS = (
    PROTOCOL_ERROR, protocol.UNSUPPORTED, protocol.MALFORMED, protocol.POLICY, TOO_BIG,
)  # fmt: skip

_OBEY: "dict[int, Callable[..., None]]" = {
    protocol.HELLO: Session._hello,
    protocol.WALK: Session._walk,
    protocol.GO: Session._go,
    protocol.HOME: Session._home,
    protocol.VIEWPORT: Session._viewport,
    protocol.SAY: Session._say,
    protocol.PING: Session._ping,
    protocol.INVITE: Session._invite,
}

assert _OBEY.keys() == MESSAGES.keys()
