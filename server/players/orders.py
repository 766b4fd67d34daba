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

from flatlands.server.messages.protocol import FULL, POLICY, Refused, error
from flatlands.server.players.resident import Resident
from flatlands.server.players.residents import Residents
from flatlands.server.runtime.logs import log_line
from flatlands.server.runtime.loop import Loop
from flatlands.server.storage.client import StoreClient
from flatlands.stores.base import Item, Store

#: The deeds: keep out a player; keep out an address; mute a player; let no newcomers in; send a
#: notice to all clients.
KICK, BAR, MUTE, DOOR, NOTICE = "kick", "bar", "mute", "close the door", "notice"

#: The deeds that apply to a player's id -> the same for all players with a key.
BY_OWNER: Final = {KICK: "kick owner", MUTE: "mute owner"}

#: No order, but what a node knows of a player that one of them applies to: its key.
KEY: Final = "key"

#: How many characters of an owner, a hash of a key, are enough to know it by.
MARK: Final = 16

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

    `who` is what a deed applies to: for KICK and MUTE a player's id in digits, for BY_OWNER the
    first MARK characters of an owner or, for a player without a key, as many hexadecimal digits of
    its id; for BAR an address or network as `network` gives it, for DOOR "", and for NOTICE the
    text. `silenced` is called with the id of a player that was kicked or muted.

    What applies to an id applies to all players with the same key. So the node that has the player
    gives KEY to all, with the mark of its owner and its id as `who`. There is one for each id, so a
    client that sends one key after the other displaces no orders.
    """

    def __init__(
        self,
        store_client: StoreClient,
        loop: Loop,
        residents: Residents,
    ) -> None:
        self._store_client = store_client
        self._loop = loop
        self._residents = residents
        self._known: _Orders = {}
        #: Those that were given here and are not written yet.
        self._given: _Orders = {}
        #: The mark of an owner -> the ids that were given with it.
        self._ids: dict[str, list[str]] = {}
        self._asking = False
        self._silenced: Callable[[int], None]

    def set_silenced_listener(self, silenced: Callable[[int], None]) -> None:
        """Call `silenced` with the id of each player that is kicked or muted."""
        self._silenced = silenced

    def __len__(self) -> int:
        """Return how many orders are in force."""
        return sum(self.seconds(*one) > 0 for one in self._known if one[0] not in (NOTICE, KEY))

    def start(self) -> None:
        """Begin to read what is ordered at other nodes."""
        self._loop.every(EVERY, self._exchange)
        self._exchange()

    def give(self, deed: str, who: str, seconds: int) -> None:
        """Obey an order, and let all other nodes obey it. With 0 `seconds` it ends the order; one
        for an owner then also ends those for the ids that were given with it."""
        for by_id, by_owner in BY_OWNER.items():
            if deed == by_owner and not seconds:
                # A player without a key is named by its id.
                for id in (*self._ids.get(who, ()), str(int(who, 16))):
                    if self.seconds(by_id, id):
                        self._give(by_id, id, 0)
        if deed in BY_OWNER:
            for mark, ids in self._ids.items():
                # The key must be known for as long as the order is in force.
                if who in ids and self.seconds(KEY, f"{mark} {who}") < seconds:
                    self._give(KEY, f"{mark} {who}", seconds)
        self._give(deed, who, seconds)

    def _give(self, deed: str, who: str, seconds: int) -> None:
        lasts = NOTICE_FOR if deed == NOTICE else seconds
        before, now = self._known.get((deed, who)), self._loop.now()
        at = now if before is None else max(now, before.at + 1)
        order = _Order(at, now + 1000 * lasts if lasts else 0)
        if self._store_client.store is not None:
            self._given[deed, who] = order
        self._learn({**self._known, (deed, who): order})
        self._exchange()

    def seconds(self, deed: str, who: str = "") -> int:
        """Return for how many seconds an order is still in force, rounded up; 0 if it is not."""
        order = self._known.get((deed, who))
        return 0 if order is None else max(-((self._loop.now() - order.until) // 1000), 0)

    # What sessions ask.

    def admit(self, id: int | None, address: str, owner: str) -> None:
        """Raise Refused if an order keeps out a player, its key or its address, or newcomers.

        `id` is None for a newcomer. `address` is an IP address. `owner` is "" while the player has
        shown no key.
        """
        if not self._known:
            return
        if id is not None:
            self._link(id, owner)
        seconds = max(self.seconds(BAR, network(address)), self._against(KICK, id, owner))
        if seconds:
            raise kicked(seconds)
        if id is None and self.seconds(DOOR):
            raise Refused("door", "no newcomers are let in just now: try again later", FULL)

    def check_voice(self, id: int, owner: str) -> None:
        """Raise Refused if a player is muted; `owner` is "" if it has shown no key."""
        if seconds := self._against(MUTE, id, owner):
            raise Refused("muted", f"an operator muted you for {_minutes(seconds)}", None)

    def is_muted(self, id: int, owner: str) -> bool:
        """Return whether a player is muted; `owner` is "" if it has shown no key."""
        return self._against(MUTE, id, owner) > 0

    def _against(self, deed: str, id: int | None, owner: str) -> int:
        """Return for how many seconds a player is still kicked or muted, by its id or its key."""
        if not self._known:
            return 0
        mark, by_owner = owner[:MARK], BY_OWNER[deed]
        orders = [(by_owner, mark), *((deed, same) for same in self._ids.get(mark, ()))]
        if id is not None:
            orders += [(deed, str(id)), (by_owner, f"{id:016x}")]
        return max(self.seconds(*order) for order in orders)

    def _link(self, id: int, owner: str) -> None:
        """Let what applies to a player's id apply to its key too."""
        seconds = max(self.seconds(deed, str(id)) for deed in BY_OWNER)
        if owner and seconds and not any(str(id) in ids for ids in self._ids.values()):
            self._give(KEY, f"{owner[:MARK]} {id}", seconds)

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

        self._store_client.ask(lambda store: self._write(store, given), answered, failed)

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
        self._ids = {}
        for deed, who in self._known:
            if deed == KEY:
                mark, id = who.split()
                self._ids.setdefault(mark, []).append(id)
        for (deed, who), order in self._known.items():
            old = before.get((deed, who))
            if old is None or old.at != order.at:
                self._obey(deed, who)

    def _obey(self, deed: str, who: str) -> None:
        seconds = self.seconds(deed, who)
        self._loop.stats["orders"] += deed != KEY
        log_line("order", deed=deed, who=who, seconds=seconds)
        if deed == NOTICE:
            message = error("notice", who)
            self._residents.each_screen(lambda screen: screen.answer(message))
        if deed in (*BY_OWNER, *BY_OWNER.values(), KEY):
            for player in self._meant(who):
                self._apply(player)
        if deed in BY_OWNER:
            resident = self._residents.by_id.get(int(who))
            if resident is None:
                self._silenced(int(who))
            else:
                self._link(resident.id, resident.owner)
        if deed == BAR:
            for screen in self._residents.screens():
                if network(screen.address) == who:
                    screen.refuse(kicked(seconds))

    def _meant(self, who: str) -> list[Resident]:
        """Return the players of this node that an order applies to, by their ids or keys. For a KEY
        these are the others with that key."""
        first, _, known = who.partition(" ")
        marks = {first} | {mark for mark, ids in self._ids.items() if who in ids}
        return [
            r
            for r in self._residents.by_id.values()
            if str(r.id) != known
            and (r.owner[:MARK] in marks or who in (str(r.id), f"{r.id:016x}"))
        ]

    def _apply(self, resident: Resident) -> None:
        """Send a player away if it is kicked, and say so if it is silenced."""
        seconds = self._against(KICK, resident.id, resident.owner)
        if seconds or self.is_muted(resident.id, resident.owner):
            self._silenced(resident.id)
        if seconds and resident.screen is not None:
            resident.screen.refuse(kicked(seconds))
        elif seconds and resident.dimmed:
            self._residents.leave(resident)


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
