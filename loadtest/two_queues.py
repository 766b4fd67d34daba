"""Measure how much the brokers carry without the game; docs/two-queues.md explains the command."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Instead of this folder, which Python puts there.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from flatlands.needs import packages

    with packages("swarm"):
        from flatlands.loadtest.queues.study import main

    sys.exit(main())
