"""The swap of the broker: all nodes of a world go from one broker to another while they serve.

The order is an item in the store. Each node does three steps, and tells the others after each: it
hears both brokers; it speaks on the new one, once all hear it; it leaves the old one, once all
speak on the new one. docs/nodes.md has the rules, and docs/operations.md what operators do.

A *fence* is what a node sends to itself. Once it has come back over a broker, all has come that
others had published there before. So a node speaks on the new broker only when all that it said on
the old one has been passed on, and reads what comes on the new one after what came before that on
the old one: nothing overtakes anything.
"""

import logging
import random
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgpack

from flatlands.brokers.base import Broker, Message, Reset, bare
from flatlands.brokers.both import Both
from flatlands.brokers.registry import identity_of
from flatlands.server.agenda import Agenda
from flatlands.server.kept.keeper import Keeper
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import STARTING
from flatlands.server.squares.peers import BROKEN_AFTER, Peers
from flatlands.stores.base import NEVER, Item, Store

log = logging.getLogger("flatlands")

#: The name of the queue in the store, and the id of its one item.
QUEUE, ITEM = "broker", "order"

#: ms between two looks for an order, and between two looks whether the next step may be done.
EVERY, LOOK_EVERY = 2000, 100

#: The steps that a node has done.
NONE, HEARS, SPEAKS, LEFT = range(4)

#: ms after which a fence counts as back; a ring has no fence, and so much time.
FENCE_WITHIN = 100

#: So many brokers that a world has left are remembered.
FORMER_MOST = 8

NO_STORE = (
    "the order to change the broker lies in the store, and this world has none: set STORE_URL"
)


class Order(NamedTuple):
    """Go from the broker `old` to `new`, which are URLs. `former` are the identities of brokers
    that the world left before. Once it has `ended`, nobody needs the old one any more."""

    nonce: int
    old: str
    new: str
    former: list[str]
    ended: bool = False

    def concerns(self, identity: str) -> bool:
        """Say whether the broker with this identity is, or was, that of the world."""
        return identity in (identity_of(self.old), identity_of(self.new), *self.former)


def read(store: Store) -> Order | None:
    """Return the last order in a store, or None. It waits, and raises StoreError."""
    return next((_unpack(item) for item in store.group(QUEUE, ITEM)), None)


def begins_with(url: str, order: Order | None) -> str:
    """Return the URL of the broker with which a node begins that was told to use `url`."""
    if order is None or not order.concerns(identity_of(url)):
        return url
    right = order.new if order.ended else order.old
    # The same broker may have another password now.
    return url if identity_of(url) == identity_of(right) else right


def _unpack(item: Item) -> Order:
    return Order(*msgpack.unpackb(item.body))


def _pack(order: Order) -> Item:
    return Item(ITEM, NEVER, ITEM, msgpack.packb(order))


def _end(order: Order, store: Store) -> Order | None:
    """Note that an order has ended, unless another one was given; return the last one."""

    def make(item: Item | None) -> Item | None:
        same = item is not None and _unpack(item) == order
        return _pack(order._replace(ended=True)) if same else None

    item = store.change(QUEUE, ITEM, make)
    return None if item is None else _unpack(item)


class BrokerSwap:
    """See the module. `connect` opens a broker, `hear` begins to receive from one, `receive` takes
    what came of one, and `spawn` begins a greenlet."""

    def __init__(
        self,
        bus: Bus,
        peers: Peers,
        keeper: Keeper,
        connect: Callable[[str], Broker],
        hear: Callable[[Broker], None],
        receive: Callable[[Message | Reset], None],
        spawn: Callable[..., object],
    ) -> None:
        self._bus = bus
        self._loop = loop = bus.loop
        self._peers = peers
        self._keeper = keeper
        self._connect = connect
        self._hear = hear
        self._receive = receive
        self._spawn = spawn
        self._order: Order | None = None
        #: The last step that this node has done, and when it told so last.
        self._step, self._told_at = NONE, 0
        #: Node -> the nonce of an order, and the last step that it has done.
        self._steps: dict[int, tuple[int, int]] = {}
        self._opening = False
        #: Why the new broker could not be opened.
        self._trouble = ""
        #: Whether a fence of this node's own turn, or before it leaves, is under way.
        self._busy = False
        #: The broker whose messages wait for a fence of the other one, and these messages.
        self.late: Broker | None = None
        self._held: deque[Message | Reset] = deque()
        self._fencing = False
        #: The nonce of a fence -> what is done once it is back, with whether it is.
        self._fences: dict[int, Callable[[bool], object]] = {}
        self._overdue = Agenda(loop, self._fence_lost)
        self._alarm = loop.alarm(self._go_on)

    def start(self) -> None:
        """Begin to look for orders."""
        if self._keeper.store is not None:
            self._loop.every(EVERY, self._look)
            self._look()

    # Orders.

    def order(self, url: str) -> None:
        """Order to go to the broker at `url`. It waits. Raises Away, and ValueError with a sentence
        for the operator if that is not possible."""
        if self._keeper.store is None:
            raise ValueError(NO_STORE)
        new, here = self._connect(url), self._single.url
        silent = [str(link) for link in new.links() if link.seconds > BROKEN_AFTER]
        inside = not new.links()
        new.close()
        if silent:
            raise ValueError(f"{silent[0]}, so nothing is changed")

        def make(item: Item | None) -> Item:
            before = None if item is None else _unpack(item)
            old, former = here, []
            if before is not None and before.concerns(identity_of(here)):
                old, former = before.new, [*before.former, identity_of(before.old)]
            back = before is not None and identity_of(url) == identity_of(before.old)
            if before is not None and old == before.new and not (before.ended or back):
                raise ValueError(f"{_between(before)} has not ended: only its way back is open")
            if identity_of(url) == identity_of(old):
                raise ValueError(f"{bare(url)} is the broker already")
            if inside and (before is None or before.ended or not back):
                raise ValueError(f"{bare(url)} is inside one process: name a broker for all")
            former = [one for one in former if one != identity_of(url)][-FORMER_MOST:]
            return _pack(Order(random.getrandbits(32), old, url, former))

        item = self._keeper.wait(lambda store: store.change(QUEUE, ITEM, make))
        assert item is not None
        self._learn(_unpack(item))

    @property
    def broker(self) -> str:
        """The URL, without a password, of the broker on which this node publishes."""
        return bare(self._single.url)

    def state(self) -> str:
        """Return a sentence on how far the swap is; "" if none is under way."""
        order, broker = self._order, self._bus.broker
        if order is None or (order.ended and self._step == LEFT):
            return ""
        steps = {self._bus.node: self._step, **{id: self._done(id) for id in self._others()}}
        phase = min(SPEAKS, *steps.values())
        waits = [str(id) for id, step in sorted(steps.items()) if step <= phase]
        whom = f"node {', '.join(waits)}" if waits else "the store"
        links = broker.other.links() if isinstance(broker, Both) else []
        why = [self._trouble, *[str(link) for link in links if link.seconds > BROKEN_AFTER]]
        trouble = "".join(f": {one}" for one in why if one and self._step == NONE)
        return f"{_between(order)}, phase {phase + 1} of 3, waits for {whom}{trouble}"

    def _look(self) -> None:
        """Read the order, or note that it has ended."""
        order = self._order
        if order is not None and not order.ended and self._step == LEFT and self._all(SPEAKS):
            self._keeper.ask(partial(_end, order), self._learn)
        else:
            self._keeper.ask(read, self._learn)

    def _learn(self, order: Order | None) -> None:
        broker = self._bus.broker
        if order is None or not order.concerns(self._single.identity):
            return
        new = self._order is None or order.nonce != self._order.nonce
        self._order = order
        if new:
            there = order.ended and broker.identity == identity_of(order.new)
            self._step = LEFT if there and not isinstance(broker, Both) else NONE
        if self._step != LEFT or not order.ended:
            self._go_on()

    # The steps.

    @property
    def _single(self) -> Broker:
        """The broker on which this node publishes."""
        broker = self._bus.broker
        return broker.speaks if isinstance(broker, Both) else broker

    def _others(self) -> set[int]:
        return self._peers.remembered()

    def _done(self, node: int) -> int:
        """Return the last step of the order that another node has done."""
        nonce, step = self._steps.get(node, (0, NONE))
        return step if self._order is not None and nonce == self._order.nonce else NONE

    def _all(self, step: int) -> bool:
        """Say whether all other nodes have done a step; one that starts does not know them yet."""
        assert self._order is not None
        if self._order.ended:
            return True
        return self._peers.state != STARTING and all(
            self._done(id) >= step for id in self._others()
        )

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
        new, old = (both.speaks, both.other) if turned else (both.other, both.speaks)
        if self._step == NONE:
            heard = partial(self._heard, new, order)
            if turned:
                heard(True)
            elif all(link.seconds <= BROKEN_AFTER for link in new.links()):
                # It hears the others there once it hears itself.
                self._fence(new, heard, 0)
        elif self._busy:
            pass
        elif self._step == HEARS and turned:
            self._reach(order, SPEAKS)
        elif self._step == HEARS and self._all(HEARS):
            self._busy = True
            both.turn()
            self._fence(old, partial(self._turned, both))
        elif self._step == SPEAKS and self._all(SPEAKS):
            self._busy = True
            self._fence(old, partial(self._leave, both, order))

    def _heard(self, new: Broker, order: Order, _back: bool) -> None:
        if self._step == NONE and self._is_last(order):
            self._release(len(self._held), True)
            self.late = new
            self._reach(order, HEARS)

    def _turned(self, both: Both, _back: bool) -> None:
        self._busy = False
        both.go_on()

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
            self._trouble = ""
            bus.counters.parts.append(new.counters)
            bus.identities = {bus.broker.identity, new.identity}
            bus.broker = Both(bus.broker, new)
            own = bus.channels.node(bus.node)
            # What it sends itself comes once all others are subscribed.
            new.subscribe(*(bus.subscribed - {own}), own)
            self._hear(new)

        self._spawn(self._loop.guarded, open)

    def _leave(self, both: Both, order: Order, _back: bool) -> None:
        self._busy = False
        if self._is_last(order):
            self._part(both)
            self._reach(order, LEFT)
            self._look()

    def _part(self, both: Both) -> None:
        """Leave the broker on which this node does not publish."""
        self._release(len(self._held), False)
        self._bus.broker = both.speaks
        self._bus.identities = set()
        both.other.close()

    def _is_last(self, order: Order) -> bool:
        return self._order is not None and self._order.nonce == order.nonce

    def _reach(self, order: Order, step: int) -> None:
        self._step = step
        log.info("%s: this server has done step %d of 3", _between(order), step)
        self._tell(order)

    def _tell(self, order: Order) -> None:
        self._told_at = self._loop.now()
        self._bus.announce(peer_protocol.step(self._bus.node, order.nonce, self._step))

    def told(self, node: int, nonce: int, step: int) -> None:
        """Note the step that another node has done of the order with this nonce."""
        if node in self._peers.peers:
            self._steps[node] = nonce, step

    # Fences.

    def _fence(
        self, broker: Broker, do: Callable[[bool], object], within: int = FENCE_WITHIN
    ) -> None:
        """Call `do` once a fence is back over a broker: with True; or else after `within` ms (0:
        never), with False."""
        nonce, bus = random.getrandbits(32), self._bus
        message = peer_protocol.fence(bus.node, nonce)
        if within and len(broker.links()) > 1:
            # One of several servers cannot speak for the others.
            self._fences[nonce] = lambda _back: do(True)
        else:
            self._fences[nonce] = do
            if not broker.publish(bus.channels.node(bus.node), message):
                within = min(within, 1)
        if within:
            self._overdue.put(nonce, self._loop.now() + within)

    def fenced(self, node: int, nonce: int) -> None:
        """Note that a fence has come back."""
        do = self._fences.pop(nonce, None)
        if node == self._bus.node and do is not None:
            self._overdue.drop(nonce)
            do(True)

    def _fence_lost(self, nonce: int, _due: int) -> None:
        self._fences.pop(nonce)(False)

    def hold(self, item: Message | Reset) -> None:
        """Receive what came on the broker `late` once all has come that was said before it on the
        other one."""
        self._held.append(item)
        if not self._fencing:
            self._fence_held()

    def _fence_held(self) -> None:
        both = self._bus.broker
        assert isinstance(both, Both)
        self._fencing = True
        other = both.other if both.speaks is self.late else both.speaks
        self._fence(other, partial(self._release, len(self._held)))

    def _release(self, count: int, back: bool) -> None:
        """Receive so many messages that were held; all, and hold none any more, if the fence did
        not come back: nobody waits twice for a broker that does not answer."""
        if not back:
            self.late, count = None, len(self._held)
        self._fencing = False
        while self._held and count:
            count -= 1
            self._loop.guarded(self._receive, self._held.popleft())
        if self._held and not self._fencing:
            self._fence_held()


def _between(order: Order) -> str:
    return f"changing broker from {bare(order.old)} to {bare(order.new)}"
