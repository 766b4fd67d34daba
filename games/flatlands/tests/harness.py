"""The harness of flatlands.testkit whose nodes play Flatlands."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from flatlands.games.flatlands.game import Game
from flatlands.games.flatlands.options import Options
from flatlands.server.game.game import AnyGame
from flatlands.server.game.game_node import GameNode
from flatlands.stores.base import Store
from flatlands.stores.registry import open_store
from flatlands.testkit import harness


class Rules(NamedTuple):
    """How many gems each plot has, how many seconds pass on average until one that was taken lies
    somewhere else, and how many twin stones each plot has."""

    per_plot: int = 4
    pause: float = 120
    twins: int = 0


class Sizes(NamedTuple):
    """How many people of the herd there are, and how many deer."""

    people: int = 0
    deer: int = 0


RULES = Rules()
NOBODY = Sizes()

#: A gem that was taken lies somewhere else after 0.1 to 0.3 s.
QUICK = Rules(per_plot=3, pause=0.2)
#: A gem that was taken lies nowhere during a test.
SLOW = Rules(per_plot=3, pause=10**4)


def options_of(rules: Rules, sizes: Sizes) -> Options:
    """Return the options of the game with these rules and sizes."""
    return Options(
        walkers=sizes.people,
        deer=sizes.deer,
        gems=rules.per_plot,
        twins=rules.twins,
        gem_pause=rules.pause,
    )


class Harness(harness.Harness):
    """The harness of flatlands.testkit, with `rules` of gems and `sizes` of the herd. They may be
    changed for the nodes that start later."""

    def __init__(
        self, *more: Any, rules: Rules = RULES, sizes: Sizes = NOBODY, **named: Any
    ) -> None:
        self.rules, self.sizes = rules, sizes
        super().__init__(Game, None, *more, **named)

    def game(self, node: GameNode) -> AnyGame:
        """Return the game, with these rules and sizes."""
        self.options = options_of(self.rules, self.sizes)
        return super().game(node)


@contextmanager
def worlds(url: str) -> Iterator[Callable[..., Harness]]:
    """Yield a function that starts a harness whose nodes all share a world in a store."""
    opened: list[Store] = []

    def start(nodes: int = 1, rules: Rules = SLOW, **more: Any) -> Harness:
        name = uuid.uuid4().hex

        def opens() -> Store:
            opened.append(open_store(url, name))
            return opened[-1]

        return Harness(nodes=nodes, rules=rules, stores=opens, **more)

    yield start
    for store in opened:
        store.close()
