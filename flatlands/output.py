"""Standard output and standard error of a program that serves: what it prints never waits.

Whoever reads them may stop reading, as a log driver that hangs does, or a terminal after Ctrl-S. A
write to the full pipe would then stop the event loop, and everybody's game. So what is printed or
logged goes into a pipe of this process, and a thread copies it from there. What does not fit is
left out, and the next line that fits says how many lines that were.
"""

import atexit
import fcntl
import io
import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO

from gevent.monkey import get_original

# gevent's own threads share one event loop: a write that waits would stop it.
_start_thread = get_original("_thread", "start_new_thread")
_make_lock = get_original("_thread", "allocate_lock")
_select = get_original("select", "select")
_sleep = get_original("time", "sleep")

#: Bytes that may wait for a reader, if the system allows a pipe that large.
ROOM = 1 << 20

#: Bytes that the thread copies at once. If there were fewer, it rests, since waking it for each
#: line costs as much CPU as printing the line.
READ_BYTES = 1 << 16
REST_SECONDS = 0.05

#: The time for which the end of the process waits for the readers.
FLUSH_SECONDS = 1.0


class _NonBlockingWriter(io.RawIOBase):
    """Takes what is written to a descriptor, and leaves out what does not fit.

    `note` makes a line of the sentence that says how many lines were left out.
    """

    def __init__(self, descriptor: int, note: Callable[[str], str]) -> None:
        self._to = descriptor
        self._note = note
        self._left_out = 0
        self._begins_line = True
        source, self.pipe = os.pipe()
        os.set_blocking(self.pipe, False)
        with suppress(AttributeError, OSError):  # not every system can, or allows it
            fcntl.fcntl(self.pipe, fcntl.F_SETPIPE_SZ, ROOM)
        self._copied = _make_lock()
        self._copied.acquire()
        _start_thread(self._copy, (source,))

    def _copy(self, source: int) -> None:
        """Copy until the pipe ends, in a thread of its own."""
        while data := os.read(source, READ_BYTES):
            left = data
            while left:
                try:
                    left = left[os.write(self._to, left) :]
                except BlockingIOError:
                    # Another process that has this terminal or pipe has made it non-blocking.
                    _select([], [self._to], [])
                except OSError:
                    # The reader has ended, or the disk is full.
                    break
            if len(data) < READ_BYTES:
                _sleep(REST_SECONDS)
        self._copied.release()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._to

    def isatty(self) -> bool:
        return os.isatty(self._to)

    def write(self, data: Any) -> int:
        note = b""
        if self._left_out:
            text = f"lines dropped here because the log's reader was too slow: {self._left_out}"
            note = (b"" if self._begins_line else b"\n") + self._note(text).encode() + b"\n"
        whole = note + bytes(data)
        try:
            taken = os.write(self.pipe, whole)
        except BlockingIOError:
            taken = 0
        if taken:
            self._begins_line = whole[:taken].endswith(b"\n")
        if taken >= len(note):
            self._left_out = 0
        if rest := whole[max(taken, len(note)) :]:
            self._left_out += rest.count(b"\n") or 1
        return len(data)

    def finish(self, until: float) -> None:
        """Wait until all is copied, but no longer than until a time of the monotonic clock."""
        self.write(b"")
        with open(os.devnull, "wb") as nothing:
            # This closes the pipe. What comes later gets lost if the reader does not read.
            os.dup2(nothing.fileno(), self.pipe, inheritable=False)
        if self._copied.acquire(timeout=max(until - time.monotonic(), 0)):
            os.dup2(self._to, self.pipe, inheritable=False)


def install(note: Callable[[str], str] = str) -> None:
    """Let nothing that this process prints wait from now on, until it exits.

    `note` makes a line of the sentence that says how many lines were left out.
    """
    errors = _stream(sys.stderr, 2, note)
    # What goes to one place keeps its order.
    together = sys.stdout is not None and os.path.sameopenfile(1, errors.fileno())
    sys.stdout, sys.stderr = errors if together else _stream(sys.stdout, 1, note), errors
    atexit.register(_finish, {sys.stdout, sys.stderr})


def _stream(before: TextIO | None, descriptor: int, note: Callable[[str], str]) -> io.TextIOWrapper:
    if before is None:
        # The process was started without it, and its number may be that of any other file.
        descriptor = os.open(os.devnull, os.O_WRONLY)
    raw: Any = _NonBlockingWriter(descriptor, note)
    encoding = "utf-8" if before is None else before.encoding
    return io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=True)


def _finish(streams: set[Any]) -> None:
    until = time.monotonic() + FLUSH_SECONDS
    for stream in streams:
        stream.flush()
        stream.buffer.finish(until)


def for_dumps() -> int:
    """Return a descriptor of standard error for faulthandler, which writes by itself: it never
    waits, and what does not fit is lost. `install` comes first."""
    stream: Any = sys.stderr
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return int(stream.fileno())
    try:
        # Opened anew, it can be made non-blocking for this process alone. The thread could not copy
        # while code in C, such as a regular expression, lets no other thread run.
        path = f"/proc/self/fd/{stream.fileno()}"
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        # It is a socket, or the system has no such files.
        return int(stream.buffer.pipe)
