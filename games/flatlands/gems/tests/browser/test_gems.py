"""Gems, the counter and the board as people find them, on a real server with a store in memory."""

import math
import re

import pytest

from games.flatlands.tests.browser.acts import (
    ARRIVED,
    CHIMES,
    COUNT_SOUNDS,
    TONES,
    click_tile,
    enter,
    place,
    tab_to,
    walk,
)
from games.flatlands.tests.servers import inside
from tests.browser.pages import eventually, use_tool, wait_for

#: The gems that lie there, from the nearest on: [id, version, x, y].
GEMS = """() => {
  const { things, here } = flatlands.state;
  const away = ([, , x, y]) => Math.hypot(x - here.x, y - here.y);
  return [...things.values()].filter(({ thing, goneAt, own }) =>
    thing.type === 'Gem' && goneAt === null && !own)
    .map(({ thing, x, y }) => [thing.id, thing.version, x, y]).sort((a, b) => away(a) - away(b));
}"""


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
    """A server for one test with many gems, which do not come back while the test lasts."""
    gems = "--gems", "60", "--twins", "0", "--gem-pause", "3600"
    with inside(*gems, STORE_URL="memory://") as server:
        yield server


def gems_lie(page):
    wait_for(page, f"({GEMS})().length > 10")


def counter(page):
    return page.get_by_role("button", name=re.compile("Plant with a gem"))


def has_found(page):
    """Return how many gems a page counts, once it counts one and no other flies to it."""
    # The page reads the number out once it has found no other gem for a while.
    wait_for(page, "() => flatlands.parts.gems.counter.liveRegion.textContent !== ''")
    wait_for(page, "() => document.querySelectorAll('.flight').length === 0")
    return page.locator(".gems .text").inner_text()


def find_gem(page):
    """Click towards the nearest gem until the player has one; return "id,version"."""
    for id, version, x, y in page.evaluate(GEMS)[:12]:
        # A gem that is far away is reached in steps.
        for _ in range(4):
            if page.locator("dialog[open]").count():
                # A click on the way has opened the almanac at the plaza.
                page.keyboard.press("Escape")
            click_tile(page, x, y)
            wait_for(page, ARRIVED)
            if math.dist(place(page), (x, y)) < 0.7:
                wait_for(page, f"() => !({GEMS})().some(([id]) => id === '{id}')")
                return f"{id},{version}"
    raise AssertionError("no gem can be walked to")


def test_a_player_that_walks_over_a_gem_gets_it_and_all_see_it_on_the_board(garden, play):
    ada, bob = (
        play(name, url=garden.url, script=COUNT_SOUNDS + NOTE_FLIGHTS) for name in ("Ada", "Bob")
    )
    for page in (ada, bob):
        gems_lie(page)
        # The counter appears with the first gem.
        assert counter(page).is_hidden()
    gem = find_gem(ada)
    # On the way it may have walked over others.
    found = has_found(ada)
    assert f"{found} gem" in (spoken := counter(ada).text_content())
    assert spoken.endswith(", 1st of 1. Plant with a gem.")
    wait_for(bob, f"(gem) => !({GEMS})().some((one) => one.slice(0, 2).join() === gem)", gem)
    assert counter(bob).is_hidden()
    # Steps and the ember, which both may be heard, have other sounds.
    wait_for(ada, f"flights === {found} && {CHIMES} === {found}")
    assert bob.evaluate(f"[flights, {CHIMES}]") == [0, 0]
    wait_for(ada, "() => document.querySelectorAll('.flight').length === 0")
    # The board is in the book.
    for page, own in ((bob, 0), (ada, 1)):
        board = page.get_by_role("region", name="Most gems")
        page.keyboard.press("n")
        rows = board.get_by_role("listitem").filter(has_text="Ada")
        eventually(lambda rows=rows: rows.count() == 1, "Ada is on the board", 25)
        assert rows.inner_text().split() == ["1", "Ada", found]
        assert board.locator("li.own").count() == own
        assert board.get_by_text("You have found none yet").is_visible() == (not own)
        page.keyboard.press("Escape")
        board.wait_for(state="hidden")
    # The counter opens what can be planted; walking goes on.
    counter(ada).click()
    sheet = ada.get_by_role("dialog", name="Plant")
    sheet.get_by_role("button", name="Lantern").wait_for()
    walk(ada, "a", 1)
    assert sheet.is_visible()
    tab_to(ada, "Close")
    ada.keyboard.press("Enter")
    sheet.wait_for(state="hidden")
    assert ada.evaluate("document.activeElement.id") == "world"


def test_gems_are_counted_for_the_browser_and_sounds_stay_muted(garden, play):
    page = play("Ada", url=garden.url, script=COUNT_SOUNDS)
    gems_lie(page)
    use_tool(page, "Help")
    page.get_by_role("button", name="Mute sounds").click()
    page.keyboard.press("Escape")
    find_gem(page)
    found, key = has_found(page), "localStorage.getItem('flatlands.key')"
    assert page.evaluate(TONES) == 0
    secret = page.evaluate(key)
    assert re.fullmatch("[0-9a-f]{32}", secret)
    use_tool(page, "Help")
    page.get_by_role("button", name="Unmute sounds").click()
    wait_for(page, f"{CHIMES} === 1")
    # Another window at the same time is somebody else. Later it is the same player with its gems.
    other = page.context.new_page()
    other.goto(garden.url)
    wait_for(other, "flatlands.net.identity.keep === flatlands.net.identity.window")
    enter(other, "Ada again")
    # It was sent who has found gems.
    wait_for(other, "flatlands.parts.gems.board.list.children.length === 1")
    assert counter(other).is_hidden()
    other.close()
    page.close()
    later = page.context.new_page()
    later.goto(garden.url)
    enter(later)
    wait_for(later, f"() => document.querySelector('.gems .text').textContent === '{found}'")
    assert later.evaluate(key) == secret


def test_gems_count_where_nothing_is_kept_and_do_not_fly_with_reduced_motion(garden, play):
    denied = """
      for (const name of ['localStorage', 'sessionStorage']) {
        Object.defineProperty(window, name, { get() {
          throw new DOMException('denied', 'SecurityError');
        } });
      }
    """
    script = NOTE_FLIGHTS + denied
    page = play("Calm", url=garden.url, script=script, reduced_motion="reduce")
    gems_lie(page)
    find_gem(page)
    has_found(page)
    assert page.evaluate("flights") == 0


def test_a_server_without_a_store_shows_neither_counter_nor_board(play):
    with inside() as server:
        page = play("Wren", url=server.url)
        page.keyboard.press("p")
        walk(page, "d", 1)
        assert counter(page).is_hidden()
        assert page.get_by_role("dialog", name="Plant").is_hidden()
        page.keyboard.press("n")
        page.get_by_role("button", name="Almanac").wait_for()
        assert page.get_by_role("region", name="Most gems").count() == 0
        page.context.close()
