"""One WebSocket after its handshake: a watcher of the event loop reads it, callers write to it.

No greenlet waits for a connection, and nothing here blocks or switches. Bytes that
do not fit into the kernel's buffer are kept as one view of bytes that other connections share, and
never as a queue.
"""

import logging
import struct
from collections.abc import Callable
from socket import SHUT_WR, SO_LINGER, SOL_SOCKET
from time import monotonic
from typing import Any, Final

from gevent import get_hub

from flatlands.server.net import frames
from flatlands.server.net.socket_passing import forget
from flatlands.server.runtime.limits import LimitedConnection, Rate, Rates

#: Bytes that are read in one callback of the loop, so that floods do not starve others.
READ_SIZE: Final = 8 * 1024

#: Bytes of control frames that may wait behind a remainder.
CONTROL_LIMIT: Final = 64 * 1024

#: Bytes that are still read after our close frame.
CLOSING_LIMIT: Final = 64 * 1024

#: Light frames (see FrameReader).
LIGHT: Final = Rate("frames", 20, 100)

#: Seconds from our close frame to the end of TCP, whatever the peer does.
CLOSE_TIMEOUT = 5.0

_READ: Final = 1  # event-loop masks
_WRITE: Final = 2
_OPEN: Final = 0
_CLOSING: Final = 1
_HANGING_UP: Final = 2
_ENDED: Final = 3
_RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER: drop what is unsent, end with RST
_PING: Final = frames.frame(b"", frames.PING_FRAME)

log = logging.getLogger(__name__)


def _ignore(*_: object) -> None:
    pass


class Connection:
    """An open WebSocket: reads messages, and writes frames.

    The owner sets the four callbacks before start(). They run in the event loop, never inside a
    call that the owner makes, and must not block or switch. If one raises, that is logged, and the
    connection ends with 1011. All methods belong to the loop's thread.

    A connection is first open. Then it is closing: our close frame is sent or queued, the peer's is
    awaited, and messages are dropped. Then it is hanging up: both have closed, or the peer broke
    the protocol. Our half of TCP is shut once everything is written, and what still comes is read
    and dropped, because closing with unread bytes would send a RST and destroy the close frame on
    its way. At last it has ended.
    """

    __slots__ = (
        "on_message",
        "on_closing",
        "on_close",
        "on_drain",
        "address",
        "last_heard",
        "round_trip",
        "limited",
        "closed_by_peer",
        "_loop",
        "_socket",
        "_fd",
        "_frames",
        "_early",
        "_state",
        "_code",
        "_reason",
        "_reading",
        "_writing",
        "_timer",
        "_remainder",
        "_queued",
        "_light",
        "_closing",
        "_pinged",
        "more",
        "__weakref__",
    )

    def __init__(
        self,
        sock: Any,
        max_message: int,
        early: bytes = b"",
        address: str = "",
        limited: LimitedConnection | None = None,
    ) -> None:
        """Own `sock`, a connected non-blocking socket that nobody else uses or watches.

        `max_message` is the largest accepted message in bytes (see FrameReader). `early` are bytes
        after the handshake that were read already. `address` is the client's IP address. `limited`
        is the connection as the limits know it, and must be told when it ends.
        """
        #: Called with (opcode, payload): TEXT or BINARY.
        self.on_message: Callable[[int, bytes], object] = _ignore
        #: Called with (code, reason) once either side has begun to close, after which the peer may
        #: take its time to end TCP. Not called if the connection ends without a close frame.
        self.on_closing: Callable[[int, str], object] = _ignore
        #: Called with (code, reason) exactly once, after the end. The code is the one with which
        #: the peer or this side closed, or 1006 if neither sent a close frame.
        self.on_close: Callable[[int, str], object] = _ignore
        #: Called without arguments when the remainder of an earlier write is sent.
        self.on_drain: Callable[[], object] = _ignore
        #: Whether messages that came in the same read follow the one that is being delivered.
        self.more = False
        #: The IP address of the client, as far as proxies give it; "" if it is not known.
        self.address = address
        self.limited = limited
        self.last_heard = monotonic()  # seconds, when the last bytes came in
        #: Seconds from the last ping to its pong; 0 before the first one.
        self.round_trip = 0.0
        self._pinged = 0.0  # when a ping was sent whose pong has not come, or 0
        #: Whether the peer began to close, so that the close code is the peer's choice.
        self.closed_by_peer = False
        self._loop = get_hub().loop
        self._socket = sock
        self._fd = sock.fileno()
        self._frames = frames.FrameReader(max_message)
        self._early: bytes | None = early
        self._state = _OPEN
        self._code = frames.ABNORMAL
        self._reason = ""
        self._reading: Any = None  # event-loop watchers
        self._writing: Any = None
        self._timer: Any = None
        self._remainder: memoryview | None = None
        self._queued: bytes | None = None  # control frames behind the remainder
        self._light: Rates | None = None  # most peers never need one
        self._closing = 0  # bytes that came after our close frame

    @property
    def open(self) -> bool:
        """Whether neither side has begun to close."""
        return self._state == _OPEN

    @property
    def backlogged(self) -> bool:
        """Whether a remainder waits, so that send() would refuse."""
        return self._remainder is not None

    def start(self) -> None:
        """Begin to read in the loop's next turn. Further calls change nothing."""
        if self._early is not None:
            self._loop.run_callback(self._begin, self._early)
            self._early = None

    def send(self, data: bytes) -> bool:
        """Send whole frames. The bytes may be shared between connections, and are never copied.

        Returns False, and sends nothing, while a remainder waits or if the connection is not open.
        Usually this takes one system call.
        """
        if self._remainder is not None or self._state:
            return False
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._end()
            return False
        if sent != len(data):
            self._remainder = memoryview(data)[sent:]
            if self._writing is None:
                self._writing = self._loop.io(self._fd, _WRITE)
            self._writing.start(self._writable)
        return True

    def send_control(self, data: bytes) -> bool:
        """Send like send(), but queue `data` while a remainder waits.

        A peer that asks for answers and does not read them must not cost memory, so the connection
        is aborted if more than CONTROL_LIMIT bytes would wait.
        """
        if self._remainder is None:
            return self.send(data)
        if self._state:
            return False
        if len(self._queued or b"") + len(data) > CONTROL_LIMIT:
            self.abort()
            return False
        self._queued = (self._queued or b"") + data
        return True

    def ping(self) -> None:
        """Send an empty ping. The pong will renew `last_heard`, and tell the `round_trip`."""
        if self.send_control(_PING) and not self._pinged:
            self._pinged = monotonic()

    def close(self, code: int = frames.NORMAL, reason: str = "") -> None:
        """Send a close frame, await the peer's, and end TCP, all within CLOSE_TIMEOUT.

        From now on no message is delivered or sent. A second call, or a late one, changes nothing.
        """
        if not self._state:
            self._say_close(code, reason, frames.close_frame(code, reason))

    def abort(self) -> bool:
        """End TCP at once, and return True.

        Unsent data is dropped, even in the kernel, where it could stay for minutes.
        """
        if self._state != _ENDED:
            try:
                self._socket.setsockopt(SOL_SOCKET, SO_LINGER, _RESET)
            except OSError:
                pass  # the peer was faster
            self._end()
        return True

    @property
    def at_rest(self) -> bool:
        """Whether it is open, and no byte waits here, either of a message that has come in part or
        of what is to be sent."""
        return (
            not self._state
            and self._early is None
            and self._remainder is None
            and self._frames.fresh
        )

    @property
    def socket(self) -> Any:
        """Its socket, which only the connection may read, write or close."""
        return self._socket

    def release(self) -> None:
        """End a connection at rest here; it goes on in another process that has its socket too.

        The peer notices nothing, and nothing is called back. What comes in from now on is not read
        here.
        """
        assert self.at_rest
        self.on_message = self.on_closing = self.on_close = self.on_drain = _ignore
        try:
            forget(self._socket)
        finally:
            self._let_go()

    def _begin(self, early: bytes) -> None:
        if early:
            self._receive(early)
        if self._state != _ENDED:
            self._reading = self._loop.io(self._fd, _READ)
            self._reading.start(self._readable)

    def _readable(self) -> None:
        try:
            data = self._socket.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            self._end()
            return
        if not data:
            self._end()
            return
        self.last_heard = monotonic()
        if self._state:
            self._closing += len(data)
            if self._closing > CLOSING_LIMIT:
                # The peer keeps sending. From now on nothing is read, until the timer ends it.
                self._reading.stop()
                return
        if self._state != _HANGING_UP:
            self._receive(data)

    def _receive(self, data: bytes) -> None:
        """Parse bytes and deliver messages. The state is checked each time, since any callback may
        close or abort the connection."""
        reader = self._frames
        pongs: list[bytes] = []
        messages = reader.feed(data)
        if reader.light and not self._bear(reader):
            self.close(
                frames.POLICY, f"Send at most {LIGHT.rate:g} pings or empty frames a second."
            )
            return
        following = _data_messages(messages)
        for opcode, payload in messages:
            if opcode == frames.PONG_FRAME:
                self._ponged()
                continue
            if opcode == frames.PING_FRAME:
                pongs.append(frames.frame(payload, frames.PONG_FRAME))
                continue
            # The pongs to consecutive pings are sent in one write, since a read full of pings would
            # otherwise cost thousands of writes. They must precede the answer to the next message.
            if pongs:
                self.send_control(b"".join(pongs))
                pongs = []
            if opcode <= frames.BINARY:
                following -= 1
                self.more = following > 0
                if not self._state:
                    self._call(self.on_message, opcode, payload)
            elif opcode == frames.CLOSE_FRAME:
                if not self._state:
                    code, reason = frames.parse_close(payload)
                    self.closed_by_peer = True
                    self._say_close(code, reason, frames.close_frame(code))
                self._hang_up()
        if pongs:
            self.send_control(b"".join(pongs))
        if reader.error is not None:
            self.close(reader.error.code, reader.error.reason)
            self._hang_up()

    def _ponged(self) -> None:
        """Note that the pong to the oldest ping has come."""
        if self._pinged:
            self.round_trip, self._pinged = self.last_heard - self._pinged, 0.0

    def _bear(self, reader: frames.FrameReader) -> bool:
        """Count the light frames of a read; return False if there were too many."""
        count, reader.light = reader.light, 0
        if self._state:
            return True  # nothing is answered any more
        now = int(self.last_heard * 1000)
        if self._light is None:
            self._light = Rates()
        if self._light.spend(LIGHT.name, LIGHT, now, count):
            return True
        if self.limited is not None:
            self.limited.count("limited_frames")
        return False

    def _call(self, callback: Callable[..., object], *args: object) -> None:
        try:
            callback(*args)
        except Exception:
            log.exception("A connection's callback failed: closing the connection.")
            self.close(frames.INTERNAL_ERROR, "Internal error while handling a message.")

    def _say_close(self, code: int, reason: str, data: bytes) -> None:
        self._code, self._reason = code, reason
        self._timer = self._loop.timer(CLOSE_TIMEOUT)
        self._timer.start(self._give_up)
        if self._remainder is None:
            self.send(data)
        else:
            self._queued = (
                self._queued or b""
            ) + data  # it may exceed CONTROL_LIMIT, since it is the last
        if self._state != _ENDED:
            self._state = _CLOSING
            on_closing, self.on_closing = self.on_closing, _ignore
            self._loop.run_callback(self._call, on_closing, code, reason)

    def _hang_up(self) -> None:
        if self._state != _ENDED:
            self._state = _HANGING_UP
            if self._remainder is None:
                self._shut()

    def _shut(self) -> None:
        try:
            self._socket.shutdown(SHUT_WR)
        except OSError:
            self._end()

    def _give_up(self) -> None:
        if self._remainder is None:
            self._end()
        else:
            self.abort()

    def _writable(self) -> None:
        rest = self._remainder
        assert rest is not None
        try:
            sent = self._socket.send(rest)
        except BlockingIOError:
            return
        except OSError:
            self._end()
            return
        if sent != len(rest):
            self._remainder = rest[sent:]
        elif self._queued is not None:
            self._remainder, self._queued = memoryview(self._queued), None
        else:
            self._remainder = None
            self._writing.stop()
            if not self._state:
                self._call(self.on_drain)
            elif self._state == _HANGING_UP:
                self._shut()

    def _end(self) -> None:
        """Close everything now; call on_close in the loop's next turn."""
        if self._state != _ENDED:
            self._let_go()
            self._loop.run_callback(self._report)

    def _let_go(self) -> None:
        self._state = _ENDED
        # The watchers must be stopped before the descriptor is closed, since its number may soon be
        # that of another socket.
        for watcher in (self._reading, self._writing, self._timer):
            if watcher is not None:
                watcher.stop()
                watcher.close()
        self._reading = self._writing = self._timer = None
        self._remainder = self._queued = None
        self._fd = -1
        self._socket.close()
        if self.limited is not None:
            self.limited.leave()

    def _report(self) -> None:
        on_close = self.on_close
        # This breaks reference cycles.
        self.on_message = self.on_closing = self.on_close = self.on_drain = _ignore
        try:
            on_close(self._code, self._reason)
        except Exception:
            log.exception("The callback for the end of a connection failed.")


def _data_messages(messages: list[frames.Message]) -> int:
    """Return how many of the messages of a read are not control frames."""
    if len(messages) == 1:
        return 1
    return sum(opcode <= frames.BINARY for opcode, _ in messages)
