"""The herd: all computer players of a world, and which node hosts each of them.

Each computer player is one item in the store. Whichever node has claimed the item hosts the player,
and renews its lease with where the player is. If the node dies, the lease ends, and another node
claims the item and goes on from there, in the player's next incarnation. What follows from two
nodes that have a player at the same time is decided as for all players (takeovers.py): the higher
incarnation keeps it. So no node ever takes a player away from its own screens: a player whose lease
is lost walks on here until the other node is heard. This module never decides what they do:
people.py, company.py and deer.py do.
"""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

import msgpack

from flatlands.server.agenda import Agenda
from flatlands.server.kept.keeper import Keeper
from flatlands.server.loop import Loop
from flatlands.server.messages.peer_protocol import ALIVE
from flatlands.server.messages.protocol import DEER_FROM, OTHERS_FROM
from flatlands.server.players import deer, people
from flatlands.server.players.company import Company
from flatlands.server.players.deer import Deer
from flatlands.server.players.ember import Ember
from flatlands.server.players.errands import Errands
from flatlands.server.players.movement import Movement
from flatlands.server.players.people import Errand, Person
from flatlands.server.players.resident import Resident, next_incarnation
from flatlands.server.players.residents import Residents
from flatlands.server.players.sight import Sights
from flatlands.server.players.spots import Place
from flatlands.server.players.tag import Tag
from flatlands.server.players.takeovers import Takeovers
from flatlands.server.scores.longest import Longest
from flatlands.server.squares.peers import Peers
from flatlands.server.squares.replicas import Replicas
from flatlands.stores.base import BATCH_LIMIT, Claimed, Item, Store
from flatlands.world.events import Event
from flatlands.world.grid import Grid, Square
from flatlands.world.landmarks import Landmarks
from flatlands.world.terrain import Terrain
from flatlands.world.track import Track, stand

#: The names of two queues begin with these, and that of the ground follows: the computer players,
#: and the nodes that host some.
QUEUE, NODES = "herd", "herding"

#: How often a node claims what is left of its share, and how often it renews its leases, in ms.
CLAIM_EVERY, RENEW_EVERY = 500, 1000

#: ms for which a lease is claimed or renewed, and those for which a node says that it hosts some of
#: the herd. The latter are fewer, so that the others know that a dead node's share is theirs when
#: its leases end.
LEASE, NODE_LEASE = 3000, 2000

#: ms for which a computer player begins nothing new after its node gave it back.
WAITS = 1500

#: How often a node puts the whole herd, in ms. An item that is there is left alone.
PUT_EVERY = 60_000

#: ms after which a computer player leaves whose lease is lost, if no other node has it.
UNLEASED_FOR = 10_000

_T = TypeVar("_T")


class Sizes(NamedTuple):
    """How many people and how many deer there are, in the whole world."""

    people: int = 0
    deer: int = 0


NOBODY = Sizes()


class Beast(Protocol):
    """A computer player that this node hosts."""

    resident: Resident

    def act(self, now: int) -> int:
        """Do what is due at the node time `now`, in ms, and return when something is due next."""


class Herd:
    """See the module. `ground` is the seed and the side, as in the names of channels."""

    def __init__(
        self,
        node: int,
        grid: Grid,
        terrain: Terrain,
        ground: str,
        keeper: Keeper,
        loop: Loop,
        residents: Residents,
        movement: Movement,
        replicas: Replicas,
        peers: Peers,
        takeovers: Takeovers,
        longest: Longest,
        sizes: Sizes,
    ) -> None:
        self._node = node
        self._grid = grid
        self._terrain = terrain
        self._queue, self._nodes = f"{QUEUE} {ground}", f"{NODES} {ground}"
        self._keeper = keeper
        self._loop = loop
        self._residents = residents
        self._movement = movement
        self._replicas = replicas
        self._peers = peers
        self._takeovers = takeovers
        self._sizes = sizes
        #: The computer players that are here, by their ids; some may be at another node already.
        self._beasts: dict[int, Beast] = {}
        #: The middles of the meadows of groups of deer.
        self._meadows: dict[int, Place] = {}
        #: The ids of those whose leases this node has, as the store said last.
        self.leased: set[int] = set()
        #: Those that are here without a lease, and since when.
        self._unleased: dict[int, int] = {}
        #: Those that this node gave back, and when, until it is their turn to act.
        self._given: dict[int, int] = {}
        #: Since when this node is ready and linked to the others, or None.
        self._ready: int | None = None
        #: How many nodes share the herd, this one included; 0 if this one does not take part.
        self._sharing = 0
        #: When this node renews its leases next, and when it puts the herd next.
        self._renewal = self._putting = 0
        #: Whether the store is being asked, and whether this node gives all back.
        self._asking = self._stopped = False
        self._acts = Agenda(loop, self._act)
        self._turns = Agenda(loop, lambda _key, _due: self._turn())
        landmarks = Landmarks(terrain)
        errands = Errands(loop, residents, movement, replicas, Sights(terrain, landmarks))
        #: What has happened in squares, until it is taken.
        self._news: list[tuple[Square, Sequence[Event]]] = []
        #: What the people among them notice of others.
        self._company = Company(
            loop,
            grid,
            replicas,
            errands,
            landmarks,
            self._person,
            self._begin,
        )
        self.ember = Ember(
            node,
            grid,
            ground,
            keeper,
            loop,
            residents,
            replicas,
            peers,
            longest,
            lambda: [one for one in self.residents() if one.id < DEER_FROM],
            self._wake,
        )
        self._tag = Tag(loop, movement, replicas, self.ember.seen, self.ember.barred)

    def __len__(self) -> int:
        return sum(map(self._is_here, self._beasts.values()))

    def start(self) -> None:
        """Begin to host a share of the herd; without a store, a herd of its own."""
        if self._keeper.store is not None:
            if any(self._sizes):
                self._turns.put("turn", self._loop.now())
            if self._sizes.people:
                self.ember.start()
            return
        # The ids are others than those of an earlier process, whose herd may still be on screens of
        # other nodes. The steps keep names and meadows the same.
        for first, end, step, count in (
            (1, DEER_FROM, len(people.NAMES), self._sizes.people),
            (DEER_FROM, OTHERS_FROM, deer.TOGETHER * deer.MEADOWS, self._sizes.deer),
        ):
            first += random.randrange((end - first - count) // step) * step
            for id in range(first, first + count):
                self._host(id, 0, self._home(id))

    def stop(self) -> None:
        """Give all back, because the server stops. They stay until other nodes have them.
        Once that is done, `leased` is empty."""
        self._stopped = True
        self._turns.drop("turn")
        self.ember.stop()
        if self._keeper.store is None:
            for beast in self._beasts.values():
                self._residents.leave(beast.resident)
        elif not self._asking:
            self._give_all_back()

    # What they do.

    def _act(self, id: int, _due: int) -> None:
        beast = self._beasts[id]
        if not self._is_here(beast):
            # Another node has it.
            del self._beasts[id]
        elif id in self._given:
            # Whoever claims it goes on from where it was said to be.
            self._acts.put(id, self._given.pop(id) + WAITS)
        elif not self._stopped:
            self._acts.put(id, beast.act(self._loop.now()))

    def _is_here(self, beast: Beast) -> bool:
        return self._residents.by_id.get(beast.resident.id) is beast.resident

    def _person(self, id: int) -> Person | None:
        beast = self._beasts.get(id)
        return beast if isinstance(beast, Person) and self._is_here(beast) else None

    def _begin(self, person: Person, errand: Errand) -> None:
        person.begin(errand)
        self._acts.put(person.resident.id, self._loop.now())

    def _wake(self, id: int) -> None:
        if self._person(id) is not None:
            self._acts.put(id, self._loop.now())

    def heard(self, square: Square, events: Sequence[Event]) -> None:
        """Take what has happened in a square, at the end of this turn of the loop: nothing may be
        added to batches while they are being published."""
        if not self._news:
            self._loop.soon(self._hear)
        self._news.append((square, events))

    def _hear(self) -> None:
        news, self._news = self._news, []
        for square, events in news:
            self._company.heard(square, events)
            self.ember.heard(events)

    def residents(self) -> Iterator[Resident]:
        """Yield the computer players that this node hosts."""
        return (beast.resident for beast in self._beasts.values() if self._is_here(beast))

    def _host(self, id: int, seq: int, place: Place) -> None:
        """Let a computer player go on at a place, with a seq that is higher than all before."""
        is_deer = id >= DEER_FROM
        name = deer.NAME if is_deer else people.name(id - 1)
        resident = self._residents.join(name, place, id=id, seq=seq)
        beast: Beast
        if is_deer:
            home = self._meadow(id)
            beast = Deer(resident, self._movement, self._replicas, self._grid, home)
        else:
            beast = Person(
                resident, self._residents, self._movement, self._tag, self._company.mutter
            )
        self._beasts[id] = beast
        self._given.pop(id, None)
        self._takeovers.watch(id)
        self._acts.put(id, beast.act(self._loop.now()))

    def _home(self, id: int) -> Place:
        """Return where a computer player begins that was never anywhere."""
        return self._meadow(id) if id >= DEER_FROM else self._residents.spot()

    def _meadow(self, id: int) -> Place:
        group = deer.group(id - DEER_FROM)
        if group not in self._meadows:
            self._meadows[group] = deer.meadow(self._terrain, group)
        return self._meadows[group]

    # Which of them are here. All that follows may wait for the store.

    def _turn(self) -> None:
        now = self._loop.now()
        self._turns.put("turn", now + CLAIM_EVERY)
        if self._peers.state != ALIVE or not self._peers.linked:
            # Nobody else sees what this node hosts: its leases end, so that others can claim them.
            self._ready, self._sharing = None, 0
            return
        if self._ready is None:
            self._ready = now
        if not self._asking:
            self._asking = True
            self._keeper.ask(self._round, lambda _none: self._asked(), self._asked)

    def _asked(self) -> None:
        self._asking = False
        if self._stopped:
            self._give_all_back()

    def _round(self, store: Store) -> None:
        """Renew the leases, if that is due, and come closer to this node's share of the herd."""
        now = self._loop.now()
        if now >= self._renewal:
            self._renewal = now + RENEW_EVERY
            self._put(store, now)
            self._renew(store, now)
            self._count_nodes(store, now)
        if self._stopped or not self._sharing:
            return
        room = -(-sum(self._sizes) // self._sharing) - len(self.leased)
        if room > 0:
            self._claim(store, min(room, BATCH_LIMIT))
        elif room < 0:
            self._give_back(store, [random.choice(sorted(self.leased))])

    def _put(self, store: Store, now: int) -> None:
        if now >= self._putting:
            for some in _slices([Item(str(id), 0, "", b"") for id in self._ids()]):
                store.put(self._queue, some)
            self._putting = now + PUT_EVERY

    def _ids(self) -> Iterator[int]:
        """Yield the ids of the whole herd."""
        yield from range(1, 1 + self._sizes.people)
        yield from range(DEER_FROM, DEER_FROM + self._sizes.deer)

    def _renew(self, store: Store, now: int) -> None:
        leased: set[int] = set()
        for some in _slices(sorted(self.leased)):
            leased.update(map(int, store.renew(self._queue, self._bodies(some).items(), LEASE)))
        if self.leased and not leased:
            # The store may have forgotten the herd.
            self._putting = now
        self.leased = leased
        unleased = [b.resident for b in self._beasts.values() if self._is_here(b)]
        unleased = [resident for resident in unleased if resident.id not in leased]
        self._unleased = {r.id: self._unleased.get(r.id, now) for r in unleased}
        for resident in unleased:
            if now - self._unleased[resident.id] > UNLEASED_FOR:
                # It is not part of the herd any more.
                self._residents.leave(resident)

    def _bodies(self, ids: Sequence[int]) -> dict[str, bytes]:
        """Return the ids, as in the store, and the bodies of those of these that are here now."""
        beasts = (self._beasts.get(id) for id in ids)
        residents = (b.resident for b in beasts if b is not None and self._is_here(b))
        return {str(r.id): self._pack(r.seq, r.track) for r in residents}

    def _pack(self, seq: int, track: Track) -> bytes:
        """Return the body of an item: this node, by whose clock the track is, and the rest."""
        packed: bytes = msgpack.packb((self._node, seq, *track.numbers()))
        return packed

    def _count_nodes(self, store: Store, now: int) -> None:
        """Say that this node takes part, and count those that do."""
        own = Item(str(self._node), NODE_LEASE, NODES, b"")
        others = [item for item in store.group(self._nodes, NODES) if item.id != own.id]
        for item in others:
            if not item.delay:
                store.take(self._nodes, item.id)
        living = sum(item.delay > 0 for item in others)
        new = self._ready is None or now - self._ready < LEASE
        if not self._sharing and new and (living or self._beasts):
            # The others know better where those are whose leases end now: they have been looking.
            return
        if store.take(self._nodes, own.id, [(self._nodes, own)]) is None:
            store.put(self._nodes, [own])
        self._sharing = living + 1

    def _claim(self, store: Store, most: int) -> None:
        claimed = store.claim(self._queue, most, LEASE)
        if not claimed or self._stopped:
            # What was claimed by a server that stops is claimed by another when its lease ends.
            return
        herd = {str(id) for id in self._ids()}
        if beyond := [one.id for one in claimed if one.id not in herd]:
            store.done(self._queue, beyond)
        begun = {int(one.id): self._beginning(one) for one in claimed if one.id in herd}
        # It is stored before anything is published, so that whoever has them next begins a later
        # incarnation.
        now = self._loop.now()
        bodies = [
            (str(id), self._pack(seq, stand(*place, now))) for id, (seq, place) in begun.items()
        ]
        mine = list(map(int, store.renew(self._queue, bodies, LEASE)))
        for id in mine:
            seq, place = begun[id]
            beast = self._beasts.get(id)
            if beast is None or not self._is_here(beast):
                self._loop.stats["herd_claimed"] += 1
                self._host(id, seq, place)
            else:
                # It may be at another node by now, whose lease has ended too.
                beast.resident.seq = seq
                self._residents.renew(beast.resident)
        self.leased.update(mine)
        # A node that still has one of them may not be subscribed to where it is here.
        self._takeovers.name(mine)

    def _beginning(self, claimed: Claimed) -> tuple[int, Place]:
        """Return the seq and the place with which a computer player goes on here."""
        id, now = int(claimed.id), self._loop.now()
        seq, place = -1, None
        if claimed.body:
            node, seq, *track = msgpack.unpackb(claimed.body)
            place = Track(*track).at(now - self._peers.clock(node))
        known = self._replicas.player(id)
        if known is not None and known.seq >= seq:
            place = known.track.at(now)
        left, _place = self._residents.left.get(id, (-1, None))
        return next_incarnation(max(seq, self._replicas.seq(id), left)), place or self._home(id)

    def _give_back(self, store: Store, ids: Sequence[int]) -> None:
        """Let any node claim these, which stay here until another node has them."""
        self._given.update(dict.fromkeys(ids, self._loop.now()))
        # Of one that is not here any more the lease ends by itself.
        bodies = self._bodies(ids)
        then = [(self._queue, Item(id, 0, "", body)) for id, body in bodies.items()]
        store.done(self._queue, bodies, then)
        self.leased.difference_update(ids)

    def _give_all_back(self) -> None:
        def question(store: Store) -> None:
            # The others' shares grow first.
            store.take(self._nodes, str(self._node))
            for some in _slices(sorted(self.leased)):
                self._give_back(store, some)

        self._keeper.ask(question, lambda _none: None, self.leased.clear)


def _slices(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    return (items[at : at + BATCH_LIMIT] for at in range(0, len(items), BATCH_LIMIT))
