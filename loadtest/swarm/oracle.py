"""Judges a run: what the bots did, against what the sampled ones were told of it.

The truth of a player is what its own bot did and was told of itself; the oracle knows no server.
For each move of the run and each observer, by the squares that the observer's viewport covered:

    must        the viewport covered the mover's square for a second before and after the move
    may         neither of the others: it may hear it, and need not
    must not    the viewport grown by the outer margin touched the square at no moment of some time

A move that must be heard is *delivered* (its own number was told), or else it is accounted for:
*replaced* (a newer move of that player came in its stead, in a batch that says how many it
replaced), *skipped* (the server said that this observer was behind), *dropped* (batches are
missing, and the server or its broker counted losses), or it is *missing*. So

    expected = delivered + replaced + skipped + dropped

or the run has failed. It is pure: arrays in, a verdict out.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from loadtest.swarm.observer import SHOWN
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


@dataclass
class Verdict:
    """Counts over all observers and all moves of the measured time."""

    observers: int = 0
    expected: int = 0
    delivered: int = 0
    replaced: int = 0
    skipped: int = 0
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
        return self.expected == self.delivered + self.replaced + self.skipped + self.dropped

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
    """Where a bot was in one life. `timeline` rows are (seq, ack, column, row, x, y, dx, dy, start
    in ms of its node's clock, duration in ms); times asked for are us of the run's clock."""

    def __init__(self, life: dict[str, Any]) -> None:
        self.timeline = life["timeline"]
        self._starts = np.round((self.timeline[:, 8] - life["offset"]) * 1000).astype(np.int64)
        self.known_from = int(self._starts[0]) if len(self._starts) else 2**62

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
    losses: int,
    viewport: tuple[int, int],
) -> Verdict:
    """Return the verdict on a run.

    `reports` are the generators'; `measured` the begin and the end of the time in which moves
    count; `losses` how many losses the server and its broker counted; `viewport` in tiles.
    """
    lives = [life for report in reports for life in report["lives"] if len(life["timeline"])]
    honest = [life for life in lives if life["honest"]]
    span, drop = reports[0]["rules"]
    ended = max(report["at"] for report in reports)
    world = _World(honest, {life["id"] for life in lives}, span, drop, viewport, measured, ended)
    verdict = Verdict()
    for life in honest:
        verdict.misplaced += _misplaced(life["timeline"], span)
        if life["observed"] is not None:
            verdict += _judge_one(world, life)
    verdict.stalled = sum(len(report["stalled"]) for report in reports)
    if not losses and verdict.dropped:
        # Nobody owns up to them.
        verdict.missing += verdict.dropped
        verdict.dropped = 0
    return verdict


class _World:
    """All moves of the measured time, and who made them."""

    def __init__(
        self, lives: list[dict[str, Any]], ids: set[int], span: int, drop: int,
        viewport: tuple[int, int], measured: tuple[int, int], ended: int,
    ) -> None:  # fmt: skip
        self.span, self.drop, self.measured, self.ended = span, drop, measured, ended
        self.half = viewport[0] * TILE // 2, viewport[1] * TILE // 2
        self.lives, self.ids = lives, ids
        self.paths = {life["id"]: Path(life) for life in lives}
        columns: list[Any] = []
        for life in lives:
            due = life["intents"]
            due = due[(due >= measured[0]) & (due < measured[1])]
            x, y = self.paths[life["id"]].at(due) if len(due) else (due, due)
            columns.append((np.full(len(due), life["id"]), due, x, y))
        ids_, due, x, y = (np.concatenate(part) for part in zip(*columns, strict=True))
        order = np.argsort(due, kind="stable")
        self.id, self.due = ids_[order], due[order]
        x, y = x[order], y[order]
        # The squares that the move may have been published in.
        self.c0, self.c1 = (x - SLACK) // span, (x + SLACK) // span
        self.r0, self.r1 = (y - SLACK) // span, (y + SLACK) // span


class _Interest:
    """Which squares an observer's screen covered, moment by moment, from `begin` on."""

    def __init__(self, world: _World, path: Path, begin: int, end: int) -> None:
        self.begin = begin
        times = np.arange(begin, end + GRAIN, GRAIN)
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


def _judge_one(world: _World, life: dict[str, Any]) -> Verdict:
    verdict = Verdict(observers=1)
    seen = life["observed"]
    verdict.duplicate, verdict.reordered = seen["duplicate"], seen["reordered"]
    path = world.paths[life["id"]]
    end = life["left"] or world.ended
    begin = life["ready"]
    if not begin or end - begin < 3 * SECOND:
        return verdict
    interest = _Interest(world, path, begin, end)
    _judge_moves(world, interest, life, begin, end, verdict)
    rows = seen["rows"]
    if len(rows):
        allowed = interest.may(rows[:, 0], rows[:, 1], rows[:, 2])
        verdict.foreign = int(rows[~allowed, 3].sum())
    if not life["left"]:
        _judge_end(world, interest, life, verdict)
    return verdict


def _judge_moves(
    world: _World, interest: _Interest, life: dict[str, Any], begin: int, end: int,
    verdict: Verdict,
) -> None:  # fmt: skip
    seen = life["observed"]
    # No longer than both ends' seconds are known, and long enough before the end to be told.
    there = (world.due >= begin + COVERED) & (world.due < end - GONE_WITHIN)
    must = there & interest.must(world.due, world.c0, world.r0, world.c1, world.r1)
    ids, due = world.id[must], world.due[must]
    verdict.expected = len(ids)
    news = seen["news"]
    moves = news[(news[:, 3] != LEAVE) & (news[:, 3] != GONE)]
    told = {}
    for at, id, ack, kind, _source in moves.tolist():
        told.setdefault((id, ack), (at, kind))
    unheard = []
    for id, number in zip(ids.tolist(), due.tolist(), strict=True):
        found = told.get((id, number))
        if found is None:
            unheard.append((id, number))
            continue
        verdict.delivered += 1
        verdict.shown += found[1] == SHOWN
        verdict.stale += found[0] - number > STALE
    heard = {(id, ack) for id, ack in told if ack >= world.measured[0]}
    verdict.extra = len(heard.intersection(zip(world.id.tolist(), world.due.tolist(), strict=True)))
    verdict.extra -= verdict.delivered
    if unheard:
        _account(unheard, seen, verdict)


def _account(unheard: list[tuple[int, int]], seen: dict[str, Any], verdict: Verdict) -> None:
    """Say why moves were not told by their own numbers."""
    budget = seen["rows"][:, 4].tolist()
    gaps = seen["rows"][:, 5].tolist()
    by_player: dict[int, list[list[int]]] = {}
    for entry in seen["news"].tolist():
        by_player.setdefault(entry[1], []).append(entry)
    for id, number in sorted(unheard):
        following = next(
            (
                entry
                for entry in by_player.get(id, ())
                if entry[2] > number or (entry[3] in (LEAVE, GONE) and entry[0] >= number)
            ),
            None,
        )
        if any(last - SECOND <= number <= at for last, at in seen["behind"]):
            verdict.skipped += 1
        elif following is None:
            verdict.missing += 1
        elif (source := following[4]) < 0:
            # The newest was shown by a snapshot: what came before was lost, and repaired.
            verdict.dropped += 1
        elif budget[source] > 0:
            budget[source] -= 1
            verdict.replaced += 1
        elif gaps[source]:
            verdict.dropped += 1
        else:
            verdict.missing += 1


def _judge_end(
    world: _World, interest: _Interest, life: dict[str, Any], verdict: Verdict
) -> None:
    """Compare what an observer believes at the end with the truth."""
    beliefs = {row[0]: row for row in life["observed"]["beliefs"].tolist()}
    last = np.array([world.ended - COVERED])
    for other in world.lives:
        id, timeline = other["id"], other["timeline"]
        known = beliefs.get(id)
        if other["left"]:
            if known is not None and other["left"] < world.ended - GONE_WITHIN:
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
