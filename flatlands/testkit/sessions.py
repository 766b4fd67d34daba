"""Sessions of a node whose clients have no sockets, for measurements: only the node costs CPU."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from flatlands.server.clients.admission import Admission
from flatlands.server.clients.handlers import KINDS
from flatlands.server.clients.session import Session
from flatlands.server.clients.tokens import Tokens
from flatlands.server.node import Node
from flatlands.server.runtime.limits import Limits


class NoSocket:
    """A connection that discards whatever is sent."""

    def __init__(self) -> None:
        self.on_message: Callable[[int, bytes], object] = lambda *_: None
        self.on_drain: Callable[[], object] = lambda: None
        self.open, self.backlogged, self.more = True, False, False
        self.address = "192.0.2.1"
        self.bytes_out = 0

    @property
    def last_heard(self) -> float:
        """The time of the client's last sign of life: now, so that its walk goes on."""
        return time.monotonic()

    def send(self, data: bytes) -> bool:
        """Count the bytes, and discard them."""
        self.bytes_out += len(data)
        return True

    send_control = send

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Fail: a session that is refused spoils the measurement."""
        raise AssertionError((code, reason))


def session_factory(node: Node, stats: Counter[str], capacity: int) -> Callable[[Any], Session]:
    """Return a function that makes a connection's session at a node for `capacity` players."""
    tokens, limits = Tokens(None), Limits(stats, per_address=0)
    admission = Admission(node, tokens, limits, capacity=capacity)
    return lambda connection: Session(connection, node, admission, tokens, limits, KINDS)
