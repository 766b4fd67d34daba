"""Links: connections to one Redis server that come back by themselves.

A link has a reader and a writer while it is connected. Whoever uses it never waits: a call leaves
something to do and wakes the writer.
"""

import logging
import random
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import gevent
from gevent.event import AsyncResult, Event
from hiredis import ReplyError

from brokers.base import NEVER, Counters, Message
from brokers.guard import keep_running
from brokers.inbox import Inbox
from brokers.redis_connection import Connection, Endpoint, pack

log = logging.getLogger("flatlands")

#: Seconds between two probes of a link, and how many of them may go unanswered before it is cut.
PROBE_EVERY = 1.0
PROBES_LIMIT = 5

#: Seconds: the most that is waited before the first try to connect again, and before any.
BACKOFF_FIRST, BACKOFF_MOST = 0.1, 2.0

#: What may wait to be sent on one link, in messages and in bytes; what comes on top is refused.
QUEUE_LIMIT = 65536
QUEUE_BYTES = 16 * 1024 * 1024

#: Channels in one command.
CHANNELS_A_COMMAND = 512

PING = pack((b"PING",))


class Backoff:
    """How long to wait before the next try: exponential with full jitter."""

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


class Link:
    """A connection that is made again whenever it is lost; the base of both kinds.

    `attempted` is set once the first try to connect has succeeded or failed.
    """

    def __init__(self, endpoint: Endpoint, counters: Counters) -> None:
        self.endpoint = endpoint
        self.attempted = Event()
        self.connected = False
        #: Monotonic time at which the server last answered something.
        self.proven = time.monotonic()
        self._counters = counters
        self._connection: Connection | None = None
        self._ended: AsyncResult[Exception] = AsyncResult()
        self._interrupted = False
        self._unanswered_probes = 0
        self._ping_due = False
        self._wake = Event()
        self._closed = False
        self._greenlet = keep_running(f"a link to {endpoint}", counters, self._run)

    def probe(self) -> None:
        """Ask the server for a sign of life, and cut the link if many were asked for in vain.

        To be called every PROBE_EVERY. Probes are counted, not seconds, so that a process that was
        itself stopped for a while does not blame its links.
        """
        if not self.connected:
            return
        if self._unanswered_probes >= PROBES_LIMIT:
            self._ended.set(TimeoutError("the server does not answer"))
            return
        self._unanswered_probes += 1
        self._ping_due = True
        self._wake.set()

    def close(self) -> None:
        """End it for good; returns at once."""
        self._closed = True
        if self.connected:
            self.connected = False
            self._lost()
        if self._connection is not None:
            self._connection.close()
        self._greenlet.kill(block=False)

    def _run(self) -> None:
        backoff = Backoff()
        trouble = ""
        while not self._closed:
            # Known before it is opened, so that close() need not wait for a turn of this greenlet.
            self._connection = connection = Connection(self.endpoint)
            try:
                connection.open()
            except OSError as error:
                connection.close()
                reason: Exception = error
            else:
                since, trouble = time.monotonic(), ""
                reason = self._use(connection)
                if time.monotonic() - since > BACKOFF_MOST:
                    backoff.reset()
            self._interrupted = True
            self.attempted.set()
            if str(reason) != trouble and not self._closed:
                trouble = str(reason)
                log.warning("no link to %s: %s%s", self.endpoint, trouble, _advice(reason))
            gevent.sleep(backoff.next())

    def _use(self, connection: Connection) -> Exception:
        """Use a new connection for as long as it lasts, and return why it ended."""
        self._ended = AsyncResult()
        self._answered()
        if self._interrupted:
            self._counters.reconnects += 1
            log.warning("the link to %s is back", self.endpoint)
        self._begin()
        self.connected = True
        self.attempted.set()
        self._wake.set()
        parts = [gevent.spawn(self._part, run, connection) for run in (self._read, self._write)]
        try:
            reason = self._ended.get()
            assert reason is not None
            return reason
        finally:
            # Also after an error in here or close(): never two connections, never a deaf link.
            self._interrupted = True
            gevent.killall(parts)
            connection.close()
            if self.connected:
                self.connected = False
                self._lost()

    def _part(self, run: Callable[[Connection], None], connection: Connection) -> None:
        try:
            run(connection)
        except OSError as error:
            self._ended.set(error)
        except Exception as error:
            self._counters.errors += 1
            log.exception("a link to %s failed", self.endpoint)
            self._ended.set(error)

    def _read(self, connection: Connection) -> None:
        for reply in connection.replies():
            self._take(reply)

    def _answered(self) -> None:
        self.proven = time.monotonic()
        self._unanswered_probes = 0

    def _ping(self) -> bytes:
        """Return the ping that is due, if one is."""
        due, self._ping_due = self._ping_due, False
        return PING if due else b""

    def _begin(self) -> None:
        """A connection was made; nothing was sent on it yet."""

    def _lost(self) -> None:
        """The connection is gone, and all that was under way on it."""

    def _write(self, connection: Connection) -> None:
        """Send what there is to send, for as long as the connection lasts."""
        raise NotImplementedError

    def _take(self, reply: Any) -> None:
        """Take in what the server sent."""
        raise NotImplementedError


def _advice(reason: Exception) -> str:
    if isinstance(reason, ssl.SSLCertVerificationError):
        return (
            "; where the certificate is the host's own, set BROKER_TLS to 'unverified', or to the "
            "path of a file with it"
        )
    return ""


def await_links(links: Sequence[Link], seconds: float) -> None:
    """Return once each of some new links has been tried; those that are not there never were."""
    gevent.wait([link.attempted for link in links], timeout=max(seconds, 0))
    for link in links:
        if not link.connected:
            link.proven = NEVER


class PublishLink(Link):
    """Sends what waits in one go, while the next is gathering: no timer, one round trip a time.

    `restored` is called whenever it is back: only now can those repair who were told by a Reset of
    the other link.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        counters: Counters,
        restored: Callable[[], None],
        command: bytes = b"PUBLISH",
    ) -> None:
        self._command = command
        self._restored = restored
        self._queue: list[bytes] = []
        self._queue_bytes = 0
        #: Messages that were sent and not answered; all are answered when the event is set.
        self._in_flight = 0
        self._landed = Event()
        self._complained = False
        super().__init__(endpoint, counters)

    def _begin(self) -> None:
        if self._interrupted:
            self._restored()

    def put(self, channel: str, payload: bytes) -> bool:
        """Leave a message to be sent; False, and nothing else, where it cannot be now."""
        if not self.connected or len(self._queue) >= QUEUE_LIMIT:
            return False
        packed = pack((self._command, channel, payload))
        if self._queue_bytes + len(packed) > QUEUE_BYTES:
            return False
        self._queue.append(packed)
        self._queue_bytes += len(packed)
        if not self._wake.is_set():
            self._wake.set()
        return True

    def _write(self, connection: Connection) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if not self._queue:
                connection.send(self._ping())
                continue
            # The answers prove as much as a ping's would.
            self._ping_due = False
            batch, self._queue, self._queue_bytes = self._queue, [], 0
            self._in_flight = len(batch)
            self._landed.clear()
            connection.send(b"".join(batch))
            self._landed.wait()

    def _take(self, reply: Any) -> None:
        self._answered()
        if reply == b"PONG":
            return
        if self._in_flight == 0:
            raise ConnectionError(f"nothing was asked, the answer is {reply!r}")
        self._in_flight -= 1
        if self._in_flight == 0:
            self._landed.set()
        if isinstance(reply, ReplyError):
            self._counters.dropped += 1
            self._refused(str(reply))

    def _refused(self, error: str) -> None:
        """The server did not take a message, which is lost."""
        if not self._complained:
            self._complained = True
            log.warning("%s refuses messages: %s", self.endpoint, error)

    def _lost(self) -> None:
        self._counters.dropped += self._in_flight + len(self._queue)
        self._in_flight = 0
        self._queue.clear()
        self._queue_bytes = 0


class Words(NamedTuple):
    """What subscribing is called, by us and by the server."""

    subscribe: bytes
    unsubscribe: bytes
    subscribed: bytes
    unsubscribed: bytes
    message: bytes
    #: Channels that one command may name.
    channels: int


PLAIN = Words(
    b"SUBSCRIBE", b"UNSUBSCRIBE", b"subscribe", b"unsubscribe", b"message", CHANNELS_A_COMMAND
)


class SubscribeLink(Link):
    """Holds the subscriptions that are wanted, and puts what comes into the inbox.

    A channel that was lost, with the connection or because the server let go of it, is put into the
    inbox as a Reset at the moment at which the server confirms it again: in the server's own order,
    so no message of that channel can come between.
    """

    def __init__(
        self, endpoint: Endpoint, counters: Counters, inbox: Inbox, words: Words = PLAIN
    ) -> None:
        self._inbox = inbox
        self._words = words
        #: The desired state: channels as the server names them and as we do.
        self._wanted: dict[bytes, str] = {}
        #: What the server was asked for on this connection, and has not let go.
        self._asked: set[bytes] = set()
        #: Where the two may differ, in the order of asking.
        self._changed: dict[bytes, None] = {}
        #: Wanted, with messages missed: a Reset is due when it is confirmed.
        self._missed: set[bytes] = set()
        #: How often the server was asked to let go of a channel and has not confirmed it.
        self._leaving: Counter[bytes] = Counter()
        super().__init__(endpoint, counters)

    def add(self, channels: Iterable[str], missed: bool = False) -> None:
        """Want these too. Their messages were `missed` if somebody else was to bring them."""
        for channel in channels:
            name = channel.encode()
            if name not in self._wanted:
                self._wanted[name] = channel
                self._changed[name] = None
                if missed:
                    self._missed.add(name)
        self._wake.set()

    def remove(self, channels: Iterable[str]) -> None:
        """Want these no more."""
        for channel in channels:
            name = channel.encode()
            if self._wanted.pop(name, None) is not None:
                self._changed[name] = None
                self._missed.discard(name)
        self._wake.set()

    def reset(self) -> None:
        """Put a Reset into the inbox, of all but those whose own is still to come."""
        live = self._wanted.keys() - self._missed if self.connected else ()
        if live:
            self._inbox.reset(self._wanted[name] for name in live)

    def ask_again(self) -> None:
        """Ask for what is wanted and the server has let go."""
        self._changed.update(dict.fromkeys(self._wanted.keys() - self._asked))
        self._wake.set()

    def _begin(self) -> None:
        self._asked.clear()
        self._leaving.clear()
        self._changed = dict.fromkeys(self._wanted)
        if self._interrupted:
            self._missed.update(self._wanted)

    def _write(self, connection: Connection) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            connection.send(self._commands() + self._ping())

    def _commands(self) -> bytes:
        """Return what makes the server's state the desired one, and take it as asked."""
        changed, self._changed = self._changed, {}
        leave = [n for n in changed if n in self._asked and n not in self._wanted]
        enter = [n for n in changed if n in self._wanted and n not in self._asked]
        self._asked.difference_update(leave)
        self._asked.update(enter)
        self._leaving.update(leave)
        return self._pack(self._words.unsubscribe, leave) + self._pack(self._words.subscribe, enter)

    def _pack(self, command: bytes, names: list[bytes]) -> bytes:
        many = self._words.channels
        return b"".join(
            pack((command, *names[at : at + many])) for at in range(0, len(names), many)
        )

    def _take(self, reply: Any) -> None:
        if type(reply) is not list:
            # A pong, while nothing is subscribed; or an error.
            if isinstance(reply, ReplyError):
                self._refused(str(reply))
            self._answered()
            return
        kind = reply[0]
        if kind == self._words.message:
            channel = self._wanted.get(reply[1])
            if channel is not None:
                self._inbox.put(Message(channel, reply[2]))
            return
        self._answered()
        if kind == self._words.subscribed:
            self._confirmed(reply[1])
        elif kind == self._words.unsubscribed:
            self._let_go(reply[1])

    def _confirmed(self, name: bytes) -> None:
        if name in self._missed:
            self._missed.discard(name)
            self._inbox.reset((self._wanted[name],))

    def _let_go(self, name: bytes) -> None:
        if not self._leaving[name]:
            self._drop([name])
        elif self._leaving[name] == 1:
            # An entry for every channel ever left would be a leak.
            del self._leaving[name]
        else:
            self._leaving[name] -= 1

    def _drop(self, names: Iterable[bytes]) -> None:
        """The server has let go of these without being asked to."""
        for name in names:
            self._asked.discard(name)
            if name in self._wanted:
                self._missed.add(name)
        self._dropped()

    def _dropped(self) -> None:
        """Some channels were dropped: ask for them again."""
        self.ask_again()

    def _refused(self, error: str) -> None:
        """The server refuses a command, and does not say which: only a new beginning is safe."""
        raise ConnectionError(error)
