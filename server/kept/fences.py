"""Fences: they keep what comes over one broker from overtaking what came before over another.

A fence is what a node sends to itself over a broker. Once it is back, all that others had published
there before has come. This module never decides between which brokers there are fences: swap.py
does.
"""

import random
from collections import deque
from collections.abc import Callable
from functools import partial

from flatlands.brokers.base import Broker, Message, Reset
from flatlands.server.agenda import Agenda
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import Bus

#: ms after which nobody waits for a fence any more: longer than a node that lacks CPU is late. If a
#: broker has several servers, one cannot speak for the others: there a node waits for INSTEAD ms.
WITHIN, INSTEAD = 4000, 100


class Fences:
    """Fences: they keep what comes over one broker from overtaking what came before over another.
    `receive` takes what came over a broker.
    """

    def __init__(self, bus: Bus, receive: Callable[[Message | Reset], None]) -> None:
        self._bus = bus
        self._receive = receive
        #: The nonce of a fence -> what is done once it is back.
        self._sent: dict[int, Callable[[], object]] = {}
        self._overdue = Agenda(bus.loop, lambda nonce, _due: self._end(nonce))
        #: The broker whose messages wait for a fence of the other one.
        self.late: Broker | None = None
        self._other: Broker | None = None
        self._held: deque[Message | Reset] = deque()
        self._waits = False
        #: How often it has begun again: an earlier fence says nothing of what comes now.
        self._begun = 0

    def send(self, broker: Broker, do: Callable[[], object], within: int = WITHIN) -> None:
        """Send a fence over a broker; call `do` once it is back, or after `within` ms if not 0."""
        nonce, bus = random.getrandbits(32), self._bus
        self._sent[nonce] = do
        message = peer_protocol.fence(bus.node, nonce)
        if within and len(broker.links()) > 1:
            within = INSTEAD
        elif not broker.publish(bus.channels.node(bus.node), message):
            within = min(within, 1)
        if within:
            self._overdue.put(nonce, bus.loop.now() + within)

    def came(self, node: int, nonce: int) -> None:
        """Note that a fence is back."""
        if node == self._bus.node and nonce in self._sent:
            self._overdue.drop(nonce)
            self._end(nonce)

    def _end(self, nonce: int) -> None:
        self._sent.pop(nonce)()

    def begin(self, late: Broker | None, other: Broker | None) -> None:
        """Let messages of the broker `late` (None: of no broker) wait for a fence of the other one
        from now on. Those that already wait are received now."""
        self._release(len(self._held))
        self.late, self._other = late, other
        self._begun += 1
        self._waits = False

    def hold(self, item: Message | Reset) -> None:
        """Receive what came over the broker `late` once all that was published before on the other
        one has come."""
        self._held.append(item)
        self._wait()

    def _wait(self) -> None:
        if self._held and not self._waits and self._other is not None:
            self._waits = True
            self.send(self._other, partial(self._passed, self._begun, len(self._held)))

    def _passed(self, begun: int, count: int) -> None:
        if begun != self._begun:
            return
        self._waits = False
        self._release(count)
        self._wait()

    def _release(self, count: int) -> None:
        while self._held and count:
            count -= 1
            self._bus.loop.guarded(self._receive, self._held.popleft())
