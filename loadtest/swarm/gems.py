"""The account of all gems of a run, from what bots were told and what the store has.

A gem has a version, which grows when it is taken: then it lies nowhere, until it lies somewhere
else. So a gem *spawns* once with each version, and

    spawned = taken + there

must hold: what was ever shown to a bot, or is in the store at the end, is either counted on the
board as taken, or is in the store, where it lies or ripens. Nobody can take what no bot was shown.

A bot whose connection ends may have taken a gem that it was never told of. The board has such
points, at most one for each take that was under way. It is pure.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flatlands.loadtest.swarm.hunter import Content, Square, content
from flatlands.loadtest.swarm.store import Stored

#: ms after which a gem that ripened must lie somewhere: nodes look each second, and a lease of 5 s
#: may have to end.
RIPE_WITHIN = 10_000

#: What must not happen: the field of Gems, its words in a table, and in a sentence.
FAULTS = (
    ("unbalanced", "not accounted for", "gems that spawned are not accounted for"),
    ("twice", "given twice", "gems were given to two bots"),
    ("lost", "lost", "gems are not in the store any more"),
    ("strange", "strange", "things in the store are not gems as they should be"),
    ("false", "given, but still there", "gems that a bot was given are still in the store"),
    ("uncounted", "not on the board", "gems that bots were given are not counted on the board"),
    ("unearned", "points for no gem", "points on the board are for no gem"),
    ("short", "told of fewer", "times a bot was told of fewer gems than it had"),
    ("silent", "takes without an answer", "takes were never answered"),
    ("overdue", "ripe, and nowhere", "gems that are ripe lie nowhere"),
    ("wrong_screens", "wrong on screens at the end", "squares on screens were wrong at the end"),
    ("changed_board", "board changed by a restart", "times the board was not as before"),
)


@dataclass
class Gems:
    """The account of a run. Those of FAULTS must be 0.

    `spawned` to `ripening` are None if the store could not be read: it is that of a server that ran
    already. `told` is how many gems bots were given, and `untold` how many more the board has, of
    which at most `under_way` can be right. `agreed` is after how many seconds, from when all bots
    stood, all screens showed what the store had.
    """

    spawned: int | None = None
    taken: int | None = None
    lying: int | None = None
    ripening: int | None = None
    asked: int = 0
    told: int = 0
    untold: int = 0
    under_way: int = 0
    missed: int = 0
    far: int = 0
    agreed: float = 0.0
    unbalanced: int = 0
    twice: int = 0
    lost: int = 0
    strange: int = 0
    false: int = 0
    uncounted: int = 0
    unearned: int = 0
    short: int = 0
    silent: int = 0
    overdue: int = 0
    wrong_screens: int = 0
    changed_board: int = 0
    #: Whether the board was compared with that after a restart of the server.
    restarted: bool = False
    #: Examples of what is wrong, as sentences.
    examples: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """The reasons why the account is wrong, in words."""
        found = [f"{n} {words}" for name, _, words in FAULTS if (n := getattr(self, name))]
        if not self.told:
            found.append("no bot was given a gem")
        return found + self.examples

    def check_board(self, board: Sequence[Any], stored: Stored) -> None:
        """Compare a board, as a player is shown it, with what the store has."""
        _, _, of, top = board[:4]
        points = sorted((n for n in stored.points.values()), reverse=True)
        shown = [row[1] for row in top]
        if of not in (0, len(points)) or shown != points[: len(shown)] or not shown:
            self._note("changed_board", [f"the board was {shown} of {of}, and is {points[:10]}"])

    def _note(self, name: str, examples: Iterable[str], count: int | None = None) -> None:
        """Count faults, and keep the first of them as an example."""
        some = list(examples)
        setattr(self, name, getattr(self, name) + (len(some) if count is None else count))
        self.examples += some[:1]


def account(
    reports: Sequence[dict[str, Any]], before: Stored | None, after: Stored | None, per_cell: int
) -> Gems:
    """Return the account of a run.

    `reports` are those of the swarm's processes. `before` and `after` are what the store had at the
    beginning and at the end, or None if it cannot be read. Each cell has `per_cell` gems.
    """
    hunters = {name: h for report in reports for name, h in report["hunters"].items()}
    found = Gems()
    for hunter in hunters.values():
        found.asked += hunter["asked"]
        found.told += len(hunter["taken"])
        found.under_way += _under_way(hunter)
        found.missed += hunter["refusals"].get("missed", 0)
        found.far += hunter["refusals"].get("far", 0)
        found.short += hunter["short"]
        found.silent += hunter["silent"]
    told = Counter(gem for hunter in hunters.values() for gem in hunter["taken"])
    found._note(
        "twice",
        (
            f"gem {id} of version {version} was given {n} times"
            for (id, version), n in sorted(told.items())
            if n > 1
        ),
    )
    if before is None or after is None:
        return found
    shown: set[tuple[str, int]] = set().union(*(report["shown"] for report in reports))
    span = reports[0]["rules"][0]
    _compare_gems(found, told.keys() | shown, told, before, after, span, per_cell)
    points = Counter(after.points)
    points.subtract(before.points)
    _compare_points(found, hunters, points, after.names)
    found.taken = points.total()
    spawned = told.keys() | shown | {(id, gem.version) for id, gem in after.gems.items()}
    found.spawned = len(spawned)
    if over := found.spawned - found.taken - len(after.gems):
        words = f"{found.spawned} spawned, {found.taken} were taken, {len(after.gems)} are there"
        found._note("unbalanced", [words], abs(over))
    return found


def _under_way(hunter: Mapping[str, Any]) -> int:
    """Return how many gems a bot may have without having been told: its takes that were not
    answered, or by a store of which nobody knows what it did."""
    return int(hunter["cut_off"] + hunter["silent"] + hunter["refusals"].get("store", 0))


def _compare_gems(
    found: Gems,
    known: Iterable[tuple[str, int]],
    told: Mapping[tuple[str, int], int],
    before: Stored,
    after: Stored,
    span: int,
    per_cell: int,
) -> None:
    gems = after.gems
    found.lying = sum(gem.place is not None for gem in gems.values())
    found.ripening = len(gems) - found.lying
    # Each cell that was not there before has all its gems, whether anybody saw them.
    ids = {*gems, *before.gems, *(id for id, _ in known)}
    right = {f"{cell}:{number}" for cell in _cells(ids) for number in range(per_cell)}
    old = _cells(before.gems)
    wanted = before.gems.keys() | {id for id in right if not _cells([id]) & old}
    found._note("lost", (f"gem {id} is lost" for id in sorted((wanted | ids) - gems.keys())))
    strange = gems.keys() - right - before.gems.keys()
    found._note("strange", (f"there is a gem {id}" for id in sorted(strange)))
    found._note(
        "strange",
        (
            f"gem {id} lies in square {name(gem.place, span)} and is listed in {gem.group!r}"
            for id, gem in sorted(gems.items())
            if gem.group != name(gem.place, span)
        ),
    )
    found.strange += after.torn
    found._note(
        "false",
        (
            f"gem {id} of version {version} was given, and the store has version {gems[id].version}"
            for id, version in sorted(told)
            if id in gems and version >= gems[id].version
        ),
    )
    found._note(
        "overdue",
        (
            f"gem {id} was ripe {(after.now - gem.due) / 1000:.0f} s ago"
            for id, gem in sorted(gems.items())
            if gem.place is None and after.now - gem.due > RIPE_WITHIN
        ),
    )


def _cells(ids: Iterable[str]) -> set[str]:
    """Return the names of the cells that gems belong to: an id is that and a number."""
    return {id.rpartition(":")[0] for id in ids}


def name(place: tuple[int, int] | None, span: int) -> str:
    """Return the name of the square in which a place is, or "" if it is nowhere."""
    return "" if place is None else f"{place[0] // span}:{place[1] // span}"


def _compare_points(
    found: Gems, hunters: Mapping[str, Any], points: "Counter[str]", names: Mapping[str, str]
) -> None:
    by_name: Counter[str] = Counter()
    for owner, n in points.items():
        bot = names.get(owner, "")
        if bot in hunters:
            by_name[bot] += n
        elif n:
            found._note("unearned", [f"somebody who is no bot got {n} points"], abs(n))
    for bot, hunter in hunters.items():
        n, told, most = by_name[bot], len(hunter["taken"]), _under_way(hunter)
        words = f"{bot} was given {told} gems, and has {n} points"
        if n < told:
            found._note("uncounted", [words], told - n)
        elif n > told + most:
            found._note("unearned", [words], n - told - most)
        found.untold += max(n - told, 0)


def differences(screens: Mapping[tuple[Square, Content], int], stored: Stored, span: int) -> int:
    """Return how many squares on screens do not show what lies there by the store.

    `screens`: (square, what lies there) -> how many bots believe it.
    """
    lying: dict[str, dict[str, tuple[int, int, int]]] = {}
    for id, gem in stored.gems.items():
        if gem.place is not None:
            lying.setdefault(name(gem.place, span), {})[id] = (gem.version, *gem.place)
    return sum(
        count
        for ((column, row), believed), count in screens.items()
        if believed != content(lying.get(f"{column}:{row}", {}))
    )
