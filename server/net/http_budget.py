"""Limits the share of the event loop's time that HTTP may take from players.

Greenlets that serve HTTP run in turns. A turn begins when a greenlet goes on, and ends when it
waits for its socket or is done. All turns together get a share of each second; then greenlets wait.
The addresses get turns one after the other, and within an address the greenlet that has waited
longest is first. So an address that asks for much makes only itself wait.
"""

from collections import Counter, deque
from collections.abc import Hashable
from time import perf_counter
from typing import Any

import gevent
from gevent import get_hub
from gevent.hub import Waiter
from gevent.socket import socket as Socket

from flatlands.server.runtime.limits import LimitedConnection

#: How long HTTP may run at a stretch.
SLICE_S = 0.002

#: The most that a turn counts for: if the process was stalled, the request is not to blame.
TURN_MOST_S = 0.1

#: The key of the turn in a request's environ.
TURN_KEY = "flatlands.turn"

#: Requests that may wait for a turn. Further ones are refused.
REQUESTS_WAITING_MOST = 4000


class TimeBudget:
    """Gives turns to the greenlets that serve HTTP, which together get a `share` of the time, from
    0 to 1. Waits are counted as `http_waits` in `stats`."""

    def __init__(self, share: float, stats: Counter[str]) -> None:
        self._share = share
        self._stats = stats
        #: The time, in seconds of perf_counter, at which all time used is paid for.
        self._paid_at = 0.0
        #: Address -> the greenlets that wait. The address that gets the next turn comes first.
        self._waiting: dict[Hashable, deque[Waiter[None]]] = {}
        self._number = 0
        self._timer: Any = None

    @property
    def crowded(self) -> bool:
        """Whether as many requests wait for a turn as may."""
        return self._number >= REQUESTS_WAITING_MOST

    def seconds_until_turn(self) -> float:
        """Return the seconds until a turn may begin; 0 or less if one may begin now."""
        return self._paid_at - perf_counter() - SLICE_S / self._share

    def wait(self, key: Hashable = None) -> None:
        """Wait until a turn of an address may begin. Does not block if it may begin now."""
        if not self._waiting and self.seconds_until_turn() <= 0:
            return
        self._stats["http_waits"] += 1
        waiter: Waiter[None] = Waiter()
        self._waiting.setdefault(key, deque()).append(waiter)
        self._number += 1
        self._set_timer()
        try:
            waiter.get()
        except BaseException:
            # A deadline has passed, or the greenlet is killed.
            waiters = self._waiting.get(key)
            if waiters is not None and waiter in waiters:
                waiters.remove(waiter)
                self._number -= 1
                if not waiters:
                    del self._waiting[key]
            raise

    def pay(self, seconds: float) -> None:
        """Note that a turn of `seconds` seconds has ended."""
        now = perf_counter()
        self._stats["http_us"] += round(seconds * 1e6)
        self._paid_at = max(self._paid_at, now) + min(seconds, TURN_MOST_S) / self._share

    def _set_timer(self) -> None:
        if self._timer is None:
            loop = get_hub().loop
            loop.update_now()
            self._timer = loop.timer(max(self.seconds_until_turn(), 0.0))
            self._timer.start(self._go_on)

    def _go_on(self) -> None:
        self._timer.close()
        self._timer = None
        while self._waiting and self.seconds_until_turn() <= 0:
            key = next(iter(self._waiting))
            waiters = self._waiting.pop(key)
            waiter = waiters.popleft()
            self._number -= 1
            if waiters:
                # This address comes behind all others.
                self._waiting[key] = waiters
            # This returns when the whole turn is over.
            waiter.switch(None)
        if self._waiting:
            self._set_timer()


class Turn:
    """The turn of one greenlet, which begins and ends many times.

    `key` is the address that it works for, as the limits count it (see Limits.key).
    """

    __slots__ = ("key", "_budget", "_since")

    def __init__(self, budget: TimeBudget, key: Hashable = None) -> None:
        self.key = key
        self._budget = budget
        self._since = 0.0

    def begin(self) -> None:
        """Begin a turn, and wait if that is too early."""
        self._budget.wait(self.key)
        self._since = perf_counter()

    def end(self) -> None:
        """End the turn: the greenlet is about to wait, or is done. To end it twice is no error."""
        if self._since:
            self._budget.pay(perf_counter() - self._since)
            self._since = 0.0

    def sleep(self, seconds: float) -> None:
        """Wait for some seconds between two turns."""
        self.end()
        gevent.sleep(seconds)
        self.begin()

    def rest(self) -> None:
        """End the turn and begin another one."""
        self.end()
        self.begin()


class BudgetedSocket(Socket):
    """A socket whose greenlet ends its turn whenever it waits for the socket."""

    __slots__ = ("turn", "limited")

    turn: Turn
    #: The connection in the limits; None once the socket was handed to a Connection.
    limited: LimitedConnection | None

    def _wait(self, *arguments: Any, **more: Any) -> None:
        self.turn.end()
        try:
            super()._wait(*arguments, **more)  # type: ignore[misc]
        finally:
            self.turn.begin()
