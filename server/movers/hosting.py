"""The movers that this node moves: it lets them walk, tells the game when they arrive, and shows
what they have become.

To all others a mover is a resident without a session: its track is published in its square, and
everybody draws it from that. This module never decides which movers these are: movers.py and
adoption.py do.
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, Protocol

from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import MOVER_GROUPS
from flatlands.server.messages.protocol import FIRST_UNSTORED_ID
from flatlands.server.players.movement import Movement
from flatlands.server.players.resident import Resident, State
from flatlands.server.players.residents import Residents
from flatlands.server.players.spots import Position
from flatlands.server.players.takeovers import Takeovers
from flatlands.server.runtime.loop import Loop
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.peers import Peers
from flatlands.server.squares.subscriptions import Subscriptions
from flatlands.server.storage.client import StoreClient
from flatlands.server.storage.kinds import NOWHERE, Mover, Way, middle_of, mover_of
from flatlands.server.storage.world_clock import WorldClock
from flatlands.world.events import Player
from flatlands.world.grid import Grid, Square
from flatlands.world.track import PACE_USUAL, SPEED, UNIT, Goal, Heading, stand

#: A mover arrives so much later than it was told to go, at least: a game that lets it go to where
#: it is must not keep the event loop busy.
ARRIVES_AFTER_MS: Final = 100

#: Movers about which this node may not decide now are looked at again after this long.
AGAIN_MS: Final = 500


class MoverNode(Protocol):
    """A node, as its movers use it."""

    bus: Bus
    grid: Grid
    terrain: Any
    peers: Peers
    residents: Residents
    movement: Movement
    takeovers: Takeovers
    subscriptions: Subscriptions
    store_client: StoreClient
    world_clock: WorldClock


class MoverHooks(Protocol):
    """The hooks of a game about movers."""

    def arrived(self, mover: Mover) -> bool:
        """A mover of this node has come to the end of its way, or cannot go on. Returns False if
        the game cannot take the call now."""

    def adopted(self, mover: Mover) -> None:
        """This node moves a mover that another node, or an earlier process, has moved."""


class HostedMover:
    """A mover that this node moves. `goes` says whether it is on its way; the first place of the
    `path` is the one to which it walks. `since` is the turn (Hosting.turn) from which this node has
    moved it."""

    __slots__ = ("resident", "kind", "number", "path", "goes", "since")

    def __init__(self, resident: Resident, number: int, kind: type[Mover], since: int) -> None:
        self.resident, self.number, self.kind, self.since = resident, number, kind, since
        self.path: list[Position] = []
        self.goes = False


class Hosting:
    """Moves the movers of a node. `kinds` are the game's kinds of movers, by their numbers, and
    `may_decide` returns whether this node certainly moves the mover with a number now."""

    def __init__(
        self, node: MoverNode | Any, kinds: Mapping[int, type[Mover]], hooks: MoverHooks | Any
    ) -> None:
        self._loop: Loop = node.bus.loop
        self._grid: Grid = node.grid
        self._residents: Residents = node.residents
        self._movement: Movement = node.movement
        self._store_client: StoreClient = node.store_client
        self.kinds = kinds
        #: The numbers of the kinds.
        self.numbers = {kind: number for number, kind in kinds.items()}
        self._hooks = hooks
        #: The movers that are here, by their numbers; some may be at another node already. Those of
        #: the store by their groups as well.
        self.hosted: dict[int, HostedMover] = {}
        self._by_group: list[dict[int, HostedMover]] = [{} for _ in range(MOVER_GROUPS)]
        self._turns = itertools.count(1)
        self._acts = TimerQueue(self._loop, self._act, 10)
        self.may_decide: Callable[[HostedMover], bool]

    def is_stored(self, kind: type[Mover]) -> bool:
        """Return whether movers of a kind are in the store."""
        return kind.persist and self._store_client.store is not None

    def _is_here(self, hosted: HostedMover) -> bool:
        return self._residents.by_id.get(hosted.resident.id) is hosted.resident

    def turn(self) -> int:
        """Return a number that is higher than all that it has returned before."""
        return next(self._turns)

    def count(self, group: int) -> int:
        """Return how many movers of a group of the store are here."""
        return len(self._by_group[group])

    def here(self, number: int) -> HostedMover | None:
        """Return a mover that this node moves, or None."""
        hosted = self.hosted.get(number)
        if hosted is None or self._is_here(hosted):
            return hosted
        # Another node has it.
        self._forget(hosted)
        return None

    def decided(self) -> list[HostedMover]:
        """Return the movers about which this node may decide now."""
        return [one for one in self.hosted.values() if self._is_here(one) and self.may_decide(one)]

    def residents(self) -> list[Resident]:
        """Return the movers that this node moves, as their residents."""
        return [one.resident for one in self.hosted.values() if self._is_here(one)]

    def stored(self, groups: Collection[int]) -> dict[int, list[HostedMover]]:
        """Return the stored movers of some groups that are here, by their groups."""
        here = {group: map(self.here, list(self._by_group[group])) for group in groups}
        return {group: [one for one in some if one is not None] for group, some in here.items()}

    def view_of(self, hosted: HostedMover) -> Mover:
        """Return a mover of this node, as it is now."""
        return self.view(hosted.resident)

    def view(self, player: Player) -> Mover:
        """Return the mover that is published as a player, as it is now."""
        return mover_of(self.kinds[player.values[0]], player, self._loop.now())

    def host(
        self, mover: Mover, seq: int, place: Position, way: Way, square: Square | None = None
    ) -> HostedMover:
        """Move a mover from now on, beginning at a place, with a seq that is higher than all its
        others. `square` is the one in which another node has published it last."""
        now, kind = self._loop.now(), type(mover)
        here, number = self._grid.square(*place), self.numbers[type(mover)]
        state = State(
            id=mover.number,
            seq=seq,
            name=getattr(mover, "name", kind.__name__),
            track=stand(*place, now),
            square=square or here,
            followed_until=now,
            pace=round(kind.speed * UNIT * PACE_USUAL / SPEED),
            values=(number, mover.version, *mover._shows()),
        )
        resident = self._residents.take_in(state)
        hosted = HostedMover(resident, number, kind, self.turn())
        for kept in self._dicts_of(resident.id):
            kept[resident.id] = hosted
        if resident.square != here:
            # Screens that hold only that square must be told that it went on.
            self._movement.put(resident, place)
        self.go(hosted, way)
        return hosted

    def host_new(self, mover: Mover, seq: int) -> None:
        """Move a mover that nobody has moved yet. Without a way it arrives where it is."""
        place, way = middle_of(mover.tile), mover._first_way
        self.host(mover, seq, place, Way(path=(place,)) if way == NOWHERE else way)

    def go(self, hosted: HostedMover, way: Way) -> None:
        """Let a mover of this node go its way; without one it stands where it is."""
        hosted.path, hosted.goes = list(way.path), way != NOWHERE
        resident, now = hosted.resident, self._loop.now()
        if any(way.heading):
            self._movement.act(resident, resident.ack + 1, now, Heading(*way.heading))
        elif way.path:
            self._movement.act(resident, resident.ack + 1, now, Goal(*way.path[0]))
        elif resident.walks(now):
            self._movement.act(resident, resident.ack + 1, now, None)
        self.plan(hosted)

    def plan(self, hosted: HostedMover) -> None:
        """Look at a mover again when it may have come to where it goes."""
        if hosted.goes:
            due = max(hosted.resident.track.end, self._loop.now() + ARRIVES_AFTER_MS)
            self._acts.put(hosted.resident.id, due)
        else:
            self._acts.drop(hosted.resident.id)

    def _act(self, number: int, _due: int) -> None:
        hosted = self.here(number)
        if hosted is None:
            return
        if not self.may_decide(hosted):
            self._acts.put(number, self._loop.now() + AGAIN_MS)
        elif hosted.resident.walks(self._loop.now()):
            self.plan(hosted)
        elif len(hosted.path) > 1:
            self.go(hosted, Way(path=tuple(hosted.path[1:])))
        elif self._hooks.arrived(self.view_of(hosted)):
            hosted.path.clear()
            hosted.goes = False
        else:
            self._acts.put(number, self._loop.now() + AGAIN_MS)

    def remove(self, hosted: HostedMover) -> None:
        """Let a mover leave the world."""
        self._forget(hosted)
        if self._is_here(hosted):
            self._residents.leave(hosted.resident)

    def _dicts_of(self, number: int) -> Iterator[dict[int, HostedMover]]:
        """Yield the dicts in which a mover is."""
        yield self.hosted
        if number < FIRST_UNSTORED_ID:
            yield self._by_group[number % MOVER_GROUPS]

    def _forget(self, hosted: HostedMover) -> None:
        number = hosted.resident.id
        for kept in self._dicts_of(number):
            del kept[number]
        self._acts.drop(number)

    # What they have become.

    def show(self, hosted: HostedMover, mover: Mover) -> None:
        """Show what a mover has become, unless something newer is shown."""
        resident = hosted.resident
        if mover.version > resident.values[1]:
            values = hosted.number, mover.version, *mover._shows()
            self._residents.set_values(resident, values)
