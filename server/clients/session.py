"""The session of one player on one connection: its messages, its rates, and its end.

The handlers of messages are in handlers.py, the welcome of the player is in joining.py, and what
the client is sent of its squares in screen.py. This module never waits.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from flatlands.server.clients.admission import Admission, Request
from flatlands.server.clients.screen import ClientScreen
from flatlands.server.clients.session_transfer import SessionState
from flatlands.server.clients.tokens import Tokens
from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import Refused
from flatlands.server.messages.table import Row
from flatlands.server.net.connection import Connection
from flatlands.server.net.frames import NORMAL, PROTOCOL_ERROR, TEXT, TOO_BIG
from flatlands.server.node import Node
from flatlands.server.players.movement import INTENT_AGE_MS
from flatlands.server.players.resident import Resident, next_incarnation
from flatlands.server.runtime.limits import SEATS, SPECTATORS, Limits, Rate, Rates
from flatlands.world.track import Intent

#: ms after which the connection of a client that lags is ended.
STUCK_AFTER_MS: Final = 30_000

#: An answer of the store comes within this time, or never.
STORE_ANSWER_MS: Final = 3000

#: The reason in the close frame of a connection whose player goes on at another connection.
TAKEN_OVER: Final = "you are playing somewhere else now"

#: The answer to a client that wants to walk as the game does not let its players walk.
WALKING_FORBIDDEN: Final = "you can't move that way in this game"

#: How many messages over its rates a client may send before its connection is closed. If this node
#: has only just learnt of a player, the player may have used up its rates elsewhere.
PATIENCE: Final = Rate("patience", 2, 40)

#: A handler of a kind of message: it is called with the session and the fields, and may raise
#: Refused.
Handler = Callable[..., None]


class MessageKind:
    """A kind of message from clients: how often a client may send it, and its handler."""

    __slots__ = ("rate", "handler")

    def __init__(self, row: Row, handler: Handler) -> None:
        self.rate = Rate(row.name, row.rate, row.burst)
        self.handler = handler


class PendingIntent:
    """An intent that waits to be obeyed.

    By its client it began at the time `t`. It replaces `replaces` older ones.
    """

    __slots__ = ("number", "t", "intent", "replaces")

    def __init__(self, number: int, t: int, intent: Intent, replaces: int) -> None:
        self.number = number
        self.t = t
        self.intent = intent
        self.replaces = replaces


class Session(ClientScreen):
    """The session of a client: reads its messages, and has handlers obey them.

    To the admission it is a JoiningClient (admission.py). `kinds` are the kinds of messages.
    """

    __slots__ = (
        "opened_at",
        "limits",
        "heard_at_ping_s",
        "rates",
        "last_intent_number",
        "_kinds",
        "_pending",
        "watches_map",
        "admission",
        "request",
        "_has_seat",
        "_known_as",
        "_last_request_at",
        "ticket",
        "key",
    )

    def __init__(
        self,
        connection: Connection | Any,
        node: Node,
        admission: Admission,
        tokens: Tokens,
        limits: Limits,
        kinds: dict[int, MessageKind],
    ) -> None:
        super().__init__(connection, node, tokens)
        #: Node time at which it was opened, or last ceased to watch without playing.
        self.opened_at = node.loop.now()
        #: When the last message had come before the last ping, as `Connection.last_heard` has it.
        self.heard_at_ping_s = 0.0
        self.admission = admission
        self._kinds = kinds
        self.limits = limits
        #: The client's latest messages, counted by their kinds. This belongs to the player: a
        #: client that comes back goes on with it.
        self.rates = Rates()
        #: The id of the player whose rates these are, while they are to be kept for it; or None.
        self._known_as: int | None = None
        #: Whether it is counted as a seat of its address, and whether as a spectator, which looks
        #: at the map and does not play.
        self._has_seat = self.watches_map = False
        #: The number of the client's last intent, 0 before the first; and the intent that is obeyed
        #: after the messages that came with it, or None.
        self.last_intent_number = 0
        self._pending: PendingIntent | None = None
        #: Its hello, while that was neither welcomed nor refused yet.
        self.request: Request | None = None
        #: The ticket for the game and the key that it has sent before its hello, or "".
        self.ticket = self.key = ""
        #: Node time at which the client last asked for anything but to walk.
        self._last_request_at = 0
        connection.on_message = self._message
        connection.on_drain = self.catch_up

    @property
    def owes_hello(self) -> bool:
        """Whether it neither plays, nor is about to, nor looks at the map."""
        return self.resident is None and self.request is None and not self.watches_map

    # What has come.

    def _message(self, opcode: int, payload: bytes) -> None:
        try:
            if opcode == TEXT:
                raise Refused("text", "messages must be binary frames", protocol.UNSUPPORTED)
            fields = protocol.read(payload)
            number: int = fields.pop(0)
            kind = self._kinds[number]
            greeted = self.resident is not None or self.request is not None
            if number == protocol.HELLO and greeted:
                raise Refused("hello", "hello may be sent only once")
            if number not in _BEFORE_HELLO and not greeted:
                raise Refused("hello", "the first message must be hello")
            self.spend(number, kind.rate)
            if self.request is not None:
                self.request.early.append((number, fields))
            else:
                if number not in _NEED_NO_INTENTS:
                    self._last_request_at = self.node.loop.now()
                    if self._pending is not None:
                        self._obey_pending()
                kind.handler(self, *fields)
        except Refused as refused:
            self.refuse(refused)
        if self._pending is not None and not self.connection.more:
            self._obey_pending()

    def obey(self, messages: Iterable[tuple[int, Sequence[Any]]]) -> None:
        """Obey messages that came before the welcome, each as (kind, fields)."""
        for kind, fields in messages:
            if not self.connection.open:
                return
            try:
                self._kinds[kind].handler(self, *fields)
            except Refused as refused:
                self.refuse(refused)
        if self._pending is not None:
            self._obey_pending()

    def spend(self, kind: int | str, rate: Rate) -> None:
        """Note a message of this kind. Raises Refused if there were too many of them lately."""
        if self.limits.any_rate:
            return
        now = self.node.loop.now()
        # Messages that waited while this server stood still all come at once, which is no fault of
        # the client's.
        late = self.node.loop.recent_stall_ms() if self.rates.full_at.get(kind, 0.0) > now else 0
        if self.rates.spend(kind, rate, now, 1, late):
            return
        often = f"{rate.rate:g} a second" if rate.rate >= 1 else f"once in {1 / rate.rate:g} s"
        raise Refused(
            "flood",
            f"too often: {rate.name.removeprefix('do ')} at most {often}",
            None if self.rates.spend(PATIENCE.name, PATIENCE, now) else protocol.POLICY,
        )

    # Its player, and the player's rates.

    def take_rates(self, id: int) -> None:
        """Go on with the rates of this player, whose token the client has shown."""
        self._known_as = id
        rates = self.limits.take_rates(id)
        if rates is not None:
            self.rates = rates
        else:
            # It may have used up its chat messages at another node a moment ago.
            say = self._kinds[protocol.SAY].rate
            self.rates = Rates()
            self.rates.spend(protocol.SAY, say, self.node.loop.now(), say.burst - 1)
            for action in self.node.play.actions.values():
                rate = action.rate
                self.rates.spend(rate.name, rate, self.node.loop.now(), rate.burst - 1)

    def play(self, resident: Resident) -> None:
        """Play as this resident from now on."""
        self.resident, self.player = resident, resident.id
        self._known_as = resident.id
        self._has_seat = self.limits.take(SEATS, self.address)

    def _free_seat(self) -> None:
        """Free its seat, and keep its rates in case the player comes back."""
        if self._has_seat:
            self._has_seat = False
            self.limits.let_go(SEATS, self.address)
        if self._known_as is not None:
            self.limits.keep_rates(self._known_as, self.rates)
            self._known_as = None

    def supersede(self, *, walks: bool = False) -> None:
        """End this session because the player goes on in another one, which is at another node if
        the player `walks` on."""
        assert self.resident is not None
        self._free_seat()
        residents = self.node.residents
        (residents.detach if walks else residents.detach_and_stop)(self.resident)
        self.resident = None
        self.connection.close(protocol.CLOSE_TAKEN_OVER, TAKEN_OVER)

    # What the player intends.

    def accept_number(self, number: int) -> None:
        """Take the number of the player's next intent. Raises Refused if numbers do not rise."""
        if number <= self.last_intent_number:
            raise Refused("number", "the numbers of intents must increase")
        self.last_intent_number = number
        assert self.resident is not None
        self.resident.has_acted = True

    def intend(self, number: int, t: int, intent: Intent) -> None:
        """Note an intent, which is obeyed after the messages that came with it. Raises Refused.

        A server that is late finds several in one read. Those that are too old would all take
        effect at the same moment, so only the last of them matters.
        """
        forbids = self.node.play.forbids_intent
        if forbids is not None and intent is not None and forbids(intent):
            raise Refused("walk", WALKING_FORBIDDEN, None)
        self.accept_number(number)
        before, replaces = self._pending, 0
        if before is not None:
            if t > self.node.loop.now() - INTENT_AGE_MS:
                self._obey_pending()
            else:
                t, replaces = max(t, before.t), before.replaces + 1
        self._pending = PendingIntent(number, t, intent, replaces)

    def _obey_pending(self) -> None:
        """Obey the intent that waits."""
        pending, self._pending = self._pending, None
        assert pending is not None and self.resident is not None
        movement = self.node.movement
        movement.act(self.resident, pending.number, pending.t, pending.intent, pending.replaces)

    def stop_watching_map(self) -> None:
        """Note that it no longer looks at the map without playing."""
        if self.watches_map:
            self.watches_map = False
            self.limits.let_go(SPECTATORS, self.address)
            self.opened_at = self.node.loop.now()

    # From one worker of a machine to another (server/workers/migration.py).

    def transferable_state(self) -> SessionState | None:
        """Return all that another session needs to go on in its place. Return None while it does
        not play, its client lags or looks at the map, an answer from the store may still come, or
        something else of it is under way in this process."""
        resident = self.resident
        if (
            resident is None
            or resident.view is None
            or self._pending is not None
            or self.lags_since is not None
            or self.node.views.shows(self)
            or self.node.play.hook_queues.holds_migration(resident.id)
            or self.node.loop.now() - self._last_request_at <= STORE_ANSWER_MS
        ):
            return None
        return SessionState(
            player=resident.state(),
            view=resident.view,
            intent=self.last_intent_number,
            flush=max(self.sent, self.earlier),
            linked=self._link_sent,
            rates=list(self.rates.full_at.items()),
            announced=self.node.takeovers.is_announced(resident.id),
        )

    def release_to_worker(self) -> None:
        """End this session without a word to the client, which has a session at another worker
        now."""
        self._known_as = None
        self._free_seat()
        if self.resident is not None:
            self.node.residents.detach(self.resident)
        self.player = self.error = self.resident = self.request = None

    def resume(self, state: SessionState) -> None:
        """Go on in place of a session of another worker; `show_squares` then shows the client what
        it is to see."""
        self.last_intent_number, self.earlier = state.intent, state.flush
        self._link_sent = state.linked
        self.rates.full_at = dict(state.rates)
        # Until this node has received its squares, it is treated like a client that lags.
        self.lags_since, self._arriving = self.opened_at, True
        player, last_seq = state.player, self.node.last_seq(state.player.id)
        if player.seq <= last_seq:
            # It came back here while nothing came from its last worker, and has left again.
            player = player._replace(seq=next_incarnation(last_seq))
        resident = self.node.residents.take_in(player)
        if state.announced:
            self.node.takeovers.keep_announcing(resident.id)
        self.play(resident)
        self.node.residents.attach(resident, self, state.view, resumed=True)

    def show_squares(self) -> None:
        """Show the client its squares."""
        self._arriving = False
        self.catch_up()

    # Its end.

    def on_closing(self, code: int) -> None:
        """End the session: its connection has ended, or begun to end, with this close code."""
        self._free_seat()
        self.stop_watching_map()
        self.node.views.leave(self)
        resident, self.resident = self.resident, None
        if resident is not None:
            self.connection_ended(resident, code)
        elif self.request is not None:
            request, self.request = self.request, None
            request.close_code = code
            self.admission.withdraw(request)

    def connection_ended(self, resident: Resident, code: int) -> None:
        """Decide what becomes of a player whose connection has ended."""
        residents, by_client = self.node.residents, self.connection.closed_by_peer
        if code == NORMAL or (code in _OUR_ERRORS and not by_client):
            residents.detach_and_stop(resident)
            residents.leave(resident)
        else:
            sent_away = code == protocol.RESTART and not by_client
            residents.connection_lost(resident, dimmed=not sent_away)


#: The close codes for clients that broke the protocol. Their players leave at once.
_OUR_ERRORS: Final = (
    PROTOCOL_ERROR,
    protocol.UNSUPPORTED,
    protocol.MALFORMED,
    protocol.POLICY,
    TOO_BIG,
)

#: The messages that may come before hello.
_BEFORE_HELLO: Final = (protocol.HELLO, protocol.WATCH, protocol.TICKET, protocol.KEY)

#: The messages for which the intents before them need not have been obeyed, since they are intents
#: themselves or have nothing to do with where the player is. Nor does the store answer any of them.
_NEED_NO_INTENTS: Final = (
    protocol.WALK,
    protocol.GO,
    protocol.PING,
    protocol.ACK,
    protocol.HELLO,
)
