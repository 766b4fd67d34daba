"""What a bot knows of gems, what it asks for, and what it was told of what it took.

It is written from section 10 of docs/protocol.md, and sends nothing: bot.py does. It never decides
what became of a gem: gems.py does, from what all bots were told and what the store has.
"""

import random
import secrets
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

Square = tuple[int, int]

#: A gem that lies somewhere: its version, and its position in units.
Gem = tuple[int, int, int]

#: All that lies in a square, in an order that is always the same: (id, version, x, y).
Content = tuple[tuple[str, int, int, int], ...]

#: Units from a gem at which a bot asks for it; the server gives it from farther away.
AT = 1024 * 7 // 10

#: A bot goes to one of so many gems that are nearest.
NEAREST = 3

#: us after which a bot asks again for a gem that it did not get.
AGAIN = 1_000_000

#: The errors that answer a take. The first two are part of the game.
EXPECTED = ("missed", "far")
ANSWERS = (*EXPECTED, "store", "flood")


def content(gems: dict[str, Gem]) -> Content:
    """Return what lies in a square, from id -> gem."""
    return tuple((id, *gems[id]) for id in sorted(gems))


class Hunter:
    """See the module: one bot in all its lives. Times are in us of the run's clock."""

    def __init__(self) -> None:
        self.key = secrets.token_urlsafe(24)
        #: The squares that it holds, as c0, r0, c1, r1, or None before it was told.
        self._held: tuple[int, int, int, int] | None = None
        #: What lies in them: square -> id -> gem.
        self.things: dict[Square, dict[str, Gem]] = {}
        #: The gem that it goes to, as (id, version).
        self.goal: tuple[str, int] | None = None
        #: The gem that it asked for last, and when.
        self._last: tuple[str, int] | None = None
        self._last_at = 0
        #: The id that it has asked for and has no answer about, or None.
        self.awaited: str | None = None
        #: What it took, as (id, version), in the order in which it was told.
        self.taken: list[tuple[str, int]] = []
        #: How often it asked, was refused (by code), and was cut off without an answer.
        self.asked = self.cut_off = 0
        self.refusals: Counter[str] = Counter()
        #: The answers that gave it fewer gems than it had been told of.
        self.short = 0

    # What it is told.

    def show(self, square: Square, gems: dict[str, Gem]) -> None:
        """Note all that lies in a square, if it holds the square."""
        if self._holds(square):
            self.things[square] = gems

    def hold(self, rect: tuple[int, int, int, int]) -> None:
        """Forget what lies in squares that are not among c0, r0 to c1, r1: these it holds."""
        self._held = rect
        self.things = {square: gems for square, gems in self.things.items() if self._holds(square)}

    def _holds(self, square: Square) -> bool:
        held = self._held
        return (
            held is not None and held[0] <= square[0] <= held[2] and held[1] <= square[1] <= held[3]
        )

    def screen(self) -> Iterator[tuple[Square, Content]]:
        """Yield the squares that it holds, and what it believes to lie in each."""
        if self._held is not None:
            c0, r0, c1, r1 = self._held
            for square in product(range(c0, c1 + 1), range(r0, r1 + 1)):
                yield square, content(self.things.get(square, {}))

    def forget(self) -> None:
        """Forget what it holds, and what lies there."""
        self._held, self.goal = None, None
        self.things = {}

    def found(self, id: str, version: int, gems: int) -> None:
        """Note that a gem is its own, and how many it is said to have now."""
        self.awaited = None
        self.taken.append((id, version))
        self.short += gems < len(self.taken)

    def refused(self, code: str) -> bool:
        """Note an error; say whether it is one that is part of the game."""
        if self.awaited is None or code not in ANSWERS:
            return False
        self.awaited = None
        self.refusals[code] += 1
        return code in EXPECTED

    def cut(self) -> None:
        """Note that its connection has ended: what it asked for is not answered any more."""
        self.cut_off += self.awaited is not None
        self.awaited = None

    # What it does.

    def asks(self, id: str) -> None:
        """Note that it asks for a gem."""
        self.awaited = id
        self.asked += 1
        self.goal = None

    def within_reach(self, x: int, y: int, now: int) -> tuple[Square, str] | None:
        """Return the square and id of a gem that lies where it stands, unless it has just asked for
        it."""
        for square, gems in self.things.items():
            for id, (version, gem_x, gem_y) in gems.items():
                if (gem_x - x) ** 2 + (gem_y - y) ** 2 > AT * AT:
                    continue
                if self._last != (id, version) or now - self._last_at > AGAIN:
                    self._last, self._last_at = (id, version), now
                    return square, id
        return None

    def knows(self, gem: tuple[str, int]) -> bool:
        """Say whether a gem, as (id, version), still lies where it did."""
        id, version = gem
        return any(id in gems and gems[id][0] == version for gems in self.things.values())

    def choose(self, x: int, y: int) -> tuple[int, int] | None:
        """Choose a gem to go to from x, y; return its position, or None if it knows none."""
        known = [
            ((gem_x - x) ** 2 + (gem_y - y) ** 2, (id, version), (gem_x, gem_y))
            for gems in self.things.values()
            for id, (version, gem_x, gem_y) in gems.items()
        ]
        if not known:
            return None
        _, self.goal, place = random.choice(sorted(known)[:NEAREST])
        return place

    def report(self) -> dict[str, Any]:
        """Return what it asked for and was told."""
        return {
            "key": self.key,
            "taken": self.taken,
            "asked": self.asked,
            "refusals": dict(self.refusals),
            "cut_off": self.cut_off,
            "silent": int(self.awaited is not None),
            "short": self.short,
        }
