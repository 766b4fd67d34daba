"""Lets a test run while no other test does, for what only a quiet machine can judge.

Each test holds a shared lock while it runs. Whoever needs the machine for itself closes a gate, so
that no further test begins, and waits until all others have ended. The locks are files, which the
system frees whatever becomes of a process, so they also hold between processes of pytest.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).parent / "output"


class Machine:
    """The locks of one process, in a folder that it shares with others."""

    def __init__(self, folder: Path = FOLDER) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._gate, self._tests = (
            os.open(folder / name, os.O_RDWR | os.O_CREAT) for name in ("gate.lock", "tests.lock")
        )

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Run beside others."""
        self._enter()
        try:
            yield
        finally:
            fcntl.flock(self._tests, fcntl.LOCK_UN)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Run beside nobody, within `shared`."""
        # Two that wait for each other's lock would wait for ever.
        fcntl.flock(self._tests, fcntl.LOCK_UN)
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        fcntl.flock(self._tests, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)
            fcntl.flock(self._tests, fcntl.LOCK_UN)
            self._enter()

    def _enter(self) -> None:
        fcntl.flock(self._gate, fcntl.LOCK_SH)
        fcntl.flock(self._tests, fcntl.LOCK_SH)
        fcntl.flock(self._gate, fcntl.LOCK_UN)


#: The locks of this process.
MACHINE = Machine()


def tries(most: int = 6) -> Iterator[int]:
    """Yield the numbers of up to `most` tries, the later half of which run alone.

    For a test that breaks off once a try had CPU time enough to be judged. If none had, its last
    result stands, and the test fails.
    """
    for number in range(most):
        if number < most // 2:
            yield number
        else:
            with MACHINE.alone():
                yield number
