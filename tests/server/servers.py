"""Questions that tests ask real servers, and a way to wait until something has happened."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import gevent

from flatlands.server.messages.protocol import SUBPROTOCOL
from tests.inside import Inside
from tests.processes import PATIENCE, ServerProcess


def until(condition: Callable[[], object], what: str = "it never came") -> None:
    """Wait until `condition()` is true; after PATIENCE seconds fail with the sentence `what`."""
    with gevent.Timeout(PATIENCE, AssertionError(what)):
        while not condition():
            gevent.sleep(0.02)


def stats(server: Inside | ServerProcess) -> dict[str, Any]:
    """Return what a server's /stats shows."""
    return json.loads(server.get("stats"))


def ask(
    server: Inside | ServerProcess,
    path: str,
    token: str | None = None,
    method: str = "GET",
    **headers: str,
) -> tuple[int, str]:
    """Return the status and the text of the answer to a request."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    if token is not None:
        told["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(server.url + path, method=method, headers=told)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


def shake(server: Any, path: str = "/ws?back", **headers: str) -> int:
    """Return the status of the answer to a WebSocket handshake: unless another path is given, of
    who may have a place there, even if the server is full."""
    asked = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "c29tZSBieXRlcyBoZXJlIQ==",
        "Sec-WebSocket-Protocol": SUBPROTOCOL,
    }
    with closing(HTTPConnection("localhost", server.port, timeout=PATIENCE)) as connection:
        connection.request("GET", path, headers=asked | headers)
        return connection.getresponse().status
