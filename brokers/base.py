"""The contract that every backend keeps, and that tests/brokers/test_contract.py holds it to.

It never looks inside a payload.
"""

import hashlib
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

#: The largest payload, in bytes.
PAYLOAD_LIMIT = 64 * 1024

#: Channels of which something is remembered: what a node publishes to and holds fits.
REMEMBERED = 65536

#: How certificates of servers are checked: against those that the system trusts, or not at all.
VERIFIED, UNVERIFIED = "verified", "unverified"

#: Monotonic time of what has never been.
NEVER = float("-inf")


class Message(NamedTuple):
    """What was published: on a channel, some bytes, unchanged."""

    channel: str
    payload: bytes


@dataclass(slots=True)
class Reset:
    """Messages of these channels (None: of all) may have been lost here.

    It comes in order: after every restored link or dropped subscription, and before any later
    message of those channels.
    """

    channels: set[str] | None = field(default_factory=set)


class LinkAge(NamedTuple):
    """A server's name, fit for people and without a password; and the seconds for which it has not
    proved to be alive, infinite where it never has."""

    name: str
    seconds: float


class BrokerClosed(Exception):
    """The broker was closed by its owner."""


@dataclass(slots=True)
class Counters:
    """What a broker has done since it was opened; each only ever grows."""

    published: int = 0
    received: int = 0
    dropped: int = 0
    reconnects: int = 0
    errors: int = 0
    #: Received, and dropped because its seal was not that of this broker's secret.
    forged: int = 0


def _sum(name: str) -> Any:
    return property(lambda sums: sum(getattr(part, name) for part in sums.parts))


class Sums(Counters):
    """What all of some have counted, added up whenever it is read."""

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
    """Publish and subscribe, at most once, without history.

    No method but `receive` ever waits. One greenlet calls `receive`; any may call the others.
    Order is kept for one publisher on one channel; across channels none is promised.
    """

    #: Bytes that a payload may have.
    payload_limit = PAYLOAD_LIMIT

    def __init__(self, url: str) -> None:
        self.url = url
        self.counters = Counters()

    @property
    def identity(self) -> str:
        """A short text that is the same for all nodes whose brokers are the same ones."""
        return short_hash(bare(self.url))

    @abstractmethod
    def subscribe(self, *channels: str) -> None:
        """Add exact channel names to those received; takes effect soon. A known one is no error."""

    @abstractmethod
    def unsubscribe(self, *channels: str) -> None:
        """Take channel names out again. An unknown one is no error."""

    @abstractmethod
    def publish(self, channel: str, payload: bytes) -> bool:
        """Send 0 to `payload_limit` bytes to whoever is subscribed, oneself included.

        Returns False, and counts a drop, where it cannot be sent now: nothing is ever sent late.
        Raises TypeError for anything but bytes, ValueError for too many, BrokerClosed.
        """

    @abstractmethod
    def receive(self, timeout: float | None = None) -> Message | Reset | None:
        """Return what comes next, or None after `timeout` seconds.

        Raises BrokerClosed once the broker is closed, and never a connection's error.
        """

    @abstractmethod
    def links(self) -> list[LinkAge]:
        """Return each server that this broker needs, and how old the news of it is.

        A broker that leaves its process for nothing returns none.
        """

    @abstractmethod
    def close(self) -> None:
        """End the links and wake the receiver. Again is no error."""


def bare(url: str) -> str:
    """Return a URL without user and password: what all nodes write alike, and all may read."""
    return re.sub(r"//[^/?#]*@", "//", url)


def short_hash(text: str) -> str:
    """Return a short text that differs where this one does."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def check_payload(payload: bytes, limit: int = PAYLOAD_LIMIT) -> None:
    """Raise what `Broker.publish` promises for a payload that is none."""
    if type(payload) is not bytes:
        raise TypeError(f"a payload is bytes, not {type(payload).__name__}")
    if len(payload) > limit:
        raise ValueError(f"a payload has at most {limit} bytes, not {len(payload)}")
