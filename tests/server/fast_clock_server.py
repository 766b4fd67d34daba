"""`python -m server` on a machine whose clock is fast."""

import sys
import time

#: By so many seconds.
FAST = 5.0

if __name__ == "__main__":
    right = time.time
    time.time = lambda: right() + FAST

    # What this imports patches the sockets of what comes after it.
    from flatlands.server.__main__ import main

    sys.exit(main())
