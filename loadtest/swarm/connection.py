"""A bot's connection over TCP, or over TLS. It never blocks.

The event loop of the process (generator.py) calls it when its socket can be read or written.
"""

import contextlib
import os
import select
import socket
import ssl
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from flatlands import wire

READ_SIZE = 32 * 1024

#: What a socket raises when it would have to wait.
WAITS = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

# The states of a connection, in their order.
CONNECTING = 0
SECURING = 1
SHAKING = 2
GREETING = 3
PLAYING = 4
CLOSED = 5


@dataclass(frozen=True)
class Door:
    """Where a server is: (IP address, port), its name, how its certificate is checked (None: there
    is no TLS), the path of the WebSocket, and the login that a proxy asks for."""

    address: tuple[str, int]
    name: str
    tls: ssl.SSLContext | None
    path: str
    login: str = ""

    @property
    def host(self) -> str:
        """The server's name in a request's Host header."""
        return wire.host_header(self.name, self.address[1], self.tls is not None)


class Connection(ABC):
    """One connection. A subclass has `opened`, `received` and `lose`: those of bot.py say what each
    is given."""

    def __init__(self, door: Door, sockets: "Sockets") -> None:
        self._door, self._sockets = door, sockets
        self.socket: socket.socket
        self.state = CLOSED
        self.fd = -1
        #: Whether anything more is to be read.
        self.reads = False

    @abstractmethod
    def opened(self) -> None:
        """Begin to talk to the server: it has accepted the connection, and TLS is set up."""

    @abstractmethod
    def lose(self, why: str, code: int = 0) -> None:
        """Note that the connection is lost. `code` is that of the server's close frame, or 0."""

    def dial(self, receive_buffer: int) -> None:
        """Begin to connect. `receive_buffer` is in bytes; 0 leaves it to the system."""
        family = socket.AF_INET6 if ":" in self._door.address[0] else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.fd = self.socket.fileno()
        self.reads = True
        self._unsent = b""
        self._why = "the server hung up"
        self.state = CONNECTING
        self._sockets.register(self, select.EPOLLOUT)
        try:
            self.socket.connect(self._door.address)
        except BlockingIOError:
            pass
        except OSError as error:
            self.lose(f"cannot connect: {error.strerror}")

    def writable(self) -> None:
        """Continue now that the socket can be written to."""
        if self.state == CONNECTING:
            error = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                self.lose(f"cannot connect: {os.strerror(error)}")
            elif self._door.tls is None:
                self._connected()
            else:
                self.socket = self._door.tls.wrap_socket(
                    self.socket, do_handshake_on_connect=False, server_hostname=self._door.name
                )
                self.state = SECURING
                self.secure()
        elif self._unsent:
            data, self._unsent = self._unsent, b""
            self._sockets.modify(self, select.EPOLLIN if self.reads else 0)
            self.write(data)

    def secure(self) -> None:
        """Continue the handshake of TLS."""
        assert isinstance(self.socket, ssl.SSLSocket)
        try:
            self.socket.do_handshake()
        except ssl.SSLWantReadError:
            self._sockets.modify(self, select.EPOLLIN)
        except ssl.SSLWantWriteError:
            self._sockets.modify(self, select.EPOLLOUT)
        except OSError as error:
            self.lose(f"cannot connect: {_why(error)}")
        else:
            self._connected()

    def _connected(self) -> None:
        self.state = SHAKING
        self._sockets.modify(self, select.EPOLLIN)
        self.opened()

    def write(self, data: bytes) -> None:
        """Send bytes. What the kernel does not accept now is sent later."""
        if self._unsent:
            self._unsent += data
            return
        try:
            sent = self.socket.send(data)
        except WAITS:
            sent = 0
        except OSError as error:
            self.lose(_why(error))
            return
        if sent != len(data):
            self._unsent = data[sent:]
            both = select.EPOLLOUT | (select.EPOLLIN if self.reads else 0)
            self._sockets.modify(self, both)

    def read(self) -> bytes | None:
        """Return the bytes that the socket has: b"" at its end, None if there are none now."""
        try:
            data = self.socket.recv(READ_SIZE)
        except WAITS:
            return None
        except OSError as error:
            self._why = _why(error)
            data = b""
        if not data:
            self.reads = False
        return data

    def read_nothing_more(self) -> None:
        """Never read from the socket again."""
        self.reads = False
        self._sockets.modify(self, 0)

    def hang_up(self, *, heard: bool | None) -> None:
        """Close the socket. `heard`: the server is to read what was written to it last; with None
        the socket stays open, and nothing more is read from it."""
        self._sockets.unregister(self)
        if heard:
            with contextlib.suppress(OSError):
                # The server may have hung up before.
                self.socket.shutdown(socket.SHUT_WR)
            self._sockets.parting.append(self.socket)
        elif heard is not None:
            self.socket.close()
        self.state, self.fd = CLOSED, -1


class Sockets:
    """The sockets of a process, and for what each is watched."""

    def __init__(self) -> None:
        self.epoll = select.epoll()
        self._by_fd: dict[int, Connection] = {}
        #: Sockets to be closed. A socket that is closed while unread bytes wait in it resets its
        #: connection, and the server may never read what was written to it last.
        self.parting: list[socket.socket] = []
        self._parted: list[socket.socket] = []

    def of(self, fd: int) -> Any:
        """Return the connection with this file descriptor, or None."""
        return self._by_fd.get(fd)

    def register(self, connection: Connection, mask: int) -> None:
        """Watch a new connection's socket for the events in `mask`, as epoll has them."""
        self._by_fd[connection.fd] = connection
        self.epoll.register(connection.fd, mask)

    def modify(self, connection: Connection, mask: int) -> None:
        """Watch a connection's socket for other events."""
        self.epoll.modify(connection.fd, mask)

    def unregister(self, connection: Connection) -> None:
        """Stop watching a connection's socket, which is about to be closed."""
        self._by_fd.pop(connection.fd, None)
        self.epoll.unregister(connection.fd)

    def close_parted(self) -> None:
        """Close the sockets that were parting already when this was called before."""
        for parted in self._parted:
            parted.close()
        self._parted, self.parting = self.parting, []


def _why(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
