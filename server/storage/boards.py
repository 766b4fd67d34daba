"""Boards: who has how many points.

The board has players by their owner: a hash of the key, a secret that a client keeps. Only the hash
is stored, and no account is needed. What earns points gives them, in the same step of the store.
"""

import hashlib
from typing import Final, NamedTuple

import msgpack

from flatlands.server.runtime.loop import Loop
from flatlands.server.storage.client import StoreClient
from flatlands.stores.base import NEVER_DUE_MS, Item, Rank, Score, Store

#: The name of the queue in the store that has the players' names.
NAMES: Final = "name"

#: Stands for a name that the board does not have, or that an operator has cleared.
NO_NAME: Final = "?"

#: How long the top of a board is kept, so that many who look at it ask the store only once.
TOP_KEPT_MS: Final = 2000


class BoardEntry(NamedTuple):
    """Somebody on a board."""

    name: str
    points: int
    owner: str


def owner_of(key: str) -> str:
    """Return the owner that a key stands for."""
    return hashlib.blake2b(key.encode(), digest_size=16, person=b"flatlands board").hexdigest()


class Boards:
    """The boards of the game `name`. An owner is as in `owner_of`, or "" for a player without a
    key."""

    def __init__(self, name: str, store_client: StoreClient, loop: Loop) -> None:
        self._name = name
        self._store_client = store_client
        self._loop = loop
        #: Board and number of places -> the node time, in ms, until when the top is fresh; the top.
        self._tops: dict[tuple[str, int], tuple[int, list[BoardEntry]]] = {}
        # All who look at it wait for the first of them.
        self._reading = loop.lock()

    def score(self, board: str, owner: str, points: int) -> Score:
        """Return points for an owner."""
        return Score(board_name(self._name, board), owner, points)

    def entry(self, owner: str, player: int, name: str) -> tuple[str, Item]:
        """Return what is put beside a player's points, as (queue, item): its id and name."""
        return NAMES, Item(owner, NEVER_DUE_MS, owner, msgpack.packb([player, name]))

    def rank(self, board: str, owner: str) -> Rank:
        """Return the place of an owner on a board; all its numbers are 0 for one who has no points.
        It waits for the store. Raises StoreUnavailable."""
        if not owner:
            return Rank(0, 0, 0)
        name = board_name(self._name, board)
        return self._store_client.wait(lambda store: store.rank(name, owner)) or Rank(0, 0, 0)

    def top(self, board: str, most: int) -> list[BoardEntry]:
        """Return up to `most` places with the most points, some seconds old at most. It waits for
        the store. Raises StoreUnavailable."""
        with self._reading:
            now = self._loop.now()
            until, top = self._tops.get((board, most), (0, []))
            if until <= now:
                top = self._store_client.wait(lambda store: self._read(store, board, most))
                self._tops = {key: kept for key, kept in self._tops.items() if kept[0] > now}
                self._tops[board, most] = self._loop.now() + TOP_KEPT_MS, top
        return list(top)

    def _read(self, store: Store, board: str, most: int) -> list[BoardEntry]:
        top = store.top(board_name(self._name, board), most)
        found = store.group(NAMES, *(owner for owner, _points in top))
        names = {item.id: read_entry(item.body)[1] for item in found}
        # A player without a name was put there by another program, or cleared.
        return [BoardEntry(names.get(owner, NO_NAME), points, owner) for owner, points in top]

    def rename(self, owner: str, player: int, name: str) -> None:
        """Give a player its current name on all boards, if it is on any."""
        queue, item = self.entry(owner, player, name)

        def operation(store: Store) -> None:
            for there in store.group(queue, owner):
                if there.body != item.body:
                    store.take(queue, owner, [(queue, item)], only=there.body)

        self._store_client.ask(operation, lambda _none: None)

    def clear(self, name: str) -> None:
        """Forget a name, because an operator wants it. Its players get one with their next point.
        It waits for the store. Raises StoreUnavailable."""

        def operation(store: Store) -> None:
            for item in store.each(NAMES):
                if read_entry(item.body)[1] == name:
                    store.take(NAMES, item.id, only=item.body)

        self._store_client.wait(operation)
        self._tops.clear()


def board_name(game: str, board: str) -> str:
    """Return the name of a game's board in the store."""
    return f"{game} {board}"


def read_entry(body: bytes) -> tuple[int, str]:
    """Return the id and the name of a player from the body of an item of NAMES."""
    player, name = msgpack.unpackb(body)
    return player, name
