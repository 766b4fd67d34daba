"""A clock that only the test moves, and a node's event loop with its timers in the time of it."""

import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from heapq import heappop, heappush
from operator import itemgetter

from gevent.event import AsyncResult
from greenlet import GreenletExit, getcurrent, greenlet

from flatlands.server.runtime.loop import BEAT_MS, FORGIVE_FOR_MS, STALL_MS, Loop


class HookGreenlet(greenlet):
    """A hook of a game that may wait. Whoever begins it goes on when it ends, or waits."""


def begin(call: Callable[..., object], *arguments: object) -> None:
    """Call what may wait, until it ends or waits for another node."""
    raised = HookGreenlet(call).switch(*arguments)
    if isinstance(raised, GreenletExit):
        raise raised


class ManualResult:
    """A result that a hook waits for: see Loop.result."""

    def __init__(self) -> None:
        self._value: list[object] = []
        self._waits: greenlet | None = None

    def get(self) -> object:
        """Wait for the value. Raises RuntimeError where nobody may wait."""
        if not self._value:
            self._waits = getcurrent()
            if not isinstance(self._waits, HookGreenlet) or self._waits.parent is None:
                raise RuntimeError("only a hook that may wait can wait for an answer")
            self._waits.parent.switch()
        return self._value[0]

    def set(self, value: object) -> None:
        """Give the value to whoever waits for it."""
        if not self._value:
            self._value.append(value)
            if self._waits is not None:
                self._waits.parent = getcurrent()
                self._waits.switch()


class ManualLock:
    """What only one hook at a time passes: see Loop.lock."""

    def __init__(self) -> None:
        self._taken = False
        self._waiting: deque[ManualResult | AsyncResult[None]] = deque()

    def __enter__(self) -> None:
        while self._taken:
            # Tests of the store's client have greenlets of gevent.
            hook = isinstance(getcurrent(), HookGreenlet)
            self._waiting.append(ManualResult() if hook else AsyncResult())
            self._waiting[-1].get()
        self._taken = True

    def __exit__(self, *_: object) -> None:
        self._taken = False
        if self._waiting:
            self._waiting.popleft().set(None)


class Clock:
    """The time of a harness in ms, which only the test moves."""

    def __init__(self) -> None:
        self.time = 1_700_000_000_000


class ManualLoop:
    """A server.runtime.loop.Loop in a harness's time. Its node's clock is `skew` ms ahead."""

    def __init__(self, clock: Clock, skew: int = 0) -> None:
        self.stats: Counter[str] = Counter()
        #: What was measured -> the us that it took, each time.
        self.durations: defaultdict[str, list[int]] = defaultdict(list)
        self.clock = clock
        self.skew = skew
        self.measured = 0.0
        #: ms for which this node has just stood still, as `recent_stall_ms` returns it.
        self.stall_ms = 0
        #: ms by which its last beat was late.
        self.lag_ms = 0
        #: When it turned last; its turns before and after it stood still.
        self._turned: int | None = None
        self._stall_span = 0, -FORGIVE_FOR_MS
        self._phase = self.now() % 1000
        #: Seconds by which each call of `seconds` is later than the last one.
        self.cost = 0.0
        #: If it is set, it shuffles the callbacks of a turn.
        self.chance: random.Random | None = None
        #: Whether failures are only counted, as in the real loop.
        self.forgiving = False
        #: Called after each thing that the node does: a callback, or taking a message.
        self.on_done: Callable[[], None] = lambda: None
        self._soon: list[Callable[[], object]] = []
        #: A heap of the timers that were set: the node time, the timer's number, and itself. One
        #: that was set again since is in it twice.
        self._timers: list[tuple[int, int, ManualTimer]] = []
        self._made = 0

    @property
    def time(self) -> int:
        return self.clock.time

    def now(self) -> int:
        return self.clock.time + self.skew

    def at(self, monotonic: float) -> int:
        return round(monotonic * 1000) + self.skew

    def recent_stall_ms(self) -> int:
        return self.stall_ms

    def stall_span(self) -> tuple[int, int] | None:
        now = self.now()
        if self._turned is not None and now - self._turned > BEAT_MS + STALL_MS:
            return self._turned, now
        return self._stall_span if now < self._stall_span[1] + FORGIVE_FOR_MS else None

    def seconds(self) -> float:
        self.measured += self.cost
        return self.measured

    def observe(self, what: str, us: int) -> None:
        self.durations[what].append(us)

    def call_soon(self, callback: Callable[[], object]) -> None:
        self._soon.append(callback)

    def guarded(self, callback: Callable[..., None], *arguments: object) -> None:
        try:
            callback(*arguments)
        except Exception:
            self.failed()

    def failed(self) -> None:
        """Fail the test, unless it is about failures."""
        self.stats["errors"] += 1
        if not self.forgiving:
            raise

    def result(self) -> ManualResult:
        return ManualResult()

    def lock(self) -> ManualLock:
        return ManualLock()

    def timer(self, callback: Callable[[], None]) -> "ManualTimer":
        self._made += 1
        return ManualTimer(self._timers, self._made, callback)

    def keep_running(self, name: str, run: Callable[[], None]) -> None:
        """Do nothing: the harness receives instead."""

    every = Loop.every
    deferral_ms = Loop.deferral_ms
    schedule_batches = Loop.schedule_batches

    def turn(self) -> bool:
        """Call the callbacks that are due now; return False if there were none."""
        callbacks, self._soon = self._soon, []
        now = self.now()
        if (span := self.stall_span()) is not None:
            self._stall_span = span
        self._turned = now
        due = []
        while (at := self._soonest()) is not None and at <= now:
            _, number, timer = heappop(self._timers)
            timer.at = None
            due.append((number, timer.callback))
        # In the order in which they were made.
        callbacks += [callback for _, callback in sorted(due, key=itemgetter(0))]
        if self.chance is not None and len(callbacks) > 1:
            self.chance.shuffle(callbacks)
        for callback in callbacks:
            callback()
            self.on_done()
        return bool(callbacks)

    def next(self) -> int | None:
        """Return the harness's time at which the next timer goes off, or None."""
        due = self._soonest()
        return None if due is None else due - self.skew

    def _soonest(self) -> int | None:
        """Return the node time of the next timer, which is then the first of the heap, or None."""
        timers = self._timers
        while timers and timers[0][2].at != timers[0][0]:
            heappop(timers)
        return timers[0][0] if timers else None


class ManualTimer:
    """A server.runtime.loop.Timer in a harness's time."""

    def __init__(
        self,
        timers: "list[tuple[int, int, ManualTimer]]",
        number: int,
        callback: Callable[[], None],
    ) -> None:
        self._timers, self._number = timers, number
        self.callback = callback
        self.at: int | None = None

    def set(self, at: int | None) -> None:
        self.at = at
        if at is not None:
            heappush(self._timers, (at, self._number, self))
