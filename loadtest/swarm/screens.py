"""Judges which players were on which screens: ghosts, unseen players, and bots that came back.

Each observer's screen is logged twice a second. What bots did and were told of themselves says what
each player is in such a look:

    wanted      it has played for a while, and the screen covers its square
    allowed     it plays, or did until a moment ago, or may still be there, dimmed
    a ghost     it is on the screen and not allowed
    unseen      it is wanted and not on the screen
    outdated    it is wanted, but shown in a state older than it was told of itself a while ago

It knows no server, and is pure: arrays in, figures out.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from flatlands.loadtest.kit.histogram import Integers
from flatlands.loadtest.swarm.oracle import DIMMED
from flatlands.loadtest.swarm.reports import Life, Observed
from flatlands.loadtest.swarm.truth import SECOND, SLACK, Flags, Interest, Truth
from flatlands.model import GONE, LEAVE

#: A player that came less long ago need not be seen yet.
COMES_US = 3 * SECOND // 2
#: A player that left less long ago may still be seen.
LEAVES_US = 2 * SECOND
#: What a player was told of itself is on all screens after this long.
TOLD_US = 2 * SECOND

#: us: a screen that is wrong about a player for less time is only late, since the event is under
#: way or waits to be read.
NOTICED = 2 * SECOND

#: A screen may be wrong about a player for this long.
WRONG_US = 5 * SECOND
#: A screen may show an unknown player for this long, which may be a bot that was cut off before it
#: was welcomed.
STRANGE_US = 17 * SECOND

#: Pairs of an observer and a player that are judged: more would take longer than the run.
PAIRS = 30_000

#: us between the times at which wrong screens are counted.
STEP = SECOND // 2

KINDS = ("ghosts", "unseen", "outdated")


@dataclass
class Screens:
    """How right the screens were.

    `looks` is the number of looks. `wrong`: time in us, a multiple of STEP -> kind of fault ->
    number of faults at that time. `lasting`: kind -> pairs of an observer and a player that were
    wrong for too long. `longest`: kind -> seconds.
    """

    looks: int = 0
    wrong: dict[int, dict[str, int]] = field(default_factory=dict)
    lasting: dict[str, int] = field(default_factory=dict)
    longest: dict[str, float] = field(default_factory=dict)

    def wrong_until(self, begin: int) -> float:
        """Return how many seconds after a time, in us, the last screen was wrong; 0 if none was."""
        last = max((moment for moment in self.wrong if moment >= begin), default=begin)
        return (last - begin) / SECOND

    def add(self, kind: str, times: Integers, limit: int) -> None:
        """Count that one player was wrong on one screen at consecutive looks.

        `times` are the times of these looks, and `limit` the us that it may last.
        """
        lasted = int(times[-1] - times[0])
        if lasted < NOTICED:
            return
        for moment in (times // STEP * STEP).tolist():
            self.wrong.setdefault(moment, dict.fromkeys(KINDS, 0))[kind] += 1
        self.longest[kind] = max(self.longest.get(kind, 0.0), lasted / SECOND)
        if lasted > limit:
            self.lasting[kind] = self.lasting.get(kind, 0) + 1


@dataclass
class Returns:
    """What became of the bots that were cut off or sent away, or that closed with a code.

    `cuts` is how often that happened; `away` has the seconds until bots were back, and `why` the
    reasons and how often each was given.
    """

    cuts: int = 0
    as_themselves: int = 0
    as_others: int = 0
    never: int = 0
    #: Observing bots that came back with a lower seq than before, and were told no higher one.
    backwards: int = 0
    away: list[float] = field(default_factory=list)
    why: dict[str, int] = field(default_factory=dict)

    @property
    def faults(self) -> dict[str, int]:
        """The counts that must be 0 and are not."""
        names = {
            "came back as somebody else": self.as_others,
            "never came back": self.never,
            "came back with an older seq": self.backwards,
        }
        return {name: count for name, count in names.items() if count}


def returns(world: Truth, *, until: int) -> Returns:
    """Return which bots came back. Those that were cut off after `until`, in us, had no time to."""
    by_bot: dict[int, list[Life]] = defaultdict(list)
    for life in sorted(world.everybody, key=lambda life: int(life["asked"])):
        by_bot[life["index"]].append(life)
    found = Returns()
    why: Counter[str] = Counter()
    for lives in by_bot.values():
        for life, following in zip(lives, [*lives[1:], None], strict=True):
            if not life["left"] or not life["why"] or not life["honest"]:
                continue
            found.cuts += 1
            why[life["why"]] += 1
            if following is None:
                found.never += life["left"] < until
            elif following["id"] == life["id"]:
                found.as_themselves += 1
                found.away.append((following["welcomed"] - life["left"]) / SECOND)
                found.backwards += _is_older(following)
            else:
                found.as_others += 1
    found.why = dict(why)
    found.away.sort()
    return found


def _is_older(life: Life) -> bool:
    """Return whether a bot was told only of older states of itself than in its life before.

    That may happen briefly: its node begins a higher incarnation once another one knows better.
    """
    if life["observed"] is None or not life["ready"]:
        return False
    news = life["observed"]["news"]
    seqs = news[(news[:, 1] == life["id"]) & (news[:, 3] != LEAVE) & (news[:, 3] != GONE), 5]
    return bool(len(seqs) and seqs.max() < life["former_seq"])


def look(world: Truth, *, strangers: bool) -> Screens:
    """Return how right the screens were. `strangers`: there may be players that are not bots."""
    found = Screens()
    known = {life["id"] for life in world.everybody}
    players = [id for id in world.by_id if len(world.paths[id].timeline)]
    observers = [
        (life, life["observed"])
        for life in world.lives
        if life["observed"] is not None and life["ready"]
    ]
    keep = max(len(observers) * len(players) // PAIRS, 1)
    for life, observed in observers[::keep]:
        _look(world, life, observed, players, known, strangers, found)
    return found


def _look(
    world: Truth,
    life: Life,
    observed: Observed,
    players: list[int],
    known: set[int],
    strangers: bool,
    found: Screens,
) -> None:
    looks, screens = observed["looks"], observed["screens"]
    begin, end = life["ready"] + SECOND, life["left"] or world.ended
    counted = (looks[:, 0] >= begin) & (looks[:, 0] <= end) if len(looks) else np.empty(0, bool)
    if not counted.any():
        return
    times = looks[:, 0]
    interest = Interest(world, life, life["ready"], end)
    which = np.repeat(np.arange(len(looks)), looks[:, 1])
    order = np.argsort(screens[:, 0], kind="stable")
    ids, first = np.unique(screens[order, 0], return_index=True)
    # np.split makes one part even of an empty screen.
    places = dict(zip(ids.tolist(), np.split(order, first[1:]), strict=False))
    linked = _linked(observed["links"], times)
    found.looks += int(counted.sum())
    none = np.empty(0, dtype=np.int64)
    wanted = set(players) - {life["id"]}
    for id in wanted | set(places) - {life["id"]}:
        rows = places.get(id, none)
        on = np.zeros(len(times), dtype=bool)
        on[which[rows]] = True
        if id not in wanted:
            if id not in known and not strangers:
                _count(found, "ghosts", on & counted, linked, times, STRANGE_US)
            continue
        seqs = np.full(len(times), -1, dtype=np.int64)
        seqs[which[rows]] = screens[rows, 1]
        there, allowed, told = _truth(world.by_id[id], times)
        _count(found, "ghosts", on & ~allowed & counted, linked, times, WRONG_US)
        if not (there & counted).any():
            continue
        x, y = world.paths[id].at(times)
        covers = interest.must(
            times,
            (x - SLACK) // world.span,
            (y - SLACK) // world.span,
            (x + SLACK) // world.span,
            (y + SLACK) // world.span,
        )
        must = there & counted & covers
        _count(found, "unseen", must & ~on, linked, times, WRONG_US)
        _count(found, "outdated", must & on & (seqs < told), linked, times, WRONG_US)


def _truth(lives: list[Life], times: Integers) -> tuple[Flags, Flags, Integers]:
    """Return three arrays about a player at some times: whether it was surely there, whether it may
    have been, and which seq it had been told of itself a while before (-1: none)."""
    there = np.zeros(len(times), dtype=bool)
    allowed = np.zeros(len(times), dtype=bool)
    told = np.full(len(times), -1, dtype=np.int64)
    for life in lives:
        end = life["left"] or 2**62
        if life["ready"]:
            there |= (times >= life["ready"] + COMES_US) & (times < end)
        stays = LEAVES_US + (DIMMED if life["why"] else 0)
        allowed |= (times >= life["asked"]) & (times <= end + stays)
        last = np.searchsorted(life["told_at"], times - TOLD_US, side="right") - 1
        current = (last >= 0) & (times < end)
        told[current] = life["timeline"][last[current], 0]
    return there, allowed, told


def _linked(links: list[tuple[int, int]], times: Integers) -> Flags:
    """Return at which times the server was linked to its other nodes, and had been for a while."""
    linked = np.ones(len(times), dtype=bool)
    ends = [at for at, _ in links[1:]] + [2**62]
    for (at, up), until in zip(links, ends, strict=False):
        if not up:
            linked &= (times < at) | (times > until + TOLD_US)
    return linked


def _count(
    found: Screens, kind: str, wrong: Flags, linked: Flags, times: Integers, limit: int
) -> None:
    """Count the periods of consecutive looks at which a screen was wrong."""
    at = np.flatnonzero(wrong)
    if not len(at):
        return
    for run in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1):
        # Faults may last for as long as the page shows that the link is down.
        found.add(kind, times[run], limit if linked[run].all() else 2**62)
