"""A proxy that spoils what a browser sends, as proxies do that are not set up for WebSockets."""

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def spoiled(port: int, spoil: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yield the address of a proxy in front of the server at this port. `spoil` gets the bytes that
    a browser sends, and returns those that the server gets."""

    class Proxy(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(("localhost", port)) as server:
                back = threading.Thread(target=_pass_on, args=(server, self.request, bytes))
                back.start()
                _pass_on(self.request, server, spoil)
                back.join()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_address[1]}/"
        server.shutdown()


def _pass_on(
    source: socket.socket, target: socket.socket, change: Callable[[bytes], bytes]
) -> None:
    """Pass on what a socket receives until one of the two ends."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(change(data))
        target.shutdown(socket.SHUT_WR)
