"""Binds the port of a server. It knows nothing else, so that a supervisor starts quickly."""

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
