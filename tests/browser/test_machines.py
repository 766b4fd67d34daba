"""A page whose player goes on at another machine, and what the player sees of that."""

import urllib.request

import pytest

from tests.browser.pages import eventually, wait_for
from tests.server.servers import ask, stats
from tests.server.test_machines import ADMIN, two_machines

MEADOW = """
from flatlands import Game as Engine, plain


class Game(Engine):
    ground = plain()

    def begin(self):
        return (0, 0)
"""

#: Where a page draws its own walker: tiles to the east.
X = "flatlands.walk.drawn(flatlands.clock.now())[0]"

#: Notes that about twenty times a second, and when.
NOTE = f"""() => {{
  globalThis.noted = [];
  setInterval(() => noted.push([performance.now(), {X}]), 50);
}}"""


@pytest.fixture
def machines(tmp_path):
    (tmp_path / "meadow.py").write_text(MEADOW)
    with two_machines(tmp_path, 100, "--game", str(tmp_path / "meadow.py")) as machines:
        yield machines


def knows_both(server):
    with urllib.request.urlopen(server.url) as page:
        return page.headers["Content-Security-Policy"].count("ws://") == 2


def walks_on(page, tiles):
    wait_for(page, f"(x) => {X} > x", page.evaluate(X) + tiles)


def test_a_page_goes_where_its_neighbours_are_and_walks_on_when_that_machine_is_drained(
    open_page, machines
):
    a, b = (f"http://127.0.0.1:{server.port}/" for server in machines)
    # A page may connect to the machines that existed when it was loaded.
    eventually(lambda: all(knows_both(server) for server in machines), "they know each other")
    ada, ben = open_page(a), open_page(b)
    # One machine has room for both, so one of the players goes there.
    eventually(
        lambda: sorted(stats(server)["residents"] for server in machines) == [0, 2],
        "both are at one machine",
        60,
    )
    for page in (ada, ben):
        wait_for(page, "flatlands.players.length === 2")
    [server] = [server for server in machines if stats(server)["residents"] == 2]
    [other] = [one for one in machines if one is not server]
    ada.keyboard.down("d")
    walks_on(ada, 1)
    ada.evaluate(NOTE)
    walks_on(ada, 2)
    assert ask(server, "admin/drain", ADMIN, "POST")[0] == 200
    wait_for(ada, "url => flatlands.net.url === url", f"ws://127.0.0.1:{other.port}/ws")
    walks_on(ada, 8)
    noted = ada.evaluate("noted")
    ada.keyboard.up("d")
    for (t0, x0), (t1, x1) in zip(noted, noted[1:], strict=False):
        # Five tiles a second, as fast as before, and never backwards.
        assert -0.05 <= x1 - x0 <= (t1 - t0) * 0.005 + 0.3, (t0, x0, t1, x1)
    wait_for(ben, "url => flatlands.net.url === url", f"ws://127.0.0.1:{other.port}/ws")
    for page in (ada, ben):
        wait_for(page, "flatlands.players.length === 2 && flatlands.net.playing")
