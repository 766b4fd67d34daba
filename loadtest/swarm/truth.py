"""The truth for the oracles: where players were, what they did, and what each screen covered.

The truth about a player is what its own bot did and was told of itself. It is pure: arrays in,
arrays out.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from flatlands.loadtest.kit.histogram import Integers
from flatlands.loadtest.swarm.reports import Life, Report

SECOND = 1_000_000
TILE = 1024

#: us between the times at which positions are looked at; and how far a player walks meanwhile, in
#: 1/1024 tile and rounded up, by which viewports are shrunk or grown to be on the safe side.
GRAIN = 50_000
SLACK = TILE

#: us for which a viewport must have covered a square before and after a move.
COVERED = SECOND

#: us for which events of a square may still come after the viewport has left it.
LINGERS = 3 * SECOND // 2

#: us: a counted loss explains events that are missing up to this long before or after it.
EXPLAINS = 3 * SECOND

#: An answer for each of several.
Flags = npt.NDArray[np.bool_]

_Tiles = Integers | int

#: The periods (begin, end), in us, in which the server or its broker counted losses.
Losses = Sequence[tuple[int, int]]


class Path:
    """Where a player was, in all its lives.

    Rows of `timeline` are (seq, due, column, row, x, y, dx, dy, start in ms of its node's clock,
    duration in ms); `due` is that of the last intent that was obeyed, or 0. Positions are in 1/1024
    tile. Arguments are in us of the run's clock.
    """

    def __init__(self, lives: Sequence[Life]) -> None:
        self.timeline = np.concatenate([life["timeline"] for life in lives])
        starts = [(life["timeline"][:, 8] - life["offset"]) * 1000 for life in lives]
        # The node's clock is only estimated, so a life may seem to begin before the last one ended.
        self._starts = np.maximum.accumulate(np.round(np.concatenate(starts)).astype(np.int64))

    def at(self, times: Integers) -> tuple[Integers, Integers]:
        """Return arrays of x and y at many times."""
        row = np.maximum(np.searchsorted(self._starts, times, side="right") - 1, 0)
        return self.along(row, times)

    def along(self, row: Integers, times: Integers) -> tuple[Integers, Integers]:
        """Return arrays of x and y on the tracks of some rows, each at its own time."""
        track = self.timeline[row]
        lasts = np.maximum(track[:, 9] * 1000, 1)
        part = np.clip((times - self._starts[row]) / lasts, 0, 1)
        x = track[:, 4] + np.floor(track[:, 6] * part).astype(np.int64)
        y = track[:, 5] + np.floor(track[:, 7] * part).astype(np.int64)
        return x, y


class Truth:
    """All moves of the measured time, and the players that made them.

    `reports` are those of the swarm's processes; `measured` is (begin, end) of the time in which
    moves count, in us.
    """

    def __init__(self, reports: list[Report], measured: tuple[int, int], losses: Losses) -> None:
        self.everybody = [life for report in reports for life in report["lives"]]
        self.lives = [life for life in self.everybody if life["honest"] and len(life["timeline"])]
        self.span, self.drop = reports[0]["rules"]
        self.ended = max(report["at"] for report in reports)
        self.measured, self.losses = measured, losses
        self.stalled = sum(len(report["stalled"]) for report in reports)
        self.slow = sorted(pair for report in reports for pair in report["slow"])
        self.by_id: dict[int, list[Life]] = defaultdict(list)
        for life in sorted(self.lives, key=lambda life: int(life["asked"])):
            self.by_id[life["id"]].append(life)
        self.paths = {id: Path(lives) for id, lives in self.by_id.items()}
        columns: list[tuple[Integers, ...]] = []
        for life in self.lives:
            due = _moves(life, measured)
            x, y = self.paths[life["id"]].at(due) if len(due) else (due, due)
            # A late server obeys a move after it was due, and perhaps in another square: at the
            # latest when the mover was told.
            told = np.searchsorted(np.maximum.accumulate(life["timeline"][:, 1]), due)
            obeyed = np.append(life["told_at"], life["left"] or self.ended)[told]
            # Where the mover was told that it obeyed. That may be elsewhere if it was not told of
            # an earlier move: a newer one had replaced it.
            row = life["timeline"][np.minimum(told, len(life["timeline"]) - 1)].T
            known = row[1] == due
            began_x, began_y = np.where(known, row[4], x), np.where(known, row[5], y)
            columns.append((np.full(len(due), life["id"]), due, obeyed, x, y, began_x, began_y))
        if not columns:
            columns = [(np.empty(0, dtype=np.int64),) * 7]
        joined = [np.concatenate(part) for part in zip(*columns, strict=True)]
        order = np.argsort(joined[1], kind="stable")
        self.id, self.due, self.obeyed, x, y, began_x, began_y = (part[order] for part in joined)
        # The squares in which the move may have been published.
        self.c0 = (np.minimum(x, began_x) - SLACK) // self.span
        self.c1 = (np.maximum(x, began_x) + SLACK) // self.span
        self.r0 = (np.minimum(y, began_y) - SLACK) // self.span
        self.r1 = (np.maximum(y, began_y) + SLACK) // self.span

    def welcomed(self, id: int, at: int) -> int:
        """Return when the life that a player had at the time `at` began, or `at` if it had none. An
        event that acknowledges no move is older than all moves of that life."""
        lives = self.by_id.get(id, ())
        return max((life["welcomed"] for life in lives if life["welcomed"] <= at), default=at)

    @cached_property
    def told(self) -> dict[tuple[object, int, int], list[tuple[Life, int, int, int]]]:
        """Who was told of a move by a batch: (node, id, due) -> (life of the observer, time, column
        and row of the square)."""
        found: dict[tuple[object, int, int], list[tuple[Life, int, int, int]]] = {}
        for life in self.lives:
            if life["observed"] is None:
                continue
            squares = life["observed"]["rows"][:, 1:3].tolist()
            for at, id, due, _kind, row, _seq in life["observed"]["news"].tolist():
                if row >= 0 and due:
                    there = life, at, *squares[row]
                    found.setdefault((life["node"], id, due), []).append(there)
        return found

    def explains(self, begin: int, end: int) -> bool:
        """Return whether a loss was counted around the time from `begin` to `end`."""
        return any(a - EXPLAINS <= end and begin <= b + EXPLAINS for a, b in self.losses)

    def was_late(self, begin: int, end: int) -> bool:
        """Return whether a pong was late between two times: the server, or the way, was slow."""
        return any(a <= end and begin <= b for a, b in self.slow)


def _moves(life: Life, measured: tuple[int, int]) -> Integers:
    """Return the moves of a life that count: those that were sent in time and have arrived."""
    due = life["intents"]
    if life["why"] and len(due):
        # The last moves before its connection was lost may not have arrived.
        due = due[due <= life["timeline"][:, 1].max()]
    due = due[(due >= measured[0]) & (due < measured[1])]
    return due[~np.isin(due, life["late"])]


class Interest:
    """The squares that an observer's screen covered from `begin` to `end`, in steps of GRAIN.

    `life` is that life of the observer in which it was shown what is judged.
    """

    def __init__(self, world: Truth, life: Life, begin: int, end: int) -> None:
        self.begin, self.end = begin, end
        path = world.paths[life["id"]]
        halves = [tiles * TILE // 2 for tiles in life["viewport"]]
        self._times = times = np.arange(begin, end + GRAIN, GRAIN)
        self._uncovered: dict[int, Integers] = {}
        position = path.at(times)
        span = world.span
        lows, highs, outer_lows, outer_highs = [], [], [], []
        around = COVERED // GRAIN + 1
        after = LINGERS // GRAIN + 1
        for p, half in zip(position, halves, strict=True):
            inner, outer = half - SLACK, half + world.drop + SLACK
            lows.append(_rolling(np.max, (p - inner) // span, around, around))
            highs.append(_rolling(np.min, (p + inner) // span, around, around))
            outer_lows.append(_rolling(np.min, (p - outer) // span, after, around))
            outer_highs.append(_rolling(np.max, (p + outer) // span, after, around))
        self._must = lows[0], lows[1], highs[0], highs[1]
        self._may = outer_lows[0], outer_lows[1], outer_highs[0], outer_highs[1]

    def _at(self, times: Integers) -> Integers:
        return np.clip((times - self.begin) // GRAIN, 0, len(self._must[0]) - 1)

    def must(self, times: Integers, c0: _Tiles, r0: _Tiles, c1: _Tiles, r1: _Tiles) -> Flags:
        """Return at which of the times the events of all squares c0..c1, r0..r1 must come."""
        i = self._at(times)
        low_c, low_r, high_c, high_r = (bound[i] for bound in self._must)
        return (low_c <= c0) & (c1 <= high_c) & (low_r <= r0) & (r1 <= high_r)

    def always(self, id: int, world: Truth, begin: int, end: int) -> bool:
        """Return whether events must come of all squares in which a player is between two times."""
        count = self._uncovered.get(id)
        if count is None:
            x, y = world.paths[id].at(self._times)
            c0, c1 = (x - SLACK) // world.span, (x + SLACK) // world.span
            r0, r1 = (y - SLACK) // world.span, (y + SLACK) // world.span
            covered = self.must(self._times, c0, r0, c1, r1)
            count = self._uncovered[id] = np.concatenate(([0], np.cumsum(~covered)))
        first, last = (int(i) for i in self._at(np.array([begin, end])))
        return bool(count[first] == count[last + 1])

    def may(self, times: Integers, columns: Integers, rows: Integers) -> Flags:
        """Return at which of the times events of these squares may come."""
        i = self._at(times)
        low_c, low_r, high_c, high_r = (bound[i] for bound in self._may)
        return (low_c <= columns) & (columns <= high_c) & (low_r <= rows) & (rows <= high_r)


def _rolling(of: Callable[..., Integers], values: Integers, before: int, after: int) -> Integers:
    """Return for each index what `of` makes of the values from `before` places earlier to `after`
    places later."""
    padded = np.pad(values, (before, after), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, before + after + 1)
    return of(windows, axis=1)
