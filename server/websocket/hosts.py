"""Which names this server answers to, and the pages of which origins may connect to it.

A browser sends both headers with what a page asks for, and a page cannot change them. Other clients
may say what they like, and none of this is meant for them.
"""

import re
from collections.abc import Collection
from ipaddress import ip_address

#: An origin as browsers write it: a scheme, a host, and perhaps a port.
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([^/?#\s,]+)")

_DEFAULT_PORTS = (":80", ":443")


class Hosts:
    """See the module.

    `origins` are allowed besides that of the server's own pages, "*" is all of them. `hosts` are
    the names that are answered to besides this machine's own for itself; none is all of them, but
    where only this machine can connect (`local`): there any page could give its own name this
    machine's address and then read what is served here.
    """

    def __init__(
        self, origins: Collection[str] = (), hosts: Collection[str] = (), *, local: bool = False
    ) -> None:
        self._any_origin = "*" in origins
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._hosts = {host.lower() for host in hosts}
        self._local = local

    def misses_host(self, host: str) -> str | None:
        """Return a sentence that says why a Host header is not answered to, or None if it is.

        A request without one is, for no browser sends it.
        """
        if not host:
            return None
        name = _name(host.lower())
        if "*" in self._hosts or name in self._hosts:
            return None
        # No page has such a name, unless it is this machine's.
        if _is_local(name) or not (self._local or self._hosts):
            return None
        return (
            f"This server does not answer to the name {_shown(name)}: "
            "its operator can add it to ALLOWED_HOSTS."
        )

    def misses_origin(self, origin: str, host: str) -> str | None:
        """Return a sentence that says why pages of an origin may not connect, or None if they may.

        The origin of the page must be the host that it asks, whatever the scheme, for a proxy in
        front may speak TLS. No origin at all is no page's.
        """
        origin = origin.lower()
        if not origin or self._any_origin or origin in self._origins:
            return None
        found = _ORIGIN.fullmatch(origin)
        if found is not None and _plain(found[1]) == _plain(host.lower()):
            return None
        return (
            f"Pages of {_shown(origin)} may not connect to {_shown(host)}: the operator can add "
            "them to ALLOWED_ORIGINS, or let the proxy in front pass the Host header on."
        )


def is_origin(text: str) -> bool:
    """Say whether a text may stand in ALLOWED_ORIGINS."""
    return text in ("*", "null") or _ORIGIN.fullmatch(text.lower().rstrip("/")) is not None


def is_local(address: str) -> bool:
    """Say whether only this machine itself can connect to an address that is listened on."""
    return _is_local(address.split("%")[0])


def _is_local(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _name(host: str) -> str:
    """Return the name in a Host header, without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _plain(host: str) -> str:
    for port in _DEFAULT_PORTS:
        if host.endswith(port):
            return host.removesuffix(port)
    return host


def _shown(text: str) -> str:
    """Return something that a stranger sent, fit for a sentence."""
    return text[:100].encode("ascii", "replace").decode()
