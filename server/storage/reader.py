"""Reads the things and tiles of the subscribed squares from the store.

The store has the truth, and the channels of squares carry the changes. Changes may be lost, so a
square is read when this node begins to receive it, whenever messages of it may have been lost, once
a minute, and when the store answers again.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from flatlands.server.runtime.loop import Loop
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.subscriptions import Subscriptions
from flatlands.server.storage.client import StoreClient
from flatlands.stores.base import Store
from flatlands.world.grid import Square
from flatlands.world.things import PlacedThing

#: A square that was read is read again after this.
SQUARE_AGAIN_MS = 60_000

#: A square that could not be read is tried again after this.
SQUARE_FAILED_MS = 5_000

#: The most squares that are read at a time.
SQUARES_AT_ONCE = 200

#: About how many tiles are compared with what the store has in one turn of the event loop, which
#: takes some ms.
TILES_AT_ONCE = 8192

#: Reads the things in some squares from the store.
Fetch = Callable[[Store, list[Square]], Iterable[tuple[Square, PlacedThing]]]


class StoredLayer(Protocol):
    """A layer of the ground, as the store has it."""

    #: Whether the store has it at all.
    persist: bool | str

    def load(self, store: Store, squares: list[Square]) -> dict[Square, bytes]:
        """Return the writes that the store has in some squares. It waits for the store."""

    def apply_stored(self, square: Square, writes: bytes) -> None:
        """Take what the store had in a square."""


class SquareReader:
    """Reads the things and tiles of subscribed squares, a square at a time.

    `fetch` may wait for the store. `layers` are those on which the game writes, on `tiles` in each
    square.
    """

    def __init__(
        self,
        store_client: StoreClient,
        subscriptions: Subscriptions,
        loop: Loop,
        fetch: Fetch,
        layers: Sequence[StoredLayer],
        tiles: int,
    ) -> None:
        self._store_client = store_client
        self._subscriptions = subscriptions
        self._loop = loop
        self._fetch = fetch
        self._layers = layers
        self._tiles = tiles
        #: The squares that are to be read, in the order in which they came.
        self._wanted: dict[Square, None] = {}
        self._reads = False
        self._again = TimerQueue(loop, self._read_again)

    def read(self, square: Square) -> None:
        """Read a square soon, together with others."""
        if square not in self._subscriptions.by_square:
            return
        if self._store_client.store is None:
            if self._layers:
                self._again.put(square, self._loop.now() + SQUARE_AGAIN_MS)
            return
        self._wanted[square] = None
        if not self._reads:
            self._reads = True
            self._loop.call_soon(self._begin)

    def _read_again(self, square: Square, _due: int) -> None:
        subscription = self._subscriptions.by_square.get(square)
        if subscription is not None and not (
            self._store_client.store and all(it.persist for it in self._layers)
        ):
            # What the store does not have, only the other nodes have.
            subscription.sync.request_soon()
        if self._store_client.store is not None:
            self.read(square)

    def read_all(self) -> None:
        """Read all squares soon."""
        for square in self._subscriptions.by_square:
            self.read(square)

    def _begin(self) -> None:
        squares = list(self._wanted)[:SQUARES_AT_ONCE]
        for square in squares:
            del self._wanted[square]
        begun = self._loop.now()

        def answered(
            read: tuple[dict[Square, list[PlacedThing]], list[dict[Square, bytes]]],
        ) -> None:
            found, written = read
            self._end(squares, SQUARE_AGAIN_MS)
            for square in squares:
                subscription = self._subscriptions.by_square.get(square)
                if subscription is not None:
                    subscription.apply_stored_things(found.get(square, []), begun)

            def load(square: Square) -> None:
                if square in self._subscriptions.by_square:
                    for layer, writes in zip(self._layers, written, strict=True):
                        layer.apply_stored(square, writes.get(square, b""))

            if self._layers:
                at_once = max(TILES_AT_ONCE // (self._tiles * len(self._layers)), 1)
                self._loop.schedule_batches(squares, at_once, 1, load)

        self._store_client.ask(
            lambda store: self._read(store, squares),
            answered,
            lambda: self._end(squares, SQUARE_FAILED_MS),
        )

    def _read(
        self, store: Store, squares: list[Square]
    ) -> tuple[dict[Square, list[PlacedThing]], list[dict[Square, bytes]]]:
        found: dict[Square, list[PlacedThing]] = {}
        for square, thing in self._fetch(store, squares):
            found.setdefault(square, []).append(thing)
        return found, [layer.load(store, squares) for layer in self._layers]

    def _end(self, squares: list[Square], again: int) -> None:
        due = self._loop.now() + again
        for square in squares:
            self._again.put(square, due)
        if self._wanted:
            self._loop.call_soon(self._begin)
        else:
            self._reads = False
