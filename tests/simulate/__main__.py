"""`python -m tests.simulate`: play random worlds for some time; shrink and show one that fails.

The exit code is 1 if a world breaks the rule of docs/nodes.md; then it prints how to play it again.
"""

import logging
import sys

from flatlands.needs import packages

with packages("test"):
    from flatlands.testkit.search import Deed, Search, parser
    from tests.simulate.deeds import Plan, World, plan
    from tests.simulate.rule import check_end


def play(plan: Plan) -> int:
    """Play a world to its end; return the ms that all players played. Raises what goes wrong."""
    world = World(plan)
    try:
        for deed in plan.deeds:
            world.play(deed)
        world.play(Deed(0, "quiet", 0, 0, 0))
        # By then, players that lost their connection have left, even on a node whose clock stood
        # still.
        world.run(20_000)
        check_end(world)
        if world.gems is not None:
            world.gems.check_end()
    finally:
        world.end()
    return world.player_ms


search = Search(plan, play, "make simulate SEED=")


if __name__ == "__main__":
    given = parser("tests.simulate", __doc__).parse_args()
    logging.disable(logging.CRITICAL)
    sys.exit(search.run(given))
