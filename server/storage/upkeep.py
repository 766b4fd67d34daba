"""Does what is due in a game's store: plants things, lets them appear, and removes what has
expired.

A part of the ground is *planted* when somebody first comes near: an item without a body stands for
it; the node that claims this item asks the game for the things there, and puts them in its place in
one step. A pending thing is due when it is to appear: the node that claims it then puts it into
its square, and publishes that.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import msgpack

from flatlands.server.runtime.loop import Loop
from flatlands.server.squares.subscriptions import Subscriptions
from flatlands.server.storage.items import QUOTA_CHECK_MS, QUOTA_PREFIX, Items
from flatlands.server.storage.kinds import Thing
from flatlands.server.storage.reach import name_of
from flatlands.stores.base import CALL_ITEMS_MOST, Claimed, Item, Store
from flatlands.world.grid import Grid, Square
from flatlands.world.terrain import plot_index
from flatlands.world.things import PlacedThing as Row
from flatlands.world.track import Tile

#: How often a node looks for things that are due.
GROW_EVERY_MS = 1000

#: How many things that are due a node claims at a time.
GROW_AT_ONCE = 10

#: How long a node claims them, and records that are over.
GROW_CLAIMED_MS = 5000

#: How often a node looks for records that are over.
RECORDS_SWEEP_MS = 60_000

#: How long a part of the ground counts as planted.
PLANTED_FOR_MS = 24 * 3600 * 1000

#: A part of the ground that could not be planted is tried again after this.
PLANT_FAILED_MS = 60_000

#: A unit of quota is checked again after this, at most.
QUOTA_AGAIN_MS = 24 * 3600 * 1000

#: The body of an item that stands for a part of the ground that is planted.
PLANTED: Final = b"planted"

#: Returns the things for a plot; None if that failed.
Plant = Callable[[Tile], Sequence[Thing] | None]


class Upkeep:
    """Claims and handles the items of a game that are due. `plant` is None if the game plants
    nothing."""

    def __init__(
        self,
        items: Items,
        grid: Grid,
        subscriptions: Subscriptions,
        loop: Loop,
        plant: Plant | None,
    ) -> None:
        self._items, self._queue = items, items.queue
        self._grid, self._subscriptions, self._loop = grid, subscriptions, loop
        self._plant = plant
        self._growing = loop.every(GROW_EVERY_MS, self._grow, 0, can_wait=True)
        for kind, queue in items.records.items():
            if kind.lasts is not None:
                loop.every(RECORDS_SWEEP_MS, partial(self._sweep, queue))

    def fetch_and_seed(self, store: Store, squares: list[Square]) -> Iterator[tuple[Square, Row]]:
        """Queue the plots that some squares touch for planting, then yield the things in these
        squares, for the reader. It waits for the store."""
        # A store that this version of the game may not use is left as it is.
        self._items.learn(store)
        if self._plant is not None:
            plots = {plot for square in squares for plot in self._plots_of(square)}
            seeds = [Item(f"{i}:{j}", 0, "", b"") for i, j in plots]
            parts = [
                seeds[at : at + CALL_ITEMS_MOST] for at in range(0, len(seeds), CALL_ITEMS_MOST)
            ]
            if sum(store.put(self._queue, part) for part in parts):
                self._growing.set(self._loop.now())
        yield from self._items.fetch(store, squares)

    def _plots_of(self, square: Square) -> Iterator[Tile]:
        """Yield the plots that a square touches."""
        left, top = square[0] * self._grid.side, square[1] * self._grid.side
        last = self._grid.side - 1
        for i in range(plot_index(left), plot_index(left + last) + 1):
            for j in range(plot_index(top), plot_index(top + last) + 1):
                yield i, j

    def _sweep(self, queue: str) -> None:
        """Remove records that are over, some time later."""

        def operation(store: Store) -> None:
            over = store.claim(queue, CALL_ITEMS_MOST, GROW_CLAIMED_MS)
            store.done(queue, [one.id for one in over])

        self._items.ask(operation, _nothing)

    def _grow(self) -> None:
        # A node at which nobody plays leaves this to the others.
        if self._subscriptions.by_square:
            self._items.ask(
                lambda store: store.claim(self._queue, GROW_AT_ONCE, GROW_CLAIMED_MS), self._claimed
            )

    def _claimed(self, claimed: list[Claimed]) -> None:
        """Plant what is to be planted, let things appear whose time has come, and forget those
        whose time is over."""
        seeds: list[str] = []
        lapsed: list[str] = []
        foreign: list[tuple[str, bytes]] = []
        for id, body, _tries in self._without_quota(claimed):
            found = self._items.read_thing(id, body) if body else None
            if not body:
                seeds.append(id)
            elif found is not None:
                self._due(*found)
            elif body == PLANTED:
                lapsed.append(id)
            else:
                foreign.append((id, body))
        if lapsed:
            self._items.ask(lambda store: store.done(self._queue, lapsed), _nothing)
        if foreign:
            # Another version of the game has them.
            self._items.ask(
                lambda store: store.renew(self._queue, foreign, PLANT_FAILED_MS), _nothing
            )
        if seeds:
            # Planting may take some ms for each, and must not wait.
            self._loop.call_soon(lambda: self._loop.schedule_batches(seeds, 1, 1, self._plant_plot))
        if len(claimed) == GROW_AT_ONCE:
            self._growing.set(self._loop.now())

    def _due(self, thing: Thing, pending: bool) -> None:
        """Put a thing that this node has claimed into its square if it is `pending`, or remove it;
        publish that. If this node was slow, another one has done so, or a player has changed it."""
        items = self._items

        def operation(store: Store) -> int:
            done = store.done(self._queue, [thing.id], [items.item(thing)] if pending else [])
            if done and not pending:
                items.free(store, thing, items.pack(thing))
            return done

        def answered(done: int) -> None:
            if done:
                self._loop.stats["things_planted"] += pending
                items.publish(*([thing], []) if pending else ([], [thing]))

        items.ask(operation, answered)

    def _plant_plot(self, id: str) -> None:
        """Put what the game plants in a plot in place of its item, which this node has claimed;
        publish that."""
        i, j = map(int, id.split(":"))
        planted = None if self._plant is None else self._plant((i, j))
        lasts = PLANT_FAILED_MS if planted is None else PLANTED_FOR_MS
        items, coming = self._items, planted or []
        squares = {name_of(items.square(thing)) for thing in coming if not thing.after}

        def operation(store: Store) -> set[tuple[str, bytes]]:
            then = [*map(items.item, coming), (self._queue, Item(id, lasts, "", PLANTED))]
            store.done(self._queue, [id], then)
            # There may be something with the same id already, and a lease may have ended.
            return {(item.id, item.body) for item in store.group(self._queue, *squares)}

        def answered(there: set[tuple[str, bytes]]) -> None:
            placed = [thing for thing in coming if (thing.id, items.pack(thing)) in there]
            self._loop.stats["things_planted"] += len(placed)
            items.publish(placed)

        items.ask(operation, answered)

    def _without_quota(self, claimed: list[Claimed]) -> list[Claimed]:
        """Free the units of quota among what is due if no thing has them any more; return the
        rest."""
        units = [each for each in claimed if each.id.startswith(QUOTA_PREFIX)]
        if units:
            self._items.ask(lambda store: self._check(store, units), _nothing)
        return [each for each in claimed if each not in units]

    def _check(self, store: Store, units: list[Claimed]) -> None:
        for id, square, _tries in units:
            kept = [
                Item(
                    id,
                    min(item.delay + QUOTA_CHECK_MS, QUOTA_AGAIN_MS),
                    id.rpartition(" ")[0],
                    square,
                )
                for item in store.group(self._queue, square.decode())
                if not item.id.startswith(QUOTA_PREFIX) and id in msgpack.unpackb(item.body)[5:]
            ]
            store.done(self._queue, [id], [(self._queue, item) for item in kept])


def _nothing(_answer: object) -> None:
    """Do nothing."""
