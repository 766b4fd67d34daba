"""The contract that every backend keeps; tests/brokers/test_contract.py tests each of them.

A broker never looks inside a payload.
"""

import hashlib
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

#: The largest payload, in bytes.
PAYLOAD_LIMIT = 64 * 1024

#: Channels for which a backend caches something: more than a node publishes to and subscribes to.
CHANNELS_CACHED = 65536

#: A server's certificate is checked against those that the system trusts.
VERIFIED = "verified"
#: A server's certificate is not checked.
UNVERIFIED = "unverified"

#: The monotonic time of something that has never happened.
LONG_AGO = float("-inf")


class Message(NamedTuple):
    """Bytes that somebody published on a channel, unchanged."""

    channel: str
    payload: bytes


@dataclass(slots=True)
class Reset:
    """A report that messages of these channels (None: of all channels) may have been lost.

    It is received in order: after a link was restored or a subscription was dropped, and before any
    later message of those channels.
    """

    channels: set[str] | None = field(default_factory=set)


class LinkHealth(NamedTuple):
    """The health of a link: how long ago its server last proved to be alive.

    `name` is that of the server, for people and without a password. `seconds` is infinite if the
    server never answered. `trouble` says why the last try to connect failed, where that is known.
    """

    name: str
    seconds: float
    trouble: str = ""

    def __str__(self) -> str:
        return (
            f"no link to {self.name}: {self.trouble}"
            if self.trouble
            else (f"{self.name} does not answer")
        )


class BrokerClosed(Exception):
    """The broker was closed by its owner."""


@dataclass(slots=True)
class Counters:
    """Counts the work of a broker since it was opened. No counter ever falls."""

    published: int = 0
    received: int = 0
    dropped: int = 0
    reconnects: int = 0
    errors: int = 0
    #: Messages received, and dropped because they were not sealed with this broker's secret.
    forged: int = 0

    def count_error(self) -> None:
        self.errors += 1


def _sum(name: str) -> Any:
    return property(lambda sums: sum(getattr(part, name) for part in sums.parts))


class SummedCounters(Counters):
    """Counters that are the sums of other counters, added up whenever they are read."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Counters]) -> None:
        self.parts = parts

    published = _sum("published")
    received = _sum("received")
    dropped = _sum("dropped")
    reconnects = _sum("reconnects")
    errors = _sum("errors")
    forged = _sum("forged")


class Broker(ABC):
    """Publishes messages on channels, and receives those of the channels that it is subscribed to.
    A message is delivered at most once, and none is stored.

    Only `receive` waits; the other methods return at once. One greenlet calls `receive`; any
    greenlet may call the others. The messages of one publisher on one channel arrive in order;
    across channels, no order is promised.
    """

    #: The largest payload that `publish` accepts, in bytes.
    payload_limit = PAYLOAD_LIMIT

    @classmethod  # noqa: B027
    def check(cls, url: str, tls: str | None = None) -> None:
        """Raise ValueError, as the constructor does, if this is no URL of such a broker."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.counters = Counters()
        #: A short text that is the same for all nodes that use the same broker.
        self.identity = short_hash(bare(url))

    @abstractmethod
    def subscribe(self, *channels: str) -> None:
        """Start receiving these channels, soon. Naming a subscribed channel is no error."""

    @abstractmethod
    def unsubscribe(self, *channels: str) -> None:
        """Stop receiving these channels. Naming a channel that is not subscribed is no error."""

    @abstractmethod
    def renew(self, channel: str) -> None:
        """Replace the link over which a channel comes, if there is one; a Reset follows."""

    @abstractmethod
    def publish(self, channel: str, payload: bytes) -> bool:
        """Send 0 to `payload_limit` bytes to all subscribers, this broker included.

        Returns False, and counts the message as dropped, if it cannot be sent now: nothing is ever
        sent late. Raises TypeError if the payload is not bytes, ValueError if it is too large, and
        BrokerClosed.
        """

    @abstractmethod
    def receive(self, timeout: float | None = None) -> Message | Reset | None:
        """Return the next message or Reset, or None if none comes within `timeout` seconds.

        Raises BrokerClosed once the broker is closed, and never an error of a connection.
        """

    @abstractmethod
    def links(self) -> list[LinkHealth]:
        """Return each server that this broker needs, with the age of its last sign of life.

        The list is empty for a broker that needs no server.
        """

    @abstractmethod
    def close(self) -> None:
        """End the links and wake the receiver. Closing a broker again is no error."""


def bare(url: str) -> str:
    """Return a URL without user and password: it may be shown, and is the same for all nodes."""
    # A password may contain any character by mistake, and must not be shown even then. Each member
    # of a ring may have one.
    shown = re.sub(r"//(?:(?!,[a-z+]+://).)*@", "//", url)
    # What still has one has no scheme, which was forgotten.
    return shown.rpartition("@")[2]


def short_hash(text: str) -> str:
    """Return a hash of 16 hexadecimal digits."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def check_payload(payload: bytes, limit: int = PAYLOAD_LIMIT) -> None:
    """Raise what `Broker.publish` promises for a payload that is not bytes, or too large."""
    if type(payload) is not bytes:
        raise TypeError(f"a payload must be bytes, not {type(payload).__name__}")
    if len(payload) > limit:
        raise ValueError(f"a payload may have at most {limit} bytes, not {len(payload)}")
