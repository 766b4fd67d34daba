"""Stress a Flatlands server with a swarm of clients: python loadtest/bots.py --help"""

import sys
from pathlib import Path

# A script's own folder comes first in the path: the project's is wanted.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from loadtest.swarm.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
