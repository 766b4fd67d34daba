"""A pair of sockets that join a zeromq:// broker to its forwarder, watched by the event loop.

ZeroMQ signals on a socket's descriptor only after the socket was read until it was empty, so that
is done here. Nothing here ever waits or switches to another greenlet.
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

from flatlands.brokers.base import Counters, Message
from flatlands.brokers.inbox import Inbox
from flatlands.brokers.link import PARSE_ERRORS, unreadable
from flatlands.brokers.zeromq.wire import (
    END,
    FRAME_LIMIT,
    OVERFLOW,
    OVERFLOW_NUMBER,
    PROBE,
    TRAILER,
    Addresses,
)

log = logging.getLogger("flatlands")

#: Messages that may wait to be sent. After a Reset a node sends a sync request and a full state for
#: each of its squares at once, so some ten thousand must fit. More are dropped, and counted.
SEND_LIMIT = 65_536

#: Messages that may wait in ZeroMQ to be received. ZeroMQ drops in silence, so this is far more
#: than the inbox holds: that reports its drops, and gets the messages in each turn of the loop. The
#: limit is for a process whose loop is stuck.
RECEIVE_LIMIT = 1_000_000

#: Messages that are moved to the inbox at a time, before other callbacks of the loop run.
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
    """Return this process's only context. It is made late, since its thread survives no fork."""
    if not _contexts:
        _contexts.append(zmq.Context())
    return _contexts[0]


class Pair:
    """A connection that publishes and one that is subscribed, from their opening to their failure.

    It never reconnects. `sender` is the broker's id and the number of its link, `topics` maps the
    topics to their channels. `echoed` is called when a probe has come back, with the monotonic time
    at which it was sent; `failed` is called with the reason why the owner must replace the pair.
    Messages are put into the inbox only while the owner has set `in_use`. `news` is set whenever
    the owner should look at the pair again: it may be connected, proven or failed.
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
            # Nothing is queued before there is a connection.
            self._push.immediate = True
            self._sub = self._open(zmq.SUB, addresses.pub)
            self._sub.rcvhwm = RECEIVE_LIMIT
            self._sub.maxmsgsize = FRAME_LIMIT
            # A SUB socket sends its subscriptions; those above a limit would be lost.
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
        """Return a socket that never reconnects, and whose connection is monitored."""
        sock, monitor = _context().socket(kind), _context().socket(zmq.PAIR)
        self._monitored.append((sock, monitor))
        sock.linger = monitor.linger = 0
        # With it on, a name that has addresses of both kinds would resolve to IPv6 only.
        sock.ipv6 = "[" in to
        sock.setsockopt(zmq.RECONNECT_IVL, -1)
        address = f"inproc://brokers.zeromq.{next(_monitors)}"
        sock.monitor(address, _UP | _DOWN)
        monitor.connect(address)
        self._watch(monitor, lambda: self._look_at(monitor))
        return sock

    def _watch(self, sock: _Socket, callback: Callable[[], None]) -> None:
        """Call back when the socket has something. The callback must read all that is there."""
        watcher = self._loop.io(sock.FD, 1)
        watcher.start(self._guarded, callback)
        self._watchers.append(watcher)
        # ZeroMQ signals only after a read that found nothing.
        self._loop.run_callback(self._guarded, callback)

    def _guarded(self, callback: Callable[[], None]) -> None:
        """Run a callback of the loop; if it raises an exception, the pair has failed."""
        if self._closed:
            return
        try:
            callback()
        except PARSE_ERRORS as error:
            self._fail(unreadable(error))
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
        """Move received messages to the inbox, until none is left or others must have a turn."""
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
                    self._note_overflow(frame)
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

    def _note_overflow(self, frame: bytes) -> None:
        is_new, number = OVERFLOW_NUMBER.unpack_from(frame, len(OVERFLOW))
        known = number - 1 if is_new else number
        if self.in_use and self._overflows not in (None, known):
            # This broker missed a number, so it missed messages too, and it is unknown how many.
            self._counters.dropped += 1
            self._inbox.reset(None)
        self._overflows = number

    def probe(self) -> None:
        """Send a probe, now or just before the next message that can be sent."""
        self._probe_due = not self._send(self._probe_topic)

    def send(self, topic: bytes, payload: bytes) -> bool:
        """Send a message; return False if it cannot be sent now."""
        # If the queue is always full, a probe would never find room by itself, and a busy link
        # would be taken for a dead one.
        if self._probe_due:
            self._probe_due = not self._send(self._probe_topic)
        return self._send(topic + payload)

    def _send(self, frame: bytes) -> bool:
        if self._closed:
            # The caller may learn only in the next turn of the loop that this was closed.
            return False
        try:
            self._push.send(frame + self._trailer(time.monotonic()), zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def subscribe(self, topics: list[bytes]) -> None:
        """Subscribe to these topics too."""
        for topic in topics:
            self._sub.subscribe(topic)
        self._rearm()

    def unsubscribe(self, topics: list[bytes]) -> None:
        """Unsubscribe from these topics."""
        for topic in topics:
            self._sub.unsubscribe(topic)
        self._rearm()

    def _rearm(self) -> None:
        # Any call on a socket may consume the signal that the loop waits for.
        if int(self._sub.get(zmq.EVENTS)) & zmq.POLLIN:
            self._drain_soon()

    def close(self) -> None:
        """Close the connections and discard what waits in them. Doing it again is no error."""
        self._closed = True
        self.in_use = False
        for watcher in self._watchers:
            watcher.stop()
            watcher.close()
        self._watchers.clear()
        for sock, monitor in self._monitored:
            # The order matters: ZeroMQ would wait for ever to report to a closed monitor.
            sock.disable_monitor()
            sock.close()
            monitor.close()
        self._monitored.clear()
