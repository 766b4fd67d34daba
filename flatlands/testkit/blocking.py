"""Lets `time.sleep`, sockets and programs fail in a hook that may not wait: it would keep everybody
waiting, so gevent lets it fail in a server."""

import sys
import time
from typing import SupportsIndex

from greenlet import getcurrent, greenlet

#: The greenlets in which event loops turn now.
turning: set[greenlet] = set()

#: What Python names to audit hooks before it does them.
_WAITS = {"socket.connect", "socket.getaddrinfo", "subprocess.Popen"}

_sleep = time.sleep


def _check(call: str) -> None:
    if getcurrent() in turning:
        raise RuntimeError(
            f"a hook that may not wait calls {call}, and everybody waits: let a hook call it that "
            "may wait"
        )


def _audit(event: str, _arguments: object) -> None:
    if event in _WAITS:
        _check(event)


def _checked_sleep(seconds: float | SupportsIndex, /) -> None:
    _check("time.sleep")
    _sleep(seconds)


sys.addaudithook(_audit)
# Audit hooks hear of it only from Python 3.13 on.
time.sleep = _checked_sleep
