"""Judges a run: what the bots did, against what the sampled ones were told of it.

The truth of a player is what its own bot did and was told of itself (loadtest/swarm/world.py); the
oracle knows no server.
For each move of the run and each observer, by the squares that the observer's viewport covered:

    must        the viewport covered the mover's square for a second before and after the move
    may         neither of the others: it may hear it, and need not
    must not    the viewport grown by the outer margin touched the square at no moment of some time

A move that must be heard is *delivered* (its own number was told), or else it is accounted for:
*replaced* (newer news of that player came in its stead, in a batch that says how many it replaced:
see loadtest/swarm/replaced.py), *skipped* (the server said that this observer was behind), *unheld*
(the server was late: it told of the square only afterwards, with all that is in it), *dropped*
(batches of that square are missing, and just then the server or its broker counted losses), or it
is *missing*. So

    expected = delivered + replaced + skipped + unheld + dropped

or the run has failed. What is told late is told: over two seconds it is *late*, and *stale* where
pongs came in time meanwhile. It is pure: arrays in, a verdict out.
"""

from collections import defaultdict
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from loadtest.swarm.observer import SHOWN
from loadtest.swarm.replaced import Hidden, News, pay
from loadtest.swarm.wire import GONE, LEAVE
from loadtest.swarm.world import COVERED, GRAIN, SECOND, TILE, Interest, World

#: A move told later than this many us after it was due is stale.
STALE = 2 * SECOND

#: A player who left must be gone from all screens after so many us, and the last moves be seen.
GONE_WITHIN = 2 * SECOND

#: Who was cut off may be there still, dimmed, for so many us.
DIMMED = 10 * SECOND

#: A client that is behind has missed what was sent it for so many us before it was told, or less.
BEHIND = 5 * SECOND


@dataclass
class Verdict:
    """Counts over all observers and all moves of the measured time."""

    observers: int = 0
    expected: int = 0
    delivered: int = 0
    replaced: int = 0
    skipped: int = 0
    unheld: int = 0
    dropped: int = 0
    missing: int = 0
    #: Told by an observer's snapshot rather than its batch; part of `delivered`.
    shown: int = 0
    #: Heard by those who might hear them.
    extra: int = 0
    #: Heard by those who must not.
    foreign: int = 0
    duplicate: int = 0
    reordered: int = 0
    #: Told over two seconds after it was due; and those of them that nothing explains.
    late: int = 0
    stale: int = 0
    ghosts: int = 0
    unseen: int = 0
    #: At the end, known with another track than the true one.
    wrong: int = 0
    #: Told of itself in a square in which its track does not lie.
    misplaced: int = 0
    stalled: int = 0
    unanswered: int = 0

    @property
    def adds_up(self) -> bool:
        """Whether all that was expected is accounted for."""
        told = self.delivered + self.replaced + self.skipped + self.unheld + self.dropped
        return self.expected == told

    @property
    def faults(self) -> dict[str, int]:
        """What must be 0, and is not."""
        names = (
            "missing", "foreign", "duplicate", "reordered", "stale", "ghosts", "unseen", "wrong",
            "misplaced", "stalled", "unanswered",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names if getattr(self, name)}

    def __iadd__(self, other: "Verdict") -> "Verdict":
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
        return self


def judge(world: World) -> Verdict:
    """Return the verdict on a run."""
    verdict = Verdict()
    for life in world.lives:
        verdict.misplaced += _misplaced(life["timeline"], world.span)
        if life["observed"] is not None:
            verdict += _judge_one(world, life)
    verdict.stalled = world.stalled
    return verdict


def _misplaced(timeline: Any, span: int) -> int:
    """Count the events whose track begins elsewhere than near their square."""
    low_x, low_y = timeline[:, 2] * span, timeline[:, 3] * span
    # A walk that was late, or had begun before the border, may begin a little outside.
    near = 2 * TILE
    x0 = np.minimum(timeline[:, 4], timeline[:, 4] + timeline[:, 6])
    x1 = np.maximum(timeline[:, 4], timeline[:, 4] + timeline[:, 6])
    y0 = np.minimum(timeline[:, 5], timeline[:, 5] + timeline[:, 7])
    y1 = np.maximum(timeline[:, 5], timeline[:, 5] + timeline[:, 7])
    inside = (
        (x1 >= low_x - near) & (x0 <= low_x + span + near)
        & (y1 >= low_y - near) & (y0 <= low_y + span + near)
    )  # fmt: skip
    return int((~inside).sum())


def _judge_one(world: World, life: dict[str, Any]) -> Verdict:
    verdict = Verdict(observers=1)
    seen = life["observed"]
    verdict.duplicate, verdict.reordered = seen["duplicate"], seen["reordered"]
    path = world.paths[life["id"]]
    end = life["left"] or world.ended
    begin = life["ready"]
    if not begin or end - begin < 3 * SECOND:
        return verdict
    interest = Interest(world, path, begin, end)
    _judge_moves(world, interest, life, begin, end, verdict)
    rows = seen["rows"]
    if len(rows):
        allowed = interest.may(rows[:, 0], rows[:, 1], rows[:, 2])
        verdict.foreign = int(rows[~allowed, 3].sum())
    if not life["left"]:
        _judge_end(world, interest, life, verdict)
    return verdict


def _judge_moves(
    world: World, interest: Interest, life: dict[str, Any], begin: int, end: int,
    verdict: Verdict,
) -> None:  # fmt: skip
    seen = life["observed"]
    # No longer than both ends' seconds are known, and long enough before the end to be told.
    there = (world.due >= begin + COVERED) & (world.due < end - GONE_WITHIN)
    must = there & interest.must(world.due, world.c0, world.r0, world.c1, world.r1)
    for move in np.flatnonzero(must & (world.obeyed > world.due + 2 * GRAIN)).tolist():
        begun, over = int(world.due[move]), int(world.obeyed[move])
        must[move] = interest.always(int(world.id[move]), world, begun, over)
    ids, due = world.id[must], world.due[must]
    news = seen["news"]
    moves = news[(news[:, 3] != LEAVE) & (news[:, 3] != GONE)]
    told: dict[tuple[int, int], tuple[int, int]] = {}
    for at, id, ack, kind, _source, _seq in moves.tolist():
        told.setdefault((id, ack), (at, kind))
    unheard: dict[int, list[int]] = defaultdict(list)
    for id, number in zip(ids.tolist(), due.tolist(), strict=True):
        found = told.get((id, number))
        if found is None:
            unheard[id].append(number)
            continue
        verdict.delivered += 1
        verdict.shown += found[1] == SHOWN
        if found[0] - number > STALE:
            verdict.late += 1
            verdict.stale += not world.was_late(number, found[0])
    heard = set(zip(world.id.tolist(), world.due.tolist(), strict=True)).intersection(told)
    verdict.extra = len(heard.difference(zip(ids.tolist(), due.tolist(), strict=True)))
    verdict.expected = len(ids)
    if unheard:
        _account(world, interest, unheard, seen, verdict)


def _account(
    world: World, interest: Interest, unheard: dict[int, list[int]], seen: dict[str, Any],
    verdict: Verdict,
) -> None:  # fmt: skip
    """Say why moves were not told by their own numbers."""
    rows = seen["rows"]
    squares = rows[:, 1:3].tolist()
    by_player: dict[int, list[News]] = defaultdict(list)
    for at, id, ack, kind, source, seq in seen["news"].tolist():
        square = tuple(squares[source]) if source >= 0 else None
        by_player[id].append(News(seq, at, ack, kind in (LEAVE, GONE), source, square))
    hidden: list[Hidden] = []
    for id, several in by_player.items():
        news = _in_order(several)
        hidden += _hidden(world, interest, id, news, unheard.pop(id, []))
    # Of these nothing was ever told.
    verdict.missing += sum(len(numbers) for numbers in unheard.values())
    left = []
    for some in hidden:
        numbers = some.numbers
        if numbers and any(
            some.after <= at <= some.before and last - BEHIND <= numbers[-1] and numbers[0] <= at
            for last, at in seen["behind"]
        ):
            verdict.skipped += len(numbers)
        elif numbers and some.shown and _held_late(seen["holds"], some):
            verdict.unheld += len(numbers)
        else:
            left.append(some)
    short = pay(left, rows[:, 4].tolist())
    gaps = rows[:, 5].tolist()
    replaced, others = sum(len(some.numbers) for some in left), 0
    for some, count in short.items():
        moves = min(count, len(some.numbers))
        replaced -= moves
        seen_to_fail = some.shown or any(gaps[row] for row in some.rows)
        if seen_to_fail and world.explains(some.after, some.before):
            verdict.dropped += moves
        else:
            verdict.missing += moves
            others += count - moves
    # Events that are no moves are short: what paid for some of the moves was not theirs.
    more = min(others, replaced)
    verdict.missing += more
    verdict.replaced += replaced - more


def _in_order(news: list[News]) -> list[News]:
    """Return news by seq, what a batch told before what a snapshot did."""
    found: dict[int, News] = {}
    for some in sorted(news):
        if some.seq not in found or found[some.seq].row < 0:
            found[some.seq] = some
    return [found[seq] for seq in sorted(found)]


def _hidden(
    world: World, interest: Interest, id: int, news: list[News], numbers: list[int]
) -> list[Hidden]:
    """Return what an observer was not told of a player between what it was told."""
    found = []
    at = 0
    known = [place for place, some in enumerate(news) if not some.parts]
    for before, after in zip([-1, *known], [*known, len(news)], strict=True):
        ended = after == len(news)
        # Who comes back acknowledges nothing at first.
        until = 2**62 if ended else news[after].ack or news[after].at
        begin = at
        while at < len(numbers) and numbers[at] < until:
            at += 1
        between = news[before + 1 : after + 1]
        mine = numbers[begin:at]
        count = len(mine)
        if before >= 0 and not ended:
            events = news[after].seq - news[before].seq - len(between)
            if events <= 0 and not mine:
                continue
            if _surely_held(world, interest, id, news[before], news[after]):
                count = max(count, events)
        if count:
            shown = not ended and news[after].row < 0
            later = [] if ended else news[after + 1 :]
            found.append(Hidden.between(
                mine, count, news[before] if before >= 0 else None, between, later, shown,
            ))  # fmt: skip
    return found


def _surely_held(
    world: World, interest: Interest, id: int, before: News, after: News
) -> bool:
    """Say whether whatever a player did between two news of it was to be told."""
    lives = world.by_id.get(id)
    if lives is None or len(lives) > 1 or before.row < 0 or after.row < 0:
        return False
    begin = before.at - 2 * SECOND
    return begin > interest.begin and interest.always(id, world, begin, after.at)


def _held_late(holds: Any, some: Hidden) -> bool:
    """Say whether squares became held between the news before and the snapshot after."""
    return bool(((holds[:, 0] >= some.after) & (holds[:, 0] <= some.before)).any())


def _judge_end(
    world: World, interest: Interest, life: dict[str, Any], verdict: Verdict
) -> None:
    """Compare what an observer believes at the end with the truth."""
    beliefs = {row[0]: row for row in life["observed"]["beliefs"].tolist()}
    last = np.array([world.ended - COVERED])
    for id, lives in world.by_id.items():
        other, timeline = lives[-1], world.paths[id].timeline
        known = beliefs.get(id)
        if other["left"]:
            stays = GONE_WITHIN + (DIMMED if other["why"] else 0)
            if known is not None and other["left"] < world.ended - stays:
                verdict.ghosts += 1
            continue
        if not other["ready"] or other["ready"] > world.ended - GONE_WITHIN:
            continue
        if other is life and len(other["intents"]):
            # Who moves is told of each move, at the least to itself.
            verdict.unanswered += int(timeline[-1, 1] != other["intents"][-1])
        column, row = timeline[-1, 2:4]
        here = interest.must(last, column, row, column, row)[0]
        if known is None:
            verdict.unseen += int(here)
        elif not here and (known[3], known[4]) != (column, row):
            covered = interest.must(last, known[3], known[4], known[3], known[4])[0]
            verdict.ghosts += int(covered)
        elif here:
            truth = timeline[-1].tolist()
            same = known[1:9] == truth[:8] and known[10] == truth[9]
            # Clocks of two nodes differ by some ms: begins are compared by the moves' latency.
            verdict.wrong += int(not same)
