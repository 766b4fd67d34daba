"""Whole servers in a thread of this process, for tests of how clients and strangers are answered.

They play the bare game unless a test names another one. A test that needs signals, a process's own
limits or log, or several workers starts one of tests/processes.py.
"""

import gzip
import io
import json
import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace

import gevent
from gevent.event import Event

from flatlands.brokers.registry import open_broker
from flatlands.server import settings
from flatlands.server.app import Server
from flatlands.server.runtime import logs
from flatlands.server.web import pages
from flatlands.server.web.joined import join_modules
from flatlands.stores.registry import open_store
from tests.processes import BARE, PATIENCE, Reached
from tests.socket_client import SocketClient

#: Joining and packing a page takes 0.13 s of CPU. It is done once for all servers in this process
#: that have the same.
_packed = cache(gzip.compress)
_joined = cache(lambda modules, main: join_modules(dict(modules), main))
pages.gzip = SimpleNamespace(compress=_packed)
pages.join_modules = lambda modules, main: _joined(tuple(modules.items()), main)


class Inside(Reached):
    """A server as clients reach it, in a thread with its own event loop."""

    def __init__(self, *options: str, **environment: str) -> None:
        environment = {"GAME": BARE, "STORE_URL": "none", **environment}
        self._settings = settings.read(["--port", "0", *options], environment)
        self._said = io.StringIO()
        self._ready, self._over = threading.Event(), threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._handler = logging.StreamHandler(self._said)
        self._handler.setFormatter(logs.Text(None))
        self._handler.addFilter(lambda _: threading.current_thread() is self._thread)
        log = logging.getLogger("flatlands")
        self._level = log.level
        log.addHandler(self._handler)
        log.setLevel(self._settings.log_level)
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        if self._failed is not None:
            self.close()
            raise self._failed
        self.url = f"http://localhost:{self.port}/"

    def _run(self) -> None:
        hub = gevent.get_hub()
        stopping = Event()
        wake = hub.loop.async_()
        wake.start(stopping.set)
        try:
            given = self._settings
            store = open_store(given.store, given.world) if given.store else None
            if store is not None:
                store.open()
            # Two servers in this process have two worlds, unless they name a broker.
            broker = open_broker(given.broker or f"memory://{uuid.uuid4().hex}")
            server = Server(given, broker, store)
            self.port = server.port
            server.start()
            self._wake = wake.send
            self._ready.set()
            stopping.wait()
            server.stop()
        except BaseException as error:
            self._failed = error
        finally:
            self._ready.set()
            wake.close()
            hub.destroy(destroy_loop=True)

    def counted(self) -> dict[str, int]:
        """Return its counters."""
        return json.loads(self.get("stats"))["counted"]

    def errors(self) -> str:
        """Return everything that it has logged."""
        return self._said.getvalue()

    def terminate(self) -> None:
        """Tell it to end, as a signal does."""
        if self._thread.is_alive():
            self._wake()

    def stop(self) -> None:
        """End it as an operator would, and check that it has logged no traceback."""
        self.terminate()
        self._thread.join(PATIENCE)
        self.close()
        assert not self._thread.is_alive() and self._failed is None, self._failed
        assert "Traceback" not in self.errors(), self.errors()

    def close(self) -> None:
        log = logging.getLogger("flatlands")
        log.removeHandler(self._handler)
        log.setLevel(self._level)


@contextmanager
def inside(*options: str, **environment: str) -> Iterator[Inside]:
    """Run a server in this process while the block runs. It must end without errors."""
    server = Inside(*options, **environment)
    try:
        yield server
    finally:
        SocketClient.hang_up(server.port)
        server.stop()
