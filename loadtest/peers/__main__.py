"""Run the comparison: python -m loadtest.peers --help"""

import sys

from flatlands.needs import packages

with packages("swarm"):
    from flatlands.loadtest.peers.study import main

sys.exit(main())
