"""A page in a crowd, of which it is told by sketches."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.conftest import wait_for
from tests.processes import serving

ROOT = Path(__file__).parents[2]

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
    with serving("--spread", "1", "--walkers", "0", "--deer", "0") as server:
        bots = subprocess.Popen(
            [
                sys.executable,
                "loadtest/bots.py",
                "--bots",
                str(BOTS),
                "--seconds",
                "600",
                "--scenario",
                "crowd",
                "--rate",
                "0.5",
                "--url",
                f"ws://127.0.0.1:{server.port}/ws",
            ],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        yield server
        bots.terminate()
        bots.wait()


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
    if shots := os.environ.get("SHOTS"):
        for width, height in ((1280, 800), (390, 844), (844, 390)):
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(1500)
            page.screenshot(path=f"{shots}/crowd-{width}.png")
