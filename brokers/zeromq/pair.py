"""One connection of a zeromq:// broker to its forwarder: two plain sockets, watched by the loop.

ZeroMQ's descriptors are read as they are meant: a socket is emptied until it has no more, and only
then waited for. Nothing here waits or switches.
"""

import logging
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import gevent
import zmq
from gevent.event import Event
from zmq.utils.monitor import parse_monitor_message

from brokers.base import Counters, Message
from brokers.inbox import Inbox
from brokers.zeromq.wire import (
    END,
    FRAME_LIMIT,
    OVERFLOW,
    OVERFLOW_NUMBER,
    PROBE,
    TRAILER,
    Addresses,
)

log = logging.getLogger("flatlands")

#: Messages that may wait to be sent. After a Reset a node sends a hail and its residents for each
#: of its squares at once: some ten thousand must fit. What comes on top is a counted drop.
SEND_LIMIT = 65_536

#: Messages that may wait in ZeroMQ to be received. It drops in silence, so this is far more than
#: the inbox, which counts and tells, and into which all is moved each time the loop turns; but not
#: endless, for a process whose loop is stuck.
RECEIVE_LIMIT = 1_000_000

#: Messages moved to the inbox in one go, before others have their turn.
DRAIN_LIMIT = 1_000

_UP = zmq.EVENT_HANDSHAKE_SUCCEEDED
_DOWN = (
    zmq.EVENT_DISCONNECTED
    | zmq.EVENT_CLOSED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)

_Socket = zmq.Socket[bytes]

_monitors = count()
_contexts: list["zmq.Context[_Socket]"] = []


def _context() -> "zmq.Context[_Socket]":
    """Return the one context of this process; it is made late, for its thread survives no fork."""
    if not _contexts:
        _contexts.append(zmq.Context())
    return _contexts[0]


class Pair:
    """A connection to publish and one to hear, from their opening to their first trouble.

    It never mends. `echoed` is called with the time at which a probe was sent that has come back,
    `failed` with the reason why its owner must replace it. Nothing is put into the inbox but while
    the owner has set `in_use`. `news` is set whenever the owner may want to look.
    """

    def __init__(
        self,
        addresses: Addresses,
        sender: tuple[bytes, int],
        topics: dict[bytes, str],
        inbox: Inbox,
        counters: Counters,
        echoed: Callable[[float], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self.in_use = self.is_proven = self.has_failed = False
        self.news = Event()
        self._trailer = partial(TRAILER.pack, *sender)
        self._topics = topics
        self._inbox = inbox
        self._counters = counters
        self._echoed = echoed
        self._failed = failed
        self._probe_topic = b"%b%b %d%b" % (PROBE, sender[0].hex().encode(), sender[1], END)
        self._probe_due = False
        self._overflows: int | None = None
        self._closed = False
        self._loop = gevent.get_hub().loop
        self._watchers: list[Any] = []
        self._monitored: list[tuple[_Socket, _Socket]] = []
        try:
            self._push = self._open(zmq.PUSH, addresses.pull)
            self._push.sndhwm = SEND_LIMIT
            # No queue before there is a connection.
            self._push.immediate = True
            self._sub = self._open(zmq.SUB, addresses.pub)
            self._sub.rcvhwm = RECEIVE_LIMIT
            self._sub.maxmsgsize = FRAME_LIMIT
            # What a SUB socket sends is subscriptions, and over its limit they would be lost.
            self._sub.sndhwm = 0
            for topic in topics:
                self._sub.subscribe(topic)
            self._sub.subscribe(OVERFLOW)
            self._sub.subscribe(self._probe_topic)
            self._push.connect(addresses.pull)
            self._sub.connect(addresses.pub)
            self._watch(self._sub, self._drain)
        except BaseException:
            self.close()
            raise

    def _open(self, kind: int, to: str) -> _Socket:
        """Return a socket that never waits, never reconnects, and tells what becomes of it."""
        sock, monitor = _context().socket(kind), _context().socket(zmq.PAIR)
        self._monitored.append((sock, monitor))
        sock.linger = monitor.linger = 0
        # Not for others: a name that has both kinds of address would resolve to the newer only.
        sock.ipv6 = "[" in to
        sock.setsockopt(zmq.RECONNECT_IVL, -1)
        address = f"inproc://brokers.zeromq.{next(_monitors)}"
        sock.monitor(address, _UP | _DOWN)
        monitor.connect(address)
        self._watch(monitor, lambda: self._look_at(monitor))
        return sock

    def _watch(self, sock: _Socket, callback: Callable[[], None]) -> None:
        """Call back whenever the socket has something: once, so all of it must be taken."""
        watcher = self._loop.io(sock.FD, 1)
        watcher.start(self._guarded, callback)
        self._watchers.append(watcher)
        # ZeroMQ only signals to those who have looked and found nothing.
        self._loop.run_callback(self._guarded, callback)

    def _guarded(self, callback: Callable[[], None]) -> None:
        """Run a callback of the loop; if it fails, so do both connections."""
        if self._closed:
            return
        try:
            callback()
        except Exception as error:
            log.exception("a ZeroMQ link failed")
            self._counters.errors += 1
            self._fail(error)

    def _fail(self, reason: Exception) -> None:
        self.in_use = False
        self.has_failed = True
        self.news.set()
        self._failed(reason)

    def _look_at(self, monitor: _Socket) -> None:
        while True:
            try:
                event = parse_monitor_message(monitor.recv_multipart(zmq.NOBLOCK))["event"]
            except zmq.Again:
                return
            if event & _DOWN:
                self._fail(ConnectionResetError("the forwarder's connection has ended"))
            elif event & _UP:
                self.news.set()

    def _drain(self) -> None:
        """Move what has come to the inbox, up to the EAGAIN after which the loop calls again."""
        receive, topics, inbox = self._sub.recv, self._topics, self._inbox
        for _ in range(DRAIN_LIMIT):
            try:
                frame = receive(zmq.NOBLOCK)
            except zmq.Again:
                return
            end = frame.find(END) + 1
            topic = frame[:end]
            channel = topics.get(topic)
            if channel is None:
                if topic == self._probe_topic:
                    self._echo(frame)
                elif topic == OVERFLOW:
                    self._hear_of_overflow(frame)
            elif self.in_use:
                if len(frame) > end:
                    inbox.put(Message(channel, frame[end : -TRAILER.size]))
                else:
                    self._counters.dropped += 1
                    inbox.reset((channel,))
        self._drain_soon()

    def _drain_soon(self) -> None:
        self._loop.run_callback(self._guarded, self._drain)

    def _echo(self, frame: bytes) -> None:
        self.is_proven = True
        self.news.set()
        self._echoed(TRAILER.unpack_from(frame, len(frame) - TRAILER.size)[2])

    def _hear_of_overflow(self, frame: bytes) -> None:
        is_new, number = OVERFLOW_NUMBER.unpack_from(frame, len(OVERFLOW))
        known = number - 1 if is_new else number
        if self.in_use and self._overflows not in (None, known):
            # That number passed by this broker: then so did messages, nobody knows how many.
            self._counters.dropped += 1
            self._inbox.reset(None)
        self._overflows = number

    def probe(self) -> None:
        """Send a probe, now or before the next message that can be sent."""
        self._probe_due = not self._send(self._probe_topic)

    def send(self, topic: bytes, payload: bytes) -> bool:
        """Send a message, or return False."""
        # Where the queue is always full the probe would find no room by itself, and busy is not
        # dead.
        if self._probe_due:
            self._probe_due = not self._send(self._probe_topic)
        return self._send(topic + payload)

    def _send(self, frame: bytes) -> bool:
        if self._closed:
            # Whoever keeps this may be one turn of the loop behind whoever closed it.
            return False
        try:
            self._push.send(frame + self._trailer(time.monotonic()), zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def subscribe(self, topics: list[bytes]) -> None:
        """Ask for these topics too."""
        for topic in topics:
            self._sub.subscribe(topic)
        self._rearm()

    def unsubscribe(self, topics: list[bytes]) -> None:
        """Ask for these topics no more."""
        for topic in topics:
            self._sub.unsubscribe(topic)
        self._rearm()

    def _rearm(self) -> None:
        # Any call on a socket may swallow the signal that the loop waits for.
        if int(self._sub.get(zmq.EVENTS)) & zmq.POLLIN:
            self._drain_soon()

    def close(self) -> None:
        """Let go of the connections, and of all that waits in them. Again is no error."""
        self._closed = True
        self.in_use = False
        for watcher in self._watchers:
            watcher.stop()
            watcher.close()
        self._watchers.clear()
        for sock, monitor in self._monitored:
            # In this order: ZeroMQ waits for ever to tell a monitor that is gone.
            sock.disable_monitor()
            sock.close()
            monitor.close()
        self._monitored.clear()
