"""Judges what screens showed of things and cells: where two hold a square, they show the same.

Each observer looks twice, a few seconds apart, when the bots have stopped. What differs in the same
way in both looks is wrong, and not just still under way. It knows no server, and no game.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from flatlands.loadtest.swarm.oracle import Verdict
from flatlands.loadtest.swarm.reports import Life
from flatlands.wire import Square

#: The most differences that are described in words.
TOLD = 100


def compare(lives: list[Life], verdict: Verdict) -> None:
    """Compare the looks of bots that observed to the end, and note in a verdict what differs."""
    looks = [life["looked"] for life in lives if not life["left"] and len(life["looked"]) == 2]
    holders: dict[tuple[str | int, Square], list[int]] = defaultdict(list)
    for at, (first, last) in enumerate(looks):
        for key in first.keys() & last.keys():
            holders[key].append(at)
    shared = {key: all for key, all in holders.items() if len(all) > 1}
    verdict.squares = len({key[1] for key in shared})
    for (what, square), (one, *others) in sorted(shared.items(), key=str):
        for other in others:
            before, after = (
                set(_differences(looks[one][n][what, square], looks[other][n][what, square]))
                for n in (0, 1)
            )
            for difference in sorted(before & after, key=str):
                verdict.differ += 1
                of = "things" if what == "things" else f"layer {what}"
                if verdict.differ <= TOLD:
                    verdict.words.append(f"two screens differ in {of} of {square}: {difference}")


def _differences(one: Any, other: Any) -> Iterator[tuple[Any, ...]]:
    """Yield how two looks at a square differ: things that only one shows, or (tile, value,
    other value)."""
    if isinstance(one, bytes):
        if one != other:
            yield from (
                (at, *pair)
                for at, pair in enumerate(zip(one, other, strict=True))
                if pair[0] != pair[1]
            )
    else:
        yield from one ^ other
