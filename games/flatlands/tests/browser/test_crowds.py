"""A page in a crowd, of which it is told by sketches."""

import sys

import pytest

from flatlands.loadtest.kit.processes import Program
from tests.browser.pages import wait_for
from tests.processes import serving

BOTS = 340

#: How many players are drawn by sketches.
ROUGH = "[...flatlands.state.replica.players.values()].filter((p) => p.rough).length"

#: Looks at all walkers again and again, and returns the longest way that one was drawn to go in a
#: second besides what it walks, and how many looks there were.
WATCH = """async () => {
  const { state } = flatlands, before = new Map();
  let fastest = 0, looks = 0, then = state.now;
  const until = performance.now() + 4000;
  while (performance.now() < until) {
    await new Promise((done) => setTimeout(done, 20));
    if (state.now === then) continue;
    const passed = state.now - then;
    then = state.now;
    looks++;
    for (const { id, x, y, alpha, own } of state.walkers) {
      const from = before.get(id);
      if (from !== undefined && alpha === 1 && !own) {
        const beside = Math.hypot(x - from[0], y - from[1]) - passed / 200;
        fastest = Math.max(fastest, beside / (1 - Math.exp(-passed / 300)));
      }
      before.set(id, [x, y]);
    }
  }
  return [fastest, looks];
}"""


@pytest.fixture(scope="module")
def crowded():
    """A server with a crowd of bots in the square in which all begin."""
    options = f"--bots {BOTS} --seconds 600 --scenario crowd --rate 0.5".split()
    bots = [sys.executable, "loadtest/bots.py", *options]
    with serving("--spread", "1", "--walkers", "0", "--deer", "0") as server:
        with Program([*bots, "--url", f"ws://127.0.0.1:{server.port}/ws"], "the bots"):
            yield server


def test_in_a_crowd_everybody_walks_on_without_a_jump(crowded, play):
    page = play("Ada", crowded.url)
    wait_for(page, f"flatlands.state.replica.players.size > {BOTS}")
    wait_for(page, f"{ROUGH} > {BOTS * 2 // 3}")
    assert page.evaluate("flatlands.state.own.rough") is False
    fastest, looks = page.evaluate(WATCH)
    # Somebody who has turned round half a second ago was drawn five tiles from where it is.
    assert looks > 5 and 0 < fastest < 10
    page.keyboard.down("d")
    wait_for(page, "flatlands.state.walk.track.duration > 0")
    page.keyboard.up("d")
    wait_for(page, "flatlands.state.own.track.duration === 0")
    names = page.evaluate("[...flatlands.state.names.values()]")
    assert len(set(names)) == len(names) > BOTS
