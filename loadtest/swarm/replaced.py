"""Compares how many events batches have replaced with the events that observers were not told.

A batch of a square has at most one event of each player, and says how many older events were
replaced by those in it. The seq of a player rises by one with each event, so the number of events
between two that came is known. Each of these must have been replaced in some batch: the next batch
with that player in the square in which the event happened, which need not be the square of the
player's next event that came. Which batch accounts for which event is a matching; only the events
that are left over in the best matching are lost. It is pure: no clock, no sockets.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

Square = tuple[int, int]

#: us: a batch of another square may come this long after the next event of a player and still have
#: been begun before that event.
PENDING = 2_000_000


class News(NamedTuple):
    """An event of a player, as an observer got it.

    `due` is that of the last intent that the event acknowledges, or 0. `at` is the time in us at
    which it came, and `row` the batch's row in the observer's log, or -1 for a snapshot. `parts`:
    the player left the square or the game, so the event tells no move.
    """

    seq: int
    at: int
    due: int
    parts: bool
    row: int
    square: Square | None


@dataclass(eq=False)
class Hidden:
    """Events of a player that did not come, between two that came at times `after` and `before`.

    `id` is the player's. `count` events must have been replaced in the batches `rows`. `numbers`
    are the moves among them. `shown`: the following event came in a snapshot.
    """

    id: int
    numbers: Sequence[int]
    count: int
    after: int
    before: int
    rows: list[int]
    shown: bool

    @classmethod
    def between(
        cls,
        id: int,
        numbers: Sequence[int],
        count: int,
        before: News | None,
        following: list[News],
        later: list[News],
        shown: bool,
    ) -> "Hidden":
        """Return the hidden events between `before` and the last of `following`.

        `later` are the player's events after that.
        """
        rows = [news.row for news in following if news.row >= 0]
        squares = {following[-1].square} if following else set()
        for news in later:
            if news.at > following[-1].at + PENDING:
                break
            if news.row >= 0 and news.square not in squares:
                squares.add(news.square)
                rows.append(news.row)
        return cls(
            id,
            numbers,
            count,
            before.at if before is not None else 0,
            following[-1].at if following else 2**62,
            rows,
            shown,
        )


def pay(hidden: list[Hidden], budget: list[int]) -> dict[Hidden, int]:
    """Return for each Hidden how many of its events no batch has replaced, where any are left.

    `budget[row]` is how many events the batch of that row has replaced. Each of them can account
    for one hidden event.
    """
    paid: list[dict[Hidden, int]] = [{} for _ in budget]
    short: dict[Hidden, int] = {}
    for some in hidden:
        for left in range(some.count, 0, -1):
            if not _pay(some, budget, paid):
                # No row can account for its other events either.
                short[some] = left
                break
    return short


def _pay(some: Hidden, budget: list[int], paid: list[dict[Hidden, int]]) -> bool:
    """Find a row that accounts for one more event, if need be by moving others to other rows.

    This is the search for an augmenting path of a matching.
    """
    came: dict[int, Hidden] = {}
    reached: dict[Hidden, int] = {some: -1}
    waiting = deque([some])
    while waiting:
        one = waiting.popleft()
        for row in one.rows:
            if row in came:
                continue
            came[row] = one
            if budget[row] > 0:
                budget[row] -= 1
                while row >= 0:
                    payer = came[row]
                    paid[row][payer] = paid[row].get(payer, 0) + 1
                    row = reached[payer]
                    if row >= 0:
                        paid[row][payer] -= 1
                return True
            for other, count in paid[row].items():
                if count and other not in reached:
                    reached[other] = row
                    waiting.append(other)
    return False
