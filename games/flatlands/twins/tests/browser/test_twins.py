"""Twin stones as two people open them, on a real server with a store in memory."""

import re

import pytest

from games.flatlands.tests.browser.acts import COUNT_SOUNDS, TONES, go
from games.flatlands.tests.servers import inside
from games.flatlands.twins.twins import NOTIFY_EVERY_MS
from tests.browser.pages import PATIENCE, wait_for

#: The twin stones that are in view, nearest first: [x, y].
TWINS = """() => [...flatlands.state.things.values()]
  .filter(({ thing, goneAt }) => thing.type === 'Twin' && goneAt === null).map(({ x, y }) => [x, y])
  .sort((a, b) => Math.hypot(...a) - Math.hypot(...b))"""

#: Whether the page's own player has had its half.
OPENED = "() => document.querySelector('.gems .text').textContent === '1'"


@pytest.fixture
def stones():
    """A server for one test with twin stones, which do not come back while the test lasts."""
    twins = "--gems", "0", "--twins", "4", "--gem-pause", "3600"
    with inside(*twins, STORE_URL="memory://") as server:
        yield server


def test_a_player_that_waits_is_found_by_another_and_both_get_a_gem(stones, play):
    ada, bob = (play(name, url=stones.url, script=COUNT_SOUNDS) for name in ("Ada", "Bob"))
    wait_for(ada, f"({TWINS})().length > 0")
    x, y = ada.evaluate(TWINS)[0]
    go(ada, x, y + 1)
    ada.get_by_text("Step onto a stone: the gem opens when somebody stands").wait_for()
    # If it rested on a stone on its way, that was news, and is not shown again for a while.
    bob.evaluate("flatlands.parts.twins.newsAt.clear()")
    go(ada, x - 2, y)
    stay = ada.get_by_text("Stay: everybody within 200 tiles knows that you are waiting")
    stay.wait_for(timeout=PATIENCE + NOTIFY_EVERY_MS)
    ada.evaluate("() => { sounds.OscillatorNode = 0; }")
    wait_for(ada, f"() => {TONES} > 0")
    bob.get_by_text(re.compile("^Ada is waiting at twin stones, [0-9]+ tiles")).wait_for()
    bob.get_by_role("button", name="Go there").click()
    # It may pass over the other stone, and so open them.
    wait_for(bob, f"flatlands.parts.twins.stones !== null || ({OPENED})()")
    go(bob, x + 2, y)
    for page, name in ((ada, "Bob"), (bob, "Ada")):
        wait_for(page, OPENED)
        wait_for(
            page,
            "flatlands.parts.twins.stones === null && flatlands.parts.twins.waiting.length === 0",
        )
        page.keyboard.press("n")
        book = page.get_by_role("dialog", name="Your book")
        book.get_by_text(f"You and {name} opened twin").wait_for()
