"""Binds the port of a server. It knows nothing else, so that a supervisor starts quickly."""

import errno

from gevent import socket

#: Connections that may wait to be accepted, since a crowd may come all at once.
BACKLOG = 1024


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises OSError."""
    [(family, kind, proto, _, address), *_] = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    listener = socket.socket(family, kind, proto)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted sockets inherit it. Without it, every second answer on a kept connection would
        # wait 40 ms for the client's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def cannot_listen(error: OSError, host: str, port: int) -> str:
    """Return a sentence that says why a port cannot be listened on, and what to do."""
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is taken: stop what uses it, or choose another with --port or PORT"
    if error.errno == errno.EACCES:
        return f"port {port} may not be used: choose one from 1024 up with --port or PORT"
    return f"cannot listen on {host} port {port}: {error.strerror or error}"
