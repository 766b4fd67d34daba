"""Run the comparison: python -m loadtest.peers --help"""

import sys

from needs import packages

with packages("swarm"):
    from loadtest.peers.command import main

sys.exit(main())
