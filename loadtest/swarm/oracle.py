"""Judges a run: compares what the bots did with what the observing bots were told.

The truth about a player is what its own bot did and was told of itself (loadtest/swarm/truth.py).
The oracle knows no server. It is pure: arrays in, a verdict out.

Whether an observer must be told of a move depends on the squares that its viewport covered:

    must        the viewport covered the mover's square for a second before and after the move
    must not    the viewport, grown by the outer margin, was never near the square around that time
    may         all other moves

A move that an observer must be told of is *delivered* if its own number came. Otherwise it is
*replaced* (a newer event of that player came instead, in a batch that says how many events it
replaced: see loadtest/swarm/replaced.py), *skipped* (the server said that this observer lagged),
*unheld* (the server was late, and sent the square's snapshot only afterwards) or *dropped* (at that
time the server or its broker counted losses, and no other observer at the same node was told of it,
so the batch did not reach the node). Otherwise it is *missing*. Unless

    expected = delivered + replaced + skipped + unheld + dropped

the run has failed. A move that is delivered after more than two seconds also counts as *late*, and
as *stale* if pongs came in time meanwhile.
"""

from collections import defaultdict
from dataclasses import dataclass, field, fields

import numpy as np

from flatlands.loadtest.kit.histogram import Integers
from flatlands.loadtest.swarm.observer import INCARNATION
from flatlands.loadtest.swarm.replaced import Hidden, News, pay
from flatlands.loadtest.swarm.reports import Life, Observed
from flatlands.loadtest.swarm.truth import (
    COVERED,
    GRAIN,
    LINGERS,
    SECOND,
    SLACK,
    TILE,
    Interest,
    Truth,
)
from flatlands.model import GONE, LEAVE, SNAPSHOT_ENTRY

#: us: a move is stale if it is delivered later than this after it was due.
STALE = 2 * SECOND

#: us within which a player that left is gone from all screens, and the last moves are delivered.
GONE_WITHIN = 2 * SECOND

#: us for which a player that was cut off may still be there, dimmed.
DIMMED = 10 * SECOND

#: Units by which a sketch may miss the place of a player, in squares of up to 64 tiles.
ROUGH = 129

#: us: a client that lagged has missed events of at most this time before the resync.
BEHIND = 5 * SECOND

#: The counts that must be 0, apart from `missing`: (what tables call it, its name).
FAULTS = (
    ("heard from too far away", "foreign"),
    ("duplicate", "duplicate"),
    ("out of order", "reordered"),
    ("late, and nobody else", "stale"),
    ("ghosts at the end", "ghosts"),
    ("unseen at the end", "unseen"),
    ("wrong at the end", "wrong"),
    ("told in a wrong square", "misplaced"),
    ("stalled in lockstep", "stalled"),
    ("last move unanswered", "unanswered"),
    ("tiles and things that differ", "differ"),
)


@dataclass
class Verdict:
    """Counts of pairs of an observer and a move in the measured time, and of faults; see the
    module."""

    observers: int = 0
    expected: int = 0
    delivered: int = 0
    replaced: int = 0
    skipped: int = 0
    unheld: int = 0
    dropped: int = 0
    missing: int = 0
    #: Delivered by a snapshot instead of a batch; part of `delivered`.
    shown: int = 0
    #: Delivered to observers that may be told of the move.
    extra: int = 0
    #: Delivered to observers that must not be told.
    foreign: int = 0
    duplicate: int = 0
    reordered: int = 0
    #: Delivered over two seconds after it was due; and those of them that nothing explains.
    late: int = 0
    stale: int = 0
    ghosts: int = 0
    unseen: int = 0
    #: Players with another track than the true one on a screen at the end.
    wrong: int = 0
    #: Events whose track does not lie in their square.
    misplaced: int = 0
    #: Records of batches whose slot nobody had, as far as the observer knew. They are no faults.
    lacking: int = 0
    #: Heard from too far away, from a server that was late a moment before.
    lingering: int = 0
    stalled: int = 0
    unanswered: int = 0
    #: Squares that several screens showed at the end, and tiles and things that two of them show
    #: differently (square_contents.py).
    squares: int = 0
    differ: int = 0
    #: What is wrong at the end, in words.
    words: list[str] = field(default_factory=list)

    @property
    def adds_up(self) -> bool:
        """Whether all expected deliveries are accounted for."""
        accounted = self.delivered + self.replaced + self.skipped + self.unheld + self.dropped
        return self.expected == accounted

    @property
    def faults(self) -> dict[str, int]:
        """The counts that must be 0 and are not."""
        names = "missing", *(name for _, name in FAULTS)
        return {name: getattr(self, name) for name in names if getattr(self, name)}

    def __iadd__(self, other: "Verdict") -> "Verdict":
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
        return self


def judge(world: Truth) -> Verdict:
    """Return the verdict on a run."""
    verdict = Verdict()
    for life in world.lives:
        verdict.misplaced += _misplaced(life["timeline"], world.span)
        if life["observed"] is not None:
            verdict += _judge_one(world, life, life["observed"])
    verdict.stalled = world.stalled
    return verdict


def _misplaced(timeline: Integers, span: int) -> int:
    """Count the events whose track does not lie near their square."""
    low_x, low_y = timeline[:, 2] * span, timeline[:, 3] * span
    # A walk that was late or began before the border may begin a little outside.
    near = 2 * TILE
    x0 = np.minimum(timeline[:, 4], timeline[:, 4] + timeline[:, 6])
    x1 = np.maximum(timeline[:, 4], timeline[:, 4] + timeline[:, 6])
    y0 = np.minimum(timeline[:, 5], timeline[:, 5] + timeline[:, 7])
    y1 = np.maximum(timeline[:, 5], timeline[:, 5] + timeline[:, 7])
    inside = (
        (x1 >= low_x - near)
        & (x0 <= low_x + span + near)
        & (y1 >= low_y - near)
        & (y0 <= low_y + span + near)
    )
    return int((~inside).sum())


def _judge_one(world: Truth, life: Life, observed: Observed) -> Verdict:
    verdict = Verdict(observers=1)
    verdict.duplicate, verdict.reordered = observed["duplicate"], observed["reordered"]
    verdict.lacking = observed["lacking"]
    end = life["left"] or world.ended
    begin = life["ready"]
    if not begin or end - begin < 3 * SECOND:
        return verdict
    interest = Interest(world, life, begin, end)
    _judge_moves(world, interest, life, observed, begin, end, verdict)
    rows = observed["rows"]
    if len(rows):
        allowed = interest.may(rows[:, 0], rows[:, 1], rows[:, 2])
        for at, _, _, events, _ in rows[~allowed].tolist():
            # A server that is late also stops telling of squares late.
            if world.was_late(at - LINGERS, at):
                verdict.lingering += events
            else:
                verdict.foreign += events
    if not life["left"]:
        _judge_end(world, interest, life, observed, verdict)
    return verdict


def _judge_moves(
    world: Truth,
    interest: Interest,
    life: Life,
    observed: Observed,
    begin: int,
    end: int,
    verdict: Verdict,
) -> None:
    # The viewport must be known for a second around the move, and there must be time to deliver it.
    there = (world.due >= begin + COVERED) & (world.due < end - GONE_WITHIN)
    must = there & interest.must(world.due, world.c0, world.r0, world.c1, world.r1)
    for move in np.flatnonzero(must & (world.obeyed > world.due + 2 * GRAIN)).tolist():
        begun, over = int(world.due[move]), int(world.obeyed[move])
        must[move] = interest.always(int(world.id[move]), world, begun, over)
    ids, due = world.id[must], world.due[must]
    news = observed["news"]
    moves = news[(news[:, 3] != LEAVE) & (news[:, 3] != GONE)]
    told: dict[tuple[int, int], tuple[int, int]] = {}
    for at, id, number, kind, _row, _seq in moves.tolist():
        told.setdefault((id, number), (at, kind))
    untold: dict[int, list[int]] = defaultdict(list)
    for id, number in zip(ids.tolist(), due.tolist(), strict=True):
        found = told.get((id, number))
        if found is None:
            untold[id].append(number)
            continue
        verdict.delivered += 1
        verdict.shown += found[1] == SNAPSHOT_ENTRY
        if found[0] - number > STALE:
            verdict.late += 1
            verdict.stale += not world.was_late(number, found[0])
    extra = set(zip(world.id.tolist(), world.due.tolist(), strict=True)).intersection(told)
    verdict.extra = len(extra.difference(zip(ids.tolist(), due.tolist(), strict=True)))
    verdict.expected = len(ids)
    if untold:
        _account(world, interest, untold, life, observed, verdict)


def _account(
    world: Truth,
    interest: Interest,
    untold: dict[int, list[int]],
    life: Life,
    observed: Observed,
    verdict: Verdict,
) -> None:
    """Count why moves were not delivered by their own numbers."""
    rows = observed["rows"]
    squares = rows[:, 1:3].tolist()
    by_player: dict[int, list[News]] = defaultdict(list)
    for at, id, due, kind, row, seq in observed["news"].tolist():
        square = tuple(squares[row]) if row >= 0 else None
        by_player[id].append(News(seq, at, due, kind in (LEAVE, GONE), row, square))
    hidden: list[Hidden] = []
    for id, several in by_player.items():
        news = _in_order(several)
        hidden += _hidden(world, interest, id, news, untold.pop(id, []))
    # Nothing was ever told of these players.
    verdict.missing += sum(len(numbers) for numbers in untold.values())
    left = []
    for some in hidden:
        numbers = some.numbers
        if numbers and any(
            some.after <= at <= some.before and last - BEHIND <= numbers[-1] and numbers[0] <= at
            for last, at in observed["behind"]
        ):
            verdict.skipped += len(numbers)
        elif numbers and some.shown and _held_late(observed["holds"], some):
            verdict.unheld += len(numbers)
        else:
            left.append(some)
    short = pay(left, rows[:, 4].tolist())
    replaced, others = sum(len(some.numbers) for some in left), 0
    for some, count in short.items():
        moves = min(count, len(some.numbers))
        replaced -= moves
        dropped = 0
        if world.explains(some.after, some.before):
            dropped = sum(
                not _passed_on(world, interest, life, some.id, number) for number in some.numbers
            )
        dropped = min(dropped, moves)
        verdict.dropped += dropped
        verdict.missing += moves - dropped
        if not dropped:
            others += count - moves
    # Other events than moves are unexplained too: what explained some of the moves was theirs.
    more = min(others, replaced)
    verdict.missing += more
    verdict.replaced += replaced - more


def _passed_on(world: Truth, interest: Interest, life: Life, id: int, number: int) -> bool:
    """Return whether others at the node were told of a move in a square that the observer held."""
    return any(
        other is not life and interest.must(np.array([at]), column, row, column, row)[0]
        for other, at, column, row in world.told.get((life["node"], id, number), ())
    )


def _in_order(news: list[News]) -> list[News]:
    """Return news in the order of seq. Of two with the same seq, the one from a batch is kept."""
    found: dict[int, News] = {}
    for some in sorted(news):
        if some.seq not in found or found[some.seq].row < 0:
            found[some.seq] = some
    return [found[seq] for seq in sorted(found)]


def _hidden(
    world: Truth, interest: Interest, id: int, news: list[News], numbers: list[int]
) -> list[Hidden]:
    """Return a player's events of which an observer was not told, between those that it was told.

    `numbers` are the player's moves that had to be told and were not.
    """
    found = []
    at = 0
    known = [place for place, some in enumerate(news) if not some.parts]
    for before, after in zip([-1, *known], [*known, len(news)], strict=True):
        ended = after == len(news)
        until = 2**62 if ended else news[after].due or world.welcomed(id, news[after].at)
        begin = at
        while at < len(numbers) and numbers[at] < until:
            at += 1
        between = news[before + 1 : after + 1]
        mine = numbers[begin:at]
        count = len(mine)
        if before >= 0 and not ended:
            events = _untold(news[before], between)
            if events <= 0 and not mine:
                continue
            if _surely_held(world, interest, id, news[before], news[after]):
                count = max(count, events)
        if count:
            shown = not ended and news[after].row < 0
            later = [] if ended else news[after + 1 :]
            found.append(
                Hidden.between(
                    id,
                    mine,
                    count,
                    news[before] if before >= 0 else None,
                    between,
                    later,
                    shown,
                )
            )
    return found


def _untold(before: News, between: list[News]) -> int:
    """Return how many events of a player there were, at least, from `before` to the last of
    `between`, not counting these.

    How many there were after `before` at a node that the player has left since is not known.
    """
    last = between[-1].seq
    begun = max(before.seq, last // INCARNATION * INCARNATION)
    return last - begun - sum(news.seq > begun for news in between)


def _surely_held(world: Truth, interest: Interest, id: int, before: News, after: News) -> bool:
    """Return whether everything that a player did between two news of it had to be told."""
    lives = world.by_id.get(id)
    if lives is None or len(lives) > 1 or before.row < 0 or after.row < 0:
        return False
    begin = before.at - 2 * SECOND
    # A leave may come later than the enter that followed it, and so after the end.
    there = begin > interest.begin and after.at < interest.end - GONE_WITHIN
    if not there or not interest.always(id, world, begin, after.at):
        return False
    # A server that is late takes a player further along its track, perhaps over a border, and back
    # when an intent that was due before that comes.
    path = world.paths[id]
    first, end = np.searchsorted(path.timeline[:, 0], (before.seq, after.seq), side="right")
    rows = np.arange(max(int(first) - 1, 0), int(end))
    told = lives[0]["told_at"][rows]
    begun, reached = path.along(rows, told), path.along(rows, np.append(told[1:], after.at))
    squares = path.timeline[rows, 2:4].T
    lows, highs = (
        [
            of.reduce([(a + slack) // world.span, (b + slack) // world.span, square])
            for a, b, square in zip(begun, reached, squares, strict=True)
        ]
        for of, slack in ((np.minimum, -SLACK), (np.maximum, SLACK))
    )
    return bool(interest.must(np.full(len(rows), after.at), *lows, *highs).all())


def _held_late(holds: Integers, some: Hidden) -> bool:
    """Return whether squares became held between the last news before and the snapshot after."""
    return bool(((holds[:, 0] >= some.after) & (holds[:, 0] <= some.before)).any())


def _judge_end(
    world: Truth, interest: Interest, life: Life, observed: Observed, verdict: Verdict
) -> None:
    """Compare what an observer believes at the end with the truth."""
    beliefs = {row[0]: row for row in observed["beliefs"].tolist()}
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
            # A player must at least be told of its own moves.
            verdict.unanswered += int(timeline[-1, 1] != other["intents"][-1])
        column, row = timeline[-1, 2:4]
        here = interest.must(last, column, row, column, row)[0]
        if known is None:
            verdict.unseen += int(here)
        elif not here and (known[3], known[4]) != (column, row):
            covered = interest.must(last, known[3], known[4], known[3], known[4])[0]
            verdict.ghosts += int(covered)
        elif here:
            # What its own client was told in the last second may still be on its way to this one.
            told = int(np.searchsorted(other["told_at"], world.ended - SECOND, side="right"))
            news = other["timeline"][max(told - 1, 0) :].tolist()
            if not any(_is_believed(known, truth) for truth in news):
                verdict.wrong += 1
                verdict.words.append(
                    f"bot-{life['index']} at {life['node']} believes of bot-{other['index']} at "
                    f"{other['node']} {known}, and what that was told is {news}"
                )


def _is_believed(known: list[int], truth: list[int]) -> bool:
    """Return whether a belief is what was true.

    The starts of tracks are left out, since the clocks of two nodes differ by some ms.
    """
    if known[11]:
        return known[1:5] == truth[:4] and _is_sketch(known[5:9], truth[4:8])
    return known[1:9] == truth[:8] and known[10] == truth[9]


def _is_sketch(sketch: list[int], track: list[int]) -> bool:
    """Return whether a track (x, y, dx, dy) of a sketch begins on the true one, within ROUGH units,
    and ends where that does, within half a tile."""
    return all(
        min(at, at + way) - ROUGH <= begin <= max(at, at + way) + ROUGH
        and abs(begin + on - at - way) <= TILE // 2
        for begin, on, at, way in zip(sketch[:2], sketch[2:], track[:2], track[2:], strict=True)
    )
