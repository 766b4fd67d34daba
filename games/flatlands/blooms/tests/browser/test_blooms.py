"""Blooms: three players dance in a square, which blooms for them and for all who come by."""

import re

import pytest

from games.flatlands.tests.browser.acts import PAINTED, TURN_TO, count_colour, go
from games.flatlands.tests.servers import inside
from tests.browser.pages import eventually, wait_for

#: The bloom in the square of the page's own player, or "", and whether it is painted.
BLOOMS = """(({ here, grown }) => grown.blooming(Math.floor(here.x), Math.floor(here.y)))(
  flatlands.state)"""
BLOOM_PAINTED = f"() => {BLOOMS} !== '' && {PAINTED}"
WREATH = """(({ x, y }) => [x, y + 1])([...flatlands.state.things.values()]
  .find(({ thing }) => thing.type === 'Bloom'))"""
LAVENDER = (183, 149, 245)
ROSE = (255, 127, 168)
GOLD = (255, 210, 74)


@pytest.fixture
def square():
    """A server on which all players begin in one square, outside of the plaza."""
    here = "--spread", "1", "--spread-ring", "40"
    with inside("--gems", "0", "--twins", "0", *here, STORE_URL="memory://") as server:
        yield server


def test_three_players_dance_until_their_square_blooms(square, play):
    ann, ben, cid = pages = [play(name, url=square.url) for name in ("Ann", "Ben", "Cid")]
    for page in pages:
        page.evaluate(TURN_TO, 3)

    def dance(*pages):
        for page in pages:
            page.keyboard.press("4")
        ann.wait_for_timeout(2000)

    lacks = ann.get_by_text("Ben is dancing with you. With a third dancer, this square will bloom.")
    eventually(lambda: dance(ann, ben) or lacks.count() > 0, "she reads what is missing")
    eventually(lambda: dance(*pages) or bool(ann.evaluate(BLOOMS)), "it blooms", 40)
    for page in pages:
        wait_for(page, BLOOM_PAINTED)
        flowers = {each: count_colour(page, each) for each in (LAVENDER, ROSE, GOLD)}
        assert max(flowers.values()) > 50
        page.keyboard.press("n")
        page.get_by_text("and a third danced until a square bloomed").wait_for()
    # A player that comes by finds it blooming, and reads at the wreath for whom.
    dot = play("Dot", url=square.url)
    wait_for(dot, BLOOM_PAINTED)
    go(dot, *dot.evaluate(WREATH))
    dot.get_by_text(re.compile("This square blooms until .+, for ")).first.wait_for()
