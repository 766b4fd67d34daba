"""The swap of the broker: all nodes of a world go from one broker to another while they serve.

Each node does four steps, and tells the others after each: it knows the order, and does no more for
an earlier one; it hears both brokers; it speaks on the new one, once all others hear it; it leaves
the old one, once all speak on the new one. The way back is the same with another order.
docs/nodes.md has the rules, and docs/operations.md what operators do. This module never moves a
message from one broker to another.
"""

import logging
from collections.abc import Callable
from functools import partial

from flatlands.brokers.base import Broker, LinkAge, bare
from flatlands.brokers.both import Both
from flatlands.brokers.registry import identity_of
from flatlands.server.kept import broker_order
from flatlands.server.kept.broker_order import Order
from flatlands.server.kept.fences import Fences
from flatlands.server.kept.keeper import Keeper
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import DRAINING, STARTING
from flatlands.server.squares.peers import BROKEN_AFTER, DEAD_AFTER, Peers

log = logging.getLogger("flatlands")

#: ms between two looks for an order, and between two checks whether the next step may be done.
EVERY, LOOK_EVERY = 2000, 100

#: ms for which the link to a broker that was left is kept.
CLOSE_AFTER = 500

#: The steps that a node has done.
NONE, KNOWS, HEARS, SPEAKS, LEFT = range(5)

NO_STORE = "the order to change the broker is kept in the store, and here is none: set STORE_URL"


def nowhere(url: str) -> Broker:
    """Refuse to open a broker."""
    raise ValueError(f"this process does not go to {bare(url)}")


class BrokerSwap:
    """The swap of the broker: all nodes of a world go from one broker to another while they serve.
    `connect` opens a broker, `hear` begins to receive from one, and `spawn` begins a greenlet.
    """

    def __init__(
        self,
        bus: Bus,
        peers: Peers,
        keeper: Keeper,
        fences: Fences,
        connect: Callable[[str], Broker],
        hear: Callable[[Broker], None],
        spawn: Callable[..., object],
    ) -> None:
        self._bus = bus
        self._loop = bus.loop
        self._peers = peers
        self._keeper = keeper
        self._fences = fences
        self._connect = connect
        self._hear = hear
        self._spawn = spawn
        self._order: Order | None = None
        #: The last step that this node has done, and when it last told the others.
        self._step, self._told_at = NONE, 0
        #: Node -> the nonce of an order, and the last step that it has done.
        self._steps: dict[int, tuple[int, int]] = {}
        #: Whether the new broker is being opened, and why this node does not hear it.
        self._opening = False
        self._trouble = ""
        #: Whether a fence is under way, after which this node speaks on the new broker, or leaves.
        self._busy = False
        self._alarm = self._loop.alarm(self._go_on)

    def start(self) -> None:
        """Begin to look for orders."""
        if self._keeper.store is not None:
            self._loop.every(EVERY, self._read)
            self._read()

    # Orders.

    def order(self, url: str) -> None:
        """Order all nodes to go to the broker at `url`. It waits. Raises Away, and ValueError with
        a sentence for the operator if that is not possible."""
        if self._keeper.store is None:
            raise ValueError(NO_STORE)
        new, here = self._connect(url), self._speaks.url
        links = new.links()
        new.close()
        if silent := _silent(links):
            raise ValueError(f"{silent}, so nothing is changed")
        self._learn(self._keeper.wait(lambda store: broker_order.give(store, url, here, not links)))

    def look(self) -> None:
        """Read the order now, for whoever asks how far it is. It waits. Raises Away."""
        if self._keeper.store is not None:
            self._learn(self._keeper.wait(broker_order.read))

    @property
    def broker(self) -> str:
        """The URL, without a password, of the broker on which this node publishes."""
        return bare(self._speaks.url)

    def state(self) -> str:
        """Return a sentence on how far the swap is; "" if none is under way."""
        order = self._order
        if order is None or (order.ended and self._step == LEFT):
            return ""
        steps = {self._bus.node: self._step, **{id: self._done(id) for id in self._others()}}
        least = min(steps.values())
        phase = min(max(KNOWS, least), SPEAKS)
        waits = ", ".join(str(id) for id, step in sorted(steps.items()) if step == least)
        whom = "the store" if least == LEFT else f"node {waits}"
        sentence = f"{order}, phase {phase} of 3, waits for {whom}"
        return f"{sentence}: {self._trouble}" if self._trouble else sentence

    def _read(self) -> None:
        """Read the order, or note that it has ended."""
        order = self._order
        if order is not None and not order.ended and self._step == LEFT and self._all(SPEAKS):
            self._keeper.ask(lambda store: broker_order.end(store, order), self._learn)
        else:
            self._keeper.ask(broker_order.read, self._learn)

    def _learn(self, order: Order | None) -> None:
        if order is None or not order.concerns(self._speaks.identity):
            return
        if not self._is_last(order):
            there = order.ended and self._bus.broker.identity == identity_of(order.new)
            self._step = LEFT if there and not isinstance(self._bus.broker, Both) else NONE
            self._trouble = ""
        self._order = order
        if self._step != LEFT or not order.ended:
            self._go_on()

    def _is_last(self, order: Order) -> bool:
        return self._order is not None and self._order.nonce == order.nonce

    # What others have done.

    def told(self, node: int, nonce: int, step: int) -> None:
        """Note the step that another node has done of the order with this nonce."""
        if node in self._peers.peers:
            self._steps[node] = nonce, step

    def _others(self) -> set[int]:
        """Return the other nodes that live, or have been silent for a short time. One that has said
        that it stops, and is silent, is gone."""
        now, known = self._loop.now(), {**self._peers.peers, **self._peers.dead}
        return {
            id
            for id, peer in known.items()
            if peer.state != DRAINING or now - peer.heard < DEAD_AFTER
        }

    def _done(self, node: int) -> int:
        """Return the last step of the order that another node has done."""
        nonce, step = self._steps.get(node, (0, NONE))
        return step if self._order is not None and nonce == self._order.nonce else NONE

    def _all(self, step: int) -> bool:
        """Return whether all other nodes did a step; a node that starts does not know them yet."""
        if self._order is not None and self._order.ended:
            return True
        known = self._peers.state != STARTING
        return known and all(self._done(id) >= step for id in self._others())

    # The steps of this node.

    @property
    def _speaks(self) -> Broker:
        """The broker on which this node publishes."""
        broker = self._bus.broker
        return broker.speaks if isinstance(broker, Both) else broker

    def _go_on(self) -> None:
        """Do the next step if it is time, and tell others again how far this node is."""
        order, broker = self._order, self._bus.broker
        assert order is not None
        identity = identity_of(order.new)
        if isinstance(broker, Both):
            if identity in (broker.speaks.identity, broker.other.identity):
                self._step_of_both(broker, order, broker.speaks.identity == identity)
            else:
                # An earlier swap has ended meanwhile.
                self._part(broker)
        elif broker.identity != identity:
            self._open(order)
        elif self._step != LEFT:
            self._reach(order, LEFT)
        now = self._loop.now()
        if now - self._told_at >= self._peers.every:
            self._tell(order)
        done = order.ended and self._step == LEFT
        self._alarm.set(None if done else now + LOOK_EVERY)

    def _step_of_both(self, both: Both, order: Order, turned: bool) -> None:
        """Do the next step, with two brokers; `turned`: this node publishes on the new one."""
        new, old = (both.speaks, both.other) if turned else (both.other, both.speaks)
        if self._busy:
            pass
        elif self._step == NONE:
            self._reach(order, KNOWS)
        elif self._step == KNOWS:
            # Until all are this far, what others say goes over the same broker as before.
            if self._all(KNOWS):
                self._listen(new, partial(self._heard, new, old, order))
        elif self._step == HEARS and turned:
            self._reach(order, SPEAKS)
        elif self._step == HEARS and self._all(HEARS):
            self._busy = True
            both.turn()
            self._fences.send(old, partial(self._turned, both))
        elif self._step == SPEAKS and self._all(SPEAKS):
            self._busy = True
            self._fences.send(old, partial(self._leave, both, order))

    def _open(self, order: Order) -> None:
        """Open the new broker, and subscribe there to all that this node is subscribed to."""
        if self._opening:
            return
        self._opening = True

        def open() -> None:
            bus = self._bus
            try:
                new = self._connect(order.new)
            except ValueError as error:
                self._trouble = str(error)
                return
            finally:
                self._opening = False
            if not self._is_last(order):
                # Meanwhile there was another order, which may have ended.
                new.close()
                return
            bus.counters.parts.append(new.counters)
            bus.identities = {bus.broker.identity, new.identity}
            bus.broker = Both(bus.broker, new)
            own = bus.channels.node(bus.node)
            # What it sends itself comes once all other channels are subscribed.
            new.subscribe(*(bus.subscribed - {own}), own)
            self._hear(new)

        self._spawn(self._loop.guarded, open)

    def _listen(self, new: Broker, heard: Callable[[], None]) -> None:
        """Find out whether this node hears the new broker."""
        self._trouble = _silent(new.links())
        if not self._trouble:
            # It hears the others there once it hears itself.
            self._fences.send(new, heard, 0)

    def _heard(self, new: Broker, old: Broker, order: Order) -> None:
        if self._step == KNOWS and self._is_last(order):
            self._fences.begin(new, old)
            self._reach(order, HEARS)

    def _turned(self, both: Both) -> None:
        self._busy = False
        both.go_on()

    def _leave(self, both: Both, order: Order) -> None:
        self._busy = False
        if self._is_last(order):
            self._part(both)
            self._reach(order, LEFT)
            self._read()

    def _part(self, both: Both) -> None:
        """Leave the broker on which this node does not publish."""
        self._fences.begin(None, None)
        self._bus.broker = both.speaks
        both.other.unsubscribe(*self._bus.subscribed)
        # What was last said there is still to be answered, or it would count as dropped.
        self._loop.alarm(partial(self._close, both.other)).set(self._loop.now() + CLOSE_AFTER)

    def _close(self, left: Broker) -> None:
        left.close()
        if not isinstance(self._bus.broker, Both):
            self._bus.identities = set()

    def _reach(self, order: Order, step: int) -> None:
        self._step = step
        log.info("%s: this server has done step %d of %d", order, step, LEFT)
        self._tell(order)

    def _tell(self, order: Order) -> None:
        self._told_at = self._loop.now()
        message = peer_protocol.step(self._bus.node, order.nonce, self._step)
        for broker in self._bus.broker.each:
            broker.publish(self._bus.channels.nodes, message)


def _silent(links: list[LinkAge]) -> str:
    """Return what is wrong with a link that does not answer, "" if all do."""
    return next((str(link) for link in links if link.seconds > BROKEN_AFTER), "")
