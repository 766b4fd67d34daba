"""`python -m tests.simulate`: play random worlds for some time; shrink and show one that fails.

The exit code is 1 if a world breaks the rule of docs/nodes.md; then it prints how to play it again.
"""

import sys
import time
import traceback

from flatlands.needs import packages

with packages("test"):
    from tests import seeds
    from tests.simulate.deeds import Deed, Plan, World, plan
    from tests.simulate.rule import check_end

#: A shrunk plan with more deeds than this is shrunk once more, with more tries.
SHORT = 15

#: Seconds that shrinking one plan may take.
SHRINK_WITHIN = 60


def play(plan: Plan) -> int:
    """Play a world to its end; return the ms played by all players. Raises what goes wrong."""
    world = World(plan)
    try:
        for deed in plan.deeds:
            world.play(deed)
        world.play(Deed(0, "quiet", 0, 0, 0))
        # By then players that lost their connection have left, even on a node whose clock stood
        # still.
        world.run(20_000)
        check_end(world)
        if world.gems is not None:
            world.gems.check_end()
    finally:
        world.end()
    return world.player_ms


def fails(plan: Plan) -> str:
    """Play a world; return what goes wrong in one line, or an empty text."""
    try:
        play(plan)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def shrink(plan: Plan, until: float) -> Plan:
    """Return the shortest plan that still fails and that is found before the time `until`."""
    # Deeds after the first quiet in which something is wrong do not matter.
    for n, deed in enumerate(plan.deeds):
        if deed.what == "quiet" and fails(plan._replace(deeds=plan.deeds[:n])):
            plan = plan._replace(deeds=plan.deeds[:n])
            break
    plan = _leave_out(plan, until, 1)
    if len(plan.deeds) > SHORT:
        # Without a deed everything after it is drawn differently, so several seeds are tried.
        plan = _leave_out(plan, until, 5)
    return _hasten(plan, until)


def _leave_out(plan: Plan, until: float, chances: int) -> Plan:
    """Leave out deeds, first many at once and then single ones, while the world still fails.

    `chances` is the number of seeds that are tried without them.
    """
    size = max(len(plan.deeds) // 2, 1)
    while size and time.monotonic() < until:
        at, shorter = 0, False
        while at < len(plan.deeds) and time.monotonic() < until:
            deeds = plan.deeds[:at] + plan.deeds[at + size :]
            tries = (plan._replace(seed=plan.seed + n, deeds=deeds) for n in range(chances))
            less = next((less for less in tries if fails(less)), None)
            if less is not None:
                plan, shorter = less, True
            else:
                at += size
        if not shorter:
            size //= 2
    return plan


def _hasten(plan: Plan, until: float) -> Plan:
    """Shorten the waits while the world still fails."""
    for n, deed in enumerate(plan.deeds):
        for wait in (0, deed.wait // 2):
            if wait < plan.deeds[n].wait and time.monotonic() < until:
                quicker = plan.deeds[:n] + (deed._replace(wait=wait),) + plan.deeds[n + 1 :]
                if fails(plan._replace(deeds=quicker)):
                    plan = plan._replace(deeds=quicker)
                    break
    return plan


def show(plan: Plan, why: str) -> None:
    """Print a plan that fails, and why."""
    print(f"\nThe world of seed {plan.seed} breaks: {why}")
    print(f"{plan.nodes} nodes, clocks {plan.skew} ms apart", end=", ")
    print(f"free ground: {plan.free}, a herd: {plan.herd}, rare heartbeats: {plan.rare}", end=", ")
    print(f"crowds: {plan.crowds}, one machine: {plan.machine}", end=", ")
    print(f"gems: {plan.gems}, cells: {plan.cells}")
    for deed in plan.deeds:
        print(f"  after {deed.wait:5} ms  {deed.what:18} {deed.a:5} {deed.b:5} {deed.c:5}")


def main() -> int:
    """Play worlds for as long as the command line says; return the exit code."""
    given = seeds.read("tests.simulate", __doc__)
    started, seed = time.monotonic(), 0
    worlds = player_ms = 0
    for seed in seeds.rounds(given, lambda played: f"{played} worlds"):
        world = plan(seed)
        try:
            player_ms += play(world)
        except Exception as error:
            took = time.monotonic() - started
            print(f"{worlds} worlds were right; then, after {took:.1f} s:", flush=True)
            traceback.print_exception(error, limit=-4)
            short = shrink(world, time.monotonic() + SHRINK_WITHIN)
            show(short, fails(short))
            print(f"Play it again: make simulate SEED={seed}")
            return 1
        worlds += 1
    hours = player_ms / 3_600_000
    print(f"all right: {worlds} worlds, {hours:.1f} player-hours, seeds up to {seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
