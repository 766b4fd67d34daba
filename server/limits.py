"""Who somebody is to the limits of this server, and how often anybody may do anything.

It keeps the counts and says yes or no. It never touches a socket, never refuses anybody itself, and
never waits.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

#: An address as some proxies write it, with a port: 192.0.2.1:4711 or [2001:db8::1]:4711.
_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d+)?|([^:]*):\d+")


class Proxies:
    """The proxies whose X-Forwarded-For is believed.

    `text` is a comma-separated list of addresses and networks; `*` stands for whoever connects, and
    trusts that one hop only. Raises ValueError for anything else.
    """

    def __init__(self, text: str = "") -> None:
        names = [name.strip() for name in text.split(",") if name.strip()]
        self._any = "*" in names
        self._networks = [ip_network(name, strict=False) for name in names if name != "*"]

    def trusts(self, address: str) -> bool:
        """Say whether an address that has connected is that of a trusted proxy."""
        return self._any or self._listed(_read(address))

    def client(self, peer: str, forwarded: str) -> str:
        """Return the address of who is behind a request.

        `peer` is the address that connected, `forwarded` the request's X-Forwarded-For or "". A
        proxy adds the address that it has seen at the right end, and what stands further left may
        be invented: the entry that counts is the rightmost one that is no proxy of ours.
        """
        address = _read(peer)
        if not forwarded or not self.trusts(peer):
            return str(address or peer)
        for entry in reversed(forwarded.split(",")):
            found = _read(entry)
            if found is None:
                break
            address = found
            if not self._listed(found):
                break
        return str(address or peer)

    def _listed(self, address: IPv4Address | IPv6Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def _read(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address, without its port and zone, or None where it is none."""
    text = text.strip()
    try:
        address = ip_address(text.split("%")[0])
    except ValueError:
        found = _WITH_PORT.fullmatch(text)
        if found is None:
            return None
        try:
            address = ip_address(found[1] or found[2])
        except ValueError:
            return None
    # A listener for both versions shows the clients of the older one as ::ffff:192.0.2.1.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
