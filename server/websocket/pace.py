"""The share of the event loop's time that HTTP may take from players.

Whatever serves HTTP runs in turns: one begins where a greenlet goes on, and ends where it waits for
its socket or is done. All turns together get a share of each second; what is over waits: for each
address the longest first, and the addresses in turn, so that who asks for much waits for itself. It
knows nothing of requests.
"""

from collections import Counter, deque
from collections.abc import Hashable
from time import perf_counter
from typing import Any

import gevent
from gevent import get_hub
from gevent.hub import Waiter
from gevent.socket import socket as Socket

from server.limits import Guest

#: Seconds of HTTP that may go on at a stretch while nobody waits for it to pause.
SLICE = 0.002

#: A turn is not reckoned longer than this: a stall of the process is not the request's doing.
LONGEST = 0.1

#: Where a request's environ has its turn.
TURN = "flatlands.turn"

#: So many may wait for a turn, of all addresses. Who comes then is sent away.
QUEUE = 4000


class Pace:
    """See the module. `share` is from 0 to 1. Waits are counted as `http_waits`."""

    def __init__(self, share: float, stats: Counter[str]) -> None:
        self._share = share
        self._stats = stats
        #: When all that was used is paid for, in seconds of perf_counter.
        self._paid_at = 0.0
        #: Who waits, by its address; the address whose turn it is comes first.
        self._waiting: dict[Hashable, deque[Waiter[None]]] = {}
        self._number = 0
        self._timer: Any = None

    @property
    def crowded(self) -> bool:
        """Whether so many wait for a turn that no more should."""
        return self._number >= QUEUE

    def early(self) -> float:
        """Return for how many seconds no turn may begin; 0 or less where one may now."""
        return self._paid_at - perf_counter() - SLICE / self._share

    def wait(self, key: Hashable = None) -> None:
        """Return when a turn of an address may begin. Blocks the calling greenlet only if none may
        now."""
        if not self._waiting and self.early() <= 0:
            return
        self._stats["http_waits"] += 1
        waiter: Waiter[None] = Waiter()
        self._waiting.setdefault(key, deque()).append(waiter)
        self._number += 1
        self._set_timer()
        try:
            waiter.get()
        except BaseException:
            # A deadline, or the end of the greenlet.
            waiters = self._waiting.get(key)
            if waiters is not None and waiter in waiters:
                waiters.remove(waiter)
                self._number -= 1
                if not waiters:
                    del self._waiting[key]
            raise

    def pay(self, seconds: float) -> None:
        """A turn of so many seconds has ended."""
        now = perf_counter()
        self._stats["http_us"] += round(seconds * 1e6)
        self._paid_at = max(self._paid_at, now) + min(seconds, LONGEST) / self._share

    def _set_timer(self) -> None:
        if self._timer is None:
            loop = get_hub().loop
            loop.update_now()
            self._timer = loop.timer(max(self.early(), 0.0))
            self._timer.start(self._go_on)

    def _go_on(self) -> None:
        self._timer.close()
        self._timer = None
        while self._waiting and self.early() <= 0:
            key = next(iter(self._waiting))
            waiters = self._waiting.pop(key)
            waiter = waiters.popleft()
            self._number -= 1
            if waiters:
                # Behind all other addresses.
                self._waiting[key] = waiters
            # Its whole turn passes before this returns.
            waiter.switch(None)
        if self._waiting:
            self._set_timer()


class Turn:
    """The turn of one greenlet, which begins and ends many times.

    `key` is the address that it works for, as the limits count it (see Limits.key).
    """

    __slots__ = ("key", "_pace", "_since")

    def __init__(self, pace: Pace, key: Hashable = None) -> None:
        self.key = key
        self._pace = pace
        self._since = 0.0

    def begin(self) -> None:
        """Go on; waits where that is too early."""
        self._pace.wait(self.key)
        self._since = perf_counter()

    def end(self) -> None:
        """The greenlet is about to wait, or is done. More than once is no error."""
        if self._since:
            self._pace.pay(perf_counter() - self._since)
            self._since = 0.0

    def sleep(self, seconds: float) -> None:
        """Wait for something that costs nothing."""
        self.end()
        gevent.sleep(seconds)
        self.begin()

    def rest(self) -> None:
        """End a turn and begin another one."""
        self.end()
        self.begin()


class PacedSocket(Socket):
    """A socket whose greenlet is in its turn but while it waits for the socket."""

    __slots__ = ("turn", "guest")

    turn: Turn
    #: What the limits know it by; None once it is somebody else's.
    guest: Guest | None

    def _wait(self, *arguments: Any, **more: Any) -> None:
        self.turn.end()
        try:
            super()._wait(*arguments, **more)  # type: ignore[misc]
        finally:
            self.turn.begin()
