"""`python -m loadtest.studies NAME [OPTION ...]`: one of the studies.

The others have commands of their own: two_queues.py and work_queues.py in the folder above, and
bots.py --scenario idle.
"""

import sys
from collections.abc import Sequence
from importlib import import_module

from flatlands import compiled
from flatlands.needs import packages

#: Name of a study -> its module in this folder.
STUDIES = {
    "atlas": "atlas",
    "floods": "floods",
    "growth": "growth.study",
    "overload": "overload",
    "peers": "peers.study",
    "rows": "rows",
    "uniform": "uniform",
}


def main(arguments: Sequence[str]) -> int:
    """Begin the study that is named; return the exit code."""
    name, *rest = arguments or [""]
    if name not in STUDIES:
        print(f"usage: python -m loadtest.studies {{{','.join(STUDIES)}}} [--help] [OPTION ...]")
        return 0 if name in ("--help", "-h") else 2
    # A node in this process is made of the modules that a server would use, compiled or not.
    compiled.use()
    with packages("swarm"):
        study = import_module(f"flatlands.loadtest.studies.{STUDIES[name]}")
    code: int = study.main(rest)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
