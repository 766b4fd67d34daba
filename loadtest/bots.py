"""Stress a Flatlands server with a swarm of clients: python loadtest/bots.py --help"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Replaces this folder, which Python puts first.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from flatlands.needs import packages

    with packages("swarm"):
        from flatlands.loadtest.swarm.command import main

    sys.exit(main())
