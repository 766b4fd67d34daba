"""Blooms: three players dance in a square, which blooms for them and for all who come by."""

import re

from games.flatlands.tests.browser.acts import PAINTED, TURN_TO, count_colour, go
from tests.browser.pages import eventually, wait_for

#: The bloom in the square of the page's own player, or "", and whether it is painted.
BLOOMS = "flatlands.state.grown.blooming(Math.floor(flatlands.state.here.x), 9)"
BLOOM_PAINTED = f"() => {BLOOMS} !== '' && {PAINTED}"
WREATH = """(({ x, y }) => [x, y + 1])([...flatlands.state.lying.values()]
  .find(({ thing }) => thing.type === 'Bloom'))"""
LAVENDER, ROSE, GOLD = (183, 149, 245), (255, 127, 168), (255, 210, 74)


def test_three_players_dance_until_their_square_blooms(alone, play):
    ann, ben, cid = pages = [play(name, url=alone.url) for name in ("Ann", "Ben", "Cid")]
    for page, x in zip(pages, (6.5, 8.5, 10.5), strict=True):
        page.evaluate(TURN_TO, 3)
        go(page, x, 9.5)

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
    dot = play("Dot", url=alone.url)
    go(dot, 7.5, 10.5)
    wait_for(dot, BLOOM_PAINTED)
    go(dot, *dot.evaluate(WREATH))
    dot.get_by_text(re.compile("This square blooms until .+, for ")).first.wait_for()
