"""The costs of bench/micro.py with the sources and with the compiled modules, in turn.

Other programs on the machine thus trouble both alike. `python -m bench.both` measures once, with
the modules that it finds, and prints JSON.
"""

import json
import statistics
import sys
from collections.abc import Callable

from flatlands import compiled
from flatlands.loadtest.kit.processes import Program, Trouble

#: Each is measured so often.
TIMES = 5
#: One measurement may take so long.
WITHIN_SECONDS = 600.0

#: Cost -> its medians in us of CPU, interpreted and compiled.
Costs = dict[str, tuple[float, float]]


def measure(say: Callable[[str], None]) -> Costs:
    """Measure both in turn. Raises Trouble if there is nothing compiled, and Interrupted."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for turn in range(TIMES):
        say(f"  {turn + 1} of {TIMES}: interpreted, then compiled ...")
        for number, switch in enumerate(("no", "")):
            for name, cost in _once(switch).items():
                found.setdefault(name, ([], []))[number].append(cost)
    costs = {
        name: (statistics.median(before), statistics.median(after))
        for name, (before, after) in found.items()
    }
    say(f"\n{'us of CPU':45}{'interpreted':>12}{'compiled':>12}")
    for name, (before, after) in costs.items():
        say(f"{name:45}{before:>12.2f}{after:>12.2f}")
    return costs


def _once(switch: str) -> dict[str, float]:
    """Return the costs in a new process; `switch` is the value of COMPILED."""
    command = [sys.executable, "-m", "bench.both"]
    with Program(command, "bench/micro.py", environment={compiled.SWITCH: switch}) as program:
        line = program.line(WITHIN_SECONDS)
        if line is None:
            raise Trouble(f"bench/micro.py has measured nothing: {program.last_words()}")
    answer = json.loads(line)
    if answer["compiled"] != (switch != "no"):
        raise Trouble("there are no compiled modules that fit the sources: run make fast")
    return dict(answer["costs"])


if __name__ == "__main__":
    compiled.use()
    from bench import micro

    print(json.dumps({"compiled": compiled.used(), "costs": micro.measure()}))
