"""The ember: exactly one player of the world carries it, and who touches the carrier has it next.
To keep it is the game.

It is one item in the store, whose body says who carries it and at which node. That node keeps it:
it renews a lease, tells of the ember in the carrier's square, computes from the tracks around when
the carrier touches somebody, and passes it on by changing the item, which only one node can do at a
time. Whoever is shown the ember is therefore one whom the store has confirmed, and a node that
cannot reach the store tells nothing any more once its lease has ended. Another node whose player
has it now takes it over when it hears so; if it does not, the lease ends, and any node with a
clockwork walker claims it. Without a store there is no ember, since nothing could say that there is
only one. This module never moves anybody: tag.py does.

The ember is kept from when a player gets it until that player last walked with somebody near who
plays too, and a player with whom nobody has been for IDLE loses it: so nobody's time grows by
standing still, or where there is nobody to run from.

Of the last HANDS who had it none can have it again as long as somebody else is near who plays. With
fewer around it goes round among three, and two have it in turn. It never stays because of that:
after BARRED_FOR anybody can have it. Each node remembers these hands from what it hears, so nothing
more is told or stored.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgpack

from flatlands.server.agenda import Agenda
from flatlands.server.kept.keeper import Keeper
from flatlands.server.loop import Loop
from flatlands.server.messages.peer_protocol import ALIVE
from flatlands.server.messages.protocol import DEER_FROM, OTHERS_FROM
from flatlands.server.players.resident import Resident
from flatlands.server.players.residents import Residents
from flatlands.server.scores.longest import Kept, Longest
from flatlands.server.squares.peers import Peers
from flatlands.server.squares.replicas import Replicas
from flatlands.stores.base import Item, Store
from flatlands.world.contact import first_contact
from flatlands.world.events import EMBER, EmberEvent, EnterEvent, Event, Player
from flatlands.world.grid import Grid, Rect, Square
from flatlands.world.track import UNIT

#: The name of the ember's queue begins with it, and that of the ground follows. Its only item:
QUEUE, ITEM = "ember", "ember"

#: How often its keeper renews the lease and tells of it, and for how long a lease is, in ms.
EVERY, LEASE = 1000, 3000

#: Who carries it touches whoever comes within so many units.
REACH: Final = UNIT * 4 // 5

#: ms for which it stays with its carrier at least, and for which the one from whom it came cannot
#: have it back, also if nobody else is near.
KEPT_LEAST: Final = 1500
NOT_BACK: Final = 3000

#: So many who had it before its carrier leave it to others, for so many ms.
HANDS: Final = 3
BARRED_FOR: Final = 20_000

#: It falls to a clockwork walker when its carrier has not walked, or was alone, for so many ms.
#: Others who have not walked for so long are no company.
IDLE: Final = 30_000

#: How far ahead a touch is computed, in ms: a little more than until the next time.
AHEAD: Final = EVERY + 500

#: It is forgotten so many ms after somebody has told of it.
SEEN_FOR: Final = 3000


class Carried(NamedTuple):
    """Who carries the ember: player `id`, after so many `passes`, `since` a node time in ms.
    `before` had it before, or nobody (0), and kept it for so many ms, as the module says."""

    id: int
    passes: int
    since: int
    before: int
    kept: int


class Seen(NamedTuple):
    """What this node has heard of the ember last, until when it counts, in node time."""

    carried: Carried
    until: int


class Ember:
    """See the module. `clockwork` returns the clockwork walkers of this node, and `wake` is called
    with the id of a player that has got the ember. Times are node time in ms."""

    def __init__(
        self,
        node: int,
        grid: Grid,
        ground: str,
        keeper: Keeper,
        loop: Loop,
        residents: Residents,
        replicas: Replicas,
        peers: Peers,
        longest: Longest,
        clockwork: Callable[[], Sequence[Resident]],
        wake: Callable[[int], None],
    ) -> None:
        self._node = node
        self._grid = grid
        self._queue = f"{QUEUE} {ground}"
        self._keeper = keeper
        self._loop = loop
        self._residents = residents
        self._replicas = replicas
        self._peers = peers
        self._longest = longest
        self._clockwork = clockwork
        self._wake = wake
        #: What this node keeps, and until when its lease is sure; None if another node keeps it.
        self.kept: Carried | None = None
        self._sure = 0
        #: When somebody was last near its carrier who plays too, or since when that player has it.
        self._met = 0
        #: What was heard of it last.
        self._seen: Seen | None = None
        #: Who had it, as far as this node has heard, and who carries it, which is the last one.
        self._hands: deque[int] = deque(maxlen=HANDS + 1)
        #: Whether the store is being asked, and whether this node gives it up for good.
        self._asking = self._stopped = False
        #: Whether tracks have changed around the carrier since touches were computed.
        self._moved = False
        self._turns = Agenda(loop, lambda _key, _due: self._turn())
        #: Who is touched next, if anybody is soon.
        self._next = 0
        self._touches = Agenda(loop, lambda _key, _due: self._touch(self._next))

    def start(self) -> None:
        """Begin to look after the ember."""
        if self._keeper.store is not None:
            self._turns.put("turn", self._loop.now())

    def stop(self) -> None:
        """Give it up, because the server stops: another node claims it at once."""
        self._stopped = True
        self._turns.drop("turn")
        kept = self.kept
        self._let_go()
        if kept is not None:
            body = self._pack(kept, self._node)
            due = Item(ITEM, 0, "", body)
            self._keeper.ask(
                lambda store: store.take(self._queue, ITEM, [(self._queue, due)], only=body),
                lambda _body: None,
            )

    def seen(self) -> Carried | None:
        """Return who carries the ember, as far as this node has heard of it lately."""
        seen = self._seen
        return None if seen is None or seen.until <= self._loop.now() else seen.carried

    def barred(self, carrier: Player) -> list[int]:
        """Return who of those who had it before its carrier cannot have it now."""
        seen, now = self.seen(), self._loop.now()
        if seen is None or now >= seen.since + BARRED_FOR:
            return []
        x, y = carrier.track.at(now)
        hands = [id for id in self._hands if id != carrier.id][-HANDS:]
        while hands and not any(
            player.id not in hands and self._plays(player, carrier.id, now)
            for player in self._replicas.around(x, y, self._grid.span)
        ):
            del hands[0]
        return hands

    # What happens in the squares.

    def heard(self, events: Sequence[Event]) -> None:
        """Take what has happened in a square."""
        for event in events:
            if isinstance(event, EmberEvent):
                self._told(event)
            elif isinstance(event, EnterEvent) and self.kept and event.id == self.kept.id:
                # Who holds this square only must see it too.
                self._tell()
                self._follow()

    def _told(self, event: EmberEvent) -> None:
        now = self._loop.now()
        carried = Carried(event.id, event.passes, now - event.age, event.before, event.kept)
        seen = self.seen()
        if seen is not None and seen.passes > carried.passes:
            return
        self._seen = Seen(carried, now + SEEN_FOR)
        last = self._hands[-1] if self._hands else 0
        if last != carried.id:
            self._hands += [id for id in (carried.before, carried.id) if id not in (0, last)]
        if self.kept is None and event.id in self._residents.by_id and not self._stopped:
            # The node that told this has changed the item, if this is so: the store knows.
            self._renew(carried)

    def moved(self, _square: Square) -> None:
        """Compute touches anew at the end of this turn of the loop: tracks around have changed."""
        if not self._moved:
            self._moved = True
            self._loop.soon(self._compute_touch)

    # The lease.

    def _turn(self) -> None:
        self._turns.put("turn", self._loop.now() + EVERY)
        if self._peers.state != ALIVE or not self._peers.linked or self._asking:
            return
        if self.kept is None:
            if self._clockwork():
                self._ask(self._claim, lambda carried: self._keep(carried))
            return
        carrier = self._residents.by_id.get(self.kept.id)
        if carrier is None or carrier.dimmed or self._is_idle(carrier) or self._is_alone(carrier):
            self._fall(self.kept, carrier)
        else:
            self._renew(self.kept)

    def _is_idle(self, carrier: Resident) -> bool:
        now = self._loop.now()
        still = max(carrier.track.end, self.kept.since if self.kept else 0)
        return not carrier.walks(now) and now - still > IDLE

    def _is_alone(self, carrier: Resident) -> bool:
        """Say whether a carrier has been alone for too long. Clockwork walkers never are."""
        self._meet(carrier)
        return carrier.id >= OTHERS_FROM and self._loop.now() - self._met > IDLE

    def _meet(self, carrier: Resident) -> None:
        """Note whether somebody is near the carrier who plays too."""
        now = self._loop.now()
        x, y = carrier.track.at(now)
        for player in self._replicas.around(x, y, self._grid.span):
            if self._plays(player, carrier.id, now):
                self._met = now
                return

    def _plays(self, player: Player, carrier: int, now: int) -> bool:
        return self._may_have(player, carrier) and now - player.track.end <= IDLE

    def _may_have(self, player: Player, carrier: int) -> bool:
        is_deer = DEER_FROM <= player.id < OTHERS_FROM
        return not is_deer and not player.dimmed and player.id != carrier

    def _ask(
        self,
        question: Callable[[Store], Carried | None],
        answered: Callable[[Carried | None], None],
    ) -> None:
        """Ask the store, one question at a time."""
        if self._asking:
            return
        self._asking = True

        def done(carried: Carried | None) -> None:
            self._asking = False
            answered(carried)
            # Meanwhile somebody may have been touched.
            self._follow()

        self._keeper.ask(question, done, self._failed)

    def _failed(self) -> None:
        self._asking = False

    def _claim(self, store: Store) -> Carried | None:
        """Claim the ember if nobody keeps it; return who has it then, or None."""
        store.put(self._queue, [Item(ITEM, 0, "", msgpack.packb((0, 0, 0)))])
        for one in store.claim(self._queue, 1, LEASE):
            passes, id, _node = msgpack.unpackb(one.body)
            if id in self._residents.by_id:
                carried = Carried(id, passes, self._loop.now(), 0, 0)
            else:
                carrier = min(self._clockwork(), key=self._from_origin, default=None)
                if carrier is None:
                    return None
                carried = Carried(carrier.id, passes + 1, self._loop.now(), 0, 0)
            then = [(self._queue, Item(ITEM, LEASE, "", self._pack(carried, self._node)))]
            if store.done(self._queue, [ITEM], then):
                return carried
        return None

    def _from_origin(self, resident: Resident) -> float:
        return math.hypot(*resident.track.at(self._loop.now()))

    def _renew(self, carried: Carried) -> None:
        """Renew the lease of the ember that player `carried.id` of this node has; tell of it."""
        body, asked = self._pack(carried, self._node), self._loop.now()
        item = (self._queue, Item(ITEM, LEASE, "", body))

        def question(store: Store) -> Carried | None:
            is_ours = store.take(self._queue, ITEM, [item], only=body) is not None
            return carried if is_ours else None

        self._ask(question, lambda still: self._keep(still, asked))

    def _keep(self, carried: Carried | None, asked: int | None = None) -> None:
        """Keep what the store has confirmed, `asked` when; None: another node keeps it."""
        if carried is None or self._stopped:
            self._let_go()
            return
        is_new = self.kept is None or self.kept.id != carried.id
        if is_new:
            self._met = carried.since
        self.kept = carried
        self._sure = (self._loop.now() if asked is None else asked) + LEASE
        self._tell()
        if is_new:
            self._wake(carried.id)

    def _let_go(self) -> None:
        self.kept = None
        self._replicas.follow(())
        self._touches.drop("touch")

    def _pack(self, carried: Carried, node: int) -> bytes:
        packed: bytes = msgpack.packb((carried.passes, carried.id, node))
        return packed

    # From one to the next.

    def _fall(self, kept: Carried, carrier: Resident | None) -> None:
        """Let the ember fall to the nearest clockwork walker, because its carrier plays no more; or
        to its carrier's node, if that is another one by now."""
        known = self._replicas.player(kept.id)
        if carrier is None and known is not None and known.node != self._node and not known.dimmed:
            self._pass(kept, kept, known)
            return
        now = self._loop.now()
        x, y = (0, 0) if known is None else known.track.at(now)
        near: list[Player] = [one for one in self._clockwork() if one.id != kept.id]
        near += [
            player
            for player in self._replicas.around(x, y, self._grid.span)
            if player.id < DEER_FROM and player.id != kept.id
        ]
        to = min(near, key=lambda player: math.dist(player.track.at(now), (x, y)), default=None)
        if to is not None:
            self._pass(kept, self._next_carried(kept, to.id), to)

    def _pass(self, kept: Carried, carried: Carried, to: Player) -> None:
        """Change the item in the store: `to`, a player here or at another node, has it next."""
        node = self._node if to.id in self._residents.by_id else to.node
        item = (self._queue, Item(ITEM, LEASE, "", self._pack(carried, node)))
        before = self._pack(kept, self._node)
        carrier = self._residents.by_id.get(kept.id)

        def question(store: Store) -> Carried | None:
            is_ours = store.take(self._queue, ITEM, [item], only=before) is not None
            return carried if is_ours else None

        def answered(passed: Carried | None) -> None:
            is_over = passed is not None and passed.id != kept.id
            if is_over and carrier is not None and carrier.id >= OTHERS_FROM and carried.kept:
                self._longest.count(Kept(carried.kept, carrier.id, carrier.name))
            if passed is not None and node != self._node:
                # That node hears it, and keeps it from now on.
                self._tell_of(passed)
                passed = None
            self._keep(passed)

        self._ask(question, answered)

    def _next_carried(self, kept: Carried, id: int) -> Carried:
        """Return that player `id` has the ember from now on, and how long it was kept before: until
        its carrier last walked with somebody near."""
        now, carrier = self._loop.now(), self._residents.by_id.get(kept.id)
        until = min(now, self._met)
        if carrier is not None:
            self._meet(carrier)
            until = min(now, self._met, carrier.track.end)
        return Carried(id, kept.passes + 1, now, kept.id, max(until - kept.since, 0))

    def _compute_touch(self) -> None:
        """Put the next touch on the agenda, if there is one soon."""
        self._moved = False
        self._touches.drop("touch")
        kept, now = self.kept, self._loop.now()
        carrier = None if kept is None else self._residents.by_id.get(kept.id)
        if kept is None or carrier is None:
            return
        soonest, self._next = now + AHEAD, 0
        x, y = carrier.track.at(now)
        barred = self.barred(carrier)
        for player in self._replicas.around(x, y, self._grid.span):
            if not self._may_have(player, kept.id) or player.id in barred:
                continue
            since = kept.since + (NOT_BACK if player.id == kept.before else KEPT_LEAST)
            if (start := max(now, since)) >= soonest:
                continue
            touch = first_contact(carrier.track, player.track, REACH, start, soonest)
            if touch is not None:
                soonest, self._next = touch, player.id
        if self._next:
            self._touches.put("touch", soonest)

    def _touch(self, id: int) -> None:
        """Pass the ember to a player whom its carrier touches now."""
        kept, now = self.kept, self._loop.now()
        player = self._replicas.player(id)
        if kept is None or player is None or now >= self._sure:
            return
        self._pass(kept, self._next_carried(kept, id), player)

    # What is told.

    def _tell(self) -> None:
        if self.kept is not None and self._loop.now() < self._sure:
            self._tell_of(self.kept)

    def _tell_of(self, carried: Carried) -> None:
        """Tell of the ember in its carrier's square."""
        resident, now = self._residents.by_id.get(carried.id), self._loop.now()
        if resident is not None:
            square = resident.square
        else:
            player = self._replicas.player(carried.id)
            if player is None:
                return
            square = self._grid.square(*player.track.at(now))
        self._residents.ember(
            square,
            EmberEvent(
                EMBER, carried.id, carried.passes, now - carried.since, carried.before, carried.kept
            ),
        )

    def _follow(self) -> None:
        """Hear when tracks change in the squares around the carrier, and compute touches anew."""
        kept = self.kept
        carrier = None if kept is None else self._residents.by_id.get(kept.id)
        if carrier is not None:
            column, row = carrier.square
            around = Rect(column - 1, row - 1, column + 1, row + 1)
            self._replicas.follow(around.squares())
            self.moved(carrier.square)
