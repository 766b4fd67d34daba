"""Parts of a game that do not return: which one runs in a worker, and which are off.

A worker whose event loop stands still can no longer say anything. So it writes down beforehand
which part of its game it calls, in memory that it shares with the supervisor through a file. If a
worker had to be killed in the same part MOST times within a minute, the part is off in all workers,
until the server is restarted. This module never ends anything.
"""

import mmap
import os
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

#: The bytes that name a part: UTF-8, filled up with zeros.
SIZE: Final = 64

#: The file with the names of the parts that are off, one per line.
OFF: Final = "off"

#: A part that hangs this many times within this many seconds is off.
MOST, WITHIN = 3, 60


class Running:
    """Which part of the game runs in this process. Its `memory` is set to what `mark` returns, or
    begins with a zero while none runs."""

    def __init__(self) -> None:
        self.memory: bytearray | mmap.mmap = bytearray(SIZE)

    def share(self, folder: str) -> None:
        """Share the memory with the supervisor, through a file in a folder."""
        path = file_of(folder, None)
        path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), SIZE)


running = Running()

#: The names of the parts that are off in this process.
off: set[str] = set()


def mark(part: str) -> bytes:
    """Return what stands for a part."""
    return part.encode()[:SIZE].ljust(SIZE, b"\0")


def cut(part: str) -> str:
    """Return the name of a part as it is read from its mark."""
    return mark(part).partition(b"\0")[0].decode(errors="replace")


def file_of(folder: str, process: int | None) -> Path:
    """Return the path of the file of a process, by its id, or of this one."""
    return Path(folder) / f"running-{os.getpid() if process is None else process}"


def take(folder: str, process: int) -> str:
    """Return which part ran when a process was ended, "" if none did, and remove its file."""
    path = file_of(folder, process)
    try:
        name = path.read_bytes()
        path.unlink()
    except FileNotFoundError:
        return ""
    return name.partition(b"\0")[0].decode(errors="replace")


@contextmanager
def waiting() -> Iterator[None]:
    """Count no part as running within this block, because its greenlet waits and others run."""
    memory = running.memory
    mark = bytes(memory)
    memory[0] = 0
    try:
        yield
    finally:
        memory[:] = mark


def write_off(folder: str, parts: list[str]) -> None:
    """Let all workers know which parts are off."""
    (Path(folder) / OFF).write_text("\n".join(parts))


def read_off(folder: str) -> None:
    """Learn from the supervisor which parts are off."""
    with suppress(FileNotFoundError):
        off.update((Path(folder) / OFF).read_text().splitlines())


def is_off(part: str) -> str:
    """Return the sentence that says that a part is off."""
    return (
        f"the part {part} of the game is off until the server restarts: it hung {MOST} times "
        f"within {WITHIN} s"
    )


class Hangs:
    """How often a worker had to be killed in each part lately."""

    def __init__(self) -> None:
        self._ended: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=MOST))
        #: The names of the parts that are off.
        self.off: list[str] = []

    def note(self, part: str, now: float) -> bool:
        """Note that a part was ended at a time in seconds; return whether it is off from now on."""
        ended = self._ended[part]
        ended.append(now)
        if part in self.off or len(ended) < MOST or now - ended[0] > WITHIN:
            return False
        self.off.append(part)
        return True
