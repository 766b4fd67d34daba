"""The session of one player on one connection: what a client asks, and what it is told.

It checks and obeys messages, and notices when a client lags. It never waits, and never keeps a
queue: a client that lags misses events, and gets a resync when it has caught up.
"""

import logging
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from flatlands.server.clients import lasting, speaking
from flatlands.server.clients.admission import Admission, Begin, Hello
from flatlands.server.clients.allowance import Allowance
from flatlands.server.clients.intents import Intents
from flatlands.server.clients.lag import Lag
from flatlands.server.clients.tokens import Tokens
from flatlands.server.clients.traveller import Traveller
from flatlands.server.limits import Limits
from flatlands.server.logs import log_line
from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import MESSAGES, Refused
from flatlands.server.node import Node
from flatlands.server.players.invitations import Met
from flatlands.server.players.resident import Resident
from flatlands.server.websocket.connection import Connection
from flatlands.server.websocket.frames import ABNORMAL, NORMAL, PROTOCOL_ERROR, TEXT, TOO_BIG, frame
from flatlands.world.grid import Rect, Square, Viewport, viewport
from flatlands.world.terrain import GROUND
from flatlands.world.track import DIAGONAL, SPEED, UNIT, Goal, Heading, Intent

log = logging.getLogger("flatlands")

#: ms after which the connection of a client that lags is ended.
STUCK_AFTER: Final = 30_000

#: So many clients of this node may look at the map before others may that do not play.
SPECTATORS_MOST = 1000

#: ms after which the store has answered, or will not.
ANSWERED_WITHIN: Final = 3000

#: The reason in the close frame of a connection whose player goes on at another connection.
TAKEN_OVER: Final = "you went on playing somewhere else"


class Session:
    """See the module.

    It is an Applicant for its node's admission (admission.py), the Screen of its resident
    (server/squares/hub.py), and an Asker (asker.py).
    """

    __slots__ = (
        "connection",
        "opened",
        "resident",
        "node",
        "limits",
        "player",
        "error",
        "owner",
        "pinged",
        "lag",
        "intents",
        "allowance",
        "_watches",
        "_admission",
        "_tokens",
        "_seat",
        "_token_at",
        "_link_told",
        "_waiting",
        "_early",
        "_ended",
        "_arriving",
        "_asked",
    )

    def __init__(
        self,
        connection: Connection | Any,
        node: Node,
        admission: Admission,
        tokens: Tokens,
        limits: Limits,
    ) -> None:
        self.connection = connection
        #: Node time at which it was opened, or last ceased to watch without playing.
        self.opened = node.loop.now()
        self.resident: Resident | None = None
        #: For the log: the id of the player of this session, and the code of the last refusal.
        self.player: int | None = None
        self.error: str | None = None
        #: When it was last heard before it was last pinged, as `Connection.last_heard` has it.
        self.pinged = 0.0
        self.node = node
        self._admission = admission
        self._tokens = tokens
        self.limits = limits
        #: The key of its address while it plays; see Limits.take_seat.
        self._seat: Hashable | None = None
        self.lag = Lag(node.loop)
        self.intents = Intents(node.movement, node.loop)
        self.allowance = Allowance(limits, node.loop)
        #: Whether it looks at the map and does not play: it is counted as a spectator.
        self._watches = False
        #: The position in the client's last token.
        self._token_at: tuple[int, int] | None = None
        #: Whether the client was last told that this node is linked to the others.
        self._link_told = True
        #: Whether it has sent hello, and was neither welcomed nor refused yet.
        self._waiting = False
        #: Messages between hello and welcome, as (kind, fields). Rates bound their number.
        self._early: list[tuple[int, list[Any]]] = []
        #: Who its gems are counted for, by the hash of the client's key; "" before it sends one.
        self.owner = ""
        #: The close code with which the connection ended while it waited, or None.
        self._ended: int | None = None
        #: Whether the player has come from another worker, and its squares are still to be shown.
        self._arriving = False
        #: Node time at which the client asked last for something else than to walk.
        self._asked = 0
        connection.on_message = self._message
        connection.on_drain = self._caught_up

    @property
    def address(self) -> str:
        """The IP address of the client, as far as proxies give it."""
        return self.connection.address

    @property
    def last_heard(self) -> int:
        """Node time at which the last bytes came from the client."""
        return self.node.loop.at(self.connection.last_heard)

    @property
    def owes_hello(self) -> bool:
        """Whether it neither plays, nor is about to, nor looks at the map."""
        return self.resident is None and not self._waiting and not self._watches

    @property
    def here(self) -> bool:
        """Whether the connection is open."""
        return self.connection.open

    def ping(self) -> None:
        """Ask the client for a sign of life."""
        self.connection.ping()

    # What the client asks.

    def _message(self, opcode: int, payload: bytes) -> None:
        try:
            if opcode == TEXT:
                raise Refused("text", "messages must be binary frames", protocol.UNSUPPORTED)
            fields = protocol.read(payload)
            kind: int = fields.pop(0)
            greeted = self.resident is not None or self._waiting
            if kind == protocol.HELLO and greeted:
                raise Refused("hello", "hello may be sent only once")
            if kind not in _BEFORE_HELLO and not greeted:
                raise Refused("hello", "the first message must be hello")
            self.allowance.spend(kind)
            if self._waiting:
                self._early.append((kind, fields))
            else:
                if kind not in _AFTER_INTENTS:
                    self._asked = self.node.loop.now()
                    if self.intents.noted is not None:
                        self._act()
                _OBEY[kind](self, *fields)
        except Refused as refused:
            self.refuse(refused)
        if self.intents.noted is not None and not self.connection.more:
            self._act()

    def _obey_early(self) -> None:
        """Obey the messages that came between hello and welcome."""
        early, self._early = self._early, []
        for kind, fields in early:
            if not self.connection.open:
                return
            try:
                _OBEY[kind](self, *fields)
            except Refused as refused:
                self.refuse(refused)
        if self.intents.noted is not None:
            self._act()

    def refuse(self, refused: Refused) -> None:
        """Tell the client why it is not obeyed, and close the connection if the refusal says so."""
        self.node.stats[f"refused_{refused.code}"] += 1
        self.connection.send_control(frame(protocol.error(refused.code, refused.sentence)))
        if refused.close is not None:
            self.error = self.error or refused.code
            self.connection.close(refused.close, refused.sentence)

    def _leave_seat(self) -> None:
        self.limits.leave_seat(self._seat)
        self._seat = None

    def _hello(
        self,
        _version: int,
        name: str,
        width: int,
        height: int,
        token: str | None,
        near: int | str | None,
        x: int | None,
        y: int | None,
    ) -> None:
        cleaned = protocol.clean(name, protocol.NAME_LIMIT)
        if cleaned is None:
            raise Refused("name", speaking.BAD_NAME)
        place = None if x is None or y is None else (x, y)
        self.greet(Hello(cleaned, viewport(width, height), token, near, place))

    def greet(
        self, hello: Hello, begin: Begin | None = None, early: Iterable[tuple[int, list[Any]]] = ()
    ) -> None:
        """Let a client play that has said hello, or refuse it. Another worker may have passed it to
        this one: then it has decided where it begins, and `early` is what came after the hello."""
        self._waiting, self._early = True, list(early)
        self._admission.decide(hello, self, begin)

    # The answers to its hello.

    def is_known(self, id: int) -> None:
        """Use the rates that this player had, since the client has shown the player's token."""
        self.allowance.go_on_with(id)

    def is_superseded(self) -> None:
        """Close the connection: another one has since shown the same player's token."""
        self._waiting = False
        self.connection.close(protocol.TAKEN_OVER, TAKEN_OVER)

    def missed(self, resident: Resident) -> None:
        """Decide what becomes of a player that came here after the client's connection ended."""
        self._waiting = False
        self._part(resident, self._ended or ABNORMAL)

    def welcome(self, resident: Resident, view: Viewport, met: Met | None, *, back: bool) -> None:
        """Begin to play as a resident; `met` is who has invited it; `back`: it played before."""
        self._waiting = False
        self._end_to_watch()
        node, grid = self.node, self.node.grid
        self._play(resident)
        log_line(
            "join",
            player=resident.id,
            name=resident.name,
            how="back" if back else "new",
            address=self.address,
            node=node.id,
        )
        self.allowance.belongs_to(resident.id)
        now = node.loop.now()
        welcome = protocol.welcome(
            protocol.VERSION,
            resident.id,
            now,
            node.terrain.seed,
            *resident.track.at(now),
            grid.side,
            SPEED,
            DIAGONAL,
            grid.lead,
            grid.drop,
            *_tiles(view),
            GROUND,
        )
        self._write(frame(welcome))
        if not node.peers.whole:
            self.tell_link()
        self.renew_token()
        node.residents.attach(resident, self, view)
        self._obey_early()
        if met is not None and self.connection.open:
            self._write(frame(protocol.host(met.name, met.way is not None)))

    def _play(self, resident: Resident) -> None:
        self.resident, self.player = resident, resident.id
        self._seat = self.limits.take_seat(self.address)

    def tell_link(self) -> None:
        """Tell the client whether this node is linked to the others, if its connection lasts."""
        linked = self.node.peers.whole
        if self.connection.open and self._write(frame(protocol.link(linked))):
            self._link_told = linked

    def give_up(self) -> None:
        """End this session, so that the player can go on in another one."""
        assert self.resident is not None
        self.allowance.keep()
        self._leave_seat()
        self.node.residents.detach(self.resident)
        self.resident = None
        self.connection.close(protocol.TAKEN_OVER, TAKEN_OVER)

    def _walk(self, number: int, t: int, dx: int, dy: int) -> None:
        self._intend(number, t, Heading(dx, dy) if dx or dy else None)

    def _go(self, number: int, t: int, x: int, y: int) -> None:
        self._intend(number, t, Goal(x, y))

    def _intend(self, number: int, t: int, intent: Intent) -> None:
        assert self.resident is not None
        self.intents.note(self.resident, number, t, intent)

    def _act(self) -> None:
        assert self.resident is not None
        self.intents.obey(self.resident)

    def _home(self, number: int) -> None:
        assert self.resident is not None
        self.intents.number(self.resident, number)
        self.node.movement.home(self.resident, number)

    def _viewport(self, width: int, height: int) -> None:
        assert self.resident is not None
        self.node.movement.look(self.resident, viewport(width, height))

    def _invite(self) -> None:
        resident = self.resident
        assert resident is not None
        place = resident.track.at(self.node.loop.now())
        text = self._tokens.invite(resident.id, resident.name, place)
        self.connection.send_control(frame(protocol.invitation(text)))

    def _watch(self, grain: int | None, c0: int, r0: int, c1: int, r1: int) -> None:
        views = self.node.views
        if grain is None:
            views.leave(self)
            self._end_to_watch()
            return
        if self.resident is None and not self._watches:
            if len(views) >= SPECTATORS_MOST:
                raise Refused("full", "too many people only watch this world", protocol.FULL)
            if not self.limits.begin_to_watch(self.address):
                raise Refused("full", "too many only watch from your address", protocol.FULL)
            self._watches = True
        views.watch(self, grain, Rect(c0, r0, c1, r1))

    def _end_to_watch(self) -> None:
        if self._watches:
            self._watches = False
            self.limits.end_to_watch(self.address)
            self.opened = self.node.loop.now()

    # The answers to what it asks of what lasts (lasting.py) may come when the connection has ended.

    def answer(self, message: bytes) -> None:
        """Send a message, if the connection is still open."""
        if self.connection.open:
            self.connection.send_control(frame(message))

    def refuse_later(self, refused: Refused) -> None:
        """Refuse something that was asked a while ago, if the connection is still open."""
        if self.connection.open:
            self.refuse(refused)

    def _ping(self, time: int, number: int) -> None:
        self.lag.acknowledge(number)
        self.connection.send_control(frame(protocol.pong(time, self.node.loop.now())))
        self._caught_up()

    def _ack(self, number: int) -> None:
        self.lag.acknowledge(number)
        self._caught_up()

    # What the client is told.

    def _write(self, data: bytes) -> bool:
        """Send frames that the client must not miss. If they cannot be sent, the client lags."""
        if self.lag.since is not None:
            return False
        if self.connection.send(data):
            return True
        self._begin_to_lag()
        return False

    def hold(self, before: Rect | None, rect: Rect) -> None:
        """Tell the client which squares it holds now, with snapshots of the new ones."""
        if self.lag.since is None:
            self._write(self._holding(before, rect))

    def _holding(self, before: Rect | None, rect: Rect) -> bytes:
        new = rect.squares()
        if before is not None:
            new = [square for square in new if not before.holds(square)]
        return frame(protocol.held(rect)) + self.node.replicas.snapshot(new)

    def show(self, squares: Iterable[Square]) -> None:
        """Send snapshots of these squares."""
        snapshot = self.node.replicas.snapshot(squares)
        if snapshot:
            self._write(snapshot)

    def flush(self, data: bytes, number: int, now: int) -> None:
        """Send a flush, unless the client lags; see server/squares/hub.py."""
        if self.lag.since is not None:
            self.node.stats["skipped"] += 1
            return
        if not self.connection.send(data):
            self.node.stats["skipped"] += 1
            self._begin_to_lag()
            return
        if self.lag.send(number, len(data), now):
            self._begin_to_lag()

    def show_map(self, data: bytes) -> bool:
        """Send frames of the map of everybody; return False if that is not possible now."""
        if self.lag.since is None and self.connection.send(data):
            return True
        if self.resident is None and self.lag.since is None:
            # Nobody plays here, so there are no flushes by which it would be noticed.
            self._begin_to_lag()
        return False

    def _begin_to_lag(self) -> None:
        self.lag.since = self.node.loop.now()
        self.node.stats["lagged"] += 1

    def _caught_up(self) -> None:
        """Send a resync if the client lagged and has now acknowledged all that was sent."""
        if self.lag.since is None or not self.lag.acknowledged or self._arriving:
            return
        if self.connection.backlogged:
            return
        resident = self.resident
        if resident is None:
            self.lag.since = None
            return
        if resident.held is None:
            return
        self.lag.since = None
        self.node.stats["resyncs"] += 1
        if self._link_told != self.node.peers.whole:
            self.tell_link()
        self._write(frame(protocol.resync()) + self._holding(None, resident.held))

    def renew_token(self, seq: int | None = None) -> None:
        """Send a token with the player's present place, if that has changed since the last one.

        With a `seq` it is sent in any case, and has that instead of the player's present one.
        """
        resident = self.resident
        assert resident is not None
        place = resident.track.at(self.node.loop.now())
        if seq is not None or self._token_at != place:
            token = self._tokens.make(resident.id, resident.seq if seq is None else seq, place)
            if self._write(frame(protocol.token(token))):
                self._token_at = place

    # From one worker of a machine to another (server/migration.py).

    @property
    def greeting(self) -> list[tuple[int, list[Any]]] | None:
        """What the client has sent since its hello, as (kind, fields), while that is not answered
        and nothing else of it is under way here; otherwise None."""
        waits = self._waiting and self._ended is None and not self.node.views.shows(self)
        return self._early if waits else None

    def traveller(self) -> Traveller | None:
        """Return all that another session needs to go on in its place; None while it does not play,
        or something of it is under way in this process: an answer from the store is awaited, or its
        client lags or looks at the map."""
        resident = self.resident
        if (
            resident is None
            or resident.view is None
            or self.intents.noted is not None
            or self.lag.since is not None
            or self.node.views.shows(self)
            or self.node.loop.now() - self._asked <= ANSWERED_WITHIN
        ):
            return None
        return Traveller(
            resident.state(),
            resident.view,
            self.intents.last,
            max(self.lag.sent, self.lag.earlier),
            self.owner,
            self._link_told,
            self.allowance.state(),
        )

    def leave(self) -> None:
        """End this session without a word to the client, which has another session now."""
        self._leave_seat()
        self.allowance.forget()
        if self.resident is not None:
            self.node.residents.release(self.resident)
        self.player = self.error = self.resident = None
        self._waiting = False

    def go_on(self, traveller: Traveller) -> None:
        """Go on in the place of a session of another worker; `arrive` shows the client what it is
        to see."""
        self.intents.last, self.lag.earlier = traveller.intent, traveller.flush
        self.owner, self._link_told = traveller.owner, traveller.linked
        self.allowance.take_over(traveller.player.id, traveller.rates)
        # Until its squares are known here it is as a client that lags.
        self.lag.since, self._arriving = self.opened, True
        resident = self.node.residents.take_in(traveller.player)
        self._play(resident)
        self.node.residents.attach(resident, self, traveller.view, goes_on=True)

    def arrive(self) -> None:
        """Show the client its squares."""
        self._arriving = False
        self._caught_up()

    # Its end.

    def closed(self, code: int) -> None:
        """End the session: its connection has ended, or begun to end, with this close code."""
        self.allowance.keep()
        self._leave_seat()
        self._end_to_watch()
        self.node.views.leave(self)
        resident, self.resident = self.resident, None
        if resident is not None:
            self._part(resident, code)
        elif self._waiting:
            self._ended = code
            self._admission.withdraw(self)

    def _part(self, resident: Resident, code: int) -> None:
        """Decide what becomes of a player whose connection has ended."""
        residents, by_client = self.node.residents, self.connection.closed_by_peer
        if code == NORMAL or (code in _OUR_ERRORS and not by_client):
            residents.detach(resident)
            residents.leave(resident)
        else:
            sent_away = code == protocol.RESTART and not by_client
            residents.lose(resident, dimmed=not sent_away)


def _tiles(view: Viewport) -> tuple[int, int]:
    return view.half_width * 2 // UNIT, view.half_height * 2 // UNIT


#: The close codes for clients that broke the protocol. Their players leave at once.
_OUR_ERRORS: Final = (
    PROTOCOL_ERROR,
    protocol.UNSUPPORTED,
    protocol.MALFORMED,
    protocol.POLICY,
    TOO_BIG,
)

#: The messages that may come before hello.
_BEFORE_HELLO: Final = (protocol.HELLO, protocol.WATCH)

#: The messages that need not wait until the intents before them are obeyed, and that the store does
#: not answer.
_AFTER_INTENTS: Final = (
    protocol.WALK,
    protocol.GO,
    protocol.PING,
    protocol.ACK,
    protocol.HELLO,
)

_OBEY: dict[int, Callable[..., None]] = {
    protocol.HELLO: Session._hello,
    protocol.WALK: Session._walk,
    protocol.GO: Session._go,
    protocol.HOME: Session._home,
    protocol.VIEWPORT: Session._viewport,
    protocol.SAY: speaking.say,
    protocol.PING: Session._ping,
    protocol.INVITE: Session._invite,
    protocol.TAKE: lasting.take,
    protocol.KEY: lasting.key,
    protocol.SCORES: lasting.scores,
    protocol.BUILD: lasting.build,
    protocol.STONE: lasting.stone,
    protocol.ACK: Session._ack,
    protocol.WATCH: Session._watch,
    protocol.EMOTE: speaking.emote,
    protocol.APPEAR: speaking.appear,
    protocol.FIND: lasting.find,
}

assert _OBEY.keys() == MESSAGES.keys()
