"""`python -m games.flatlands.tests.fuzz`: in the worlds of tests/fuzz Flatlands is played."""

import sys
from functools import partial

from flatlands.needs import packages

with packages("test"):
    from flatlands.games.flatlands.game import Game
    from flatlands.games.flatlands.options import Options
    from tests.fuzz import worlds
    from tests.fuzz.__main__ import Targets, main
    from tests.fuzz.worlds import Letting, Painting, Played


class Painted(Painting, Game):
    """Flatlands, with ground to write on and an action to ask for."""


class Guarded(Letting, Painted):
    """The same game, for guests who are let in."""


OPTIONS = Options(walkers=0, deer=0, gems=4)
GAMES = Played(Painted, OPTIONS, greet="emote"), Played(Guarded, OPTIONS, greet="emote")

TARGETS: Targets = {
    play.__name__: (partial(play, games=GAMES), 1)
    for play in (worlds.sessions, worlds.strangers, worlds.forgers)
}


if __name__ == "__main__":
    sys.exit(main("games.flatlands.tests.fuzz", TARGETS))
