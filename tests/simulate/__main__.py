"""`python -m tests.simulate`: play random worlds for some time; shrink and show one that fails.

The exit code is 1 if a world breaks the rule of docs/nodes.md; then it prints how to play it again.
"""

import logging
import sys
from functools import partial

from flatlands.needs import packages

with packages("test"):
    from flatlands.testkit.search import Search, Step, parser
    from tests.simulate.rule import check_end
    from tests.simulate.steps import Plan, World, plan


def play(plan: Plan, kind: type[World] = World) -> int:
    """Play a world of a kind to its end; return the ms that all players played. Raises what goes
    wrong."""
    world = kind(plan)
    try:
        for step in plan.steps:
            world.play(step)
        world.play(Step(0, "quiet", 0, 0, 0))
        # By then, players that lost their connection have left, even on a node whose clock stood
        # still.
        world.run(20_000)
        check_end(world)
        if world.things is not None:
            world.things.check_end()
    finally:
        world.end()
    return world.player_ms


def searching(kind: type[World]) -> Search[Plan]:
    """Return a search that plays worlds of a kind."""
    return Search(plan, partial(play, kind=kind), "make simulate SEED=")


search = searching(World)


def main(program: str, search: Search[Plan]) -> int:
    """Play worlds for as long as the command line of a program says; return the exit code."""
    given = parser(program, __doc__).parse_args()
    logging.disable(logging.CRITICAL)
    return search.run(given)


if __name__ == "__main__":
    sys.exit(main("tests.simulate", search))
