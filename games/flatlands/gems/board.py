"""The board: who has how many gems, and who has kept the ember for longest (longest.py).

A player is known by a key that its client keeps, a secret. Only a hash of it is stored, and no
account is needed. This module never gives points: taking a gem does (garden.py).
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgpack

from flatlands.games.flatlands.ember.longest import Best, Longest
from flatlands.games.flatlands.kinds import BOARD_LENGTH
from flatlands.server.kept.keeper import Keeper
from flatlands.server.loop import Loop
from flatlands.stores.base import NEVER, Item, Rank, Score, Store

#: The names of the board, and of the queue that has the players' names, in the store.
BOARD, NAMES = "gems", "name"

#: What stands for a name that is not known, or that an operator has cleared.
NO_NAME = "?"

#: So many who ask are answered by one question, so that others have their turn in between. So many
#: may wait; more are not answered, as if the store did not answer.
AT_ONCE, WAITING = 50, 5000

#: ms for which what all see of the board is kept, so that many who look at it are one question.
FRESH = 2000


class Standing(NamedTuple):
    """A player's gems, its place from 1 among `of` players, the top of the board as (owner, name,
    gems), and the longest. The first three are 0 for a player who has never had a gem."""

    gems: int
    place: int
    of: int
    top: list[tuple[str, str, int]]
    longest: Best


class Asker(NamedTuple):
    """Who asks for the standing of an owner.

    `note` is an entry of the owner (Board.entry), which replaces the one that it has, if it has
    one; or nothing.
    """

    owner: str
    note: Sequence[tuple[str, Item]]
    answered: Callable[[Standing], None]
    failed: Callable[[], None]


class Board:
    """See the module. An owner is the hash of a key, or "" for a player without one.

    Those who ask while a question is under way wait for the next one, and are answered together: a
    crowd that comes at once must not keep the store from those who take something.
    """

    def __init__(self, keeper: Keeper, longest: Longest, loop: Loop) -> None:
        self._keeper = keeper
        self._longest = longest
        self._loop = loop
        self._top: list[tuple[str, str, int]] = []
        self._best = Best(None, None)
        #: The node time, in ms, until which `_top` and `_best` are fresh.
        self._until = 0
        self._askers: list[Asker] = []
        #: Whether a question is under way, or about to be.
        self._asks = False

    @staticmethod
    def owner(key: str) -> str:
        """Return the owner that a key stands for."""
        return hashlib.blake2b(key.encode(), digest_size=16, person=b"flatlands board").hexdigest()

    def point(self, owner: str) -> list[Score]:
        """Return the point for a gem, if there is somebody to count it for."""
        return [Score(BOARD, owner, 1)] if owner else []

    def entry(self, owner: str, player: int, name: str) -> list[tuple[str, Item]]:
        """Return what is put with a player's first point, as (queue, item): its id and name."""
        body = msgpack.packb([player, name])
        return [(NAMES, Item(owner, NEVER, owner, body))] if owner else []

    def ask(
        self,
        owner: str,
        answered: Callable[[Standing], None],
        failed: Callable[[], None],
        note: Sequence[tuple[str, Item]] = (),
    ) -> None:
        """Call `answered` with the standing of an owner, or `failed` if the store fails. `note` is
        as in Asker."""
        if len(self._askers) >= WAITING:
            failed()
            return
        self._askers.append(Asker(owner, note, answered, failed))
        if not self._asks:
            self._asks = True
            self._loop.soon(self._begin)

    def clear(self, name: str) -> None:
        """Forget a name, because an operator wants it. Its players get one with their next gem."""
        self._keeper.ask(lambda store: self._clear(store, name), lambda _none: None)

    def _clear(self, store: Store, name: str) -> None:
        for item in store.each(NAMES):
            if read_entry(item.body)[1] == name:
                store.take(NAMES, item.id, only=item.body)
        self._until = 0

    def _begin(self) -> None:
        askers, self._askers = self._askers[:AT_ONCE], self._askers[AT_ONCE:]

        def answered(standings: dict[str, Standing]) -> None:
            self._end()
            for asker in askers:
                self._loop.guarded(asker.answered, standings[asker.owner])

        def failed() -> None:
            self._end()
            for asker in askers:
                self._loop.guarded(asker.failed)

        self._keeper.ask(lambda store: self._answer(store, askers), answered, failed)

    def _end(self) -> None:
        self._asks = bool(self._askers)
        if self._asks:
            self._loop.soon(self._begin)

    def _answer(self, store: Store, askers: list[Asker]) -> dict[str, Standing]:
        for owner, note in {asker.owner: asker.note for asker in askers if asker.note}.items():
            for item in store.group(NAMES, owner):
                if item.body != note[0][1].body:
                    store.take(NAMES, owner, note, only=item.body)
        return {owner: self._read(store, owner) for owner in {asker.owner for asker in askers}}

    def _read(self, store: Store, owner: str) -> Standing:
        if self._until <= self._loop.now():
            top = store.top(BOARD, BOARD_LENGTH)
            owners = [id for id, _ in top]
            names = {one.id: read_entry(one.body)[1] for one in store.group(NAMES, *owners)}
            # A player whose name is not known was put there by another program, or cleared.
            self._top = [(id, names.get(id, NO_NAME), gems) for id, gems in top]
            self._best = self._longest.read(store)
            self._until = self._loop.now() + FRESH
        rank = store.rank(BOARD, owner) if owner else None
        place, of, gems = rank or Rank(0, 0, 0)
        return Standing(gems, place, of, self._top, self._best)


def read_entry(body: bytes) -> tuple[int, str]:
    """Return the id and the name of a player, which the body of an item of NAMES is."""
    player, name = msgpack.unpackb(body)
    return player, name
