"""`python -m server`: serve the world until SIGINT or SIGTERM."""

from flatlands.needs import packages

# This comes before all other imports, so that their sockets and locks are gevent's.
with packages("play"):
    from gevent import monkey

monkey.patch_all()

import faulthandler
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import gevent
from gevent.event import Event

from flatlands import compiled, output

# This comes before the imports of what may be compiled.
compiled.use()

from flatlands.brokers.registry import open_broker
from flatlands.server import settings as options
from flatlands.server.game import loader
from flatlands.server.runtime import logs
from flatlands.server.runtime.garbage import keep_collecting
from flatlands.server.runtime.port import cannot_listen
from flatlands.stores.base import Store, StoreError
from flatlands.stores.registry import open_store
from flatlands.stores.sqlite import FILE

if TYPE_CHECKING:
    from flatlands.server.app import Server
    from flatlands.server.workers.supervisor import Supervisor
    from flatlands.server.workers.worker import Worker

log = logging.getLogger("flatlands")

#: An event loop that stands still says where after this, before a supervisor kills it.
HANGS_S = 8


def main() -> int:
    """Run the server; return the exit code."""
    answers = 1
    if "--listen-fd" in sys.argv:
        # The answers to its supervisor. What a game prints goes where the log goes.
        answers = os.dup(1)
        os.dup2(2, 1)
    settings = options.read(sys.argv[1:])
    if settings.lock_fd is not None and settings.listen_fd is None:
        # What a game starts may outlive it, and does not play it. Workers get the option, and not
        # the descriptor.
        os.set_inheritable(settings.lock_fd, False)
    logs.set_up(settings.log_level, settings.log_format, settings.worker, settings.short_addresses)
    stopping = Event()
    try:
        server, worker = _start(settings, stopping, answers)
    except KeyboardInterrupt:
        # Somebody did not want to wait any longer for a Redis.
        return 130
    except (ValueError, StoreError, OSError) as error:
        why = _why(error, settings.host, settings.port)
        print(f"flatlands: {why}", file=sys.stderr)
        if settings.show_fault and settings.listen_fd is None and isinstance(error, ValueError):
            from flatlands.server.web import fault_page

            fault_page.serve(why, settings.host, settings.port)
        return 2 if isinstance(error, ValueError) else 1
    if worker is not None:
        worker.start()
    elif not stopping.is_set():
        if settings.author:
            # A supervisor for players loads no game.
            from flatlands.server.web import page_types

            page_types.keep(settings.game)
        _announce(settings, server.port)
    stopping.wait()
    server.stop()
    faulthandler.cancel_dump_traceback_later()
    return 0


def _start(
    settings: options.Settings, stopping: Event, answers: int
) -> tuple["Server | Supervisor", "Worker | None"]:
    """Start what serves, and obey signals. A worker is returned too, and is to be started next;
    `answers` is its pipe to the supervisor."""
    server: Server | Supervisor
    replace = worker = None
    if settings.workers > 1:
        server = supervisor = _supervisor(settings, stopping)
        replace = supervisor.replace
    else:
        server = node = _single_server(settings)
        node.node.loop.keep_running("the collector", keep_collecting)
        # Nobody else can name the line of a game that does not return.
        dump = partial(faulthandler.dump_traceback_later, HANGS_S, file=output.for_dumps())
        node.node.loop.every(1000, dump, 0)
        if settings.listen_fd is not None:
            worker = _worker(node, stopping, answers)
    for number in (signal.SIGINT, signal.SIGTERM):
        gevent.signal_handler(number, stopping.set)
    if worker is not None:
        # Hangups are for the supervisor, but a closed terminal sends them to all its processes.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    else:
        _obey_hangups(replace, stopping)
        if compiled.used():
            log.info("compiled: yes")
        if compiled.stale():
            log.warning(
                "ignoring the compiled modules, which belong to other sources or another Python: "
                "run make fast, or flatlands compile, to compile them again"
            )
    server.start()
    return server, worker


def _announce(settings: options.Settings, port: int) -> None:
    """Log the address of the server, and warn of settings that are not as they should be."""
    if settings.secret is None:
        log.info("SECRET_KEY is not set: players cannot come back after a restart")
    elif len(settings.secret) < options.TOKEN_CHARS_LEAST:
        log.warning(
            "SECRET_KEY has fewer than %d characters and can be guessed: make a longer one with "
            "`openssl rand -hex 32`",
            options.TOKEN_CHARS_LEAST,
        )
    if settings.forgets:
        log.warning(
            "the next restart of this dyno deletes its files, and with them all things, records "
            "and scores: add Redis (heroku addons:create heroku-redis:mini), or set STORE_URL"
        )
    url = f"http://{_browsable(settings.host)}:{settings.proxy_port or port}"
    if settings.lock_fd is not None:
        os.ftruncate(settings.lock_fd, 0)
        os.pwrite(settings.lock_fd, f"process {os.getpid()} at {url}".encode(), 0)
    look = settings.inspected and settings.workers == 1
    inside = f". Look inside: {url}/inspect" if look else ""
    print(f"Flatlands is at {url} (Ctrl-C stops it){inside}", flush=True)
    others = _address_for_others(settings.host)
    if others is not None:
        print(f"Other machines in your network reach it at http://{others}:{port}", flush=True)


# These import most of what there is. So wrong options are reported before that, and a supervisor,
# which needs no node, imports none.


def _supervisor(settings: options.Settings, stopping: Event) -> "Supervisor":
    from flatlands.server.workers.supervisor import Supervisor

    store = _store(settings)
    if store is not None:
        store.close()
    return Supervisor(settings, sys.argv[1:], stopping)


def _single_server(settings: options.Settings) -> "Server":
    from flatlands.server.app import Server

    secret = settings.secret if settings.sealed else None
    store = _store(settings)
    broker = open_broker(settings.broker or "memory://", tls=settings.broker_tls, secret=secret)
    return Server(settings, broker, store)


def _store(settings: options.Settings) -> Store | None:
    """Return the world's store, if it has one. It must work when a server starts, but a worker may
    be started again while it fails. Raises StoreError."""
    if settings.store is None:
        return None
    store = open_store(settings.store, settings.world, settings.broker_tls)
    if settings.listen_fd is None:
        if settings.store.startswith(FILE):
            _look_beside(settings, Path(settings.store.removeprefix(FILE)))
        store.open()
        loader.note_fields(settings.game, store)
    return store


def _look_beside(settings: options.Settings, file: Path) -> None:
    """Raise StoreError if the game would begin anew in a file of its own, while what it has kept is
    in the file beside that was once the store of all games."""
    from flatlands.server.storage.lease import LEASE_QUEUE

    own = loader.store_file(settings.game)
    shared = file.with_name(loader.store_file(loader.DEFAULT))
    if file.name != own or file.exists() or not shared.exists():
        return
    beside = open_store(f"{FILE}{shared}", settings.world)
    try:
        queues, boards = beside.names()
    finally:
        beside.close()
    # The game's name follows that of what is kept, or begins that of a board. A lease is no loss.
    kept = [f" {name} " for name in (*queues, *boards) if not name.startswith(f"{LEASE_QUEUE} ")]
    if any(f" {file.stem}{end}" in name for name in kept for end in " ."):
        raise StoreError(
            f"{file} does not exist, but {shared} has data of this game, from before each game had "
            f"its own file: give --store {FILE}{shared} (STORE_URL) to keep that data, or another "
            "--store to start afresh"
        )


def _worker(server: "Server", stopping: Event, answers: int) -> "Worker":
    from flatlands.server.workers.worker import Worker

    return Worker(server, stopping, answers)


def _obey_hangups(replace: Callable[[], None] | None, stopping: Event) -> None:
    """Let SIGHUP replace the workers, or end the server if its terminal was closed.

    `replace` replaces them; None if there is only this process.

    A server that was started with hangups ignored, as by nohup, goes on without its terminal.
    """
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    has_terminal = not ignored and _is_there_a_terminal()

    def hangup() -> None:
        if has_terminal and not _is_there_a_terminal():
            stopping.set()
        elif replace is not None:
            replace()
        else:
            log.warning(
                "SIGHUP ignored: it replaces workers, and this server is a single process. "
                "Restart it, or start it with --workers 2 or more"
            )

    gevent.signal_handler(signal.SIGHUP, gevent.spawn, hangup)


def _is_there_a_terminal() -> bool:
    """Return whether this process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _browsable(host: str) -> str:
    """Return the name by which a browser on this machine reaches a listener's address."""
    if host in ("127.0.0.1", "0.0.0.0", "::"):
        return "localhost"
    return f"[{host}]" if ":" in host else host


def _address_for_others(host: str) -> str | None:
    """Return this machine's address in its network; None if it is in none, or if others cannot
    reach a server that listens on `host`."""
    # A hosting service names the port by the variable, and lets nobody reach this address.
    if host not in ("0.0.0.0", "::") or "PORT" in os.environ:
        return None
    # To connect a datagram socket sends nothing, but shows from which address it would be sent. The
    # address to connect to is one of those reserved for documentation.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            address: str = probe.getsockname()[0]
        except OSError:
            return None
    return None if address.startswith(("127.", "0.")) else address


def _why(error: Exception, host: str, port: int) -> str:
    # An error with a file name is not about the port.
    if not isinstance(error, OSError) or error.errno is None or error.filename is not None:
        return str(error)
    return cannot_listen(error, host, port)


if __name__ == "__main__":
    sys.exit(main())
