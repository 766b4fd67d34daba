"""`python -m brokers.zeromq`: the forwarder."""

import sys

from flatlands.needs import packages

with packages("play"):
    from flatlands.brokers.zeromq.forwarder import main

if __name__ == "__main__":
    sys.exit(main())
