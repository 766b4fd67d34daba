"""Two brokers as one, while a world moves from one to the other.

Channels are subscribed on both, and messages are published on one of them. This module never
decides when: server/kept/swap.py does.
"""

from flatlands.brokers.base import Broker, LinkAge, Message, Reset, check_payload


class Both(Broker):
    """Two brokers as one, while a world moves from one to the other. It publishes on the broker
    `speaks`.
    """

    def __init__(self, speaks: Broker, other: Broker) -> None:
        super().__init__(speaks.url)
        self.speaks, self.other = speaks, other
        self.payload_limit = min(speaks.payload_limit, other.payload_limit)
        #: Messages that have waited since the turn; None if messages need not wait.
        self._waiting: list[tuple[str, bytes]] | None = None

    @property
    def identity(self) -> str:
        return self.speaks.identity

    def subscribe(self, *channels: str) -> None:
        self.speaks.subscribe(*channels)
        self.other.subscribe(*channels)

    def unsubscribe(self, *channels: str) -> None:
        self.speaks.unsubscribe(*channels)
        self.other.unsubscribe(*channels)

    def renew(self, channel: str) -> None:
        self.speaks.renew(channel)

    def turn(self) -> None:
        """Publish on the other broker from now on, but nothing before `go_on` is called."""
        self.speaks, self.other = self.other, self.speaks
        self._waiting = []

    def go_on(self) -> None:
        """Publish what has waited since the turn."""
        waiting, self._waiting = self._waiting or [], None
        for channel, payload in waiting:
            self.speaks.publish(channel, payload)

    def publish(self, channel: str, payload: bytes) -> bool:
        if self._waiting is None:
            return self.speaks.publish(channel, payload)
        check_payload(payload, self.payload_limit)
        self._waiting.append((channel, payload))
        return True

    @property
    def each(self) -> list[Broker]:
        return [self.speaks, self.other]

    def receive(self, timeout: float | None = None) -> Message | Reset | None:
        raise NotImplementedError("each of the two has a receiver of its own")

    def links(self) -> list[LinkAge]:
        return self.speaks.links()

    def close(self) -> None:
        self.speaks.close()
        self.other.close()
