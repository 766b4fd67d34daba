"""A WebSocket echo server on a free port of loopback, for the tests and Autobahn.

    python tests/server/echo_server.py [--max-message BYTES] [--protocol NAME] [--quiet]
        [--impatient] [--trusted-proxies NETWORKS] [--light-burst FRAMES]

It prints its port, and "closed CODE REASON" for every connection that has ended. It sends text and
binary messages back. A text message that begins with a slash is a command:

    /close CODE REASON   the server closes
    /big BYTES           one binary message of that size comes back, byte n is n modulo 251
    /fail                the handler raises
    /abort               the server ends TCP
    /address             the client's address comes back
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from flatlands.server.limits import Limits, Proxies, Rate  # noqa: E402
from flatlands.server.websocket import connection, frames, handshake, listener  # noqa: E402
from flatlands.server.websocket.connection import Connection  # noqa: E402


def pattern(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


class Echo:
    """Sends messages back. What the connection refuses waits here, without a bound: only a test may
    do that."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.waiting: list[bytes] = []
        connection.on_message = self.on_message
        connection.on_drain = self.on_drain

    def on_message(self, opcode: int, payload: bytes) -> None:
        if opcode == frames.TEXT and payload.startswith(b"/"):
            self.obey(*payload.decode().split(" ", 2))
        else:
            self.send(frames.frame(payload, opcode))

    def obey(self, command: str, *words: str) -> None:
        if command == "/close":
            self.connection.close(int(words[0]), words[1])
        elif command == "/big":
            self.send(frames.frame(pattern(int(words[0]))))
        elif command == "/fail":
            raise RuntimeError("asked to fail")
        elif command == "/abort":
            self.connection.abort()
        elif command == "/address":
            self.send(frames.frame(self.connection.address.encode(), frames.TEXT))

    def send(self, data: bytes) -> None:
        if self.waiting or not self.connection.send(data):
            self.waiting.append(data)

    def on_drain(self) -> None:
        while self.waiting and self.connection.send(self.waiting[0]):
            del self.waiting[0]


def report(code: int, reason: str) -> None:
    print("closed", code, reason, flush=True)


def page(environ: dict, start_response):
    body = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}\n".encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--max-message", type=int, default=4096)
    options.add_argument("--protocol", default=None)
    options.add_argument("--quiet", action="store_true")
    options.add_argument("--impatient", action="store_true", help="with short timeouts")
    options.add_argument("--trusted-proxies", default="")
    options.add_argument("--light-burst", type=int, default=connection.LIGHT.burst)
    given = options.parse_args()
    connection.LIGHT = Rate("frames", connection.LIGHT.rate, given.light_burst)
    if given.impatient:
        handshake.HEAD_TIMEOUT = handshake.ANSWER_TIMEOUT = 0.3
        connection.CLOSE_TIMEOUT = 0.5

    def accept(accepted: Connection, _environ: dict) -> None:
        Echo(accepted)
        if not given.quiet:
            accepted.on_close = report

    server = listener.WebSocketServer(
        ("127.0.0.1", 0),
        page,
        accept,
        protocol=given.protocol,
        max_message=given.max_message,
        limits=Limits(Counter(), proxies=Proxies(given.trusted_proxies)),
    )
    server.start()
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
