"""From hello to welcome: decides whether a client may join, and as which player.

A client with a token comes back as the token's player, wherever that player is. A client with an
invitation begins beside the player that invited it. Both players may be known to another node only,
so the decision may take some hundred ms, or longer if many come from one address. This module never
writes to clients.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from flatlands.server.agenda import Agenda
from flatlands.server.clients.tokens import Claim, Tokens
from flatlands.server.limits import JOINS, RETURNS, Limits
from flatlands.server.messages.protocol import FULL, Refused
from flatlands.server.node import Node
from flatlands.server.players.invitations import Met
from flatlands.server.players.resident import Resident, next_incarnation
from flatlands.server.players.residents import new_id
from flatlands.server.players.spots import Place
from flatlands.server.players.takeovers import Elsewhere
from flatlands.world.grid import Viewport
from flatlands.world.track import SPEED, UNIT

#: How far along each axis a player can have walked, in units, since its last token was made: a new
#: one comes every ten seconds, or a little later.
WALKED = 12 * SPEED

#: What a player begins beside: a player of this node by its id, who invited it, or nothing.
Near = int | Met | None


class Hello(NamedTuple):
    """What a client asks for. `near` is a player's id or an invitation, as it came. `place` is
    where its player stood when its last connection ended, or None."""

    name: str
    view: Viewport
    token: str | None
    near: int | str | None
    place: Place | None


class Applicant(Protocol):
    """A client that has sent hello, on a connection that may end at any time."""

    def __hash__(self) -> int:
        """Return a number that it keeps."""

    @property
    def address(self) -> str:
        """Its IP address."""

    @property
    def here(self) -> bool:
        """Whether its connection is open."""

    def is_known(self, id: int) -> None:
        """Note that it has shown the token of this player."""

    def welcome(self, resident: Resident, view: Viewport, *, back: bool) -> None:
        """Let it play as this resident from now on; `back`: it did so before."""

    def tell_host(self, name: str, here: bool) -> None:
        """Tell it who invited it, after it was welcomed, and whether that player is in play."""

    def refuse(self, refused: Refused) -> None:
        """Refuse it."""

    def is_superseded(self) -> None:
        """Note that another connection has since shown the same player's token."""

    def missed(self, resident: Resident) -> None:
        """Note that its connection ended before its player came here from another node."""


class Passing(Protocol):
    """The other workers of this machine, as this module knows them."""

    def elsewhere(self, place: Place, id: int) -> int | None:
        """Return which other worker serves a player at a place; None if none does."""

    def pass_hello(
        self,
        applicant: Applicant,
        worker: int,
        hello: Hello,
        met: Met | None,
        place: Place,
        id: int,
        stay: Callable[[], None],
    ) -> None:
        """Pass an applicant to another worker: later there is nothing more of it here. `stay` is
        called instead if that is impossible."""


class Admission:
    """See the module. `capacity` is the number of players that the node accepts. `passing` is set
    if there are other workers to which applicants may be passed."""

    def __init__(self, node: Node, tokens: Tokens, limits: Limits, capacity: int) -> None:
        self._node = node
        self._tokens = tokens
        self._limits = limits
        self.capacity = capacity
        self.passing: Passing | None = None
        #: How many players other nodes are asked for: there must be room when they come.
        self._coming = 0
        #: Those who wait for their turn, since many come from their addresses.
        self._waiting: dict[Applicant, tuple[Hello, Claim | None]] = {}
        self._turns = Agenda(node.loop, self._has_turn)

    @property
    def full(self) -> bool:
        """Whether there is no room for one more player."""
        # Players whose connections are lost do not count, nor do computer players.
        return self._node.hub.screens_holding + self._coming >= self.capacity

    def decide(self, hello: Hello, applicant: Applicant) -> None:
        """Welcome an applicant now or later, when it is its turn and other nodes have answered, or
        refuse it then.

        Raises Refused if it is refused at once.
        """
        claim = self._tokens.read(hello.token) if hello.token is not None else None
        self._check(claim, applicant)
        if claim is None or claim.id not in self._node.residents.by_id:
            if self.passing is None:
                self._check_seats(applicant)
            wait = self._limits.wait(JOINS, applicant.address)
            if wait is None:
                raise Refused(
                    "joins", "too many players come from your address: try again in a minute", FULL
                )
            if wait:
                self._waiting[applicant] = hello, claim
                self._turns.put(applicant, self._node.loop.now() + wait)
                return
        self._meet(hello, claim, applicant)

    def _check(self, claim: Claim | None, applicant: Applicant) -> None:
        """Raise Refused if an order keeps an applicant out, or if it comes back too often."""
        self._node.orders.admit(None if claim is None else claim.id, applicant.address)
        if claim is not None and not self._limits.allow(RETURNS, claim.id):
            raise Refused("returns", "you come back too often: wait some seconds", FULL)

    def withdraw(self, applicant: Applicant) -> None:
        """Forget an applicant that waits for its turn, if it does: its connection has ended."""
        if self._waiting.pop(applicant, None) is not None:
            self._turns.drop(applicant)
            self._limits.give_back(JOINS, applicant.address)

    def _has_turn(self, applicant: Applicant, _due: int) -> None:
        hello, claim = self._waiting.pop(applicant)
        try:
            self._meet(hello, claim, applicant)
        except Refused as refused:
            applicant.refuse(refused)

    def _meet(self, hello: Hello, claim: Claim | None, applicant: Applicant) -> None:
        """Find out who has invited an applicant, if anybody has, and decide then."""
        near = hello.near
        invitation = self._tokens.read_invitation(near) if isinstance(near, str) else None
        if invitation is None:
            self._decide(hello, claim, applicant, near if isinstance(near, int) else None)
            return

        def found(met: Met | None) -> None:
            if applicant.here:
                if met is None:
                    place = self._node.residents.spot(invitation.place)
                    met = Met(invitation.name, place, None)
                try:
                    self._decide(hello, claim, applicant, met)
                except Refused as refused:
                    applicant.refuse(refused)

        # The player that invited may be at another node, or may have walked on since.
        self._node.invitations.find(invitation.id, found)

    def _decide(self, hello: Hello, claim: Claim | None, applicant: Applicant, near: Near) -> None:
        # An order may have been given since.
        self._node.orders.admit(None if claim is None else claim.id, applicant.address)
        if claim is not None:
            self._bring_back(claim, hello, applicant, near)
            return
        id, place = new_id(), self._spot(near)
        worker = None if self.passing is None else self.passing.elsewhere(place, id)

        def stay() -> None:
            self._check_seats(applicant)
            self._join(hello, applicant, near, place, id)

        if worker is None:
            stay()
            return
        # Its address was counted here, where it came in. The other worker counts its players.
        self._pass(applicant, worker, hello, near, place, id, stay)

    def _spot(self, near: Near) -> Place:
        return near.place if isinstance(near, Met) else self._node.residents.spot(near)

    def _join(self, hello: Hello, applicant: Applicant, near: Near, place: Place, id: int) -> None:
        resident = self._node.residents.join(hello.name, place, id=id)
        self._let_in(applicant, resident, hello, near, back=False)

    def _pass(
        self,
        applicant: Applicant,
        worker: int,
        hello: Hello,
        near: Near,
        place: Place,
        id: int,
        stay: Callable[[], None],
    ) -> None:
        """Pass an applicant to another worker; `stay` lets it in here if that is impossible."""

        def stay_or_refuse() -> None:
            try:
                stay()
            except Refused as refused:
                applicant.refuse(refused)

        assert self.passing is not None
        met = near if isinstance(near, Met) else None
        self.passing.pass_hello(applicant, worker, hello, met, place, id, stay_or_refuse)

    def decide_here(
        self, hello: Hello, applicant: Applicant, met: Met | None, place: Place, id: int
    ) -> None:
        """Decide on an applicant that another worker has passed to this one, as that worker would
        have done: a newcomer begins at `place` with this id. Raises Refused."""
        claim = self._tokens.read(hello.token) if hello.token is not None else None
        self._check(claim, applicant)
        if claim is None:
            self._check_seats(applicant)
            self._join(hello, applicant, met, place, id)
        else:
            self._bring_back_here(claim, hello, applicant, met)

    def _bring_back(self, claim: Claim, hello: Hello, applicant: Applicant, near: Near) -> None:
        """Let an applicant come back as the player that its token names."""
        here = claim.id in self._node.residents.by_id
        if self.passing is not None and not here:
            place = near.place if isinstance(near, Met) else self._last_place(claim, hello)
            worker = self.passing.elsewhere(place, claim.id)
            if worker is not None:

                def stay() -> None:
                    self._bring_back_here(claim, hello, applicant, near)

                self._pass(applicant, worker, hello, near, place, claim.id, stay)
                return
        self._bring_back_here(claim, hello, applicant, near)

    def _last_place(self, claim: Claim, hello: Hello) -> Place:
        """Return where a player was that comes back, as far as this node knows.

        A node that was killed has told nobody where its players were. So the client says it, and is
        believed if its player can have walked there since its token was made.
        """
        if claim.id in self._node.residents.left:
            return self._node.residents.left[claim.id][1]
        (x, y), place = claim.place, hello.place
        if place is None or max(abs(place[0] - x), abs(place[1] - y)) > WALKED:
            return claim.place
        return claim.place if self._blocked(place) else place

    def _blocked(self, place: Place) -> bool:
        return self._node.terrain.blocked(place[0] // UNIT, place[1] // UNIT)

    def _bring_back_here(
        self, claim: Claim, hello: Hello, applicant: Applicant, near: Near
    ) -> None:
        """Let it come back at this node."""
        takeovers = self._node.takeovers
        resident = self._node.residents.by_id.get(claim.id)
        # If two connections show a player's token, the later one gets the player.
        takeovers.withdraw(claim.id)
        if resident is not None and resident.screen is not None:
            resident.screen.give_up()
        applicant.is_known(claim.id)
        if resident is not None:
            if isinstance(near, Met):
                self._node.movement.put(resident, near.place)
            self._let_in(applicant, resident, hello, near, back=True)
            return
        # This comes before another node hands the player over, for then there must be room.
        self._check_seats(applicant)
        if not self._node.peers.peers:
            resident = self._return(claim, None, hello, near)
            self._let_in(applicant, resident, hello, near, back=True)
            return

        self._coming += 1

        def superseded() -> None:
            self._coming -= 1
            applicant.is_superseded()

        def answered(elsewhere: Elsewhere | None) -> None:
            self._coming -= 1
            if applicant.here:
                try:
                    self._node.orders.admit(claim.id, applicant.address)
                except Refused as refused:
                    applicant.refuse(refused)
            if applicant.here:
                resident = self._return(claim, elsewhere, hello, near)
                self._let_in(applicant, resident, hello, near, back=True)
            elif elsewhere is not None and elsewhere.name is not None:
                # The player's node has handed it over: only this node can now tell the others what
                # becomes of it.
                applicant.missed(self._return(claim, elsewhere, hello, near))

        # Another node may have the player, and hands it over when it is asked.
        takeovers.ask(claim.id, answered, superseded)

    def _return(
        self, claim: Claim, elsewhere: Elsewhere | None, hello: Hello, near: Near
    ) -> Resident:
        """Return a new resident for a player that comes back.

        `elsewhere` is what another node has handed over, or None. The player begins beside who has
        invited it, or else where it was there, or else where it was as far as this node knows, or
        else where newcomers begin.
        """
        node, id, name = self._node, claim.id, hello.name
        seqs, place = [claim.seq, node.replicas.seq(id)], self._last_place(claim, hello)
        if id in node.residents.left:
            seqs.append(node.residents.left[id][0])
        if elsewhere is not None:
            name, place = elsewhere.name or name, elsewhere.place
            seqs.append(elsewhere.seq)
        if isinstance(near, Met):
            place = near.place
        # With another seed there may be water now.
        elif self._blocked(place):
            place = node.residents.spot(near)
        # Its new events must have higher seqs than all that were published before.
        resident = node.residents.join(name, place, id=id, seq=next_incarnation(max(seqs)))
        node.takeovers.watch(id)
        return resident

    def _let_in(
        self, applicant: Applicant, resident: Resident, hello: Hello, near: Near, *, back: bool
    ) -> None:
        """Welcome an applicant as this resident; a guest looks at its host."""
        if isinstance(near, Met) and near.way is not None:
            self._node.movement.face(resident, *near.way)
        applicant.welcome(resident, hello.view, back=back)
        if isinstance(near, Met):
            applicant.tell_host(near.name, near.way is not None)

    def _check_seats(self, applicant: Applicant) -> None:
        """Raise Refused if there is no room for another player, or for one from this address."""
        if self.full:
            raise Refused("full", "this world is full: try again later", FULL)
        if not self._limits.has_seat(applicant.address, self.capacity):
            raise Refused(
                "joins", "your address has its share of places here: try again later", FULL
            )
