"""The session of one player on one connection: what a client asks, and what it is told.

It checks and obeys messages, and notices when a client lags. It never waits, and never keeps a
queue: a client that lags misses events, and gets a resync when it has caught up.
"""

import logging
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from server.clients import lasting
from server.clients.admission import Admission, Hello
from server.clients.tokens import Tokens
from server.limits import SAYINGS, Bucket, Limits, Rates
from server.logs import log_line
from server.messages import protocol
from server.messages.protocol import MESSAGES, Refused
from server.node import Node
from server.players.invitations import Met
from server.players.movement import INTENT_AGE
from server.players.resident import Resident
from server.websocket.connection import Connection
from server.websocket.frames import ABNORMAL, NORMAL, PROTOCOL_ERROR, TEXT, TOO_BIG, frame
from world.grid import Rect, Square, Viewport, viewport
from world.terrain import GROUND
from world.track import DIAGONAL, SPEED, UNIT, Goal, Heading, Intent

log = logging.getLogger("flatlands")

#: A client acknowledges flushes with its pings, at least once a second while there are flushes. A
#: client that has not done so for this many ms is late by a second or more: it lags.
LAGGING_AFTER: Final = 2000

#: A client also lags if this many bytes are not acknowledged.
LAGGING_BYTES = 256 * 1024

#: ms after which the connection of a client that lags is ended.
STUCK_AFTER: Final = 30_000

#: So many clients of this node may look at the map before others may that do not play.
SPECTATORS_MOST = 1000

#: ms after which the store has answered, or will not.
ANSWERED_WITHIN: Final = 3000

#: The reason in the close frame of a connection whose player goes on at another connection.
TAKEN_OVER: Final = "you went on playing somewhere else"

#: Messages over their rate that a client may send, at once and a second, before it is closed.
PATIENCE, PATIENCE_RATE = 40, 2.0


class Intended:
    """Intent `number`, which its client says began at the time `t`. It replaces so many older
    ones."""

    __slots__ = ("number", "t", "intent", "replaces")

    def __init__(self, number: int, t: int, intent: Intent, replaces: int) -> None:
        self.number = number
        self.t = t
        self.intent = intent
        self.replaces = replaces


class Session:
    """See the module.

    It is an Applicant for its node's admission (admission.py), and the Screen of its resident
    (server/squares/hub.py). Rates belong to the player and not to the session, so a player that
    comes back does not have full buckets again.
    """

    __slots__ = (
        "connection", "opened", "resident", "lagging_since", "node", "_admission", "_tokens",
        "limits", "_seat", "_intent", "_rates", "_rated", "_sent", "_mark", "_marked",
        "_marked_bytes", "_later_bytes", "_token_at", "_link_told", "_waiting", "_early",
        "_ended", "player", "error", "owner", "pinged", "_intended", "watches", "_earlier",
        "_arriving", "_asked",
    )  # fmt: skip

    def __init__(
        self,
        connection: Connection | Any,
        node: Node,
        admission: Admission,
        tokens: Tokens,
        limits: Limits,
    ) -> None:
        self.connection = connection
        self.opened = node.loop.now()
        self.resident: Resident | None = None
        #: For the log: the id of the player of this session, and the code of the last refusal.
        self.player: int | None = None
        self.error: str | None = None
        #: When it was last heard before it was last pinged, as `Connection.last_heard` has it.
        self.pinged = 0.0
        #: Node time in ms since which the client lags, or None.
        self.lagging_since: int | None = None
        self.node = node
        self._admission = admission
        self._tokens = tokens
        self.limits = limits
        #: The key of its address while it plays; see Limits.take_seat.
        self._seat: Hashable | None = None
        self._intent = 0
        #: Whether it has ever asked for the map before hello: it may only want to watch.
        self.watches = False
        #: The intent that is obeyed after the messages that came with it.
        self._intended: Intended | None = None
        self._rates = Rates(Bucket(PATIENCE_RATE, PATIENCE, self.opened))
        #: The id of the player that these rates belong to, or None while it is unknown.
        self._rated: int | None = None
        # Numbers of flushes: the last one sent, and a mark, the oldest one not acknowledged (0: all
        # are). Then the node time at which the mark was sent, the bytes up to it, and those since.
        self._sent = self._mark = self._marked = self._marked_bytes = self._later_bytes = 0
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
        #: The last flush that another worker had sent before it passed this player on.
        self._earlier = 0
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
            self._check_rate(kind)
            if self._waiting:
                self._early.append((kind, fields))
            else:
                if kind not in _AFTER_INTENTS:
                    self._asked = self.node.loop.now()
                    if self._intended is not None:
                        self._act()
                _OBEY[kind](self, *fields)
        except Refused as refused:
            self.refuse(refused)
        if self._intended is not None and not self.connection.more:
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
        if self._intended is not None:
            self._act()

    def refuse(self, refused: Refused) -> None:
        """Tell the client why it is not obeyed, and close the connection if the refusal says so."""
        self.node.stats[f"refused_{refused.code}"] += 1
        self.connection.send_control(frame(protocol.error(refused.code, refused.sentence)))
        if refused.close is not None:
            self.error = self.error or refused.code
            self.connection.close(refused.close, refused.sentence)

    def _check_rate(self, kind: int) -> None:
        if self.limits.any_rate:
            return
        row = MESSAGES[kind]
        now = self.node.loop.now()
        buckets = self._rates.buckets
        bucket = buckets.get(kind)
        if bucket is None:
            bucket = buckets[kind] = Bucket(row.rate, row.burst, now)
        if bucket.spend(now):
            return
        # Messages that waited while this server stood still all come at once, which is no fault of
        # the client's.
        late = self.node.loop.late()
        if late and bucket.spend(now, late=late):
            return
        patient = self._rates.patience.spend(now)
        raise Refused(
            "flood",
            f"too many messages of kind {row.name}: at most {row.rate:g} a second",
            None if patient else protocol.POLICY,
        )

    def _leave_seat(self) -> None:
        self.limits.leave_seat(self._seat)
        self._seat = None

    def _keep_rates(self) -> None:
        if self._rated is not None:
            self.limits.keep_rates(self._rated, self._rates)
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
            raise Refused("name", _BAD_NAME)
        hello = Hello(cleaned, viewport(width, height), token, near)
        self._waiting = True
        try:
            self._admission.decide(hello, self)
        except Refused:
            self._waiting = False
            raise

    # The answers to its hello.

    def is_known(self, id: int) -> None:
        """Use the rates that this player had, since the client has shown the player's token."""
        self._rated = id
        rates = self.limits.take_rates(id)
        if rates is not None:
            self._rates = rates
        else:
            # It may have used up its chat messages at another node a moment ago.
            row, now = MESSAGES[protocol.SAY], self.node.loop.now()
            bucket = self._rates.buckets[protocol.SAY] = Bucket(row.rate, row.burst, now)
            bucket.spend(now, row.burst - 1)

    def is_superseded(self) -> None:
        """Close the connection: another one has since shown the same player's token."""
        self._waiting = False
        self.connection.close(protocol.TAKEN_OVER, TAKEN_OVER)

    def missed(self, resident: Resident) -> None:
        """Decide what becomes of a player that came here after the client's connection ended."""
        self._waiting = False
        self._part(resident, self._ended or ABNORMAL)

    def welcome(self, resident: Resident, view: Viewport, *, back: bool) -> None:
        """Begin to play as a resident; `back`: the client did so before."""
        self._waiting = False
        node, grid = self.node, self.node.grid
        self.resident = resident
        self._seat = self.limits.take_seat(self.address)
        self.player = resident.id
        log_line(
            "join", player=resident.id, name=resident.name, how="back" if back else "new",
            address=self.address, node=node.id,
        )  # fmt: skip
        self._rated = resident.id
        now = node.loop.now()
        welcome = protocol.welcome(
            protocol.VERSION, resident.id, now, node.terrain.seed, *resident.track.at(now),
            grid.side, SPEED, DIAGONAL, grid.lead, grid.drop, *_tiles(view), GROUND,
        )  # fmt: skip
        self._write(frame(welcome))
        if not node.peers.linked:
            self.tell_link()
        self.renew_token()
        node.residents.attach(resident, self, view)
        self._obey_early()

    def tell_host(self, name: str, here: bool) -> None:
        """Tell a guest who invited it, and whether that player is in play."""
        if self.connection.open:
            self._write(frame(protocol.host(name, here)))

    def tell_link(self) -> None:
        """Tell the client whether this node is linked to the others, if its connection lasts."""
        linked = self.node.peers.linked
        if self.connection.open and self._write(frame(protocol.link(linked))):
            self._link_told = linked

    def give_up(self) -> None:
        """End this session, so that the player can go on in another one."""
        assert self.resident is not None
        self._keep_rates()
        self._leave_seat()
        self.node.residents.detach(self.resident)
        self.resident = None
        self.connection.close(protocol.TAKEN_OVER, TAKEN_OVER)

    def _walk(self, number: int, t: int, dx: int, dy: int) -> None:
        self._intend(number, t, Heading(dx, dy) if dx or dy else None)

    def _go(self, number: int, t: int, x: int, y: int) -> None:
        self._intend(number, t, Goal(x, y))

    def _intend(self, number: int, t: int, intent: Intent) -> None:
        """Note an intent, which is obeyed after the messages that came with it.

        A server that is late finds several in one read. All but the last of those that are too old
        would take effect at the same moment, so that the last one is enough.
        """
        self._numbered(number)
        before, replaces = self._intended, 0
        if before is not None:
            if t > self.node.loop.now() - INTENT_AGE:
                self._act()
            else:
                t, replaces = max(t, before.t), before.replaces + 1
        self._intended = Intended(number, t, intent, replaces)

    def _act(self) -> None:
        """Obey the intent that was noted."""
        intended, self._intended = self._intended, None
        assert intended is not None and self.resident is not None
        self.node.movement.act(
            self.resident, intended.number, intended.t, intended.intent, intended.replaces
        )

    def _home(self, number: int) -> None:
        self.node.movement.home(self._numbered(number), number)

    def _numbered(self, number: int) -> Resident:
        if number <= self._intent:
            raise Refused("number", "the numbers of intents must rise")
        self._intent = number
        assert self.resident is not None
        self.resident.acted = True
        return self.resident

    def _viewport(self, width: int, height: int) -> None:
        assert self.resident is not None
        self.node.movement.look(self.resident, viewport(width, height))

    def _say(self, text: str) -> None:
        cleaned = protocol.clean(text, protocol.TEXT_LIMIT)
        if cleaned is None:
            raise Refused(
                "say", f"say 1 to {protocol.TEXT_LIMIT} characters that can be seen"
            )
        self.node.residents.say(self._heard(), cleaned)

    def _emote(self, emote: int) -> None:
        self.node.residents.emote(self._heard(), emote)

    def _heard(self) -> Resident:
        """Return the resident, which is about to say something or to make an emote. Raises Refused
        if it may not."""
        resident = self.resident
        assert resident is not None
        self.node.orders.check_voice(resident.id)
        # A chat message is never replaced by a newer one, as a move is, so there must be a limit.
        if not self.limits.allow(SAYINGS, resident.square):
            raise Refused("crowded", "too much is said here at once: say it again soon", None)
        resident.acted = True
        return resident

    def _appear(self, name: str, look: int) -> None:
        resident, cleaned = self.resident, protocol.clean(name, protocol.NAME_LIMIT)
        assert resident is not None
        if cleaned is None:
            raise Refused("name", _BAD_NAME, None)
        if cleaned != resident.name:
            log_line("rename", player=resident.id, name=cleaned, address=self.address)
        self.node.residents.appear(resident, cleaned, look)
        lasting.tell_name(self)

    def _invite(self) -> None:
        resident = self.resident
        assert resident is not None
        place = resident.track.at(self.node.loop.now())
        text = self._tokens.invite(resident.id, resident.name, place)
        self.connection.send_control(frame(protocol.invitation(text)))

    def _watch(self, grain: int | None, c0: int, r0: int, c1: int, r1: int) -> None:
        watching = self.node.watching
        if grain is None:
            watching.leave(self)
            return
        if self.resident is None and not self.watches:
            if len(watching) >= SPECTATORS_MOST:
                raise Refused("full", "too many people only watch this world", protocol.FULL)
            self.watches = True
        watching.watch(self, grain, Rect(c0, r0, c1, r1))

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
        self._note(number)
        self.connection.send_control(frame(protocol.pong(time, self.node.loop.now())))
        self._caught_up()

    def _ack(self, number: int) -> None:
        self._note(number)
        self._caught_up()

    def _note(self, number: int) -> None:
        """Note that the client has received all flushes up to a number. Raises Refused."""
        if number > self._sent:
            if number <= self._earlier:
                # It was under way when the player was passed on.
                return
            raise Refused("flush", "only a flush that was sent can be acknowledged")
        if self._mark and number >= self._mark:
            if number == self._sent:
                self._mark = self._marked_bytes = self._later_bytes = 0
            else:
                self._mark, self._marked = self._sent, self.node.loop.now()
                self._marked_bytes, self._later_bytes = self._later_bytes, 0

    # What the client is told.

    def _write(self, data: bytes) -> bool:
        """Send frames that the client must not miss. If they cannot be sent, the client lags."""
        if self.lagging_since is not None:
            return False
        if self.connection.send(data):
            return True
        self._begin_to_lag()
        return False

    def hold(self, before: Rect | None, rect: Rect) -> None:
        """Tell the client which squares it holds now, with snapshots of the new ones."""
        if self.lagging_since is None:
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
        if self.lagging_since is not None:
            self.node.stats["skipped"] += 1
            return
        if not self.connection.send(data):
            self.node.stats["skipped"] += 1
            self._begin_to_lag()
            return
        self._sent = number
        if not self._mark:
            self._mark, self._marked, self._marked_bytes = number, now, len(data)
            return
        self._later_bytes += len(data)
        if (
            now - self._marked > LAGGING_AFTER
            # While this server is late, the acknowledgement may have come and is still to be read.
            and now - self._marked > LAGGING_AFTER + self.node.loop.late()
        ) or self._marked_bytes + self._later_bytes > LAGGING_BYTES:
            self._begin_to_lag()

    def show_map(self, data: bytes) -> bool:
        """Send frames of the map of everybody; return False if that is not possible now."""
        if self.lagging_since is None and self.connection.send(data):
            return True
        if self.resident is None and self.lagging_since is None:
            # Nobody plays here, so there are no flushes by which it would be noticed.
            self._begin_to_lag()
        return False

    def _begin_to_lag(self) -> None:
        self.lagging_since = self.node.loop.now()
        self.node.stats["lagged"] += 1

    def _caught_up(self) -> None:
        """Send a resync if the client lagged and has now acknowledged all that was sent."""
        if self.lagging_since is None or self._mark or self._arriving:
            return
        if self.connection.backlogged:
            return
        resident = self.resident
        if resident is None:
            self.lagging_since = None
            return
        if resident.held is None:
            return
        self.lagging_since = None
        self.node.stats["resyncs"] += 1
        if self._link_told != self.node.peers.linked:
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

    # From one worker of a machine to another (server/gathering.py).

    def greet(
        self, hello: Hello, met: Met | None, place: tuple[int, int], id: int,
        early: list[tuple[int, list[Any]]],
    ) -> None:  # fmt: skip
        """Let a client play that has said hello to another worker, or refuse it.

        `early` is what it has sent since, and `met` who has invited it. Newcomers begin at `place`
        with this id.
        """
        self._waiting, self._early = True, early
        try:
            self._admission.decide_here(hello, self, met, place, id)
        except Refused as refused:
            self._waiting = False
            self.refuse(refused)

    @property
    def greeting(self) -> list[tuple[int, list[Any]]] | None:
        """What the client has sent since its hello, as (kind, fields), while that is not answered
        and nothing else of it is under way here; otherwise None."""
        waits = self._waiting and self._ended is None and not self.node.watching.shows(self)
        return self._early if waits else None

    @property
    def settled(self) -> bool:
        """Whether it plays and nothing of it is under way in this process, so that it may go on in
        another one: no answer from the store is awaited, and its client neither lags nor looks at
        the map."""
        return (
            self.resident is not None and self._intended is None and self.lagging_since is None
            and not self.node.watching.shows(self)
            and self.node.loop.now() - self._asked > ANSWERED_WITHIN
        )  # fmt: skip

    def state(self) -> list[Any]:
        """Return what another session needs to go on in its place; see `go_on`."""
        buckets = [[kind, bucket.full_at] for kind, bucket in self._rates.buckets.items()]
        return [
            self._intent, max(self._sent, self._earlier), self.owner, self._link_told, buckets,
            self._rates.patience.full_at,
        ]  # fmt: skip

    def leave(self) -> None:
        """End this session without a word to the client, which has another session now."""
        self._leave_seat()
        self._rated = self.player = self.error = self.resident = None
        self._waiting = False

    def go_on(self, resident: Resident, view: Viewport, state: list[Any]) -> None:
        """Go on as a resident in the place of a session of another worker, which had this state.

        The client is shown its squares by `arrive`.
        """
        self._intent, self._earlier, self.owner, self._link_told, buckets, patience = state
        for kind, full_at in buckets:
            row = MESSAGES[kind]
            bucket = self._rates.buckets[kind] = Bucket(row.rate, row.burst, self.opened)
            bucket.full_at = full_at
        self._rates.patience.full_at = patience
        self.resident = resident
        self._seat = self.limits.take_seat(self.address)
        self.player = self._rated = resident.id
        # Until its squares are known here it is as a client that lags.
        self.lagging_since, self._arriving = self.opened, True
        self.node.residents.resume(resident, self, view)

    def arrive(self) -> None:
        """Show the client its squares."""
        self._arriving = False
        self._caught_up()

    # Its end.

    def closed(self, code: int) -> None:
        """End the session: its connection has ended, or begun to end, with this close code."""
        self._keep_rates()
        self._leave_seat()
        self.node.watching.leave(self)
        resident, self.resident = self.resident, None
        if resident is not None:
            self._part(resident, code)
        elif self._waiting:
            self._ended = code

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


#: What is told of a name that is not allowed.
_BAD_NAME: Final = f"a name must have 1 to {protocol.NAME_LIMIT} characters that can be seen"


#: The close codes for clients that broke the protocol. Their players leave at once.
_OUR_ERRORS: Final = (
    PROTOCOL_ERROR, protocol.UNSUPPORTED, protocol.MALFORMED, protocol.POLICY, TOO_BIG,
)  # fmt: skip

#: The messages that may come before hello.
_BEFORE_HELLO: Final = (protocol.HELLO, protocol.WATCH)

#: The messages that need not wait until the intents before them are obeyed, and that the store does
#: not answer.
_AFTER_INTENTS: Final = (
    protocol.WALK, protocol.GO, protocol.PING, protocol.ACK, protocol.HELLO,
)  # fmt: skip

_OBEY: dict[int, Callable[..., None]] = {
    protocol.HELLO: Session._hello,
    protocol.WALK: Session._walk,
    protocol.GO: Session._go,
    protocol.HOME: Session._home,
    protocol.VIEWPORT: Session._viewport,
    protocol.SAY: Session._say,
    protocol.PING: Session._ping,
    protocol.INVITE: Session._invite,
    protocol.TAKE: lasting.take,
    protocol.KEY: lasting.key,
    protocol.SCORES: lasting.scores,
    protocol.BUILD: lasting.build,
    protocol.STONE: lasting.stone,
    protocol.ACK: Session._ack,
    protocol.WATCH: Session._watch,
    protocol.EMOTE: Session._emote,
    protocol.APPEAR: Session._appear,
}

assert _OBEY.keys() == MESSAGES.keys()
