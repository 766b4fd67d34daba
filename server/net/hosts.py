"""Checks the headers Host and Origin: the names that this server answers to, and the origins whose
pages may connect.

Browsers send both headers with a page's requests, and the page cannot change them. Other clients
can send anything, so this never protects against them.
"""

import re
from collections.abc import Callable, Collection
from ipaddress import ip_address

#: An origin as browsers write it: a scheme, a host, and perhaps a port.
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([^/?#\s,]+)")

#: A name as it stands in URLs.
_NAME = re.compile(r"[a-z0-9.-]+")

_DEFAULT_PORTS = (":80", ":443")


class Hosts:
    """Checks requests by the names and origins that are allowed.

    `origins` are allowed as well as that of the server's own pages; "*" allows all. `hosts` are the
    names that are allowed as well as the local names of this machine. Without `hosts` all names are
    allowed, unless only this machine can connect (`local`): then any page on the internet could
    give its own name this machine's address, and read what is served here. `machines` returns the
    addresses of the machines of this world, whose pages may connect too: their clients come here.
    """

    def __init__(
        self,
        origins: Collection[str] = (),
        hosts: Collection[str] = (),
        *,
        local: bool = False,
        machines: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._any_origin = "*" in origins
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._hosts = {host.lower() for host in hosts}
        self._local = local
        self._machines = machines

    def host_refusal(self, host: str) -> str | None:
        """Return None if a Host header is allowed, or a sentence that says why it is not.

        A request without the header is allowed, since no browser sends one.
        """
        if not host:
            return None
        name = _name(host.lower())
        if "*" in self._hosts or name in self._hosts:
            return None
        # Only pages of this machine itself can have such a name.
        if _is_local(name) or not (self._local or self._hosts):
            return None
        return (
            f"This server does not answer to the name {_shown(name)}: "
            "its operator can add it to ALLOWED_HOSTS."
        )

    def origin_refusal(self, origin: str, host: str) -> str | None:
        """Return None if pages of an origin may connect, or a sentence that says why not.

        The host of the origin must be the one in the Host header. The scheme may differ, since a
        proxy in front may speak TLS. A request without an origin is allowed: no page sends one.
        """
        origin = origin.lower()
        if not origin or self._any_origin or origin in self._origins:
            return None
        found = _ORIGIN.fullmatch(origin)
        if found is not None and _plain(found[1]) == _plain(host.lower()):
            return None
        if origin in map(origin_of, self._machines()):
            return None
        return (
            f"Pages from {_shown(origin)} may not connect to {_shown(host)}: the operator can add "
            "them to ALLOWED_ORIGINS, or have the proxy in front pass the Host header on."
        )


def is_origin(text: str) -> bool:
    """Return whether a text may stand in ALLOWED_ORIGINS."""
    return text in ("*", "null") or _ORIGIN.fullmatch(text.lower().rstrip("/")) is not None


def origin_of(address: str) -> str:
    """Return the origin of a machine's address, as browsers write it."""
    origin = "/".join(address.split("/")[:3])
    return origin.removesuffix({"http": ":80", "https": ":443"}[origin.partition(":")[0]])


def site(host: str) -> str | None:
    """Return the name in a Host header, or None if it is this machine's own or not a name."""
    name = _name(host.lower())
    return name if _NAME.fullmatch(name) and not _is_local(name) else None


def is_local(address: str) -> bool:
    """Return whether only this machine itself can connect to a listener with this address."""
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
    """Return a stranger's text, cut and in ASCII, for use in a sentence."""
    return text[:100].encode("ascii", "replace").decode()
