"""The order to change the broker, as the store keeps it: one item, the last order.

It stays there after the change, so that a node that starts later finds the broker that the world
has now. This module does not carry it out: swap.py does.
"""

import random
from typing import NamedTuple

import msgpack

from flatlands.brokers.base import bare
from flatlands.brokers.registry import identity_of
from flatlands.stores.base import NEVER, Item, Store

#: The name of the queue in the store, and the id of its one item.
QUEUE, ITEM = "broker", "order"

#: How many brokers that a world has left are remembered.
FORMER_MOST = 8


class Order(NamedTuple):
    """Go from the broker `old` to `new`, which are URLs. `former` are the identities of brokers
    that the world left before. Once it has `ended`, nobody needs the old one any more."""

    nonce: int
    old: str
    new: str
    former: list[str]
    ended: bool = False

    def __str__(self) -> str:
        return f"changing broker from {bare(self.old)} to {bare(self.new)}"

    def concerns(self, identity: str) -> bool:
        """Return whether the broker with this identity is, or was, that of the world."""
        return identity in (identity_of(self.old), identity_of(self.new), *self.former)


def read(store: Store) -> Order | None:
    """Return the last order, or None. It waits, and raises StoreError."""
    return next(map(_unpack, store.group(QUEUE, ITEM)), None)


def give(store: Store, url: str, here: str, inside: bool) -> Order:
    """Put the order to go to the broker at `url`, given by a node that uses the one at `here`, and
    return it. `inside`: no other process reaches that broker. It waits. Raises StoreError, and
    ValueError with a sentence for the operator if this is not possible now."""

    def make(item: Item | None) -> Item:
        before = None if item is None else _unpack(item)
        if before is None or not before.concerns(identity_of(here)):
            before = Order(0, here, here, [], True)
        to = identity_of(url)
        back = not before.ended and to == identity_of(before.old)
        if not (before.ended or back):
            raise ValueError(f"{before} has not ended: only its way back is open")
        if to == identity_of(before.new):
            raise ValueError(f"{bare(url)} is the broker already")
        if inside and not back:
            raise ValueError(f"{bare(url)} is inside one process: name a broker for all")
        former = [one for one in (*before.former, identity_of(before.old)) if one != to]
        return _pack(Order(random.getrandbits(32), before.new, url, former[-FORMER_MOST:]))

    item = store.change(QUEUE, ITEM, make)
    assert item is not None
    return _unpack(item)


def end(store: Store, order: Order) -> Order | None:
    """Note that an order has ended, unless another one was given, and return the last one. It
    waits, and raises StoreError."""

    def make(item: Item | None) -> Item | None:
        same = item is not None and _unpack(item) == order
        return _pack(order._replace(ended=True)) if same else None

    item = store.change(QUEUE, ITEM, make)
    return None if item is None else _unpack(item)


def begins_with(url: str, order: Order | None) -> str:
    """Return the URL of the broker with which a node that was told to use `url` begins."""
    if order is None or not order.concerns(identity_of(url)):
        return url
    right = order.new if order.ended else order.old
    # The same broker may have another password now.
    return url if identity_of(url) == identity_of(right) else right


def _unpack(item: Item) -> Order:
    return Order(*msgpack.unpackb(item.body))


def _pack(order: Order) -> Item:
    return Item(ITEM, NEVER, ITEM, msgpack.packb(order))
