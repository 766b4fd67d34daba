"""A server that sends each message back, for the Autobahn test suite (autobahn.py).

    python tests/server/echo_server.py MAX_MESSAGE

It writes its port to standard output.
"""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from flatlands.server.limits import Rate
from flatlands.server.websocket import connection
from flatlands.server.websocket.frames import frame
from flatlands.server.websocket.listener import WebSocketServer


class Echo:
    """Sends back what comes, as soon as what came before is sent."""

    def __init__(self, accepted: connection.Connection) -> None:
        self.connection = accepted
        self.waiting: deque[bytes] = deque()
        accepted.on_message = self.on_message
        accepted.on_drain = self.on_drain

    def on_message(self, opcode: int, payload: bytes) -> None:
        self.waiting.append(frame(payload, opcode))
        self.on_drain()

    def on_drain(self) -> None:
        while self.waiting and self.connection.send(self.waiting[0]):
            self.waiting.popleft()


if __name__ == "__main__":
    # The suite sends more empty frames than any page.
    connection.LIGHT = Rate("frames", 20, 1_000_000)
    server = WebSocketServer(
        ("127.0.0.1", 0),
        lambda environ, start: [],
        lambda accepted, _environ: Echo(accepted),
        protocol=None,
        max_message=int(sys.argv[1]),
    )
    server.start()
    print(server.server_port, flush=True)
    server.serve_forever()
