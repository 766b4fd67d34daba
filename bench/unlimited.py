"""`python -m server` that listens to any number of other nodes: python -m bench.unlimited.

A server listens to 256 others, because more of them are likely to be forged. What more would cost
can only be measured without that limit. Everything else is as it is.
"""

import sys

from server.__main__ import main  # isort: skip  (it patches the sockets of what comes after it)

from server.squares import peers

peers.NODES_LIMIT = 1_000_000

if __name__ == "__main__":
    sys.exit(main())
