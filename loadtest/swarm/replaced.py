"""What batches replaced, put against what their readers were not told.

A batch of a square has at most one event a player, and says how many older ones those in it have
replaced. Each event of a player has a seq, one more than the last, so it is known how many events
lie between two that were told; each of these is to be found among what some batch replaced: the
next one of that player in the square in which it happened, which may be another square than the
one in which the player is told of next. Who pays for whom is a matching; only what is left over in
the best one is lost. It is pure.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

Square = tuple[int, int]

#: A batch of another square may be told so many us after the next news of a player, and yet have
#: been begun before.
PENDING = 2_000_000


class News(NamedTuple):
    """An event of a player as an observer was told it: `row` is its batch, -1 a snapshot; `parts`
    says that it left the square or the game, and tells no move."""

    seq: int
    at: int
    ack: int
    parts: bool
    row: int
    square: Square | None


class Hidden:
    """What was not told of a player between two news of it, at the moments `after` and `before`.

    `count` events are to be found among what `rows` replaced; `numbers` are the moves among them;
    `shown` says that a snapshot told what followed.
    """

    def __init__(
        self, numbers: Sequence[int], count: int, after: int, before: int, rows: list[int],
        shown: bool,
    ) -> None:  # fmt: skip
        self.numbers = numbers
        self.count = count
        self.after, self.before = after, before
        self.rows = rows
        self.shown = shown

    @classmethod
    def between(
        cls, numbers: Sequence[int], count: int, before: News | None, following: list[News],
        later: list[News], shown: bool,
    ) -> "Hidden":  # fmt: skip
        """Return what lies between `before` and the last of `following`; `later` is what came
        after that."""
        rows = [news.row for news in following if news.row >= 0]
        seen = {following[-1].square} if following else set()
        for news in later:
            if news.at > following[-1].at + PENDING:
                break
            if news.row >= 0 and news.square not in seen:
                seen.add(news.square)
                rows.append(news.row)
        return cls(
            numbers, count, before.at if before is not None else 0,
            following[-1].at if following else 2**62, rows, shown,
        )  # fmt: skip


def pay(hidden: list[Hidden], budget: list[int]) -> dict[Hidden, int]:
    """Return how many events are short, by where they are, once `budget[row]` has paid for as many
    as it can."""
    paid: list[dict[Hidden, int]] = [{} for _ in budget]
    short: dict[Hidden, int] = {}
    for some in hidden:
        for left in range(some.count, 0, -1):
            if not _pay(some, budget, paid):
                # Nor is there any way for the others: none is given up again.
                short[some] = left
                break
    return short


def _pay(some: Hidden, budget: list[int], paid: list[dict[Hidden, int]]) -> bool:
    """Find a row that pays for one more event, if need be by letting others be paid elsewhere."""
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
