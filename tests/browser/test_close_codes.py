"""A real browser reads each close code and reason of docs/protocol.md."""

import pytest

from tests.browser.conftest import wait_for
from tests.inside import inside

CLOSED = """([url, hello, bytes, text]) => new Promise((resolve) => {
  const socket = new WebSocket(url, 'flatlands');
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => {
    if (hello !== null) socket.send(new Uint8Array(hello));
    if (bytes !== null) socket.send(new Uint8Array(bytes));
    if (text !== null) socket.send(text);
  };
  socket.onclose = ({ code, reason, wasClean }) => resolve([code, reason, wasClean]);
})"""

HELLO = list(bytes.fromhex("990102a45772656e2819c0c0c0c0"))

CASES = [
    ("text frame", HELLO, None, "hi", 1003, "messages must be binary frames"),
    ("no MessagePack", HELLO, [0xC1], None, 1007, "a message must be one MessagePack array"),
    ("unknown kind", HELLO, [0x91, 0x63], None, 1008, "a message must begin with a kind"),
    ("second hello", HELLO, HELLO, None, 1008, "hello may be sent only once"),
    ("walk before hello", None, [0x95, 2, 1, 0, 0, 1], None, 1008, "the first message must be"),
    ("no hello", None, None, None, 1013, "no hello came in time"),
    ("too large", HELLO, [0x80] * 5000, None, 1009, ""),
]


@pytest.mark.parametrize(
    ("hello", "data", "text", "code", "reason"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_a_browser_reads_why_it_was_closed(blank, server, hello, data, text, code, reason):
    url = f"ws://localhost:{server.port}/ws"
    got, why, clean = blank.evaluate(CLOSED, [url, hello, data, text])
    assert got == code and clean
    assert why.startswith(reason) and len(why.split()) >= 4


def test_a_browser_reads_that_the_server_restarts(browser):
    with inside() as server:
        page = browser.new_page()
        page.goto(server.url)
        page.evaluate(
            """([url, hello]) => new Promise((resolve) => {
              const socket = new WebSocket(url, 'flatlands');
              socket.onopen = () => socket.send(new Uint8Array(hello));
              socket.onmessage = resolve;
              socket.onclose = ({ code, reason }) => { globalThis.ending = [code, reason]; };
            })""",
            [f"ws://localhost:{server.port}/ws", HELLO],
        )
        server.stop()
        wait_for(page, "globalThis.ending !== undefined")
        assert page.evaluate("ending") == [1012, "the server restarts"]
        page.close()
