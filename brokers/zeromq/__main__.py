"""`python -m brokers.zeromq`: the forwarder."""

import sys

from brokers.zeromq.forwarder import main

if __name__ == "__main__":
    sys.exit(main())
