"""From hello to welcome: decides whether a client may join, and as which player.

A client with a token comes back as the token's player, wherever that player is. A client with an
invitation begins beside the player that invited it. Both players may be at another node, so the
decision may take some hundred ms, or longer if many come from one address. It is written as one
function that stops where it waits (`PendingDecision`).
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

import gevent

from flatlands.server.clients.tokens import TokenClaim, Tokens
from flatlands.server.game.me import Guest
from flatlands.server.messages.protocol import TRY_LATER, Refused
from flatlands.server.node import Node
from flatlands.server.players.invitations import Inviter
from flatlands.server.players.movement import face
from flatlands.server.players.recording import dated
from flatlands.server.players.resident import Resident, State, next_incarnation
from flatlands.server.players.residents import new_id
from flatlands.server.players.spots import Position
from flatlands.server.players.takeovers import WITHDRAWN, TakeoverAnswer
from flatlands.server.runtime.limits import JOINS, RETURNS, Limits
from flatlands.server.runtime.timers import TimerQueue
from flatlands.world.grid import Square, Viewport
from flatlands.world.track import SPEED, UNIT

#: How far along each axis a player can have walked since its last token was made: a new one comes
#: every ten seconds, or a little later.
WALKED_UNITS = 12 * SPEED

#: The most clients that the game is asked about at once.
ASKED_AT_ONCE: Final = 1000

#: Seconds within which the game must say whether a client may play.
ANSWER_WITHIN_S = 20.0

#: An asynchronous question: a function that takes a callback, and calls it with the answer.
Question: TypeAlias = Callable[[Callable[[Any], None]], object]


class Superseded(Exception):
    """Another connection has since shown the same player's token."""


class Hello(NamedTuple):
    """A client's request to join.

    `near` is a player's id or an invitation, as it came. `place` is where its player stood when its
    last connection ended, or None. `ticket` is for the game. `owner` says whose points it earns, if
    the game has set that.
    """

    name: str
    view: Viewport
    token: str | None
    near: int | str | None
    place: Position | None
    ticket: str = ""
    owner: str = ""


class Spawn(NamedTuple):
    """The place at which a client begins, and its player, as decided by the worker to which it
    came.

    A newcomer begins at this place with this id; a returning player begins near it. `host` is
    the player that has invited it. It was passed from worker to worker `hops` times.
    """

    id: int
    place: Position
    host: Inviter | None
    hops: int = 0


class Admitted(NamedTuple):
    """The decision that a client may play, as this resident.

    `host` is the player that has invited it; `back`: it has played before; `resumed`: it came from
    another machine, in the middle of its game. If its connection has ended meanwhile, only this
    node can publish what becomes of the player, since another one has handed it over.
    """

    resident: Resident
    host: Inviter | None
    back: bool
    resumed: bool


#: The decision on a request.
Decision: TypeAlias = Admitted | Refused | Superseded

_T = TypeVar("_T")

#: A computation of a value of this type, in steps: it yields questions, and is sent the answers. It
#: raises Refused and Superseded.
Pending: TypeAlias = Generator[Question, Any, _T]

#: A decision on its way. It is None if nobody waits for it, since the client is gone or was passed
#: on.
PendingDecision: TypeAlias = Pending[Admitted | None]


class JoiningClient(Protocol):
    """A client that has sent hello, on a connection that may end at any time."""

    @property
    def address(self) -> str:
        """Its IP address."""

    @property
    def connected(self) -> bool:
        """Whether its connection is open."""

    def take_rates(self, id: int) -> None:
        """Go on with the rates of this player, whose token it has shown."""


class Request:
    """A client's hello on which nothing is decided yet.

    `on_decision` is called with it and the decision. `spawn` is the decision of another worker, if
    that has passed the client to this one.
    """

    __slots__ = ("client", "address", "hello", "on_decision", "spawn", "early", "close_code")

    def __init__(
        self,
        client: JoiningClient,
        hello: Hello,
        on_decision: Callable[["Request", Decision], None],
        spawn: Spawn | None = None,
        early: Iterable[tuple[int, Sequence[object]]] = (),
    ) -> None:
        self.client = client
        self.address = client.address
        self.hello = hello
        self.on_decision = on_decision
        self.spawn = spawn
        #: The messages since the client's hello, as (kind, fields). Rates bound their number.
        self.early = list(early)
        #: The close code with which its connection has ended meanwhile, or None.
        self.close_code: int | None = None


class OtherWorkers(Protocol):
    """The other workers of this machine, to which the admission passes clients."""

    def elsewhere(self, square: Square, id: int) -> int | None:
        """Return the other worker that serves a player in a square; None if none does."""

    def another(self) -> int | None:
        """Return any other worker that takes players and has room; None if none does."""

    def pass_hello(
        self,
        request: Request,
        worker: int,
        hello: Hello,
        spawn: Spawn,
    ) -> bool:
        """Pass a client to another worker, with its hello as the game allows it; return False if
        that is impossible."""


class Admission:
    """Decides which clients may play at this node, and as whom.

    `capacity` is the number of players that the node accepts. `other_workers` is given if there are
    any to which clients may be passed.
    """

    def __init__(
        self,
        node: Node,
        tokens: Tokens,
        limits: Limits,
        capacity: int,
        other_workers: OtherWorkers | None = None,
    ) -> None:
        self._node = node
        self._tokens = tokens
        self._limits = limits
        self.capacity = capacity
        self.other_workers = other_workers
        #: Seats for players that other nodes are asked for: there must be room when they come.
        self._reserved_seats = 0
        #: How many `on_hello` hooks of the game run; the number of the next one; and the id of a
        #: player -> the numbers of the running hooks for clients with its token, in order.
        self._hooks_running = 0
        self._hook_numbers = count()
        self._hooks_by_player: dict[int, list[int]] = {}
        #: Requests that wait because many come from their addresses -> what continues them.
        self._delayed: dict[Request, Callable[[None], None]] = {}
        self._delays = TimerQueue(node.loop, lambda some, _due: self._delayed.pop(some)(None))

    @property
    def full(self) -> bool:
        """Whether there is no room for one more player."""
        # Players whose connections are lost do not count, nor do computer players.
        return self._node.hub.sessions_holding + self._reserved_seats >= self.capacity

    @property
    def full_for_newcomers(self) -> bool:
        """Whether a newcomer would find no room, here or at another worker of this machine. One
        that has become full within the last tenth of a second refuses a hello."""
        return self.full and (self.other_workers is None or self.other_workers.another() is None)

    def decide(self, request: Request) -> None:
        """Decide on a request: now, or once its delay is over and other nodes have answered."""
        self._go_on(request, self._decide(request), None)

    def withdraw(self, request: Request) -> None:
        """Forget a request if it is still delayed: the client's connection has ended."""
        if self._delayed.pop(request, None) is not None:
            self._delays.drop(request)
            self._limits.refund(JOINS, request.address)

    def _go_on(self, request: Request, pending: PendingDecision, answer: object) -> None:
        """Continue a decision with the answer to its question."""
        try:
            question = pending.send(answer)
        except StopIteration as end:
            if end.value is not None:
                request.on_decision(request, end.value)
        except (Refused, Superseded) as decision:
            request.on_decision(request, decision)
        else:
            question(partial(self._go_on, request, pending))

    def _decide(self, request: Request) -> PendingDecision:
        hello, spawn = request.hello, request.spawn
        claim = self._tokens.read(hello.token) if hello.token is not None else None
        self._check_moderation(claim, request, hello)
        if claim is not None and not self._limits.allow(RETURNS, claim.id):
            raise Refused(
                "returns", "you are reconnecting too often: wait a few seconds", TRY_LATER
            )
        if spawn is None:
            if claim is None or claim.id not in self._node.residents.by_id:
                yield from self._await_rate(request)
            hello = yield from self._ask_game(hello, claim)
            host = yield from self._find_host(hello)
            if not request.client.connected:
                return None
            # A moderation action may have come since, and the game may have named its owner.
            self._check_moderation(claim, request, hello)
            id = new_id() if claim is None else claim.id
            spawn = Spawn(id, self._place(hello, claim, host), host)
        if (worker := self._worker(spawn)) is not None:
            # By then, whatever came in the same read, such as a close frame, has been read.
            yield lambda go_on: self._node.loop.call_soon(partial(go_on, None))
            assert self.other_workers is not None
            connected = request.client.connected
            if not connected or self.other_workers.pass_hello(request, worker, hello, spawn):
                return None
        if claim is not None:
            return (yield from self._bring_back(claim, hello, request, spawn.host))
        self._check_seats(request)
        resident = self._node.residents.join(hello.name, spawn.place, id=spawn.id)
        return self._let_in(resident, hello, spawn.host, back=False)

    def _check_moderation(self, claim: TokenClaim | None, request: Request, hello: Hello) -> None:
        """Raise Refused if a moderation action keeps a client out."""
        id, moderation = None if claim is None else claim.id, self._node.moderation
        if id is not None:
            moderation.link_owner(id, hello.owner)
        moderation.check_access(id, request.address, hello.owner)

    def _check_seats(self, request: Request) -> None:
        """Raise Refused if there is no room for another player, or for one from this address."""
        if self.full:
            raise Refused("full", "this world is full: try again later", TRY_LATER)
        if not self._limits.has_seat(request.address, self.capacity):
            raise Refused(
                "joins",
                "too many players from your address are here already: try again later",
                TRY_LATER,
            )

    def _await_rate(self, request: Request) -> Pending[None]:
        """Wait until one more player may come from the client's address."""
        if self.other_workers is None:
            self._check_seats(request)
        # It is counted here, where it came in. A worker to which it is passed counts its players.
        wait = self._limits.wait(JOINS, request.address)
        if wait is None:
            raise Refused(
                "joins",
                "too many players are joining from your address: try again in a minute",
                TRY_LATER,
            )
        if wait:
            self._delays.put(request, self._node.loop.now() + wait)
            yield partial(self._delayed.__setitem__, request)

    def _ask_game(self, hello: Hello, claim: TokenClaim | None) -> Pending[Hello]:
        """Return a client's hello as the game allows it. Raises Refused, and Superseded."""
        play = self._node.play
        if not play.hello_hooks:
            return hello
        if self._hooks_running >= ASKED_AT_ONCE:
            raise Refused("full", "too many players are joining at once: try again", TRY_LATER)
        guest, number = Guest(hello.name), next(self._hook_numbers)
        running = [] if claim is None else self._hooks_by_player.setdefault(claim.id, [])
        running.append(number)

        def ask(go_on: Callable[[None], None]) -> None:
            self._hooks_running += 1
            try:
                # It is raised in the hook, which then has failed.
                with gevent.Timeout(ANSWER_WITHIN_S):
                    play.ask(guest, hello.ticket)
            finally:
                self._hooks_running -= 1
            self._node.loop.guarded(go_on, None)

        yield partial(self._node.spawn, ask)
        is_latest = running[-1] == number
        running.pop(0)
        if claim is not None and not running:
            del self._hooks_by_player[claim.id]
        if not is_latest:
            raise Superseded
        if guest.refused is not None:
            raise guest.refused
        return hello._replace(name=guest.name, ticket="", owner=guest.owner)

    def _find_host(self, hello: Hello) -> Pending[Inviter | None]:
        """Return the player that has invited a client, if there is one."""
        invitation = self._tokens.read_invitation(hello.near) if type(hello.near) is str else None
        if invitation is None:
            return None
        # The player may be at another node, or may have walked on since.
        host: Inviter | None = yield partial(self._node.invitations.find, invitation.id)
        if host is None:
            host = Inviter(
                invitation.name, self._node.residents.choose_spot(invitation.place), None
            )
        return host

    def _worker(self, spawn: Spawn) -> int | None:
        """Return the other worker that a client is passed to, if any."""
        if self.other_workers is None or spawn.id in self._node.residents.by_id:
            return None
        square = self._node.grid.square(*spawn.place)
        worker = None if spawn.hops else self.other_workers.elsewhere(square, spawn.id)
        if worker is None and spawn.hops < 2 and self.full:
            # Any other worker may serve a player that begins in the district of a full one.
            worker = self.other_workers.another()
        return worker

    def _place(self, hello: Hello, claim: TokenClaim | None, host: Inviter | None) -> Position:
        """Return where a player begins: beside the player that has invited it, or where it was, or
        else beside another player or where newcomers begin."""
        if host is not None:
            return host.place
        if claim is not None:
            place = self._last_place(claim, hello)
            # With another seed there may be water now.
            if not self._blocked(place):
                return place
        near = None if isinstance(hello.near, str) else hello.near
        hook = self._node.play.start_place_hook
        chosen = None if hook is None or near is not None else hook()
        return chosen or self._node.residents.choose_spot(near)

    def _last_place(self, claim: TokenClaim, hello: Hello) -> Position:
        """Return where a player that comes back was, by what this node and the client have of it.

        A node that was killed has published nothing of where its players were. So the client sends
        its place, and is believed if its player can have walked there since its token was made.
        """
        if claim.id in self._node.residents.departed:
            return self._node.residents.departed[claim.id][1]
        (x, y), place = claim.place, hello.place
        if place is None or max(abs(place[0] - x), abs(place[1] - y)) > WALKED_UNITS:
            return claim.place
        return claim.place if self._blocked(place) else place

    def _blocked(self, place: Position) -> bool:
        return self._node.terrain.blocked(place[0] // UNIT, place[1] // UNIT)

    def _bring_back(
        self, claim: TokenClaim, hello: Hello, request: Request, host: Inviter | None
    ) -> PendingDecision:
        """Let a client come back at this node, as the player that its token names."""
        node = self._node
        resident, taken_over = node.residents.by_id.get(claim.id), None
        # If two connections show a player's token, the later one gets the player.
        node.takeovers.withdraw(claim.id)
        if resident is not None and resident.session is not None:
            resident.session.supersede()
        request.client.take_rates(claim.id)
        if resident is None:
            # There must be room before another node hands the player over.
            self._check_seats(request)
            if node.peers.peers:
                # Another node may have the player, and hands it over when it is asked.
                self._reserved_seats += 1
                taken_over = yield partial(node.takeovers.ask, claim.id)
                self._reserved_seats -= 1
            if taken_over is WITHDRAWN:
                raise Superseded
            if request.client.connected:
                self._check_moderation(claim, request, hello)
            elif taken_over is None or not taken_over.name:
                return None
            resident = self._return(claim, taken_over, hello, host)
            if not request.client.connected:
                return Admitted(resident, host, back=True, resumed=False)
        elif host is not None:
            node.movement.put(resident, host.place)
        return self._let_in(resident, hello, host, back=True, taken_over=taken_over)

    def _return(
        self,
        claim: TokenClaim,
        taken_over: TakeoverAnswer | None,
        hello: Hello,
        host: Inviter | None,
    ) -> Resident:
        """Return a new resident for a player that comes back; `taken_over` is what another node has
        answered, or None."""
        node, id, name = self._node, claim.id, hello.name
        seqs, place = [claim.seq, node.last_seq(id)], self._place(hello, claim, host)
        if taken_over is None and id in node.takeovers.released:
            # The node to which this one has handed it over may be dead.
            handed_over = node.takeovers.released[id]
            taken_over = TakeoverAnswer.of_resident(handed_over, node.loop.now())
        if taken_over is not None:
            name = taken_over.name or name
            seqs.append(taken_over.seq)
            if host is None:
                place = taken_over.place
        # Its new events must have higher seqs than all that were published before.
        seq, now = next_incarnation(max(seqs)), node.loop.now()
        walk = taken_over.walk if taken_over is not None and host is None else None
        if taken_over is not None and walk is not None:
            square = node.grid.square(*walk.track.at(now))
            state = State(id, seq, name, walk.track, square, now, pace=taken_over.pace)
            values = node.residents.values
            resident = node.residents.take_in(state._replace(values=values, intent=walk.intent))
            node.stats["moved_here"] += 1
            now = walk.at
        else:
            resident = node.residents.join(name, place, id=id, seq=seq)
        if taken_over is not None and taken_over.name:
            self._go_on_as_it_was(resident, taken_over, place, now)
        else:
            node.residents.restore(resident, claim.fields)
        node.takeovers.keep_announcing(id)
        return resident

    def _go_on_as_it_was(
        self, resident: Resident, taken_over: TakeoverAnswer, place: Position, handed_over_at: int
    ) -> None:
        """Give a new resident at `place` all else that the player had at the node that handed it
        over."""
        node = self._node
        # It is not a newcomer that only has a look.
        resident.has_acted = True
        node.residents.set_pace_and_values(
            resident, taken_over.pace, taken_over.lasts, taken_over.values
        )
        node.residents.set_name_and_look(resident, taken_over.name, taken_over.look)
        node.router.came(resident.id)
        if tuple(taken_over.recorded[-2:]) == place:
            resident.recorded = dated(taken_over.recorded, handed_over_at)

    def _let_in(
        self,
        resident: Resident,
        hello: Hello,
        host: Inviter | None,
        *,
        back: bool,
        taken_over: TakeoverAnswer | None = None,
    ) -> Admitted:
        """Let a client play as this resident; one that was invited turns towards its host."""
        if host is not None and host.way is not None:
            face(self._node.movement, resident, *host.way, self._node.loop.now())
        if self._node.play.hello_hooks:
            self._node.residents.set_name_and_look(resident, hello.name, resident.look)
            resident.owner = hello.owner
            self._node.presence.player_changed(resident.id)
            self._node.play.identity_changed(resident.id, hello.name, hello.owner)
        resumed = taken_over is not None and taken_over.walk is not None
        return Admitted(resident, host, back, resumed)
