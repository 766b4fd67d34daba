"""`python -m tests.simulate`: play random worlds for some time; shrink and show one that fails.

Ends with 1 where a world breaks the rule of docs/nodes.md, and says how to play it again.
"""

import sys
import time
import traceback

from needs import packages

with packages("test"):
    from tests import seeds
    from tests.simulate.deeds import Deed, Plan, World, plan
    from tests.simulate.rule import check_end

#: A plan that was shrunk has at most so many deeds, or is said to be longer.
SHORT = 15

#: Seconds that shrinking one plan may take.
SHRINK_WITHIN = 60


def play(plan: Plan) -> int:
    """Play a world to its end; return the ms that players played in it. Raises what goes wrong."""
    world = World(plan)
    for deed in plan.deeds:
        world.play(deed)
    world.play(Deed(0, "quiet", 0, 0, 0))
    # Those who lost their connection have parted by now, also where a clock stood still.
    world.run(20_000)
    check_end(world)
    return world.player_ms


def fails(plan: Plan) -> str:
    """Return what goes wrong in a world, in one line; nothing where all goes well."""
    try:
        play(plan)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def shrink(plan: Plan, until: float) -> Plan:
    """Return the shortest plan that still fails which can be found until a time."""
    # What comes after the first quiet in which something is wrong does not matter.
    for n, deed in enumerate(plan.deeds):
        if deed.what == "quiet" and fails(plan._replace(deeds=plan.deeds[:n])):
            plan = plan._replace(deeds=plan.deeds[:n])
            break
    plan = _leave_out(plan, until, 1)
    if len(plan.deeds) > SHORT:
        # Without a deed everything else happens by other chances: some more are tried.
        plan = _leave_out(plan, until, 5)
    return _hasten(plan, until)


def _leave_out(plan: Plan, until: float, chances: int) -> Plan:
    """Leave out deeds, many at once and then single ones, as long as the world still fails."""
    size = max(len(plan.deeds) // 2, 1)
    while size and time.monotonic() < until:
        at, shorter = 0, False
        while at < len(plan.deeds) and time.monotonic() < until:
            deeds = plan.deeds[:at] + plan.deeds[at + size :]
            tries = (Plan(plan.seed + n, *plan[1:4], deeds) for n in range(chances))
            less = next((less for less in tries if fails(less)), None)
            if less is not None:
                plan, shorter = less, True
            else:
                at += size
        if not shorter:
            size //= 2
    return plan


def _hasten(plan: Plan, until: float) -> Plan:
    """Shorten the waits, as long as the world still fails."""
    for n, deed in enumerate(plan.deeds):
        for wait in (0, deed.wait // 2):
            if wait < plan.deeds[n].wait and time.monotonic() < until:
                quicker = plan.deeds[:n] + (deed._replace(wait=wait),) + plan.deeds[n + 1 :]
                if fails(plan._replace(deeds=quicker)):
                    plan = plan._replace(deeds=quicker)
                    break
    return plan


def show(plan: Plan, why: str) -> None:
    """Print a world that fails."""
    print(f"\nThe world of seed {plan.seed} breaks: {why}")
    print(f"{plan.nodes} nodes, clocks {plan.skew} ms apart, free ground: {plan.free}")
    for deed in plan.deeds:
        print(f"  after {deed.wait:5} ms  {deed.what:18} {deed.a:5} {deed.b:5} {deed.c:5}")


def main() -> int:
    """Play worlds for as long as the command line says; return 1 where one breaks the rule."""
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
