"""Judges a run: what the bots did, against what the sampled ones were told of it.

The truth of a player is what its own bot did and was told of itself; the oracle knows no server.
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
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from loadtest.swarm.observer import SHOWN
from loadtest.swarm.replaced import Hidden, News, pay
from loadtest.swarm.wire import GONE, LEAVE

SECOND = 1_000_000
TILE = 1024

#: The moments at which positions are looked at: so many us apart, and how far a walker gets
#: meanwhile, rounded up, by which what must be heard is judged more narrowly.
GRAIN = 50_000
SLACK = TILE

#: A viewport must have covered a square for so long before and after, in us.
COVERED = SECOND

#: What a square held, and what was under way from it, may be heard for so long after.
LINGERS = 3 * SECOND // 2

#: A move told later than this many us after it was due is stale.
STALE = 2 * SECOND

#: A player who left must be gone from all screens after so many us, and the last moves be seen.
GONE_WITHIN = 2 * SECOND

#: Who was cut off may be there still, dimmed, for so many us.
DIMMED = 10 * SECOND

#: A client that is behind has missed what was sent it for so many us before it was told, or less.
BEHIND = 5 * SECOND

#: A loss explains what is not told of so many us before it was counted, and after.
EXPLAINS = 3 * SECOND

#: When the server, or its broker, counted a loss: between two moments, in us.
Losses = Sequence[tuple[int, int]]


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

    def as_dict(self) -> dict[str, int]:
        """Return all counts."""
        return asdict(self)

    def __iadd__(self, other: "Verdict") -> "Verdict":
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
        return self


class Path:
    """Where a player was, in all its lives. `timeline` rows are (seq, ack, column, row, x, y, dx,
    dy, start in ms of its node's clock, duration in ms); times asked for are us of the run's
    clock."""

    def __init__(self, lives: Sequence[dict[str, Any]]) -> None:
        self.timeline = np.concatenate([life["timeline"] for life in lives])
        starts = [(life["timeline"][:, 8] - life["offset"]) * 1000 for life in lives]
        # Where a clock was first guessed, a new life may seem to begin before the end of the old.
        self._starts = np.maximum.accumulate(np.round(np.concatenate(starts)).astype(np.int64))

    def at(self, times: Any) -> tuple[Any, Any]:
        """Return x and y at many moments, as arrays."""
        row = np.maximum(np.searchsorted(self._starts, times, side="right") - 1, 0)
        track = self.timeline[row]
        lasts = np.maximum(track[:, 9] * 1000, 1)
        part = np.clip((times - self._starts[row]) / lasts, 0, 1)
        x = track[:, 4] + np.floor(track[:, 6] * part).astype(np.int64)
        y = track[:, 5] + np.floor(track[:, 7] * part).astype(np.int64)
        return x, y


def judge(
    reports: list[dict[str, Any]],
    measured: tuple[int, int],
    losses: Losses,
    viewport: tuple[int, int],
) -> Verdict:
    """Return the verdict on a run.

    `reports` are the generators'; `measured` the begin and the end of the time in which moves
    count; `losses` when the server and its broker counted any; `viewport` in tiles.
    """
    return judge_world(World(reports, measured, losses, viewport))


def judge_world(world: "World") -> Verdict:
    """Return the verdict on a run of which the world is made already."""
    verdict = Verdict()
    for life in world.lives:
        verdict.misplaced += _misplaced(life["timeline"], world.span)
        if life["observed"] is not None:
            verdict += _judge_one(world, life)
    verdict.stalled = world.stalled
    return verdict


class World:
    """All moves of the measured time, and who made them."""

    def __init__(
        self, reports: list[dict[str, Any]], measured: tuple[int, int], losses: Losses,
        viewport: tuple[int, int],
    ) -> None:  # fmt: skip
        self.everybody = [life for report in reports for life in report["lives"]]
        self.lives = [life for life in self.everybody if life["honest"] and len(life["timeline"])]
        self.span, self.drop = reports[0]["rules"]
        self.ended = max(report["at"] for report in reports)
        self.measured, self.losses = measured, losses
        self.stalled = sum(len(report["stalled"]) for report in reports)
        self.slow = sorted(pair for report in reports for pair in report["slow"])
        self.half = viewport[0] * TILE // 2, viewport[1] * TILE // 2
        self.by_id: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for life in sorted(self.lives, key=lambda life: int(life["asked"])):
            self.by_id[life["id"]].append(life)
        self.paths = {id: Path(lives) for id, lives in self.by_id.items()}
        columns: list[Any] = []
        for life in self.lives:
            due = _moves(life, measured)
            x, y = self.paths[life["id"]].at(due) if len(due) else (due, due)
            # A server that is late obeys later than the move was due, and perhaps elsewhere: by
            # when the mover was told, at the latest.
            told = np.searchsorted(np.maximum.accumulate(life["timeline"][:, 1]), due)
            obeyed = np.append(life["heard"], life["left"] or self.ended)[told]
            columns.append((np.full(len(due), life["id"]), due, obeyed, x, y))
        if not columns:
            columns = [(np.empty(0, dtype=np.int64),) * 5]
        ids_, due, obeyed, x, y = (np.concatenate(part) for part in zip(*columns, strict=True))
        order = np.argsort(due, kind="stable")
        self.id, self.due, self.obeyed = ids_[order], due[order], obeyed[order]
        x, y = x[order], y[order]
        # The squares that the move may have been published in.
        self.c0, self.c1 = (x - SLACK) // self.span, (x + SLACK) // self.span
        self.r0, self.r1 = (y - SLACK) // self.span, (y + SLACK) // self.span

    def explains(self, begin: int, end: int) -> bool:
        """Say whether a loss was counted around some time."""
        return any(a - EXPLAINS <= end and begin <= b + EXPLAINS for a, b in self.losses)

    def was_late(self, begin: int, end: int) -> bool:
        """Say whether the server, or the way to it, was late for anybody between two moments."""
        return any(a <= end and begin <= b for a, b in self.slow)


def _moves(life: dict[str, Any], measured: tuple[int, int]) -> Any:
    """Return the moves of a life that count: those that were sent in time, and have arrived."""
    due = life["intents"]
    if life["why"] and len(due):
        # What it sent last may never have got there.
        due = due[due <= life["timeline"][:, 1].max()]
    due = due[(due >= measured[0]) & (due < measured[1])]
    return due[~np.isin(due, life["late"])]


class Interest:
    """Which squares an observer's screen covered, moment by moment, from `begin` on."""

    def __init__(self, world: World, path: Path, begin: int, end: int) -> None:
        self.begin = begin
        self._times = times = np.arange(begin, end + GRAIN, GRAIN)
        self._uncovered: dict[int, Any] = {}
        position = path.at(times)
        span = world.span
        lows, highs, outer_lows, outer_highs = [], [], [], []
        around = COVERED // GRAIN + 1
        after = LINGERS // GRAIN + 1
        for p, half in zip(position, world.half, strict=True):
            inner, outer = half - SLACK, half + world.drop + SLACK
            lows.append(_rolling(np.max, (p - inner) // span, around, around))
            highs.append(_rolling(np.min, (p + inner) // span, around, around))
            outer_lows.append(_rolling(np.min, (p - outer) // span, after, around))
            outer_highs.append(_rolling(np.max, (p + outer) // span, after, around))
        self._must = lows[0], lows[1], highs[0], highs[1]
        self._may = outer_lows[0], outer_lows[1], outer_highs[0], outer_highs[1]

    def _at(self, times: Any) -> Any:
        return np.clip((times - self.begin) // GRAIN, 0, len(self._must[0]) - 1)

    def must(self, times: Any, c0: Any, r0: Any, c1: Any, r1: Any) -> Any:
        """Say of squares c0..c1, r0..r1 at some moments whether all are to be heard."""
        i = self._at(times)
        low_c, low_r, high_c, high_r = (bound[i] for bound in self._must)
        return (low_c <= c0) & (c1 <= high_c) & (low_r <= r0) & (r1 <= high_r)

    def always(self, id: int, world: World, begin: int, end: int) -> bool:
        """Say whether all squares of a player between two moments are to be heard."""
        count = self._uncovered.get(id)
        if count is None:
            x, y = world.paths[id].at(self._times)
            c0, c1 = (x - SLACK) // world.span, (x + SLACK) // world.span
            r0, r1 = (y - SLACK) // world.span, (y + SLACK) // world.span
            covered = self.must(self._times, c0, r0, c1, r1)
            count = self._uncovered[id] = np.concatenate(([0], np.cumsum(~covered)))
        first, last = (int(i) for i in self._at(np.array([begin, end])))
        return bool(count[first] == count[last + 1])

    def may(self, times: Any, columns: Any, rows: Any) -> Any:
        """Say of squares at some moments whether they may be heard."""
        i = self._at(times)
        low_c, low_r, high_c, high_r = (bound[i] for bound in self._may)
        return (low_c <= columns) & (columns <= high_c) & (low_r <= rows) & (rows <= high_r)


def _rolling(of: Any, values: Any, before: int, after: int) -> Any:
    """Return, for each place, `of` the values from so many before it to so many after it."""
    padded = np.pad(values, (before, after), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, before + after + 1)
    return of(windows, axis=1)


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
