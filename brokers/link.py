"""One link to a server, which comes back by itself: every broker beyond this process stands on it.

A link connects, proves that the server answers, probes it once a second, and when it is lost it
says so once, waits a little longer each time, and connects again. What passes over it is the
business of each kind of link: brokers/stream.py has what those over TCP share. A link never waits
in its caller, and never raises a connection's error there.
"""

import logging
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

import gevent
from gevent.event import AsyncResult, Event

from brokers.base import NEVER, Broker, Counters, LinkAge, Message, Reset, check_payload
from brokers.guard import keep_running
from brokers.inbox import Inbox

log = logging.getLogger("flatlands")

#: Seconds between two probes of a link.
PROBE_EVERY = 1.0

#: Seconds: the longest wait before the first attempt to connect again, and before any.
BACKOFF_FIRST, BACKOFF_MOST = 0.1, 1.0


class Backoff:
    """How long to wait before the next attempt: exponential with full jitter, so that nodes which
    lost the same server do not come back in step."""

    def __init__(self) -> None:
        self._most = BACKOFF_FIRST

    def next(self) -> float:
        """Return some seconds, and make the next ones longer."""
        most = self._most
        self._most = min(most * 2, BACKOFF_MOST)
        return random.uniform(0, most)

    def reset(self) -> None:
        """Begin anew."""
        self._most = BACKOFF_FIRST


class Link(ABC):
    """A connection that is made again whenever it is lost.

    `connected` says that it is proven and in use. `attempted` is set once the first attempt to
    connect has succeeded or failed. `proven` is the monotonic time of the server's last answer.
    """

    #: Probes that may go unanswered before the connection is given up. Probes are counted, not
    #: seconds, so that a process which was itself stopped for a while does not blame its links.
    probes_limit = 5

    def __init__(self, name: str, counters: Counters, inbox: Inbox) -> None:
        self.name = name
        self.attempted = Event()
        self.connected = False
        self.proven = time.monotonic()
        self._counters = counters
        self._inbox = inbox
        #: Whether an attempt has failed, or a connection was lost, since the link was opened.
        self._interrupted = False
        #: When the probes were sent that are not answered.
        self._unanswered: list[float] = []
        self._ended: AsyncResult[Exception] = AsyncResult()
        self._closed = False
        self._greenlet = keep_running(f"a link to {name}", counters, self._run)

    # What a broker asks of its links: one that publishes has `put`, one that is subscribed the
    # other two.

    def put(self, channel: str, payload: bytes) -> bool:
        """Send a message, or leave it to be sent; False, and nothing else, where it cannot be."""
        raise NotImplementedError

    def add(self, channels: Iterable[str]) -> None:
        """Subscribe to these channels too; a known one is no error."""
        raise NotImplementedError

    def remove(self, channels: Iterable[str]) -> None:
        """Unsubscribe from these channels; an unknown one is no error."""
        raise NotImplementedError

    def close(self) -> None:
        """End it for good; returns at once."""
        self._closed = True
        self.fail(ConnectionError("the link was closed"))
        self._disconnect()
        self._greenlet.kill(block=False)

    # What a kind of link does.

    @abstractmethod
    def _open(self) -> None:
        """Connect, subscribe to what is wanted, and prove that the server answers.

        Raises OSError, with a text for the log, where it does not.
        """

    @abstractmethod
    def _disconnect(self) -> None:
        """Let go of the connection at once, in whatever state it is. Again is no error."""

    @abstractmethod
    def _probe(self) -> None:
        """Ask the server for a sign of life, which calls `_answered`."""

    def _begin(self, again: bool) -> None:
        """Begin to use a proven connection; if it is made `again`, say that messages were lost."""
        if again:
            self._inbox.reset(None)

    @abstractmethod
    def _lost(self) -> None:
        """Use the connection no more, and count as dropped what was under way on it."""

    # What all kinds share.

    def fail(self, reason: Exception) -> None:
        """Give the connection up; another one is made. Only the first reason counts."""
        if self.connected:
            self.connected = False
            self._lost()
        if not self._ended.ready():
            self._ended.set(reason)

    def _answered(self) -> None:
        """The server has answered all that it was sent until now, or nearly."""
        self.proven = time.monotonic()
        self._unanswered.clear()

    def _run(self) -> None:
        backoff, complaint = Backoff(), ""
        while not self._closed:
            self._ended = AsyncResult()
            self._unanswered.clear()
            try:
                self._open()
                complaint, since = "", time.monotonic()
                self._came_up()
                reason = self._use()
                if time.monotonic() - since > BACKOFF_MOST:
                    backoff.reset()
            except OSError as error:
                reason = error
            finally:
                # Also after an error in here or close(): never two connections, never a deaf link.
                self._interrupted = True
                self.fail(ConnectionError("the link failed"))
                self._disconnect()
                self.attempted.set()
            if str(reason) != complaint and not self._closed:
                complaint = str(reason)
                log.warning("no link to %s: %s", self.name, complaint)
            gevent.sleep(backoff.next())

    def _came_up(self) -> None:
        if self._interrupted:
            self._counters.reconnects += 1
            log.warning("the link to %s is back", self.name)
        self._answered()
        self._begin(self._interrupted)
        self.connected = True
        self.attempted.set()

    def _use(self) -> Exception:
        """Probe the connection for as long as it lasts; return why it ended."""
        while not self._ended.wait(PROBE_EVERY):
            if len(self._unanswered) >= self.probes_limit:
                self.fail(TimeoutError("the server does not answer"))
            else:
                self._unanswered.append(time.monotonic())
                self._probe()
        reason = self._ended.get()
        assert reason is not None
        return reason


def await_links(links: Sequence[Link], seconds: float) -> None:
    """Return once each of some new links has been tried; those that are not there never were."""
    gevent.wait([link.attempted for link in links], timeout=max(seconds, 0))
    for link in links:
        if not link.connected:
            link.proven = NEVER


class LinkedBroker(Broker):
    """What the brokers do alike that reach their servers by links.

    A broker of one server has one link that publishes and one that is subscribed, which may be the
    same; one of several servers chooses the link for each channel.
    """

    _publisher: Link
    _subscriber: Link
    #: What `Link.put` is, of the link that a channel belongs to.
    _put: Callable[[str, bytes], bool]

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._inbox = Inbox(self.counters)

    def _start(self, publisher: Link, subscriber: Link, within: float) -> None:
        """Use these links; return once a server that answers has answered, or after `within`
        seconds: it need not be there."""
        self._publisher, self._subscriber, self._put = publisher, subscriber, publisher.put
        await_links(self._links(), within)

    def _links(self) -> Sequence[Link]:
        """Return all links that there are now."""
        return list(dict.fromkeys((self._publisher, self._subscriber)))

    def subscribe(self, *channels: str) -> None:
        self._inbox.check_open()
        self._subscriber.add(channels)

    def unsubscribe(self, *channels: str) -> None:
        self._inbox.check_open()
        self._subscriber.remove(channels)

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

    def links(self) -> list[LinkAge]:
        proven = min(link.proven for link in self._links())
        return [LinkAge(self._publisher.name, time.monotonic() - proven)]

    def close(self) -> None:
        self._inbox.close()
        for link in self._links():
            link.close()
