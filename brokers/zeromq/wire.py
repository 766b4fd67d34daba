"""The frames between the brokers of zeromq:// and their forwarder, and the addresses of both.

A message is one frame (two frames cost twice the time at 60 bytes and no less at 1 KiB):

    kind  channel  NUL  payload  trailer

ZeroMQ compares a subscription with the beginning of a frame. No channel's name may hold a NUL, so
a subscription to kind + channel + NUL receives that channel only. The trailer says which broker
sent the message, on which of its links, and when by its own clock. A frame that ends with its NUL
is a mark of loss: the forwarder discarded a message of that channel.

ZeroMQ drops messages for a subscriber whose queue is full, and says nothing. So the forwarder
numbers such overflows. Just before messages are dropped, it sends a frame with the new number; only
the subscribers whose queues are full miss it. Once a second it sends the newest number to all, and
those who missed a number know that they missed messages.
"""

import struct
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from flatlands.brokers.base import PAYLOAD_LIMIT, bare

#: The first byte of a message.
MESSAGE_PREFIX = b"="
#: The first byte of a probe.
PROBE = b"?"
#: The byte that ends a topic.
END = b"\0"

#: The broker's id, the number of its link, and the sender's seconds on a clock that only rises.
TRAILER = struct.Struct("<8sId")

#: The topic of overflows, and what follows it: whether the overflow is new, and its number.
OVERFLOW = b"!" + END
OVERFLOW_NUMBER = struct.Struct("<?Q")

#: Bytes that a frame may have: whoever sends a larger one is disconnected. It is twice a payload,
#: since a frame also holds the channel's name and a seal.
FRAME_LIMIT = 2 * PAYLOAD_LIMIT

# The default ports of a forwarder.
PULL_PORT = 5561
PUB_PORT = 5562


class Addresses(NamedTuple):
    """The addresses of a forwarder: it receives messages at `pull`, and publishes them at `pub`."""

    pull: str
    pub: str


def tcp_addresses(host: str, pull: int = PULL_PORT, pub: int | None = None) -> Addresses:
    """Return the addresses on a host; the default of `pub` is the port after `pull`."""
    name = f"[{host}]" if ":" in host else host
    return Addresses(f"tcp://{name}:{pull}", f"tcp://{name}:{pull + 1 if pub is None else pub}")


def ipc_addresses(prefix: str) -> Addresses:
    """Return the addresses of two Unix sockets whose paths begin with `prefix`."""
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
        (parts.hostname or "").encode("idna")  # a label of a name has 1 to 63 letters
    except ValueError:
        raise wrong from None
    if not parts.hostname or parts.username is not None or parts.path.strip("/"):
        raise wrong
    if options or not 0 < pub < 65536:
        raise wrong
    return tcp_addresses(parts.hostname, pull, pub)
