"""What an operator has ordered: who is kept out, who is silent, whether newcomers are let in.

Every order ends by itself. It is told to all nodes, and anew to each that is new or was out of
reach, so that a worker that is started again knows them too. Whoever reaches the broker may give
orders, as it may do anything else between nodes; HTTP is server/web/admin.py's.
"""

import ipaddress
from collections.abc import Callable

from server.agenda import Agenda
from server.logs import log_line
from server.messages import peer_protocol
from server.messages.peer_protocol import BAR, DOOR, KICK, MUTE, NOTICE
from server.messages.protocol import FULL, POLICY, Refused
from server.players.among_nodes import AmongNodes
from server.squares.peers import Peer

#: So many orders are in force at most; beyond that the one that ends first is forgotten.
LIMIT = 1000

#: An order is told again so many ms later, for the links of other nodes may have been down.
REPEAT_AFTER = 5000

#: An order that ends within so many seconds of what is known here is the same one.
SAME = 2

#: How they are called in logs.
DEEDS = {KICK: "kick", BAR: "bar", MUTE: "mute", DOOR: "close the door", NOTICE: "notice"}


class Orders:
    """See the module. `who` is the text of a player's id, an address, nothing, or what is to be
    said, as the deed needs it."""

    def __init__(self, among: AmongNodes) -> None:
        self._node, self._loop, self._publish, self._residents, self._peers = among
        #: (deed, who) -> the node time at which it ends.
        self._until: dict[tuple[int, str], int] = {}
        #: Other nodes that were told all that is in force, as they were known then.
        self._told: dict[int, Peer] = {}
        self._repeats = Agenda(self._loop, self._repeat)
        #: Called with a sentence that all clients are to be told.
        self.on_notice: Callable[[str], None] = lambda _text: None

    def __len__(self) -> int:
        return sum(self.seconds(*order) > 0 for order in self._until)

    def give(self, deed: int, who: str, seconds: int) -> None:
        """Obey an order here, and tell it to all other nodes. Zero seconds end it."""
        self._obey(deed, who, seconds)
        self._publish_order(deed, who, seconds)
        if deed != NOTICE:
            self._repeats.put((deed, who), self._loop.now() + REPEAT_AFTER)

    def ordered(self, node: int, deed: int, who: str, seconds: int) -> None:
        """Obey an order that a node tells."""
        if node != self._node:
            # Every node tells everything again to each that is new: a line for each would be
            # many. What is in force here until the same moment is no news.
            if deed == NOTICE or abs(seconds - self.seconds(deed, who)) > SAME:
                log_line("order", deed=DEEDS[deed], who=who, seconds=seconds, node=node)
            self._obey(deed, who, seconds)

    def greet(self, node: int) -> None:
        """Another node is alive: tell it what is in force, if it was not told."""
        peers = self._peers.peers
        peer = peers.get(node)
        if peer is not None and self._told.get(node) is not peer:
            self._told = {id: other for id, other in self._told.items() if id in peers}
            self._told[node] = peer
            self.publish_all()

    def publish_all(self) -> None:
        """Tell all other nodes what is in force."""
        for deed, who in self._until:
            seconds = self.seconds(deed, who)
            if seconds > 0:
                self._publish_order(deed, who, seconds)

    def seconds(self, deed: int, who: str = "") -> int:
        """Return for how many seconds an order is still in force; 0 where it is not."""
        until = self._until.get((deed, who))
        return 0 if until is None else max(-((self._loop.now() - until) // 1000), 0)

    # What sessions ask.

    def admit(self, id: int | None, address: str) -> None:
        """Raise Refused where a player or an address is kept out; None is a newcomer."""
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
        """Raise Refused where a player may not say anything."""
        if self._until and (seconds := self.seconds(MUTE, str(id))):
            raise Refused("muted", f"an operator muted you for {_minutes(seconds)}", None)

    # What is done.

    def _publish_order(self, deed: int, who: str, seconds: int) -> None:
        self._publish(peer_protocol.order(self._node, deed, who, seconds))

    def _repeat(self, order: tuple[int, str], _due: int) -> None:
        self._publish_order(*order, self.seconds(*order))

    def _obey(self, deed: int, who: str, seconds: int) -> None:
        self._loop.stats["orders"] += 1
        if deed == NOTICE:
            self.on_notice(who)
            return
        self._keep(deed, who, seconds)
        if seconds == 0:
            return
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
    """Return what is kept out with an address: itself, or an IPv6 address' network of 64 bits.

    A text that is no address is returned as it is: nobody has it.
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
    """Return what somebody who is kept out for so long is told."""
    return Refused("kicked", f"an operator sent you away for {_minutes(seconds)}", POLICY)


def _minutes(seconds: int) -> str:
    minutes = -(-seconds // 60)
    return "a minute" if minutes == 1 else f"{minutes} minutes"
