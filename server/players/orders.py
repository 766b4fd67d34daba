"""An operator's orders: who is kept out, who is muted, and whether newcomers are let in.

Every order ends by itself. It is published to all nodes, and again when this node was out of reach;
a node that is new is sent all of them, so that a worker that was restarted knows them too. This
module never checks who gives orders:
server/web/admin.py does. Whoever can publish what nodes believe can give orders too, as it can do
anything else between nodes; brokers/sealed.py says who can.
"""

import ipaddress
from collections.abc import Callable

from flatlands.server.agenda import Agenda
from flatlands.server.logs import log_line
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.peer_protocol import BAR, DOOR, KICK, MUTE, NOTICE
from flatlands.server.messages.protocol import FULL, POLICY, Refused
from flatlands.server.players.among_nodes import AmongNodes

#: The most orders that a node keeps. Beyond that it forgets the one that ends first.
LIMIT = 1000

#: An order is published again after so many ms, since another node's link may have been down.
REPEAT_AFTER = 5000

#: So many nodes send their orders to one that is new: of all that know it, those whose ids are
#: nearest to its own. One would do if nothing were lost.
GREETERS = 3

#: An order is not logged again if its end differs by so many seconds, or fewer, from the known one.
SAME = 2

#: The names of the deeds in logs.
DEEDS = {KICK: "kick", BAR: "bar", MUTE: "mute", DOOR: "close the door", NOTICE: "notice"}


class Orders:
    """See the module.

    `deed` is one of the numbers in peer_protocol.py, and `who` what it applies to: for KICK and
    MUTE a player's id in digits, for BAR an address or network as `network` gives it, for DOOR "",
    and for NOTICE the text.
    """

    def __init__(self, among: AmongNodes) -> None:
        self._node, self._loop, self._residents, self._peers = among[:4]
        self._to_all, self._to_node = among.to_all, among.to_node
        #: (deed, who) -> the node time at which it ends.
        self._until: dict[tuple[int, str], int] = {}
        self._repeats = Agenda(self._loop, self._repeat)
        #: Called with the text of a notice, which all clients of this node are to be sent.
        self.on_notice: Callable[[str], None] = lambda _text: None
        #: Called with the id of a player that was kicked or muted.
        self.on_silenced: Callable[[int], None] = lambda _id: None

    def __len__(self) -> int:
        """Return how many orders are in force."""
        return sum(self.seconds(*order) > 0 for order in self._until)

    def give(self, deed: int, who: str, seconds: int) -> None:
        """Obey an order, and publish it to all other nodes. With 0 `seconds` it ends the order."""
        self._obey(deed, who, seconds)
        self._to_all(self._pack(deed, who, seconds))
        if deed != NOTICE:
            self._repeats.put((deed, who), self._loop.now() + REPEAT_AFTER)

    def ordered(self, node: int, deed: int, who: str, seconds: int) -> None:
        """Obey an order that another node has published."""
        if node != self._node:
            # All nodes publish all orders again for each new node. So an order that is in force
            # here until the same moment is not logged.
            if deed == NOTICE or abs(seconds - self.seconds(deed, who)) > SAME:
                log_line("order", deed=DEEDS[deed], who=who, seconds=seconds, node=node)
            self._obey(deed, who, seconds)

    def greet(self, node: int) -> None:
        """Send all orders to another node if it is new here, and this node is near to it.

        A node that died and came back is new, too.
        """
        peer = self._peers.peers.get(node)
        if peer is None or peer.greeted:
            return
        peer.greeted = True
        orders = self._in_force()
        if not orders:
            return
        nearer = sum(id ^ node < self._node ^ node for id in self._peers.peers if id != node)
        if nearer < GREETERS:
            for order in orders:
                self._to_node(node, order)

    def publish_all(self) -> None:
        """Publish all orders that are in force, with the seconds that are left."""
        for order in self._in_force():
            self._to_all(order)

    def _in_force(self) -> list[bytes]:
        """Return all orders that are in force, packed."""
        left = {order: self.seconds(*order) for order in self._until}
        return [self._pack(*order, seconds) for order, seconds in left.items() if seconds > 0]

    def seconds(self, deed: int, who: str = "") -> int:
        """Return for how many seconds an order is still in force, rounded up; 0 if it is not."""
        until = self._until.get((deed, who))
        return 0 if until is None else max(-((self._loop.now() - until) // 1000), 0)

    # What sessions ask.

    def admit(self, id: int | None, address: str) -> None:
        """Raise Refused if an order keeps out a player or its address, or newcomers.

        `id` is None for a newcomer. `address` is an IP address.
        """
        if not self._until:
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
        if self._until and (seconds := self.seconds(MUTE, str(id))):
            raise Refused("muted", f"an operator muted you for {_minutes(seconds)}", None)

    def is_muted(self, id: int) -> bool:
        """Say whether a player is muted."""
        return self.seconds(MUTE, str(id)) > 0

    # What is done.

    def _pack(self, deed: int, who: str, seconds: int) -> bytes:
        return peer_protocol.order(self._node, deed, who, seconds)

    def _repeat(self, order: tuple[int, str], _due: int) -> None:
        self._to_all(self._pack(*order, self.seconds(*order)))

    def _obey(self, deed: int, who: str, seconds: int) -> None:
        self._loop.stats["orders"] += 1
        if deed == NOTICE:
            self.on_notice(who)
            return
        self._keep(deed, who, seconds)
        if seconds == 0:
            return
        if deed in (KICK, MUTE):
            self.on_silenced(int(who))
        if deed == KICK:
            resident = self._residents.by_id.get(int(who))
            if resident is not None:
                if resident.screen is not None:
                    resident.screen.refuse(kicked(seconds))
                elif resident.dimmed:
                    self._residents.leave(resident)
        elif deed == BAR:
            for screen in self._residents.screens():
                if network(screen.address) == who:
                    screen.refuse(kicked(seconds))

    def _keep(self, deed: int, who: str, seconds: int) -> None:
        self._until.pop((deed, who), None)
        if seconds == 0:
            return
        now = self._loop.now()
        if len(self._until) >= LIMIT:
            self._until = {order: until for order, until in self._until.items() if until > now}
        if len(self._until) >= LIMIT:
            del self._until[min(self._until, key=self._until.__getitem__)]
        self._until[deed, who] = now + 1000 * seconds


def network(address: str) -> str:
    """Return what is kept out together with an address, as the `who` of a BAR.

    For IPv4 it is the address itself, for IPv6 its network of 64 bits. A text that is no address is
    returned as it is, and keeps nobody out.
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
