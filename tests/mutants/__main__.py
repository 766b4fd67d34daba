"""`python -m tests.mutants`: change the code in small ways, one at a time; does a test fail?

It prints each change that no test notices, and the share of changes that a test notices. Only tests
that start no program are run, and of these only the ones that execute the changed line.
"""

import argparse
import os
import sys
from pathlib import Path

from flatlands.needs import packages

with packages("test"):
    import pytest

    from tests.mutants.run import Mutants

ROOT = Path(__file__).resolve().parent.parent.parent

#: Random worlds of several nodes, among them such as lose messages.
WORLDS = "tests/simulate/test_simulate.py::test_the_world_of_a_seed_is_right"

#: File whose code is changed -> the tests that are run.
TARGETS = {
    **{
        f"world/{name}.py": [f"tests/world/test_{name}.py"] for name in ("grid", "terrain", "track")
    },
    **{f"world/{name}.py": ["tests/world/test_events.py"] for name in ("batches", "replica")},
    **{
        f"server/squares/{name}.py": [
            *(
                f"tests/server/test_{tested}.py"
                for tested in (
                    "node",
                    "nodes",
                    "hub",
                    "outbox",
                    "promises",
                    "readiness",
                    "ghosts",
                    "session",
                )
            ),
            WORLDS,
        ]
        for name in (
            "square",
            "hub",
            "outbox",
            "peers",
            "replicas",
            "context",
            "sync",
        )
    },
    "server/players/takeovers.py": [
        *(f"tests/server/test_{name}.py" for name in ("nodes", "promises", "ghosts")),
        WORLDS,
    ],
}


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long at most (default 600)")
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], help="default: all")
    given = parser.parse_args()
    targets = given.targets or list(TARGETS)
    for target in targets:
        path = ROOT / "flatlands" / target
        plugin = Mutants(path, given.seconds / len(targets), os.cpu_count() or 1)
        options = ["-q", "-p", "no:cacheprovider", "--no-header", "--hypothesis-profile=mutants"]
        options += ["-m", "not (process or browser or load)"]
        pytest.main([*options, *TARGETS[target]], [plugin])
        killed = plugin.tried - len(plugin.survivors)
        share = killed / plugin.tried if plugin.tried else 0.0
        print(f"{target}: {killed} of {plugin.tried} killed ({share:.0%}), of {plugin.of} in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
