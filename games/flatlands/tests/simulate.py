"""`python -m games.flatlands.tests.simulate`: in the random worlds of tests/simulate Flatlands is
played, with computer players in some, and with gems in others."""

import sys

from flatlands.needs import packages

with packages("test"):
    from flatlands.games.flatlands.game import Game
    from flatlands.games.flatlands.gems.gems import Gem, Gems
    from flatlands.games.flatlands.options import Options
    from flatlands.games.flatlands.treasure import BOARD
    from games.flatlands.tests.harness import NOBODY, Rules, Sizes, options_of
    from tests.simulate import steps
    from tests.simulate.__main__ import main, searching
    from tests.simulate.ground import Writing
    from tests.simulate.things import PAUSE, PER_PLOT, ThingSetup

#: The herd of a world that has one.
HERD = Sizes(people=4, deer=2)


class Painted(Writing, Game):
    """Flatlands, where players write on the ground."""


class World(steps.World):
    """A world in which Flatlands is played."""

    game = Game
    painted = Painted
    kind = ThingSetup(Gem, Gems, BOARD)
    herd = sum(HERD)
    has_movers = False

    def options(self, plan: steps.Plan) -> Options:
        """Return the options of the game in a world."""
        rules = Rules(PER_PLOT if plan.things else 0, PAUSE)
        return options_of(rules, HERD if plan.herd else NOBODY)


search = searching(World)


if __name__ == "__main__":
    sys.exit(main("games.flatlands.tests.simulate", search))
