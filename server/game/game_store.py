"""What a game changes in the store without a player: for what the world does by itself, and for
what several things and records have to change in at once.

The store decides, as for what players do: of all who take a thing exactly one gets it, and nothing
that was answered is lost or done twice.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from flatlands.server.game.game_node import GamePlay
from flatlands.server.storage.kinds import Key, Record, Thing
from flatlands.server.storage.transactions import Transaction, transact

_T = TypeVar("_T", bound=Thing)


class GameStore:
    """All its methods wait for the store, so only hooks that may wait can call them. They raise
    StoreUnavailable if it does not answer: what was asked may have been done or not."""

    def __init__(self, play: Callable[[], GamePlay]) -> None:
        #: Returns what is played, once all its parts are made.
        self._play = play

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
        play = self._play()
        points = [play.boards.score(board, owner, n) for owner, board, n in scores if owner]
        return play.items.take(thing, then, points)

    def change(self, thing: _T, how: Callable[[_T], _T]) -> _T | None:
        """Replace a thing as `Me.change` does. Raises StoreUnavailable, what `how` raises, and
        ValueError."""
        return self._play().items.change(thing, how)

    def score(self, owner: str, board: str, points: int) -> None:
        """Count points for a person, by its owner; nothing for an owner "". Raises StoreUnavailable
        and ValueError."""
        if owner:
            play = self._play()
            play.items.wait(lambda store: store.add(play.boards.score(board, owner, points)))

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
        play = self._play()
        return transact(play.items, some, how, play.boards.score)
