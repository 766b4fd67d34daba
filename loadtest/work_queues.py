"""Measure work queues, in Redis and in the game's stores; docs/work-queues.md explains it."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Replaces this folder, which Python puts first.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from flatlands.needs import packages

    with packages("swarm"):
        from flatlands.loadtest.studies.work_queues.study import main

    sys.exit(main())
