"""Where players were, what they did, and what a screen covered: the truth that an oracle needs.

A player's truth is what its own bot did and was told of itself. It is pure: arrays in, arrays out.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

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

#: A loss explains what is not told of so many us before it was counted, and after.
EXPLAINS = 3 * SECOND

#: When the server, or its broker, counted a loss: between two moments, in us.
Losses = Sequence[tuple[int, int]]


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


class World:
    """All moves of the measured time, and who made them.

    `reports` are the processes' of the swarm; `measured` the begin and the end of the time in which
    moves count; `losses` when the server and its broker counted any; `viewport` in tiles.
    """

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
