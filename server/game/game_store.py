"""What a game changes in the store without a player: for what the world does by itself, and for
what several things and records have to change in at once.

The store decides, as for what players do: of all who take a thing exactly one gets it, and nothing
that was answered is lost or done twice.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from typing import TypeVar

from flatlands.server.game.game_node import GameNode
from flatlands.server.storage.kinds import Key, Mover, Record, Thing
from flatlands.server.storage.transactions import Transaction, transact
from flatlands.stores.base import Item

_T = TypeVar("_T", bound=Thing)
_M = TypeVar("_M", bound=Mover)

NO_MOVERS = "a game has movers if its `things` list a class of them"


class GameStore:
    """Reads and changes a game's things and records in the store. All methods wait for the store,
    so only hooks that may wait can call them. They raise StoreUnavailable if it does not answer:
    what was asked may have been done or not."""

    def __init__(self, node: GameNode) -> None:
        self._node = node

    def put(self, *new: Thing | Record) -> None:
        """Put new things and records, all or none. Raises StoreUnavailable, Refused if one of them
        is there already (`exists`), and ValueError."""
        self.transact([], lambda: Transaction(new))

    def take(
        self,
        thing: Thing,
        then: Iterable[Thing | Record] = (),
        scores: Iterable[tuple[str, str, int]] = (),
    ) -> bool:
        """Take a thing away; return whether it was still there: that is so for one caller only.

        In the same step, put all things of `then` on their tiles, add its records, except those
        whose ids are there already, and count points, as (owner, board, points). Raises
        StoreUnavailable and ValueError.
        """
        play, some = self._node.play, [score for score in scores if score[0]]
        points = [play.boards.score(board, owner, n) for owner, board, n in some]
        return play.items.take(thing, then, points, self._names({owner for owner, _, _ in some}))

    def change(self, thing: _T, how: Callable[[_T], _T]) -> _T | None:
        """Replace a thing as `Me.change` does. Raises StoreUnavailable, what `how` raises, and
        ValueError."""
        return self._node.play.items.change(thing, how)

    def movers(self, kind: type[_M]) -> list[_M]:
        """Return the movers of a kind in the whole world, as the store has them: each where it was
        spawned. If they are in no store, return those that this node moves. Raises
        StoreUnavailable, and RuntimeError if the game has no movers."""
        movers = self._node.play.movers
        if movers is None:
            raise RuntimeError(NO_MOVERS)
        return movers.all(kind)

    def score(self, owner: str, board: str, points: int) -> None:
        """Count points for a person, by its owner; nothing for an owner "". The board has the name
        of a person who plays at this node now, or has got points by `Me.take`; else it is "?".
        Raises StoreUnavailable and ValueError."""
        if owner:
            self.transact([], lambda: Transaction(scores=[(owner, board, points)]))

    def transact(
        self, some: Sequence[Thing | Record | Key], how: Callable[..., Transaction | None]
    ) -> bool:
        """Change several things and records at once: all of it happens, or nothing. Return False if
        `how` wants nothing.

        `how` is called with the things and records of `some` as the store has them, in the same
        order, each None if it is not there; `Kind.key(id)` names one that may not be there, or a
        thing that lies where this node sees nothing. It returns a Transaction: what is put, new or
        instead of what had the same id; what is removed; and points. It must not wait. If somebody
        else has changed one of them meanwhile, it is called again, eight times at most. At most 100
        items, with 64 KB in all.

            def pay(giver, taker):
                if giver is None or giver.gold < 5:
                    raise Refused("gold", "You need 5 gold.")
                less, more = giver.gold - 5, taker.gold + 5
                return Transaction([giver.again(gold=less), taker.again(gold=more)])

            self.store.transact([Purse.key(me.owner), Purse.key(friend)], pay)

        Raises StoreUnavailable, what `how` raises, Refused if others are faster again and again
        (`busy`) or something that it puts as new is there already (`exists`), and ValueError.
        """
        boards = self._node.play.boards
        return transact(self._node.play.items, some, how, boards.score, self._names)

    def _names(self, owners: Set[str]) -> list[tuple[str, Item]]:
        """Return what the boards show of those of these persons who play at this node."""
        boards, here = self._node.play.boards, self._node.residents.by_id.values()
        named = {one.owner: one for one in here if one.owner in owners} if owners else {}
        return [boards.entry(owner, one.id, one.name) for owner, one in named.items()]
