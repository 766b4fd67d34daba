"""Gems, the counter and the board as people find them, on a real server with a store in memory."""

import math
import re

import pytest

from tests.browser.conftest import eventually, wait_for
from tests.browser.test_play import ARRIVED, place, tab_to, walk
from tests.inside import inside

#: Css px of a tile at the size of window in which these tests play.
TILE = 32

#: The gems that lie there, from the nearest on: [id, version, x, y].
GEMS = """() => {
  const { lying, here } = flatlands.state;
  const away = ([, , x, y]) => Math.hypot(x - here.x, y - here.y);
  return [...lying.values()].filter(({ thing, goneAt, own }) =>
    thing.kind === 0 && goneAt === null && !own)
    .map(({ thing, x, y }) => [thing.id, thing.version, x, y]).sort((a, b) => away(a) - away(b));
}"""

#: Notes all oscillators that a page lets sound.
NOTE_TONES = """
  globalThis.tones = 0;
  const { start } = OscillatorNode.prototype;
  OscillatorNode.prototype.start = function (...at) {
    tones++;
    return start.call(this, ...at);
  };
"""

#: Notes the gems that fly over a page.
NOTE_FLIGHTS = """
  globalThis.flights = 0;
  const { animate } = Element.prototype;
  Element.prototype.animate = function (...given) {
    if (this.className === 'flight') flights++;
    return animate.call(this, ...given);
  };
"""


@pytest.fixture
def garden():
    """A server of its own with many gems, which once taken do not come back while a test lasts."""
    with inside("--gems", "60", "--gem-pause", "3600", STORE_URL="memory://") as server:
        yield server


def gems_lie(page):
    wait_for(page, f"({GEMS})().length > 10")


def counter(page):
    return page.get_by_role("button", name=re.compile("^Gems"))


def click_tile(page, x, y):
    """Click on a place in tiles, once the camera has come after the walker."""
    near = "Math.hypot(state.camera.x - state.here.x, state.camera.y - state.here.y) < 0.02"
    wait_for(page, f"() => {{ const {{ state }} = flatlands; return {near}; }}")
    camera = page.evaluate("flatlands.state.camera")
    page.mouse.click(640 + (x - camera["x"]) * TILE, 400 + (y - camera["y"]) * TILE)


def find_gem(page):
    """Click towards the gem that lies nearest, until one is the player's; return its id and
    version."""
    for id, version, x, y in page.evaluate(GEMS)[:12]:
        # What is far away, or under a panel, is come to in steps.
        for _ in range(4):
            from_x, from_y = place(page)
            steps = max(1, abs(x - from_x) / 10, abs(y - from_y) / 8)
            click_tile(page, from_x + (x - from_x) / steps, from_y + (y - from_y) / steps)
            wait_for(page, ARRIVED)
            if math.dist(place(page), (x, y)) < 0.7:
                wait_for(page, f"() => !({GEMS})().some(([id]) => id === '{id}')")
                return id, version
    raise AssertionError("no gem can be walked to")


def test_who_walks_over_a_gem_has_it_and_it_is_gone_for_everybody_else(garden, play):
    ada = play("Ada", url=garden.url, script=NOTE_TONES + NOTE_FLIGHTS)
    bob = play("Bob", url=garden.url, script=NOTE_TONES + NOTE_FLIGHTS)
    for page in (ada, bob):
        gems_lie(page)
        counter(page).wait_for()
    assert counter(ada).get_attribute("aria-label") == "Gems 0. Open the board."
    id, version = find_gem(ada)
    wait_for(ada, "() => document.querySelector('.gems b').textContent > 0")
    # On the way it may have walked over others.
    found = int(ada.locator(".gems b").inner_text())
    assert counter(ada).get_attribute("aria-label") == f"Gems {found}, 1st of 1. Open the board."
    wait_for(
        bob,
        f"([id, version]) => !({GEMS})().some(([a, b]) => a === id && b === version)",
        [id, version],
    )
    assert counter(bob).get_attribute("aria-label") == "Gems 0. Open the board."
    wait_for(ada, f"flights === {found} && tones === {4 * found}")
    assert bob.evaluate("[flights, tones]") == [0, 0]
    wait_for(ada, "() => document.querySelectorAll('.flight').length === 0")


def test_the_board_is_opened_by_key_and_by_touch_and_walking_goes_on(garden, play):
    ada, bob = play("Ada", url=garden.url), play("Bob", url=garden.url)
    gems_lie(ada)
    find_gem(ada)
    wait_for(ada, "() => document.querySelector('.gems b').textContent > 0")
    found = ada.locator(".gems b").inner_text()
    board = bob.get_by_role("dialog", name="Board")
    bob.keyboard.press("b")
    board.wait_for()
    assert bob.evaluate("document.activeElement.ariaLabel") == "Board"
    # Another question than that of the key, whose answer may be older.
    rows = bob.get_by_role("listitem").filter(has_text="Ada")
    eventually(lambda: rows.count() == 1, "Ada is on the board", 25)
    assert rows.inner_text().split() == ["1", "Ada", found]
    assert board.get_by_text("You have found none yet").is_visible()
    walk(bob, "d", 1)
    assert board.is_visible()
    bob.keyboard.press("Escape")
    board.wait_for(state="hidden")
    assert bob.evaluate("document.activeElement.id") == "world"
    counter(ada).click()
    board = ada.get_by_role("dialog", name="Board")
    eventually(lambda: board.locator(".own").count() == 1, "the own row is marked", 25)
    assert board.locator("li.own").inner_text().split() == ["1", "Ada", found]
    tab_to(ada, "Close")
    ada.keyboard.press("Enter")
    board.wait_for(state="hidden")
    walk(ada, "a", 1)
    ada.keyboard.press("b")
    board.wait_for()
    ada.keyboard.press("b")
    board.wait_for(state="hidden")


def test_gems_are_counted_for_the_browser_and_sounds_stay_muted(garden, play):
    page = play("Ada", url=garden.url, script=NOTE_TONES)
    gems_lie(page)
    page.get_by_role("button", name="Mute sounds", exact=True).click()
    find_gem(page)
    wait_for(page, "() => document.querySelector('.gems b').textContent > 0")
    assert page.evaluate("tones") == 0
    found, key = page.locator(".gems b").inner_text(), "localStorage.getItem('flatlands.key')"
    secret = page.evaluate(key)
    assert re.fullmatch("[0-9a-f]{32}", secret)
    page.get_by_role("button", name="Unmute sounds").click()
    wait_for(page, "tones === 4")
    # Another window at the same time is somebody else. Later it is the same player with its gems.
    other = page.context.new_page()
    other.goto(garden.url)
    other.get_by_label("Your name").fill("Ada again")
    other.keyboard.press("Enter")
    wait_for(other, "flatlands.state.own !== undefined")
    other.wait_for_timeout(500)
    assert other.locator(".gems b").inner_text() != found
    other.close()
    page.close()
    later = page.context.new_page()
    later.goto(garden.url)
    later.get_by_label("Your name").wait_for()
    later.keyboard.press("Enter")
    wait_for(later, f"() => document.querySelector('.gems b').textContent === '{found}'")
    assert later.evaluate(key) == secret


def test_a_browser_that_keeps_nothing_plays_and_counts_for_this_visit(garden, play):
    denied = """
      for (const name of ['localStorage', 'sessionStorage']) {
        Object.defineProperty(window, name, { get() {
          throw new DOMException('denied', 'SecurityError');
        } });
      }
    """
    page = play("Nobody", url=garden.url, script=denied)
    gems_lie(page)
    find_gem(page)
    wait_for(page, "() => document.querySelector('.gems b').textContent > 0")


def test_the_board_is_not_asked_for_too_often(garden, play):
    page = play("Ada", url=garden.url)
    counter(page).wait_for()
    for _ in range(30):
        page.keyboard.press("b")
    walk(page, "d", 1)
    assert page.get_by_role("dialog", name="Board").is_hidden()
    assert page.evaluate("flatlands.net.refusal") is None


def test_nothing_flies_or_bursts_where_less_motion_is_asked_for(garden, play):
    page = play("Calm", url=garden.url, script=NOTE_FLIGHTS, reduced_motion="reduce")
    gems_lie(page)
    find_gem(page)
    wait_for(page, "() => document.querySelector('.gems b').textContent > 0")
    assert page.evaluate("flights") == 0


def test_a_server_without_a_store_shows_neither_counter_nor_board(play):
    with inside() as server:
        page = play("Wren", url=server.url)
        page.keyboard.press("b")
        walk(page, "d", 1)
        assert counter(page).is_hidden()
        assert page.get_by_role("dialog", name="Board").is_hidden()
        assert page.get_by_role("button", name="Board").is_hidden()
        page.context.close()
