"""An operator's orders: who is kept out, who is muted, and whether newcomers are let in.

Each order is an item in the store, which expires by itself; every node reads all orders every two
seconds, and obeys those that are new. The node that was given an order obeys at once. Without a
store only that node does, and forgets its orders when it stops. This module never checks who gives
orders: server/web/admin.py does. Whoever can write to the store can give orders too.
"""

import ipaddress
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import msgpack

from flatlands.server.kept.keeper import Keeper
from flatlands.server.logs import log_line
from flatlands.server.loop import Loop
from flatlands.server.messages.protocol import FULL, POLICY, Refused, error
from flatlands.server.players.residents import Residents
from flatlands.stores.base import Item, Store

#: The deeds: keep out a player; keep out an address; mute a player; let no newcomers in; send a
#: notice to all clients.
KICK, BAR, MUTE, DOOR, NOTICE = "kick", "bar", "mute", "close the door", "notice"

#: The name of their queue in the store, which is one group.
QUEUE: Final = "orders"

#: How often orders are read, in ms, and for how many s the store keeps a notice, and an order that
#: ends another: the node that was given the other may not have reached the store yet.
EVERY: Final = 2000
NOTICE_FOR, END_FOR = 30, 600

#: The most seconds that an order lasts, and the most orders. Beyond that those that end first are
#: forgotten.
SECONDS_MOST: Final = 7 * 24 * 3600
LIMIT: Final = 1000


class _Order(NamedTuple):
    """`at` is the node time at which it was given, which tells it from an earlier order about the
    same, and `until` that at which it ends. An order that ends another has 0."""

    at: int
    until: int


#: (deed, who) -> the order.
_Orders = dict[tuple[str, str], _Order]


class Orders:
    """An operator's orders: who is kept out, who is muted, and whether newcomers are let in.

    `who` is what a deed applies to: for KICK and MUTE a player's id in digits, for BAR an address
    or network as `network` gives it, for DOOR "", and for NOTICE the text. `silenced` is called
    with the id of a player that was kicked or muted.
    """

    def __init__(
        self, keeper: Keeper, loop: Loop, residents: Residents, silenced: Callable[[int], None]
    ) -> None:
        self._keeper = keeper
        self._loop = loop
        self._residents = residents
        self._known: _Orders = {}
        #: Those that were given here and are not written yet.
        self._given: _Orders = {}
        self._asking = False
        self._silenced = silenced

    def __len__(self) -> int:
        """Return how many orders are in force."""
        return sum(self.seconds(*order) > 0 for order in self._known if order[0] != NOTICE)

    def start(self) -> None:
        """Begin to read what is ordered at other nodes."""
        self._loop.every(EVERY, self._exchange)
        self._exchange()

    def give(self, deed: str, who: str, seconds: int) -> None:
        """Obey an order, and let all other nodes obey it. With 0 `seconds` it ends the order."""
        lasts = NOTICE_FOR if deed == NOTICE else seconds
        before, now = self._known.get((deed, who)), self._loop.now()
        at = now if before is None else max(now, before.at + 1)
        order = _Order(at, now + 1000 * lasts if lasts else 0)
        if self._keeper.store is not None:
            self._given[deed, who] = order
        self._learn({**self._known, (deed, who): order})
        self._exchange()

    def seconds(self, deed: str, who: str = "") -> int:
        """Return for how many seconds an order is still in force, rounded up; 0 if it is not."""
        order = self._known.get((deed, who))
        return 0 if order is None else max(-((self._loop.now() - order.until) // 1000), 0)

    # What sessions ask.

    def admit(self, id: int | None, address: str) -> None:
        """Raise Refused if an order keeps out a player or its address, or newcomers.

        `id` is None for a newcomer. `address` is an IP address.
        """
        if not self._known:
            return
        seconds = self.seconds(BAR, network(address))
        if id is not None:
            seconds = max(seconds, self.seconds(KICK, str(id)))
        if seconds:
            raise kicked(seconds)
        if id is None and self.seconds(DOOR):
            raise Refused("door", "no newcomers are let in just now: try again later", FULL)

    def check_voice(self, id: int) -> None:
        """Raise Refused if a player is muted."""
        if self._known and (seconds := self.seconds(MUTE, str(id))):
            raise Refused("muted", f"an operator muted you for {_minutes(seconds)}", None)

    def is_muted(self, id: int) -> bool:
        """Return whether a player is muted."""
        return self.seconds(MUTE, str(id)) > 0

    # What all nodes know.

    def _exchange(self) -> None:
        """Write the orders that were given here, and read all."""
        if self._asking:
            return
        self._asking, given = True, dict(self._given)

        def answered(items: list[Item]) -> None:
            self._asking, now = False, self._loop.now()
            for order in given.items() & self._given.items():
                del self._given[order[0]]
            known: _Orders = {}
            for item in items:
                deed, who, at, *ends = msgpack.unpackb(item.body)
                known[deed, who] = _Order(at, 0 if ends else now + item.delay)
            self._learn({**known, **self._given})

        def failed() -> None:
            self._asking = False

        self._keeper.ask(lambda store: self._write(store, given), answered, failed)

    def _write(self, store: Store, given: _Orders) -> list[Item]:
        """Write these orders; return all. It waits for the store."""
        for (deed, who), order in given.items():
            lasts = order.until - self._loop.now() if order.until else 1000 * END_FOR
            body = msgpack.packb((deed, who, order.at) + (() if order.until else (0,)))
            item = Item(f"{deed} {who}", max(lasts, 0), QUEUE, body)
            store.change(QUEUE, item.id, partial(_later, item, order.at), QUEUE)
        items = store.group(QUEUE, QUEUE)
        over = [item for at, item in enumerate(items) if not item.delay or at < len(items) - LIMIT]
        for item in over:
            store.take(QUEUE, item.id, only=item.body)
        return items[len(over) :]

    def _learn(self, orders: _Orders) -> None:
        """Know these orders from now on, and obey those that are new."""
        before, now = self._known, self._loop.now()
        last = sorted(orders.items(), key=lambda one: one[1].until)[-LIMIT:]
        self._known = {key: order for key, order in last if order.until > now}
        for (deed, who), order in self._known.items():
            old = before.get((deed, who))
            if old is None or old.at != order.at:
                self._obey(deed, who)

    def _obey(self, deed: str, who: str) -> None:
        seconds = self.seconds(deed, who)
        self._loop.stats["orders"] += 1
        log_line("order", deed=deed, who=who, seconds=seconds)
        if deed == NOTICE:
            message = error("notice", who)
            self._residents.tell_all(lambda screen: screen.answer(message))
        if deed in (KICK, MUTE):
            self._silenced(int(who))
        if deed == KICK:
            resident = self._residents.by_id.get(int(who))
            if resident is not None and resident.screen is not None:
                resident.screen.refuse(kicked(seconds))
            elif resident is not None and resident.dimmed:
                self._residents.leave(resident)
        if deed == BAR:
            for screen in self._residents.screens():
                if network(screen.address) == who:
                    screen.refuse(kicked(seconds))


def _later(item: Item, at: int, there: Item | None) -> Item | None:
    """Return the item of an order that was given `at` a time, or None if a later one is there."""
    is_later = there is not None and there.delay and msgpack.unpackb(there.body)[2] > at
    return None if is_later else item


def network(address: str) -> str:
    """Return what is kept out together with an address, as the `who` of a BAR.

    For IPv4 it is the address itself, for IPv6 its network of 64 bits. A text that is no address is
    returned unchanged, and keeps nobody out.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if ip.version == 4:
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network((ip, 64), strict=False))


def kicked(seconds: int) -> Refused:
    """Return the refusal for a client whose player or address is kept out for `seconds` more."""
    return Refused("kicked", f"an operator sent you away for {_minutes(seconds)}", POLICY)


def _minutes(seconds: int) -> str:
    minutes = -(-seconds // 60)
    return "a minute" if minutes == 1 else f"{minutes} minutes"
