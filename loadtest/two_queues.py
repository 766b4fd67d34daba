"""Measure how much the brokers carry without the game; docs/two-queues.md explains the command."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Replaces this folder, which Python puts first.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from flatlands.needs import packages

    with packages("swarm"):
        from flatlands.loadtest.studies.two_queues.study import main

    sys.exit(main())
