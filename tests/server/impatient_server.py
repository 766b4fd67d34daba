"""`python -m server` with little patience: its round takes half a second, and nobody may be silent
for longer than one and a half."""

import sys

from flatlands.server.__main__ import main  # isort: skip  (it patches the sockets of what comes after it)

from flatlands.server import app

app.ROUND, app.ROUND_TURNS = 0.5, 5
app.PING_AFTER, app.DEAD_AFTER = 0.3, 1.5

if __name__ == "__main__":
    sys.exit(main())
