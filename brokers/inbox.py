"""The queue of messages that have arrived but have not been received yet.

It is bounded and in order. It never loses a message without a Reset of its channel.
"""

from collections import deque
from collections.abc import Iterable

from gevent.event import Event

from flatlands.brokers.base import BrokerClosed, Counters, Message, Reset

#: Messages and Resets that may wait for the receiver. Further messages are dropped, and a Reset
#: says so.
QUEUE_LIMIT = 65536


class Inbox:
    """A queue into which any greenlet puts messages without waiting, and from which one receives.

    `counters` are those of the broker.
    """

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._queue: deque[Message | Reset] = deque()
        self._arrived = Event()
        self._closed = False

    def put(self, message: Message) -> None:
        """Add a message; if the queue is full, count it as dropped and add a Reset instead."""
        if len(self._queue) < QUEUE_LIMIT:
            self._queue.append(message)
            self._wake()
        else:
            self._counters.dropped += 1
            self.reset((message.channel,))

    def reset(self, channels: Iterable[str] | None) -> None:
        """Add a Reset of these channels (None: of all); join it to a Reset at the queue's end."""
        last = self._queue[-1] if self._queue else None
        if not isinstance(last, Reset):
            last = Reset()
            self._queue.append(last)
        if channels is None:
            last.channels = None
        elif last.channels is not None:
            last.channels.update(channels)
        self._wake()

    def get(self, timeout: float | None) -> Message | Reset | None:
        """Return the next item as `Broker.receive` promises."""
        while not self._queue:
            self.check_open()
            self._arrived.clear()
            if not self._arrived.wait(timeout) and not self._queue:
                return None
        self.check_open()
        item = self._queue.popleft()
        if isinstance(item, Message):
            self._counters.received += 1
        return item

    def close(self) -> None:
        """Wake the receiver; from now on it gets BrokerClosed."""
        self._closed = True
        self._arrived.set()

    def check_open(self) -> None:
        """Raise BrokerClosed if it was closed."""
        if self._closed:
            raise BrokerClosed("the broker was closed")

    def _wake(self) -> None:
        if not self._arrived.is_set():
            self._arrived.set()
