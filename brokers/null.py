"""`null://`: a black hole. A published message is counted and discarded; nothing is ever received.

It is for measuring a server without the cost of a broker. Players never see each other with it, nor
their own steps, since these too come back through the broker.
"""

from gevent.event import Event

from flatlands.brokers.base import Broker, BrokerClosed, LinkAge, Message, Reset, check_payload


class NullBroker(Broker):
    """See the module."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._closed = Event()

    def subscribe(self, *channels: str) -> None:
        self._check_open()

    def unsubscribe(self, *channels: str) -> None:
        self._check_open()

    def renew(self, channel: str) -> None:
        self._check_open()

    def publish(self, channel: str, payload: bytes) -> bool:
        self._check_open()
        check_payload(payload)
        self.counters.published += 1
        return True

    def receive(self, timeout: float | None = None) -> Message | Reset | None:
        self._closed.wait(timeout)
        self._check_open()
        return None

    def links(self) -> list[LinkAge]:
        return []

    def close(self) -> None:
        self._closed.set()

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise BrokerClosed(f"{self.url} was closed")
