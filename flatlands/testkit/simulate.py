"""`flatlands simulate`: play a game in random worlds for some time; shrink and show one that fails.

A world has one to three nodes, and players who walk about, go to things, do what the game lets them
do, and play as its own bot.py, while links are cut or slow, nodes die, stop and start, connections
are lost and the store is away. Then it is quiet, and what must hold is looked at: see
`World.check`. A game's tests/rules.py may have a function `check(world)` that looks at more. A
failure of the game at any time ends it. The exit code is 1 if a world fails; then it prints how to
play it again.
"""

import logging
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from runpy import run_path
from typing import NamedTuple

from flatlands.bot import bots_of
from flatlands.server.game import loader
from flatlands.server.game.game import AnyGame
from flatlands.server.messages.table import Field
from flatlands.testkit import SECOND, Player, World
from flatlands.testkit.search import QUIET_STEP, Search, Step, parser

#: The most nodes of a world at a time.
NODES_MOST = 4
#: The most players of a world at a time.
PLAYERS_MOST = 8

#: Seconds after which all screens are right once nothing more goes wrong.
QUIET_FOR = 65

#: The least and the most steps of an episode, which ends with quiet.
EPISODE = 5, 25

#: A player that goes to nothing in view goes to a tile so near, along each axis.
AROUND_TILES = 12

#: Sizes of screens, in tiles.
SCREENS = (12, 24), (40, 25), (64, 36)

#: The most turns of a bot in a row.
TURNS_MOST = 40
#: The time that each turn takes.
TURN_SECONDS = 0.25

#: Letters of which texts are made.
LETTERS = "ab zäß\U0001f642"

#: A game: its class, its path, or the name of one that is shipped.
GameSource = type[AnyGame] | str | Path


class RandomWorld(NamedTuple):
    """A world: its seed, the nodes at its start, the seconds by which their clocks differ, whether
    it has a store, and its steps."""

    seed: int
    nodes: int
    skew: float
    store: bool
    steps: tuple[Step, ...]


class NobodyAdmitted(Exception):
    """Nobody was let in, so nothing was tried."""


class Story:
    """A world that is played. The steps in WHAT are methods of it. `rules` is called with the world
    when it is quiet."""

    def __init__(
        self, game: GameSource, plan: RandomWorld, rules: Callable[[World], object]
    ) -> None:
        # Games use Python's own random numbers.
        random.seed(plan.seed)
        self.world = World(game, plan.nodes, skew=plan.skew, store=plan.store, seed=plan.seed)
        self._rules, self._names = rules, 0
        self._turn, self._ticket = (None, "") if isinstance(game, type) else bots_of(str(game))
        self._nodes = list(range(plan.nodes))
        self.player_ms = 0
        #: Why the last player to come was not let in, or "".
        self.refused = ""

    def play(self, step: Step) -> None:
        """Let the step's wait pass, and do it."""
        self.player_ms += step.wait * len(self._playing())
        self.world.run(step.wait / SECOND)
        WHAT[step.what](self, step.a, step.b, step.c)

    def _playing(self) -> list[Player]:
        return [player for player in self.world.players if player.playing]

    def _player(self, a: int) -> Player | None:
        """Return somebody who plays, or None if nobody does."""
        playing = self._playing()
        return playing[a % len(playing)] if playing else None

    def _node(self, a: int) -> int:
        return self._nodes[a % len(self._nodes)]

    # What players do.

    def join(self, a: int, b: int, c: int) -> None:
        """Let somebody come, or somebody who plays open another window."""
        if len(self._playing()) < PLAYERS_MOST:
            self._names += 1
            came = self.world.join(
                f"P{self._names}",
                self._node(a),
                size=SCREENS[b % len(SCREENS)],
                ticket=self._ticket,
                person=self._player(b) if c % 3 else None,
            )
            self.refused = came.refused

    def walk(self, a: int, b: int, c: int) -> None:
        if player := self._player(a):
            player.walk(b % 3 - 1, c % 3 - 1)

    def go(self, a: int, b: int, c: int) -> None:
        """Let somebody go to a thing or a player in view, or anywhere."""
        if player := self._player(a):
            some = [(one.x, one.y) for one in sorted(player.things(), key=lambda one: one.id)]
            some += [player.place(id) for id in sorted([*player.players, *player.movers])]
            if c % 4 and some:
                player.go(*some[b % len(some)])
            elif player.me is not None:
                x, y = player.place()
                player.go(
                    x + b % (2 * AROUND_TILES) - AROUND_TILES,
                    y + c % (2 * AROUND_TILES) - AROUND_TILES,
                )

    def do(self, a: int, b: int, c: int) -> None:
        """Let somebody do what the game lets players do."""
        if player := self._player(a):
            self._do([player], b, c)

    def do_together(self, _a: int, b: int, c: int) -> None:
        """Let all do that in the same moment."""
        self._do(self._playing(), b, c)

    def _do(self, players: Iterable[Player], b: int, c: int) -> None:
        actions, chance = self.world.actions, random.Random(f"{b} {c}")
        for player in players if actions else ():
            name = sorted(actions)[b % len(actions)]
            player.do(name, *(_drawn(field, chance) for field in actions[name].row.fields))

    def take_turns(self, a: int, b: int, _c: int) -> None:
        """Let somebody play as the game's own bot does, if it has one."""
        for _ in range(b % TURNS_MOST):
            player = self._player(a)
            if self._turn is not None and player is not None and player.me is not None:
                self._turn(player)
                self.world.run(TURN_SECONDS)

    def say(self, a: int, b: int, _c: int) -> None:
        if player := self._player(a):
            player.say(f"{b}")

    def lose(self, a: int, _b: int, _c: int) -> None:
        if player := self._player(a):
            player.lose()

    def leave(self, a: int, _b: int, _c: int) -> None:
        if player := self._player(a):
            player.leave()

    def back(self, a: int, b: int, _c: int) -> None:
        away = [player for player in self.world.players if player.lost]
        if away and len(self._playing()) < PLAYERS_MOST:
            away[a % len(away)].back(self._node(b))

    # What goes wrong.

    def start(self, _a: int, _b: int, _c: int) -> None:
        if len(self._nodes) < NODES_MOST:
            self._nodes.append(self.world.start())

    def kill(self, a: int, _b: int, _c: int) -> None:
        if len(self._nodes) > 1:
            self.world.kill(self._nodes.pop(a % len(self._nodes)))

    def stop(self, a: int, _b: int, _c: int) -> None:
        if len(self._nodes) > 1:
            self.world.stop(self._nodes.pop(a % len(self._nodes)))

    def cut(self, a: int, b: int, _c: int) -> None:
        if self._node(a) != self._node(b):
            self.world.cut(self._node(a), self._node(b))

    def delay(self, _a: int, b: int, _c: int) -> None:
        self.world.delay(b % 500 / SECOND)

    def lose_store(self, _a: int, _b: int, _c: int) -> None:
        self.world.lose_store()

    def heal(self, _a: int, _b: int, _c: int) -> None:
        self.world.heal()

    def quiet(self, _a: int, _b: int, _c: int) -> None:
        """Let all players stand and nothing more go wrong, and check what must hold."""
        self.world.heal()
        for player in self._playing():
            player.walk(0, 0)
        self.world.run(QUIET_FOR)
        if self._playing():
            self.world.check()
            self._rules(self.world)


#: The steps, and about how often each is done.
_SHARES: dict[Callable[..., None], int] = {
    Story.join: 6,
    Story.walk: 12,
    Story.go: 16,
    Story.do: 16,
    Story.do_together: 8,
    Story.take_turns: 8,
    Story.say: 1,
    Story.lose: 4,
    Story.leave: 3,
    Story.back: 6,
    Story.start: 2,
    Story.kill: 2,
    Story.stop: 2,
    Story.cut: 3,
    Story.delay: 5,
    Story.lose_store: 2,
    Story.heal: 5,
}

WHAT = {step.__name__: step for step in (*_SHARES, Story.quiet)}


def _drawn(field: Field, chance: random.Random) -> object:
    """Return a value that an action may get in a field, often the lowest or the highest one."""
    if field.type is bool:
        return chance.random() < 0.5
    size = chance.choice((field.low, field.high, chance.randint(field.low, field.high)))
    return "".join(chance.choices(LETTERS, k=size)) if field.type is str else size


def plan(seed: int) -> RandomWorld:
    """Return the plan of a seed: some episodes of steps, each followed by quiet."""
    chance = random.Random(seed)
    # Each world leaves out some kinds of steps, so that worlds differ in what goes wrong most.
    shares = {step: n for step, n in _SHARES.items() if chance.random() < 0.7} or _SHARES
    most = chance.choice((100, 1500, 5000))
    steps = [Step(0, "join", n, n, 0) for n in range(chance.randint(1, 4))]
    for _ in range(chance.randint(1, 3)):
        for kind in chance.choices(list(shares), list(shares.values()), k=chance.randint(*EPISODE)):
            wait = 0 if chance.random() < 0.3 else chance.randint(0, most)
            some = (chance.randrange(10_000) for _ in range(3))
            steps.append(Step(wait, kind.__name__, *some))
        steps.append(Step(0, QUIET_STEP, 0, 0, 0))
    nodes, skew = chance.randint(1, 3), chance.choice((0, 0, 0.1, 0.3))
    return RandomWorld(seed, nodes, skew, chance.random() < 0.8, tuple(steps))


def play(
    game: GameSource,
    rules: Callable[[World], object],
    plan: RandomWorld,
    hook_calls: Counter[str] | None = None,
) -> int:
    """Play a world to its end; return the ms that players have played. To `hook_calls` it adds how
    often it has called each hook. Raises what goes wrong."""
    story = Story(game, plan, rules)
    for step in (*plan.steps, Step(0, QUIET_STEP, 0, 0, 0)):
        story.play(step)
    if hook_calls is not None:
        for name, n in story.world.hook_calls.items():
            hook_calls[name] += n
    if story.refused and not story.player_ms:
        raise NobodyAdmitted(f"{story.refused} (a TICKET in bot.py lets the players in)")
    return story.player_ms


def rules_of(game: Path) -> Callable[[World], object]:
    """Return the function `check` of a game's tests/rules.py, or one that checks nothing."""
    path = (game if game.is_dir() else game.parent) / "tests" / "rules.py"
    if not path.exists():
        return lambda world: None
    check: Callable[[World], object] | None = run_path(str(path)).get("check")
    if check is None:
        sys.exit(f"flatlands: {path} must have a function check(world)")
    return check


def search(
    game: Path, rules: Callable[[World], object] = lambda world: None
) -> Search[RandomWorld]:
    """Return a search that plays the worlds of a game, and checks `rules` as well as what must
    hold. Raises loader.InvalidGame."""
    path = str(game.resolve())
    loader.kind_of(path)
    of = "" if game.resolve() == Path.cwd() else f"{game} "
    calls = Counter[str]()
    played = partial(play, path, rules, hook_calls=calls)
    return Search(plan, played, f"flatlands simulate {of}--seed ", calls)


def main() -> int:
    """Play worlds for as long as the command line says; return the exit code."""
    options = parser("flatlands.testkit.simulate", __doc__)
    options.prog = "flatlands simulate"
    options.add_argument("game", type=Path, help="the path of the game")
    kept = "write how many worlds were right, and the shortest one that fails, to FILE"
    options.add_argument("--json", type=Path, metavar="FILE", help=kept)
    given = options.parse_args()
    # Show failures, and nothing else.
    logging.disable(logging.WARNING)
    try:
        return search(given.game, rules_of(given.game)).run(given, given.json)
    except loader.InvalidGame as unfit:
        sys.exit(f"flatlands: {unfit}")


if __name__ == "__main__":
    sys.exit(main())
