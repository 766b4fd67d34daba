"""A link to a server, which reconnects by itself; every broker that needs a server uses it.

A link connects, proves that the server answers, and probes it once a second. When the connection is
lost, the link logs the reason, but not again while each new connection is lost at once for the same
reason. It waits a little longer before each attempt, and connects again. What passes over it
depends on the kind of link; brokers/stream.py has what the links over TCP share. A link never makes
its caller wait, and never raises a connection's error to it.
"""

import logging
import random
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

import gevent
from gevent.event import AsyncResult, Event

from flatlands.brokers.base import (
    LONG_AGO,
    Broker,
    Counters,
    LinkHealth,
    Message,
    Reset,
    check_payload,
)
from flatlands.brokers.guard import keep_running
from flatlands.brokers.inbox import Inbox

log = logging.getLogger("flatlands")

#: Seconds between two probes of a link.
PROBE_EVERY = 1.0

#: Seconds: the longest wait before the first attempt to reconnect.
BACKOFF_FIRST = 0.1
#: Seconds: the longest wait before any attempt to reconnect.
BACKOFF_MOST = 1.0


#: The errors of parsers if a server does not keep to its protocol.
PARSE_ERRORS = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    RecursionError,
    MemoryError,
    struct.error,
)


def unreadable(error: Exception) -> ConnectionError:
    """Return one of PARSE_ERRORS as a connection's error. Its text quotes nothing that was sent."""
    return ConnectionError(f"it sends unreadable data ({type(error).__name__})")


class Link(ABC):
    """A connection that is made again whenever it is lost.

    `connected` is true while a proven connection is in use. `attempted` is set once the first
    attempt to connect has succeeded or failed. `proven` is the monotonic time, in seconds, of the
    server's last answer.
    """

    #: Probes that may stay unanswered before the connection is given up. Probes are counted rather
    #: than seconds, so that a process that was itself stopped for a while does not blame its links.
    probes_limit = 5

    def __init__(self, name: str, counters: Counters, inbox: Inbox) -> None:
        self.name = name
        #: Why the last connection ended or could not be made; empty while there is one.
        self.trouble = ""
        self.attempted = Event()
        self.connected = False
        self.proven = time.monotonic()
        self._counters = counters
        self._inbox = inbox
        #: Whether an attempt has failed, or a connection was lost, since the link was opened; and
        #: whether its first attempt took longer than anybody waited for it.
        self._interrupted = self.is_late = False
        #: The trouble that was logged last, until a connection has lasted for PROBE_EVERY.
        self._logged = ""
        #: The monotonic times at which the unanswered probes were sent.
        self._unanswered: list[float] = []
        self._ended: AsyncResult[Exception] = AsyncResult()
        self._closed = False
        self._greenlet = keep_running(f"a link to {name}", counters.count_error, self._run)

    # What a broker calls.

    def put(self, channel: str, payload: bytes) -> bool:
        """Send or queue a message; return False, and do nothing, if it cannot be sent now."""
        raise NotImplementedError

    def add(self, channels: Iterable[str]) -> None:
        """Subscribe to these channels too; a known one is no error."""
        raise NotImplementedError

    def remove(self, channels: Iterable[str]) -> None:
        """Unsubscribe from these channels; an unknown one is no error."""
        raise NotImplementedError

    def close(self) -> None:
        """End the link for good. Returns at once."""
        self._closed = True
        self.fail(ConnectionError("the link was closed"))
        self._disconnect()
        self._greenlet.kill(block=False)

    # What each kind of link implements.

    @abstractmethod
    def _open(self) -> None:
        """Connect, subscribe to the wanted channels, and prove that the server answers.

        Raises OSError, with a text for the log, if this fails.
        """

    @abstractmethod
    def _disconnect(self) -> None:
        """Close the connection at once, whatever its state. Doing it again is no error."""

    @abstractmethod
    def _probe(self) -> None:
        """Ask the server for a sign of life; the answer must lead to a call of `_answered`."""

    def _begin(self, again: bool) -> None:
        """Prepare to use a proven connection. `again`: an attempt has failed, or a connection was
        lost, before; then report what may be lost, with a Reset."""
        if again:
            self._inbox.reset(None)

    @abstractmethod
    def _lost(self) -> None:
        """Stop using the connection, and count as dropped what was still to be sent on it."""

    # What all kinds of links share.

    def fail(self, reason: Exception) -> None:
        """Give the connection up, so that a new one is made. Only the first reason counts."""
        if self.connected:
            self.connected = False
            self._lost()
        if not self._ended.ready():
            self._ended.set(reason)

    def _answered(self) -> None:
        """Note that the server has answered what it was sent until now, or nearly all of it."""
        self.proven = time.monotonic()
        self._unanswered.clear()

    def _run(self) -> None:
        # The waits grow exponentially and are drawn at random between 0 and their limit, so that
        # nodes which lost the same server do not all come back at once.
        pause = BACKOFF_FIRST
        while not self._closed:
            self._ended = AsyncResult()
            self._unanswered.clear()
            try:
                self._open()
                self.trouble, since = "", time.monotonic()
                self._came_up()
                reason = self._use()
                if time.monotonic() - since > BACKOFF_MOST:
                    pause = BACKOFF_FIRST
            except OSError as error:
                reason = error
            finally:
                # This must also happen after an error in this loop and after close(): otherwise
                # there could be two connections, or a link that is never used again.
                self._interrupted = True
                self.fail(ConnectionError("the link failed"))
                self._disconnect()
                self.attempted.set()
            self.trouble = str(reason)
            if self.trouble != self._logged and not self._closed:
                self._logged = self.trouble
                log.warning("no link to %s: %s", self.name, self.trouble)
            gevent.sleep(random.uniform(0, pause))
            pause = min(2 * pause, BACKOFF_MOST)

    def _came_up(self) -> None:
        if self._interrupted:
            self._counters.reconnects += 1
        self._answered()
        self._begin(self._interrupted or self.is_late)
        self.connected = True
        self.attempted.set()

    def _use(self) -> Exception:
        """Probe the connection until it ends; return the reason for its end."""
        while not self._ended.wait(PROBE_EVERY):
            if self._logged:
                self._logged = ""
                log.warning("the link to %s is back", self.name)
            if len(self._unanswered) >= self.probes_limit:
                self.fail(TimeoutError("the server does not answer"))
            else:
                self._unanswered.append(time.monotonic())
                self._probe()
        reason = self._ended.get()
        assert reason is not None
        return reason


def await_links(links: Sequence[Link], seconds: float) -> None:
    """Wait until each of these new links has tried to connect, for `seconds` at most.

    A link that is not connected by then counts as never proven, and begins with a Reset even if its
    first attempt succeeds in the end.
    """
    # Otherwise a loop that has not run for a while would count the time since then.
    gevent.get_hub().loop.update_now()
    gevent.wait([link.attempted for link in links], timeout=max(seconds, 0))
    for link in links:
        if not link.connected:
            link.proven, link.is_late = LONG_AGO, True


class LinkedBroker(Broker):
    """The base of all brokers that reach their servers over links.

    A broker of one server has one link. A broker of several servers chooses the link for each
    channel.
    """

    _link: Link
    #: `Link.put` of the link that the channel belongs to.
    _put: Callable[[str, bytes], bool]

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._inbox = Inbox(self.counters)

    def _start(self, link: Link, within: float) -> None:
        """Use this link; wait until it has tried to connect, for `within` seconds at most."""
        self._link, self._put = link, link.put
        await_links([link], within)

    def _links(self) -> Sequence[Link]:
        """Return all current links."""
        return [self._link]

    def _link_of(self, channel: str) -> Link | None:
        """Return the link that a channel belongs to, if there is one now."""
        return self._link

    def subscribe(self, *channels: str) -> None:
        self._inbox.check_open()
        self._link.add(channels)

    def unsubscribe(self, *channels: str) -> None:
        self._inbox.check_open()
        self._link.remove(channels)

    def renew(self, channel: str) -> None:
        self._inbox.check_open()
        if (link := self._link_of(channel)) is not None:
            link.fail(ConnectionError(f"nothing arrives on {channel}"))

    def publish(self, channel: str, payload: bytes) -> bool:
        self._inbox.check_open()
        check_payload(payload)
        self.counters.published += 1
        if self._put(channel, payload):
            return True
        self.counters.dropped += 1
        return False

    def receive(self, timeout: float | None = None) -> Message | Reset | None:
        return self._inbox.get(timeout)

    def links(self) -> list[LinkHealth]:
        now = time.monotonic()
        return [LinkHealth(link.name, now - link.proven, link.trouble) for link in self._links()]

    def close(self) -> None:
        self._inbox.close()
        for link in self._links():
            link.close()
