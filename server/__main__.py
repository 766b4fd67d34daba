"""`python -m server`: serve the world until SIGINT or SIGTERM."""

# Before anything else is imported: sockets and locks must know gevent.
from gevent import monkey

monkey.patch_all()

import errno
import logging
import os
import signal
import sys

import gevent
import gevent.socket
from gevent.event import Event

from brokers import open_broker
from server import settings as options
from server.app import Server
from server.supervisor import Supervisor

log = logging.getLogger("flatlands")


def main() -> int:
    """Run the server; return the exit code."""
    settings = options.read(sys.argv[1:])
    logging.basicConfig(
        level=settings.log_level, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    try:
        if settings.workers > 1:
            server: Server | Supervisor = Supervisor(settings, sys.argv[1:])
        else:
            server = Server(settings, open_broker(settings.broker or "memory://"))
        stopping = Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            gevent.signal_handler(number, stopping.set)
        if isinstance(server, Supervisor):
            gevent.signal_handler(signal.SIGHUP, gevent.spawn, server.replace)
        elif settings.listen_fd is not None:
            # It is for the supervisor, but a terminal that is closed tells all of them.
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        server.start()
    except ValueError as error:
        print(f"flatlands: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"flatlands: {_why(error, settings.host, settings.port)}", file=sys.stderr)
        return 1
    if settings.secret is None:
        log.info("there is no SECRET_KEY: tokens of players are good for this run only")
    if settings.listen_fd is not None:
        gevent.spawn(_wait_for_the_end_of_stdin, stopping)
    host = "localhost" if settings.host in ("127.0.0.1", "0.0.0.0") else settings.host
    print(f"Flatlands is at http://{host}:{server.port} (Ctrl-C ends it)", flush=True)
    stopping.wait()
    server.stop()
    return 0


def _wait_for_the_end_of_stdin(stopping: Event) -> None:
    """A worker whose supervisor is gone stops as well."""
    while True:
        gevent.socket.wait_read(sys.stdin.fileno())
        if not os.read(sys.stdin.fileno(), 1024):
            stopping.set()
            return


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is taken: stop what uses it, or choose another with --port or PORT"
    if error.errno == errno.EACCES:
        return f"port {port} may not be used: choose one from 1024 up with --port or PORT"
    if error.errno is None:
        return str(error)
    return f"cannot listen on {host} port {port}: {error.strerror or error}"


if __name__ == "__main__":
    sys.exit(main())
