"""`memory://NAME`: a broker within one process, for a single node or for tests of several nodes;
and `null://`, a black hole.

All brokers in one process that were opened with the same URL receive each other's messages. Nothing
ever leaves the process, so a server with several workers cannot use this broker.
"""

from collections.abc import Iterable

from flatlands.brokers.base import Broker, LinkHealth, Message, Reset, check_payload
from flatlands.brokers.inbox import Inbox

_Subscribers = dict[str, list["MemoryBroker"]]

#: URL -> channel -> the brokers that are subscribed to it, each once.
_buses: dict[str, _Subscribers] = {}


class MemoryBroker(Broker):
    """A broker that delivers within this process, to all brokers that were opened with the same
    URL."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._bus = _buses.setdefault(url, {})
        self._channels: set[str] = set()
        self._inbox = Inbox(self.counters)

    def subscribe(self, *channels: str) -> None:
        self._inbox.check_open()
        for channel in channels:
            if channel not in self._channels:
                self._channels.add(channel)
                self._bus.setdefault(channel, []).append(self)

    def unsubscribe(self, *channels: str) -> None:
        self._inbox.check_open()
        self._leave(channels)

    def renew(self, channel: str) -> None:
        self._inbox.check_open()

    def _leave(self, channels: Iterable[str]) -> None:
        for channel in channels:
            if channel in self._channels:
                self._channels.discard(channel)
                subscribers = self._bus[channel]
                subscribers.remove(self)
                if not subscribers:
                    # The world has no end, so a channel without subscribers must cost nothing.
                    del self._bus[channel]

    def publish(self, channel: str, payload: bytes) -> bool:
        self._inbox.check_open()
        check_payload(payload)
        self.counters.published += 1
        message = Message(channel, payload)
        for subscriber in self._bus.get(channel, ()):
            subscriber._inbox.put(message)
        return True

    def receive(self, timeout: float | None = None) -> Message | Reset | None:
        return self._inbox.get(timeout)

    def links(self) -> list[LinkHealth]:
        return []

    def close(self) -> None:
        self._leave(list(self._channels))
        self._inbox.close()


class NullBroker(MemoryBroker):
    """Counts a published message, and discards it; nothing is ever received.

    It is for measuring a server without the cost of a broker. With it, players see neither each
    other nor their own steps, since these too come back through the broker.
    """

    def publish(self, channel: str, payload: bytes) -> bool:
        self._inbox.check_open()
        check_payload(payload)
        self.counters.published += 1
        return True
