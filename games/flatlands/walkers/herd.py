"""The herd: all computer players of a world, which one node keeps at a time, by a lease.

Once a second the holder stores where they are. If it dies, another node gets the lease, and they go
on there from where they were, in a later incarnation. If two nodes have a player at the same time,
that is settled as for all players (takeovers.py): the higher incarnation keeps it. So no node ever
takes a player away from its own screens: on a node that has lost the lease, or cannot reach the
store, they walk on until the other node is heard. This module never decides what they do:
people.py, company.py and deer.py do.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import msgpack

from flatlands.games.flatlands.ids import DEER_FROM
from flatlands.games.flatlands.walkers import deer, people
from flatlands.games.flatlands.walkers.company import Company
from flatlands.games.flatlands.walkers.deer import Deer
from flatlands.games.flatlands.walkers.people import RANGE_TILES, Errand, Person
from flatlands.games.flatlands.walkers.stage import Stage
from flatlands.server.game.game_node import GameNode
from flatlands.server.messages.peer_protocol import ALIVE
from flatlands.server.players.resident import INCARNATION, Resident, next_incarnation
from flatlands.server.players.spots import Position
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.storage.lease import Lease
from flatlands.stores.base import Item, Store
from flatlands.world.events import Event
from flatlands.world.grid import Rect, Square
from flatlands.world.track import UNIT, Track

#: The name of the lease begins with it, and that of the ground follows.
HERD_LEASE = "herd"
#: The name of the queue begins with it, and that of the ground follows. The items of the queue,
#: which are one group, say where computer players are.
TRACKS_QUEUE = "tracks"
#: How many computer players an item says that of.
TRACKS_PER_ITEM = 400

#: ms for which it is known how long ago an item was put; an older one counts as this old.
COUNTS_FOR = 24 * 3600 * 1000

#: How many numbers there are at which the ids may begin, without a store.
TURNS = 250

#: ms after which computer players leave if another node has the lease, but does not take them, and
#: after which the holder checks again whether any is missing.
LOOKS_AFTER = 10_000


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


class Stored(NamedTuple):
    """What the last holder has left in the store: the highest seq, and tracks by id."""

    seq: int
    tracks: dict[int, Track]


NOTHING = Stored(-1, {})


class Herd:
    """Moves the herd while this node holds the lease."""

    def __init__(self, node: GameNode, sizes: Sizes) -> None:
        self._stage = stage = Stage(node)
        self._loop, self._residents = node.loop, node.residents
        ground_id = node.channels.ground_id
        self._queue = f"{TRACKS_QUEUE} {ground_id}"
        self._store_client, self._peers, self._takeovers = (
            node.store_client,
            node.peers,
            node.takeovers,
        )
        self._sizes = sizes
        #: The computer players that are here, by their ids; some may be on another node already.
        self._beasts: dict[int, Beast] = {}
        #: The middles of the meadows of groups of deer.
        self._meadows: dict[int, Position] = {}
        #: The first ids of people and deer.
        self._first = 1, DEER_FROM
        self._stopped = False
        self._acts = TimerQueue(self._loop, self._act)
        self._looks = self._loop.timer(self._check)
        #: What has happened in squares, until the company has heard it.
        self._news: list[tuple[Square, Sequence[Event]]] = []
        self.lease = Lease(f"{HERD_LEASE} {ground_id}", node.store_client, node.loop, self)
        #: What they say to nobody, instead of what they otherwise say (SAYINGS in talk.py).
        self.quotes: list[str] = []
        self._company = Company(stage, self._person, self._begin_errand, self.quotes)

    def __len__(self) -> int:
        return sum(1 for _ in self.residents())

    def start(self) -> None:
        """Begin to keep the herd, now or later; without a store, this node keeps its own herd."""
        if self._store_client.store is None:
            # The ids should differ from those of an earlier process, whose herd may still be on
            # the screens of other nodes. Names and meadows stay the same.
            turn = random.randrange(TURNS)
            meadows = deer.DEER_PER_MEADOW * deer.MEADOWS
            self._first = 1 + turn * len(people.NAMES), DEER_FROM + turn * meadows
        if any(self._sizes):
            self.lease.start()

    def stop(self) -> None:
        """Let another node keep the herd, because the server stops. They stay here until that node
        has them. Once it may take them, the lease is no longer `held`."""
        self._stopped = True
        self.lease.stop()
        if self._store_client.store is None:
            self._check()
        self._looks.set(self._loop.now() + LOOKS_AFTER)

    def residents(self) -> Iterator[Resident]:
        """Yield the computer players that this node hosts."""
        return (beast.resident for beast in self._beasts.values() if self._is_here(beast))

    # What they do.

    def _act(self, id: int, _due: int) -> None:
        beast = self._beasts[id]
        if not self._is_here(beast):
            # Another node has it.
            del self._beasts[id]
        elif not self._stopped:
            self._acts.put(id, beast.act(self._loop.now()))

    def _is_here(self, beast: Beast) -> bool:
        return self._residents.by_id.get(beast.resident.id) is beast.resident

    def _person(self, id: int) -> Person | None:
        beast = self._beasts.get(id)
        return beast if isinstance(beast, Person) and self._is_here(beast) else None

    def _begin_errand(self, person: Person, errand: Errand) -> None:
        person.begin(errand)
        self._acts.put(person.resident.id, self._loop.now())

    def _attend(self) -> None:
        """Subscribe to the squares where people walk."""
        reach, square = RANGE_TILES * UNIT, self._stage.grid.square
        here = Rect(*square(-reach, -reach), *square(reach, reach))
        self._stage.subscriptions.follow(here.squares())

    def events_applied(self, square: Square, events: Sequence[Event]) -> None:
        """Take what has happened in a square, and react at the end of this turn of the loop:
        nothing may be added to batches while they are being published."""
        if not self.lease.held:
            return
        if not self._news:
            self._loop.call_soon(self._hear)
        self._news.append((square, events))

    def _hear(self) -> None:
        news, self._news = self._news, []
        for _square, events in news:
            self._company.heard(events)

    def _host(self, id: int, seq: int, place: Position) -> None:
        """Let a computer player go on at a place, with a seq that is higher than all its others."""
        is_deer = id >= DEER_FROM
        name = deer.NAME if is_deer else people.name(id - 1)
        resident = self._residents.join(name, place, id=id, seq=seq)
        beast: Beast
        if is_deer:
            beast = Deer(self._stage, resident, self._home(id))
        else:
            beast = Person(self._stage, resident, self._company.mutter)
        self._beasts[id] = beast
        self._takeovers.keep_announcing(id)
        self._acts.put(id, beast.act(self._loop.now()))

    def _home(self, id: int) -> Position:
        """Return where a computer player that was never anywhere begins; for a deer, the middle of
        its meadow."""
        if id < DEER_FROM:
            return self._residents.choose_spot()
        group = deer.group(id - DEER_FROM)
        if group not in self._meadows:
            self._meadows[group] = deer.meadow(self._stage.terrain, group)
        return self._meadows[group]

    # What the lease asks for.

    def may_hold(self) -> bool:
        """Return whether others would see what this node hosts."""
        return self._peers.state == ALIVE and self._peers.broker_up

    def read(self, store: Store) -> Stored:
        """Return what the last holder has left in the store."""
        found = NOTHING._replace(tracks={})
        now = self._loop.now()
        for item in store.group(self._queue, TRACKS_QUEUE):
            put = now - COUNTS_FOR + item.delay
            # Version 0.3 has something between these, and cannot read just the two.
            seq, *_, some = msgpack.unpackb(item.body)
            for id, x, y, dx, dy, start, duration in some:
                found.tracks[id] = Track(x, y, dx, dy, put + start, duration)
            found = found._replace(seq=max(found.seq, seq))
        return found

    def write(self, store: Store) -> None:
        """Store where they are, for the next holder."""
        now, residents = self._loop.now(), list(self.residents())
        seq = max((resident.seq for resident in residents), default=-1)
        for at in range(0, len(residents), TRACKS_PER_ITEM):
            some = []
            for resident in residents[at : at + TRACKS_PER_ITEM]:
                x, y, dx, dy, start, duration = resident.track.numbers()
                some.append((resident.id, x, y, dx, dy, start - now, duration))
            body = msgpack.packb((seq, [], some))
            store.replace(
                self._queue, Item(str(at // TRACKS_PER_ITEM), COUNTS_FOR, TRACKS_QUEUE, body)
            )

    def begin(self, found: Stored | None) -> None:
        """Host the whole herd from now on."""
        if self._stopped:
            return
        self._looks.set(self._loop.now() + LOOKS_AFTER)
        self._begin(self._ids(), found or NOTHING)
        if self._sizes.people:
            self._attend()

    def lost(self) -> None:
        """Keep those that are here until the other node has them."""
        self._looks.set(self._loop.now() + LOOKS_AFTER)
        self._stage.subscriptions.follow(())

    def _ids(self) -> Iterator[int]:
        """Yield the ids of the whole herd."""
        for first, count in zip(self._first, self._sizes, strict=True):
            yield from range(first, first + count)

    def _begin(self, ids: Iterable[int], found: Stored) -> None:
        """Host these from where they were last, with a seq above all that are known of them."""
        ids, now = list(ids), self._loop.now()
        left, subscriptions = self._residents.departed, self._stage.subscriptions
        known = [max(subscriptions.seq(id), left[id][0] if id in left else -1) for id in ids]
        seq = max(next_incarnation(max(found.seq, *known)), self.lease.term * INCARNATION)
        for id in ids:
            resident, player = self._residents.by_id.get(id), subscriptions.player(id)
            if resident is not None:
                # It may have been at another node meanwhile.
                resident.seq = seq
                self._residents.renew(resident)
                continue
            tracks = [found.tracks[id]] if id in found.tracks else []
            tracks += [] if player is None else [player.track]
            track = max(tracks, key=lambda track: track.start, default=None)
            self._host(id, seq, self._home(id) if track is None else track.at(now))
        self._loop.stats["herd_claimed"] += len(ids)
        # A node that still has one of them may not be subscribed to the square that it is in here.
        self._takeovers.announce(ids)

    def _check(self) -> None:
        """Host those that are missing, or remove those that no other node has taken."""
        if self.lease.held and not self._stopped:
            self._looks.set(self._loop.now() + LOOKS_AFTER)
            here, known = self._residents.by_id, self._stage.subscriptions.player
            missing = [id for id in self._ids() if id not in here and known(id) is None]
            if missing:
                self._begin(missing, NOTHING)
        else:
            for resident in list(self.residents()):
                self._residents.leave(resident)
