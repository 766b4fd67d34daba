"""The movers of a game, as its nodes have them: what games, and other nodes, do to them.

Whether a mover exists, and its fields, are the store's: what anybody takes or changes there is told
to the node that moves it, which then reads it again. Where it is, and where it goes, only that node
decides. Movers that no store has are that node's altogether (swaps.py).
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar
from zlib import crc32

from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import (
    MOVER_GROUPS,
    MOVER_PATH_MOST,
    MoverChanged,
    MoverGo,
    MoverSpawned,
    pack,
)
from flatlands.server.messages.protocol import FIRST_PERSON_ID, Refused
from flatlands.server.messages.table import Row
from flatlands.server.movers.adoption import Adoption
from flatlands.server.movers.hosting import HostedMover, Hosting, MoverHooks, MoverNode
from flatlands.server.movers.ids import MoverIds
from flatlands.server.movers.swaps import NO_MOVER, SwapResult, Swaps
from flatlands.server.players.residents import Residents
from flatlands.server.runtime.loop import Loop
from flatlands.server.squares.subscriptions import Subscriptions
from flatlands.server.storage.items import THINGS_A_STEP, Items, mover_group
from flatlands.server.storage.kinds import (
    Mover,
    Way,
    check_tile,
    middle_of,
    mover_of,
    mover_row,
)
from flatlands.stores.base import CALL_ITEMS_MOST, Item, Store
from flatlands.world.events import Player
from flatlands.world.track import UNIT, stand

#: The most movers that a node moves, and the most of one group that it spawns.
MOVERS_MOST: Final = 20_000
GROUP_MOST: Final = 400

#: How often a change is tried if others are faster.
SWAP_TRIES: Final = 8

_M = TypeVar("_M", bound=Mover)


class Movers:
    """The movers of a node. `name` is that of the game in the store, and `kinds` are its kinds of
    movers by their numbers."""

    def __init__(
        self,
        node: MoverNode | Any,
        name: str,
        items: Items,
        kinds: Mapping[int, type[Mover]],
        hooks: MoverHooks | Any,
    ) -> None:
        self._bus: Bus = node.bus
        self._loop: Loop = node.bus.loop
        self._residents: Residents = node.residents
        self._subscriptions: Subscriptions = node.subscriptions
        self._node, self._items = node, items
        self._ids = MoverIds(f"mover ids {name} {node.bus.channels.ground_id}", node.store_client)
        self.hosting = Hosting(node, kinds, hooks)
        self.hosting.may_decide = self._may_decide
        self.adoption = Adoption(node, name, items, self.hosting, hooks)
        self._groups = self.adoption.groups
        #: The groups of kinds whose movers are together; no others are spawned there.
        self._together = {groups_of(kind)[0] for kind in self.hosting.numbers if kind.together}
        #: Group -> how many movers this node is about to spawn in it.
        self._begun = Counter[int]()
        #: The numbers of movers that are to be read from the store: of those that are here, and of
        #: those that another node has spawned.
        self._outdated = set[int]()
        self._new_elsewhere = set[int]()
        self._stopped = False
        #: What is done to movers that are in no store.
        self.swaps = Swaps(node.bus, self._decide)
        items.set_mover_listener(self)

    def start(self) -> None:
        """Begin to move movers of the store."""
        if any(map(self.is_stored, self.hosting.numbers)):
            self.adoption.start()

    def stop(self) -> None:
        """Let other nodes move the movers, because the server stops. They stay here until those
        have them; movers that are in no store leave."""
        self._stopped = True
        for hosted in list(self.hosting.hosted.values()):
            if not self.is_stored(hosted.kind):
                self.hosting.remove(hosted)
        self._groups.stop()

    @property
    def has_stopped(self) -> bool:
        """Whether other nodes may move the movers."""
        return not self._groups.terms

    def _may_decide(self, hosted: HostedMover) -> bool:
        """Return whether this node may decide what a mover does now."""
        if not self.is_stored(hosted.kind):
            return not self._stopped
        return self._groups.valid(hosted.resident.id % MOVER_GROUPS)

    def is_stored(self, kind: type[Mover]) -> bool:
        """Return whether movers of a kind are in the store."""
        return self.hosting.is_stored(kind)

    # What games do.

    def spawn(self, movers: Sequence[_M], way: Way) -> list[_M]:
        """Put new movers into the world, let each go its way, and return them with their ids. It
        waits for the store if their kinds are stored. Raises StoreUnavailable, Refused, and
        ValueError."""
        if len(movers) > THINGS_A_STEP:
            raise ValueError(f"spawn at most {THINGS_A_STEP} movers at once")
        some = [self._new(mover, way) for mover in movers]
        if len(self.hosting.hosted) + len(some) > MOVERS_MOST:
            raise Refused("movers", f"a server moves at most {MOVERS_MOST:,} movers", None)
        stored = [new for new in some if self.is_stored(type(new))]
        others = [new for new in some if not self.is_stored(type(new))]
        if others and self._stopped:
            raise Refused("movers", "this server is about to stop", None)
        groups, elsewhere = list[int](), dict[int, int]()
        try:
            for new in stored:
                groups.append(self._choose_group(type(new), elsewhere))
                self._begun[groups[-1]] += 1
            for new, group in zip(stored, groups, strict=True):
                new.id = f"{type(new).__name__}:{self._ids.take(group)}"
            if stored:
                items = [self._items.item(new)[1] for new in stored]
                self._items.wait(lambda store: store.put(self._items.queue, items))
        finally:
            self._begun.subtract(groups)
        for new in others:
            new.id = f"{type(new).__name__}:{self._ids.unstored(self._is_taken)}"
            self.hosting.host_new(new, 0)
        left = list[int]()
        for new in stored:
            if self._groups.valid(new.number % MOVER_GROUPS):
                self.adoption.host_new(new)
            else:
                left.append(new.number)
        if left:
            self._bus.to_all(pack(MoverSpawned(self._bus.node, left)))
        return some

    def _new(self, mover: _M, way: Way) -> _M:
        """Return what a mover is when it is spawned. Raises ValueError."""
        if not isinstance(mover, Mover) or type(mover) not in self.hosting.numbers:
            raise ValueError(f"{mover!r}: the game's `things` do not list this class of movers")
        if mover.id:
            raise ValueError(f"{mover!r} was spawned already")
        self._check_free(mover.tile)
        new = mover.again()
        new.version, new._first_way = 1, way
        return new

    def _is_taken(self, number: int) -> bool:
        residents = self._residents
        known = number in residents.by_id or number in residents.departed
        return known or self._subscriptions.seq(number) >= 0

    def _choose_group(self, kind: type[Mover], elsewhere: dict[int, int]) -> int:
        """Return a group for a new mover of the store: the only group of its kind, or else the
        emptiest one of those that this node holds, if it holds any. `elsewhere` keeps how many
        movers other groups have, as the store says; it may wait for that. Raises StoreUnavailable
        and Refused."""
        every = groups_of(kind) if kind.together else sorted(ALL_GROUPS - self._together)
        if held := [*filter(self._groups.valid, every)]:
            group = min(held, key=self._size)
            size = self._size(group)
        else:
            group = next(filter(elsewhere.__contains__, every), random.choice(every))
            if group not in elsewhere:
                queue, name = self._items.queue, mover_group(group)
                elsewhere[group] = len(self._items.wait(lambda store: store.group(queue, name)))
            size = elsewhere[group] + self._begun[group]
        if size < GROUP_MOST:
            return group
        if kind.together:
            sentence = f"a world has at most {GROUP_MOST} movers of a kind that is together"
        else:
            sentence = f"a world has at most {GROUP_MOST * len(every):,} movers"
        raise Refused("movers", sentence, None)

    def _size(self, group: int) -> int:
        """Return how many movers of a group are here, or are about to be spawned from here."""
        return self.hosting.count(group) + self._begun[group]

    def _check_free(self, tile: Any) -> None:
        if self._node.terrain.blocked(*tile):
            raise ValueError(f"a mover cannot stand on {tile!r}: nobody can")

    def way(self, to: object) -> Way:
        """Return the way over a tile, or a list of tiles. Raises ValueError."""
        tiles = to if isinstance(to, list) else [to]
        if not tiles:
            raise ValueError("a way has at least one tile")
        if len(tiles) > MOVER_PATH_MOST:
            raise ValueError(f"a way has at most {MOVER_PATH_MOST} tiles, and not {len(tiles)}")
        path = tuple(map(middle_of, tiles))
        for tile in tiles:
            self._check_free(tile)
        return Way(path=path)

    def direction(self, heading: object) -> Way:
        """Return the way in a direction. Raises ValueError."""
        dx, dy = check_tile(heading)
        if (dx, dy) == (0, 0) or max(abs(dx), abs(dy)) > 1:
            raise ValueError(f"a direction is two numbers from -1 to 1, not {heading!r}")
        return Way(heading=(dx, dy))

    def go(self, mover: Mover, way: Way) -> None:
        """Let a mover go another way from now on, at whichever node it is. Raises ValueError."""
        if not mover.id or type(mover) not in self.hosting.numbers:
            raise ValueError(f"{mover!r} was not spawned: let it begin with spawn()")
        hosted = self.hosting.here(mover.number)
        if hosted is not None and self._may_decide(hosted):
            self.hosting.go(hosted, way)
        else:
            message = MoverGo(self._bus.node, mover.number, list(way.heading), way.flat())
            self._bus.to_player(mover.number, pack(message))

    def here(self, kind: type[_M]) -> list[_M]:
        """Return the movers of a kind that this node moves."""
        views = map(self.hosting.view_of, self.hosting.decided())
        return [view for view in views if isinstance(view, kind)]

    def all(self, kind: type[_M]) -> list[_M]:
        """Return all movers of a kind that the store has, each where it was spawned; if they are in
        no store, those that this node moves. It may wait. Raises StoreUnavailable."""
        if not self.is_stored(kind):
            return self.here(kind)
        groups = map(mover_group, groups_of(kind))
        items = self._items.wait(lambda store: store.group(self._items.queue, *groups))
        read = [self._items.read_thing(item.id, item.body) for item in items]
        return [one[0] for one in read if one is not None and isinstance(one[0], kind)]

    def near(self, tile: tuple[int, int], reach: float) -> list[Mover]:
        """Return the movers within `reach` tiles of the middle of a tile, as far as this node knows
        them, the nearest first."""
        (x, y), far, now = middle_of(tile), round(reach * UNIT), self._loop.now()
        found: dict[int, tuple[int, Player]] = {}
        for player in self._subscriptions.around(x, y, far):
            if player.id < FIRST_PERSON_ID and player.values[0] in self.hosting.kinds:
                at_x, at_y = player.track.at(now)
                away = (at_x - x) ** 2 + (at_y - y) ** 2
                known = found.get(player.id)
                # One that has just crossed a border may be in both squares.
                if away <= far * far and (known is None or known[1].seq < player.seq):
                    found[player.id] = away, player
        some = sorted(found.values(), key=lambda pair: (pair[0], pair[1].id))
        return [self.hosting.view(player) for _, player in some]

    # What is done to movers that only their nodes have.

    def take(self, mover: Mover) -> bool:
        """Take away a mover that is in no store; return whether it was still there, as it was read.
        It may wait."""
        return self.swaps.swap(mover.number, mover.version, []).done

    def change(self, mover: _M, how: Callable[[_M], _M]) -> _M | None:
        """Replace a mover that is in no store with what `how` makes of it, as `Items.change` does.
        It may wait."""
        kind, before = type(mover), mover
        for _ in range(SWAP_TRIES):
            after = how(before)
            if not isinstance(after, kind) or (after.id, after.version) != (
                before.id,
                before.version + 1,
            ):
                raise ValueError(f"change {before!r} into what its again() returns")
            values = [self.hosting.numbers[kind], after.version, *after._shows()]
            result = self.swaps.swap(mover.number, before.version, values)
            if result.done:
                return after
            if not result.values or self._row(kind).fault(result.values):
                return None
            before = self._read_values(mover, result.values)
        raise Refused("busy", "too many want to change this at once: try again", None)

    def _read_values(self, mover: _M, values: Sequence[Any]) -> _M:
        """Return a mover with the values that its node has."""
        player = Player(0, mover.number, 0, 0, "", False, stand(*middle_of(mover.tile), 0))
        player.values = values
        return mover_of(type(mover), player, 0)

    def _row(self, kind: type[Mover]) -> Row:
        return mover_row(self.hosting.numbers[kind], kind)

    def _decide(self, number: int, version: int, values: Sequence[Any]) -> SwapResult | None:
        """Decide about a mover of this node; see Swaps."""
        hosted = self.hosting.here(number)
        if hosted is None:
            return NO_MOVER if number in self._residents.departed else None
        resident = hosted.resident
        if resident.values[1] != version or self.is_stored(hosted.kind):
            return SwapResult(False, resident.values)
        if not values:
            self.hosting.remove(hosted)
            return SwapResult(True, [])
        if values[0] != hosted.number or self._row(hosted.kind).fault(values):
            return SwapResult(False, resident.values)
        self._residents.set_values(resident, values)
        return SwapResult(True, values)

    # What is done to their items in the store.

    def mover_changed(self, mover: Mover, *, gone: bool) -> None:
        """Show that a mover has changed, or is gone; or tell the node that moves it."""
        hosted = self.hosting.here(mover.number)
        if hosted is None:
            self._bus.to_player(mover.number, pack(MoverChanged(self._bus.node, mover.number)))
        elif gone:
            self.hosting.remove(hosted)
        else:
            self.hosting.show(hosted, mover)

    def mover_outdated(self, mover: Mover) -> None:
        """Let the node that moves a mover read it again."""
        if self.hosting.here(mover.number) is None:
            self._bus.to_player(mover.number, pack(MoverChanged(self._bus.node, mover.number)))
        else:
            self._read_again(mover.number)

    def on_mover_changed(self, message: MoverChanged) -> None:
        """Read a mover of this node again, since another node has changed it."""
        if message.node != self._bus.node and self.hosting.here(message.player) is not None:
            self._read_again(message.player)

    def _read_again(self, number: int) -> None:
        if not self._outdated:
            self._loop.call_soon(self._read_outdated)
        self._outdated.add(number)

    def _read_outdated(self) -> None:
        """Read those movers from the store that have changed there."""
        numbers, self._outdated = self._outdated, set()
        asked = self.hosting.turn()
        ids = [f"{hosted.kind.__name__}:{n}" for n in numbers if (hosted := self.hosting.here(n))]
        self._ask_for(ids, partial(self.adoption.compare_with, ids, asked))

    def _ask_for(self, ids: Sequence[str], answered: Callable[[dict[str, Item]], None]) -> None:
        """Ask the store for movers with these ids."""

        def operation(store: Store) -> dict[str, Item]:
            found = dict[str, Item]()
            for at in range(0, len(ids), CALL_ITEMS_MOST):
                found |= store.get(self._items.queue, ids[at : at + CALL_ITEMS_MOST])
            return found

        if ids:
            self._items.ask(operation, answered)

    # What other nodes ask for.

    def on_mover_go(self, message: MoverGo) -> None:
        """Let a mover of this node go where another node wants it to."""
        hosted = self.hosting.here(message.player)
        if message.node != self._bus.node and hosted is not None and self._may_decide(hosted):
            self.hosting.go(hosted, Way.of(message.heading, message.path))

    def on_mover_spawned(self, message: MoverSpawned) -> None:
        """Move movers that another node has spawned, if this node holds their groups."""
        own = [one for one in message.numbers if self._groups.valid(one % MOVER_GROUPS)]
        if own and message.node != self._bus.node:
            if not self._new_elsewhere:
                self._loop.call_soon(self._read_new)
            self._new_elsewhere.update(own)

    def _read_new(self) -> None:
        numbers, self._new_elsewhere = self._new_elsewhere, set()
        ids = [f"{kind.__name__}:{n}" for kind in self.hosting.numbers for n in numbers]
        self._ask_for(ids, self._found_new)

    def _found_new(self, found: Mapping[str, Item]) -> None:
        for item in found.values():
            read = self._items.read_thing(item.id, item.body)
            if read is not None and isinstance(read[0], Mover):
                if self._groups.valid(read[0].number % MOVER_GROUPS):
                    self.adoption.host_new(read[0])


#: All groups.
ALL_GROUPS: Final = frozenset(range(MOVER_GROUPS))


def groups_of(kind: type[Mover]) -> Sequence[int]:
    """Return the groups of which movers of a kind may be."""
    if kind.together:
        return [crc32(kind.__name__.encode()) % MOVER_GROUPS]
    return range(MOVER_GROUPS)
