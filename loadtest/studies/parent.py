"""The other end of a worker: the process that started it, at its standard input and output.

The two exchange lines of JSON. It never knows what they mean.
"""

import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from flatlands.loadtest.kit.options import bare
from flatlands.loadtest.kit.processes import Trouble

#: The configuration of a worker: a TypedDict.
Config = TypeVar("Config", bound=Mapping[str, object])

#: Seconds between two looks at the parent's lines.
LOOK_S = 0.02


class Parent:
    """The process that started this one. This process ends when its standard input ends, so it
    never outlives a parent that was killed.

    What the parent sends has no type here: who gets it says its shape.
    """

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        # It is a thread, because neither a busy worker nor gevent can wait for a pipe.
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._lines.put(line)
        os._exit(1)

    def poll(self) -> Any:
        """Return the parent's next message, or None if there is none yet."""
        return None if self._lines.empty() else json.loads(self._lines.get())

    def wait(self, sleep: Callable[[float], None]) -> Any:
        """Wait for the parent's next message and return it."""
        while (message := self.poll()) is None:
            sleep(LOOK_S)
        return message

    def send(self, what: Mapping[str, object]) -> None:
        """Send a message to the parent."""
        print(json.dumps(what), flush=True)

    def stay(self) -> None:
        """Wait for the end. A worker never ends by itself, since that would be trouble: its parent
        ends it, or the thread that reads from the parent does."""
        threading.Event().wait()


def work(
    task: Callable[[Config, Parent], Mapping[str, object] | None],
    failures: tuple[type[Exception], ...] = (),
    where: str = "",
) -> int:
    """Do the task of a worker, with the configuration in its only argument; return the exit status.

    What the task returns is sent to the parent. So are Trouble and the `failures` that it may
    raise, as a sentence that begins with the value that the configuration has for `where`.
    """
    config: Config = json.loads(sys.argv[1])
    parent = Parent()
    told: tuple[type[Exception], ...] = (Trouble, *failures)
    try:
        said = task(config, parent)
    except told as error:
        begin = f"{config[where]}: " if where else ""
        parent.send({"trouble": bare(f"{begin}{str(error).rstrip('.')}")})
        return 1
    if said is not None:
        parent.send(said)
    parent.stay()
    return 0
