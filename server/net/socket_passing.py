"""Passes open sockets between the processes of one server, each with a message.

Each process has a Unix socket in a folder that only their user can enter, under a name by which the
others reach it. A socket travels with one datagram, which arrives as a whole or not at all. Nothing
is confirmed: if the receiver dies before it has read the datagram, the kernel closes the socket
that is in it, and its client comes back.
"""

import _socket
import array
import logging
import os
import select
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from socket import AF_UNIX, MSG_CTRUNC, SCM_RIGHTS, SOCK_DGRAM, SOL_SOCKET
from typing import Any

from gevent import get_hub, monkey

log = logging.getLogger("flatlands")

MESSAGE_BYTES_MOST = 64 * 1024

#: How many messages are read in one turn of the event loop.
MESSAGES_AT_ONCE = 20

#: Received descriptors are not inherited by programs that this process starts.
_CLOSED_ON_EXEC = getattr(_socket, "MSG_CMSG_CLOEXEC", 0)

_READ = 1  # an event-loop mask
_SIZE = array.array("i").itemsize

#: gevent removes epoll from the module because it would block.
_epoll: Any = getattr(select, "epoll", None) or monkey.get_original("select", "epoll")


class Passage:
    """This process's end of the sockets by which the processes of a server reach each other.
    `folder` has the Unix sockets of all."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._sender = _socket.socket(AF_UNIX, SOCK_DGRAM)
        self._sender.setblocking(False)
        self._receiver: _socket.socket | None = None
        self._watcher: Any = None
        self._arrived: Callable[[bytes, _socket.socket | None], object]
        # It is made now, since there may be no descriptor for it when a socket is passed on.
        _second_epoll()

    def open(self, name: str, arrived: Callable[[bytes, _socket.socket | None], object]) -> None:
        """From now on receive what is sent to a name, instead of whoever has received it so far.

        `arrived` is called with each message that comes, and with the socket that came with it or
        None. The socket does not block, and belongs to the callee.

        Further calls change nothing. Raises OSError, most likely because the folder's path is too
        long for a Unix socket.
        """
        if self._receiver is not None:
            return
        receiver = _socket.socket(AF_UNIX, SOCK_DGRAM)
        try:
            receiver.setblocking(False)
            # The name never exists without a socket, not even for a moment.
            new = self._folder / f"{name}.{os.getpid()}"
            new.unlink(missing_ok=True)
            receiver.bind(str(new))
            new.replace(self._folder / name)
        except OSError:
            receiver.close()
            raise
        self._receiver, self._arrived = receiver, arrived
        self._watcher = get_hub().loop.io(receiver.fileno(), _READ)
        self._watcher.start(self._readable)

    def close(self) -> None:
        """Receive what was sent until now, and then receive and send nothing more."""
        self._sender.close()
        if self._receiver is not None:
            self._watcher.stop()
            self._watcher.close()
            receiver = self._receiver
            while self._read():
                pass
            self._receiver = None
            receiver.close()

    def send(self, name: str, message: bytes, sock: _socket.socket | None = None) -> bool:
        """Send a message, and with it a socket, which the receiver then has too.

        Never waits. Returns False, and sends nothing, if nobody receives at this name, if too much
        waits there already, or if the message is too long.
        """
        if len(message) > MESSAGE_BYTES_MOST:
            return False
        rights = (
            [] if sock is None else [(SOL_SOCKET, SCM_RIGHTS, array.array("i", [sock.fileno()]))]
        )
        try:
            self._sender.sendmsg([message], rights, 0, str(self._folder / name))
        except OSError:
            return False
        return True

    def _readable(self) -> None:
        for _ in range(MESSAGES_AT_ONCE):
            if not self._read():
                return

    def _read(self) -> bool:
        """Take one message; return False if there is none."""
        if self._receiver is None:
            return False
        try:
            message, rights, flags, _ = self._receiver.recvmsg(
                MESSAGE_BYTES_MOST, _socket.CMSG_SPACE(_SIZE), _CLOSED_ON_EXEC
            )
        except BlockingIOError:
            return False
        if flags & MSG_CTRUNC:
            # No descriptor was left for the socket: the kernel has closed it.
            log.warning("out of file descriptors: lost a connection that another worker passed on")
            return True
        sock = None
        for _level, _kind, data in rights:
            sock = _socket.socket(fileno=array.array("i", data[:_SIZE])[0])
            sock.setblocking(False)
        try:
            self._arrived(message, sock)
        except Exception:
            log.exception("Could not handle a message from another worker.")
            if sock is not None:
                sock.close()
        return True


@cache
def _second_epoll() -> Any:
    """Return a second object for the epoll of the event loop; None if the loop has none.

    When it is freed it closes its descriptor, so that must not be the loop's own.
    """
    loop: Any = get_hub().loop
    if _epoll is None or getattr(loop, "backend", "") != "epoll":
        return None
    return _epoll.fromfd(os.dup(loop.fileno()))


def forget(sock: _socket.socket) -> None:
    """Make the event loop forget a socket that it has watched and that another process keeps.

    Otherwise epoll would report it again and again, since epoll forgets a socket only when all
    processes have closed it.
    """
    epoll = _second_epoll()
    if epoll is not None:
        # It may not be registered: the loop adds sockets late.
        with suppress(OSError):
            epoll.unregister(sock.fileno())
