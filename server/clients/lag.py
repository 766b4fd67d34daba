"""How far one client is behind: which flushes it has acknowledged, and since when it lags.

A client acknowledges flushes with its pings, at least once a second while there are flushes. This
module only counts: what a client that lags is told, and when it has caught up, is in session.py.
"""

from typing import Final

from flatlands.server.loop import Loop
from flatlands.server.messages.protocol import Refused

#: A client that has not acknowledged a flush for this many ms is late by a second or more: it lags.
LAGGING_AFTER: Final = 2000

#: A client also lags if this many bytes are not acknowledged.
LAGGING_BYTES = 256 * 1024


class Lag:
    """See the module."""

    __slots__ = (
        "since",
        "sent",
        "earlier",
        "_loop",
        "_mark",
        "_marked",
        "_marked_bytes",
        "_later_bytes",
    )

    def __init__(self, loop: Loop) -> None:
        #: Node time in ms since which the client lags, or None.
        self.since: int | None = None
        #: The number of the last flush that was sent, and of the last one that another worker had
        #: sent before it passed the player on.
        self.sent = self.earlier = 0
        self._loop = loop
        # A mark, the oldest flush not acknowledged (0: all are). Then the node time at which the
        # mark was sent, the bytes up to it, and those since.
        self._mark = self._marked = self._marked_bytes = self._later_bytes = 0

    @property
    def acknowledged(self) -> bool:
        """Whether all flushes that were sent are acknowledged."""
        return not self._mark

    def send(self, number: int, size: int, now: int) -> bool:
        """Note that a flush of so many bytes was sent at the node time `now`; return whether the
        client lags with that."""
        self.sent = number
        if not self._mark:
            self._mark, self._marked, self._marked_bytes = number, now, size
            return False
        self._later_bytes += size
        if self._marked_bytes + self._later_bytes > LAGGING_BYTES:
            return True
        waited = now - self._marked
        # While this server is late, the acknowledgement may have come and is still to be read.
        return waited > LAGGING_AFTER and waited > LAGGING_AFTER + self._loop.late()

    def acknowledge(self, number: int) -> None:
        """Note that the client has received all flushes up to a number. Raises Refused."""
        if number > self.sent:
            if number <= self.earlier:
                # It was under way when the player was passed on.
                return
            raise Refused("flush", "only a flush that was sent can be acknowledged")
        if self._mark and number >= self._mark:
            if number == self.sent:
                self._mark = self._marked_bytes = self._later_bytes = 0
            else:
                self._mark, self._marked = self.sent, self._loop.now()
                self._marked_bytes, self._later_bytes = self._later_bytes, 0
