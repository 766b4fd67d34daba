"""A page whose player goes on at another machine, and what the player sees of that."""

import urllib.request

import pytest

from games.flatlands.tests.servers import FLATLANDS
from tests.browser.pages import eventually, wait_for
from tests.server.servers import ask, stats
from tests.server.test_machines import ADMIN, two_machines

#: Notes about twenty times a second where the page draws its own walker, and when.
NOTE = """() => {
  const { state } = globalThis.flatlands;
  globalThis.noted = [];
  setInterval(() => {
    globalThis.noted.push([performance.now(), state.walk.drawn(state.clock.now())[0]]);
  }, 50);
}"""


@pytest.fixture
def machines(tmp_path):
    with two_machines(tmp_path, 100, **FLATLANDS) as machines:
        yield machines


def knows_both(server):
    with urllib.request.urlopen(server.url) as page:
        return page.headers["Content-Security-Policy"].count("ws://") == 2


def test_a_page_goes_where_its_neighbours_are_and_walks_on_when_that_machine_is_drained(
    play, machines
):
    a, b = (f"http://127.0.0.1:{server.port}/" for server in machines)
    # A page may connect to the machines that existed when it was loaded.
    eventually(lambda: all(knows_both(server) for server in machines), "they know each other")
    ada, ben = play("Ada", a), play("Ben", b)
    # One machine has room for both, so one of the players goes there.
    eventually(
        lambda: sorted(stats(server)["residents"] for server in machines) == [0, 2],
        "both are at one machine",
        60,
    )
    for page in (ada, ben):
        wait_for(page, "flatlands.state.replica.players.size === 2")
    [server] = [server for server in machines if stats(server)["residents"] == 2]
    [other] = [one for one in machines if one is not server]
    ada.wait_for_timeout(4000)
    ada.evaluate(NOTE)
    ada.keyboard.down("d")
    ada.wait_for_timeout(500)
    assert ask(server, "admin/drain", ADMIN, "POST")[0] == 200
    wait_for(ada, "url => flatlands.net.url === url", f"ws://127.0.0.1:{other.port}/ws")
    ada.wait_for_timeout(1500)
    ada.keyboard.up("d")
    noted = ada.evaluate("noted")
    walked = [(t, x) for t, x in noted if x > noted[0][1] + 0.5]
    for (t0, x0), (t1, x1) in zip(walked[:-30], walked[1:], strict=False):
        # Five tiles a second, as fast as before, and never backwards.
        assert -0.05 <= x1 - x0 <= (t1 - t0) * 0.005 + 0.3, (t0, x0, t1, x1)
    wait_for(ben, "url => flatlands.net.url === url", f"ws://127.0.0.1:{other.port}/ws")
    for page in (ada, ben):
        wait_for(page, "flatlands.state.replica.players.size === 2 && flatlands.net.playing")
