"""What passes between the brokers of zeromq:// and their forwarder, and at which addresses.

A message is one frame (two frames cost twice the time at 60 bytes and none less at 1 KiB):

    kind  channel  NUL  payload  trailer

ZeroMQ matches the beginnings of frames. With the NUL, which no channel may hold, a subscription
to kind + channel + NUL hears that channel only. The trailer says which broker sent it, on which of
its links, and when by its own clock. A frame that ends with its NUL is a mark of loss: the
forwarder held back a message of that channel.

Where a subscriber has not room enough ZeroMQ drops in silence, so the forwarder numbers such
overflows: it sends a frame of their own with the new number just before it lets go, which is lost
to those, and only to those, who are full; and the newest number each second, by which they learn.
"""

import struct
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from brokers.base import PAYLOAD_LIMIT, bare

MESSAGE, PROBE, END = b"=", b"?", b"\0"

#: The broker's id, the number of its link, and the sender's seconds on a clock that only rises.
TRAILER = struct.Struct("<8sId")

#: The topic of overflows, and what follows it: whether it happens now, and its number.
OVERFLOW = b"!" + END
OVERFLOW_NUMBER = struct.Struct("<?Q")

#: Bytes that a frame may have at either end: whoever sends more is cut off. It is twice a payload,
#: for a channel's name and a seal are in it too.
FRAME_LIMIT = 2 * PAYLOAD_LIMIT

#: Ports where nothing else is said.
PULL_PORT, PUB_PORT = 5561, 5562


class Addresses(NamedTuple):
    """Where a forwarder takes in (`pull`) and gives out (`pub`)."""

    pull: str
    pub: str


def tcp_addresses(host: str, pull: int = PULL_PORT, pub: int | None = None) -> Addresses:
    """Return the addresses on a host; `pub` is the port after `pull` unless told."""
    name = f"[{host}]" if ":" in host else host
    return Addresses(f"tcp://{name}:{pull}", f"tcp://{name}:{pull + 1 if pub is None else pub}")


def ipc_addresses(prefix: str) -> Addresses:
    """Return the addresses of two sockets in the file system whose paths begin alike."""
    return Addresses(f"ipc://{prefix}.pull", f"ipc://{prefix}.pub")


def addresses_of(url: str) -> Addresses:
    """Return the addresses that a zeromq:// or zeromq+ipc:// URL names, or raise ValueError."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.scheme == "zeromq+ipc":
        if parts.netloc or options or len(parts.path) < 2:
            raise ValueError(f"{bare(url)!r} should look like zeromq+ipc:///path/prefix")
        return ipc_addresses(parts.path)
    wrong = ValueError(f"{bare(url)!r} should look like zeromq://host:{PULL_PORT}?pub={PUB_PORT}")
    try:
        pull = parts.port or PULL_PORT
        pub = int(options.pop("pub", pull + 1))
    except ValueError:
        raise wrong from None
    if not parts.hostname or parts.username is not None or parts.path.strip("/"):
        raise wrong
    if options or not 0 < pub < 65536:
        raise wrong
    return tcp_addresses(parts.hostname, pull, pub)
