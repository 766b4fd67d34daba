"""The network between the nodes of a harness, which can be slow, be cut and lose messages."""

import random
from heapq import heappop, heappush

from flatlands.brokers.base import Broker, BrokerClosed, LinkHealth, Message, Reset, check_payload
from flatlands.server.node import Node
from flatlands.testkit.clock import Clock


class Network:
    """Joins the links of a harness: all that are subscribed get what one publishes.

    Messages of one link stay in order. Messages of two links may change places if delays differ.
    """

    def __init__(self, clock: Clock, chance: random.Random) -> None:
        self.clock = clock
        self.chance = chance
        self.links: list[FakeLink] = []
        #: Pairs (from, to) of links between which no message passes.
        self.cuts: set[tuple[FakeLink, FakeLink]] = set()
        #: The most ms that a message takes.
        self.delay = 0

    def carry(self, sender: "FakeLink", message: Message) -> None:
        for link in self.links:
            if message.channel in link.channels and (sender, link) not in self.cuts:
                delay = self.chance.randint(0, self.delay) if self.delay else 0
                link.put(sender, message, self.clock.time + delay)

    def heal(self) -> None:
        """End all cuts and delays."""
        self.cuts.clear()
        self.delay = 0


class FakeLink(Broker):
    """A node's broker, whose link can lose messages, be down, and lose subscriptions."""

    def __init__(self, network: Network) -> None:
        super().__init__("memory://harness")
        self._network = network
        #: The share of published messages that is lost without a sign.
        self.losing = 0.0
        self.down = False
        #: What `links` returns: a single link that is alive.
        self.ages = [LinkHealth("a link", 0.0)]
        self.channels: set[str] = set()
        #: Channels whose subscriptions are lost without anybody noticing.
        self.lost: set[str] = set()
        #: Channels on which nothing comes until the link is renewed; or not even then, if that is
        #: `forbidden`. How often it was renewed.
        self.dead: set[str] = set()
        self.forbidden = False
        self.renewals = 0
        self._coming: list[tuple[int, int, Message | Reset]] = []
        self._count = 0
        #: FakeLink -> the time at which its last message comes, which no later one overtakes.
        self._last: dict[FakeLink, int] = {}
        network.links.append(self)

    def subscribe(self, *channels: str) -> None:
        self.channels.update(channels)

    def unsubscribe(self, *channels: str) -> None:
        self.channels.difference_update(channels)
        self.lost.difference_update(channels)

    def renew(self, channel: str) -> None:
        self.renewals += 1
        if not self.forbidden:
            self.dead.clear()
        self._come(self._network.clock.time, Reset(None))

    def links(self) -> list[LinkHealth]:
        return self.ages

    def publish(self, channel: str, payload: bytes) -> bool:
        check_payload(payload)
        if self not in self._network.links:
            raise BrokerClosed("the broker was closed")
        if self.down:
            return False
        self.counters.published += 1
        if not self.losing or self._network.chance.random() >= self.losing:
            self._network.carry(self, Message(channel, payload))
        return True

    def put(self, sender: "FakeLink", message: Message, at: int) -> None:
        """Let a message arrive at a time in ms, unless the link or the subscription is lost."""
        if not self.down and message.channel not in self.lost | self.dead:
            at = self._last[sender] = max(at, self._last.get(sender, 0))
            self._come(at, message)

    def _come(self, at: int, item: Message | Reset) -> None:
        self._count += 1
        heappush(self._coming, (at, self._count, item))

    def next(self) -> int | None:
        """Return the time at which the next message arrives, or None."""
        return self._coming[0][0] if self._coming and self in self._network.links else None

    def receive(self, timeout: float | None = None) -> Message | Reset | None:
        closed = self not in self._network.links
        if not closed and self._coming and self._coming[0][0] <= self._network.clock.time:
            return heappop(self._coming)[2]
        return None

    def close(self) -> None:
        if self in self._network.links:
            self._network.links.remove(self)

    def fail(self) -> None:
        """Let the link go down; messages under way to it are lost."""
        self.down = True
        self._coming.clear()

    def restore(self, node: Node) -> None:
        """Let the link come back; the node gets a Reset."""
        self.down = False
        self.lost.clear()
        node.receive(Reset(None))

    def lose_subscriptions(self, channels: set[str]) -> None:
        """Lose the subscriptions of these channels without a sign."""
        self.lost |= channels & self.channels

    def restore_subscriptions(self, node: Node) -> None:
        """Let the broker restore the lost subscriptions; the node gets a Reset of them."""
        lost, self.lost = self.lost, set()
        if lost:
            node.receive(Reset(lost))
