"""One WebSocket after its handshake: read by an event-loop watcher, written straight to its socket.

No greenlet waits for a connection and nothing here blocks or switches. What does not fit into the
kernel's buffer is kept once, as a view of bytes shared with other connections, never as a queue.
"""

import logging
import struct
from collections.abc import Callable
from socket import SHUT_WR, SO_LINGER, SOL_SOCKET
from time import monotonic
from typing import Any

from gevent import get_hub
from gevent.event import Event

from server.limits import Bucket, Guest
from server.websocket import frames

READ_SIZE = 8 * 1024  # bytes taken in one loop callback, so that floods cannot starve others
CONTROL_LIMIT = 64 * 1024  # bytes of control frames that may wait behind a remainder
CLOSING_LIMIT = 64 * 1024  # bytes that are still looked at once our close frame is out
LIGHT_RATE, LIGHT_BURST = 20, 100  # light frames (see FrameReader) a second, and at once
CLOSE_TIMEOUT = 5.0  # seconds from our close frame to the end of TCP, whatever the peer does

_READ, _WRITE = 1, 2  # event-loop masks
_OPEN, _CLOSING, _HANGING_UP, _ENDED = range(4)
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: drop what is unsent, end with RST
_PING = frames.frame(b"", frames.PING)

log = logging.getLogger(__name__)


def _ignore(*_: object) -> None:
    pass


class Connection:
    """One WebSocket after its handshake.

    The owner sets the four callbacks before start(). They run in the event loop, never inside a
    call that the owner makes, and must not block or switch. One that raises is logged and ends the
    connection with 1011. All methods belong to the loop's thread; only wait() blocks.

    Life: open; closing (our close frame is out or queued, the peer's is awaited, messages are
    dropped); hanging up (both have closed or the peer broke the protocol: our half of TCP is shut
    once all is written, and what still comes is read and dropped, because closing with unread bytes
    would send RST and destroy the close frame on its way); ended.
    """

    __slots__ = (
        "on_message", "on_closing", "on_close", "on_drain", "address", "bytes_in", "bytes_out",
        "last_heard", "guest", "closed_by_peer", "_loop", "_socket", "_fd", "_frames",
        "_early", "_state", "_code",
        "_reason", "_reading", "_writing", "_timer", "_remainder", "_queued", "_over",
        "_light", "_closing", "__weakref__",
    )  # fmt: skip

    def __init__(
        self, sock: Any, max_message: int, early: bytes = b"", address: str = "",
        guest: Guest | None = None,
    ) -> None:  # fmt: skip
        """Own `sock`, a connected non-blocking socket that nobody else uses or watches.

        max_message is the largest message accepted, in bytes (see FrameReader); `early` is what
        the peer sent behind its handshake and has been read already; `address` who is behind it,
        and `guest` is told when it ends.
        """
        #: Called with (opcode, payload): TEXT or BINARY.
        self.on_message: Callable[[int, bytes], object] = _ignore
        #: Called with (code, reason) once when either side has begun to close; never for a
        #: connection that just ended. A peer may take its time to end TCP after that.
        self.on_closing: Callable[[int, str], object] = _ignore
        #: Called with (code, reason) exactly once, after the end: as received from the peer, or as
        #: we closed with, or 1006 if neither of us said goodbye.
        self.on_close: Callable[[int, str], object] = _ignore
        #: Called without arguments when the remainder of an earlier write has gone out.
        self.on_drain: Callable[[], object] = _ignore
        #: The IP address of the client, as far as proxies tell it; "" where it is not known.
        self.address = address
        self.guest = guest
        self.bytes_in = len(early)
        self.bytes_out = 0
        self.last_heard = monotonic()  # seconds, when the last bytes came in
        #: Whether it was the peer who began to close: its code says what it wants, not what we do.
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
        self._queued: bytearray | None = None  # control frames behind the remainder
        self._over: Event | None = None
        self._light: Bucket | None = None  # most peers never need one
        self._closing = 0  # bytes that came after our close frame

    @property
    def open(self) -> bool:
        """Neither side has begun to close."""
        return self._state == _OPEN

    @property
    def backlogged(self) -> bool:
        """A remainder is waiting: send() would refuse."""
        return self._remainder is not None

    def start(self) -> None:
        """Begin to read, in the loop's next turn. Calling it again changes nothing."""
        if self._early is not None:
            self._loop.run_callback(self._begin, self._early)
            self._early = None

    def send(self, data: bytes) -> bool:
        """Send whole, already framed bytes; they are shared between connections and never copied.

        False, and nothing sent, while a remainder waits or when the connection is not open. One
        system call in the usual case.
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
        self.bytes_out += sent
        if sent != len(data):
            self._keep(memoryview(data)[sent:])
        return True

    def send_control(self, data: bytes) -> bool:
        """Like send(), but while a remainder waits `data` queues behind it.

        A peer that asks for answers and does not read them must not cost memory: past CONTROL_LIMIT
        bytes the connection is aborted.
        """
        if self._remainder is None:
            return self.send(data)
        if self._state:
            return False
        if len(self._queued or b"") + len(data) > CONTROL_LIMIT:
            self.abort()
            return False
        self._queue(data)
        return True

    def ping(self) -> None:
        """Send an empty ping; the pong will renew `heard`."""
        self.send_control(_PING)

    def close(self, code: int = frames.NORMAL, reason: str = "") -> None:
        """Say goodbye: close frame, the peer's answer, end of TCP, in at most CLOSE_TIMEOUT.

        From here on nothing is delivered or sent. Calling it again, or too late, changes nothing.
        """
        if not self._state:
            self._say_close(code, reason, frames.close_frame(code, reason))

    def abort(self) -> bool:
        """End TCP now; drop what is unsent, in the kernel too, where it could stay for minutes.

        Returns True.
        """
        if self._state != _ENDED:
            try:
                self._socket.setsockopt(SOL_SOCKET, SO_LINGER, _RESET)
            except OSError:
                pass  # the peer was faster
            self._end()
        return True

    def wait(self) -> None:
        """Block the calling greenlet until the connection has ended and on_close has returned."""
        if self._over is None:
            self._over = Event()
        self._over.wait()

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
        self.bytes_in += len(data)
        self.last_heard = monotonic()
        if self._state:
            self._closing += len(data)
            if self._closing > CLOSING_LIMIT:
                # A flood goes on: from here on the kernel holds it up, until the timer ends it.
                self._reading.stop()
                return
        if self._state != _HANGING_UP:
            self._receive(data)

    def _receive(self, data: bytes) -> None:
        """Parse and deliver. Every callback may close or abort, so look at the state each time."""
        reader = self._frames
        pongs: list[bytes] = []
        messages = reader.feed(data)
        if reader.light and not self._bear(reader):
            self.close(frames.POLICY, f"At most {LIGHT_RATE} pings or empty frames a second.")
            return
        for opcode, payload in messages:
            if opcode == frames.PONG:
                continue
            if opcode == frames.PING:
                pongs.append(frames.frame(payload, frames.PONG))
                continue
            # Pongs to a row of pings leave in one write, or a read full of pings would cost ten
            # thousand; but before the answer to whatever came behind them.
            if pongs:
                self.send_control(b"".join(pongs))
                pongs = []
            if opcode <= frames.BINARY:
                if not self._state:
                    self._call(self.on_message, opcode, payload)
            elif opcode == frames.CLOSE:
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

    def _bear(self, reader: frames.FrameReader) -> bool:
        """Count the light frames of a read; False where there are too many."""
        count, reader.light = reader.light, 0
        if self._state:
            return True  # nothing is answered any more
        now = int(self.last_heard * 1000)
        if self._light is None:
            self._light = Bucket(LIGHT_RATE, LIGHT_BURST, now)
        if self._light.take(now, count):
            return True
        if self.guest is not None:
            self.guest.count("limited_frames")
        return False

    def _call(self, callback: Callable[..., object], *args: object) -> None:
        try:
            callback(*args)
        except Exception:
            log.exception("A callback of a connection failed; the connection is closed.")
            self.close(frames.INTERNAL_ERROR, "The server failed while handling a message.")

    def _say_close(self, code: int, reason: str, data: bytes) -> None:
        self._code, self._reason = code, reason
        self._timer = self._loop.timer(CLOSE_TIMEOUT)
        self._timer.start(self._give_up)
        if self._remainder is None:
            self.send(data)
        else:
            self._queue(data)  # beyond CONTROL_LIMIT too: it is the last
        if self._state != _ENDED:
            self._state = _CLOSING
            self._loop.run_callback(self._report_closing)

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

    def _keep(self, rest: memoryview) -> None:
        self._remainder = rest
        if self._writing is None:
            self._writing = self._loop.io(self._fd, _WRITE)
        self._writing.start(self._writable)

    def _queue(self, data: bytes) -> None:
        if self._queued is None:
            self._queued = bytearray()
        self._queued += data

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
        self.bytes_out += sent
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
        """Close everything now; tell the owner in the loop's next turn."""
        if self._state == _ENDED:
            return
        self._state = _ENDED
        # The watchers go before the descriptor: its number may be another socket's in a moment.
        for watcher in (self._reading, self._writing, self._timer):
            if watcher is not None:
                watcher.stop()
                watcher.close()
        self._reading = self._writing = self._timer = None
        self._remainder = self._queued = None
        self._fd = -1
        self._socket.close()
        if self.guest is not None:
            self.guest.leave()
        self._loop.run_callback(self._report)

    def _report_closing(self) -> None:
        on_closing, self.on_closing = self.on_closing, _ignore
        self._call(on_closing, self._code, self._reason)

    def _report(self) -> None:
        on_close = self.on_close
        # No cycle outlives the end.
        self.on_message = self.on_closing = self.on_close = self.on_drain = _ignore
        try:
            on_close(self._code, self._reason)
        except Exception:
            log.exception("A callback of an ended connection failed.")
        if self._over is None:
            self._over = Event()
        self._over.set()
