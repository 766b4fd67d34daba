"""The page in Firefox, driven by WebDriver BiDi, which Firefox itself speaks over a WebSocket."""

import json
import socket

import pytest

from flatlands import wire
from flatlands.loadtest.kit.processes import Program
from tests.browser.pages import FIREFOX, PATIENCE, eventually

pytestmark = [pytest.mark.outside, pytest.mark.process]

#: How long Firefox may take to start, in seconds.
STARTS_WITHIN = 60


class Firefox:
    """Firefox without a window; its profile is in a folder."""

    def __init__(self, folder):
        options = ["--headless", "--profile", str(folder), "--remote-debugging-port", "0"]
        self.program = Program([FIREFOX, *options], "Firefox")
        known = folder / "WebDriverBiDiServer.json"
        eventually(lambda: known.exists() and known.read_text(), "Firefox starts", STARTS_WITHIN)
        port = json.loads(known.read_text())["ws_port"]
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE / 1000)
        self.socket.sendall(wire.upgrade_request(f"127.0.0.1:{port}", "/session"))
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self._receive()
        self.rest = self.rest.split(b"\r\n\r\n", 1)[1]
        self.asked = 0
        self.complaints = []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        [page] = self.ask("browsingContext.getTree")["contexts"]
        self.page = page["context"]

    def _receive(self):
        data = self.socket.recv(65536)
        assert data, "Firefox hung up"
        self.rest += data

    def ask(self, method, **parameters):
        """Send Firefox a command; return its answer. What its console says is kept."""
        self.asked += 1
        question = {"id": self.asked, "method": method, "params": parameters}
        self.socket.sendall(wire.client_frame(json.dumps(question).encode(), wire.TEXT))
        while True:
            for _, begin, end in wire.split_frames(self.rest):
                message = json.loads(self.rest[begin:end])
                self.rest = self.rest[end:]
                if message.get("id") == self.asked:
                    assert message["type"] == "success", message
                    return message["result"]
                if message["params"]["level"] in ("error", "warn"):
                    self.complaints.append(message["params"]["text"])
                break
            else:
                self._receive()

    def evaluate(self, expression):
        """Return the value of an expression in the page: a number, a text or a truth value."""
        where = {"target": {"context": self.page}, "awaitPromise": False}
        found = self.ask("script.evaluate", expression=expression, **where)
        assert found["type"] == "success", found
        return found["result"].get("value")

    def act(self, kind, *actions):
        """Use the keys or the pointer."""
        source = {"type": kind, "id": kind, "actions": list(actions)}
        self.ask("input.performActions", context=self.page, actions=[source])

    def press(self, key, ms=0):
        down, up = ({"type": kind, "value": key} for kind in ("keyDown", "keyUp"))
        self.act("key", down, {"type": "pause", "duration": ms}, up)

    def click(self, selector):
        place = "((box) => [box.left + box.width / 2, box.top + box.height / 2].join())"
        box = f"document.querySelector('{selector}').getBoundingClientRect()"
        x, y = (round(float(number)) for number in self.evaluate(f"{place}({box})").split(","))
        press = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        self.act("pointer", {"type": "pointerMove", "x": x, "y": y}, *press)

    def close(self):
        self.socket.close()
        self.program.end()


@pytest.fixture
def firefox(tmp_path):
    firefox = Firefox(tmp_path)
    yield firefox
    firefox.close()


def test_the_game_can_be_played_in_firefox(server, firefox):
    firefox.ask("browsingContext.navigate", context=firefox.page, url=server.url, wait="complete")
    # The name that is offered is selected: it is typed over.
    eventually(lambda: firefox.evaluate("document.activeElement.id") == "name", "it can be typed")
    for letter in "Vixen":
        firefox.press(letter)
    firefox.click(".play")
    eventually(lambda: firefox.evaluate("flatlands.state.own?.name") == "Vixen", "she is there")
    before = firefox.evaluate("flatlands.state.here.x")
    firefox.press("d", 400)
    eventually(lambda: firefox.evaluate("flatlands.state.here.x") > before + 0.5, "she walks")
    eventually(lambda: firefox.evaluate("flatlands.state.walk.arrived"), "she stops")
    assert firefox.complaints == []
