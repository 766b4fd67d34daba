"""A game with its own page: what one player paints the other sees."""

import io
import re
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copytree

from PIL import Image, ImageColor

from flatlands.proxy import Proxy
from tests.browser.pages import eventually, wait_for
from tests.inside import inside


def test_a_player_that_walks_paints_the_floor_for_everybody(open_page):
    with inside("--game", "paint", STORE_URL="memory://") as server:
        # One page has all modules joined, the other one by one.
        walker = open_page(server.url)
        other = open_page(f"{server.url}?debug", viewport={"width": 390, "height": 700})
        for page in (walker, other):
            page.get_by_text("Walk with the arrow keys").wait_for()
        walker.keyboard.down("ArrowRight")
        board = "document.querySelector('#board b')?.textContent"
        for page in (walker, other):
            wait_for(page, f"Number({board}) > 4")
        walker.keyboard.up("ArrowRight")
        walker.keyboard.press("Space")
        wait_for(other, f"Number({board}) > 20")
        assert walker.locator("#board li").count() == 1
        assert walker.locator("#board .own").count() == 1
        wait_for(other, f"{board} === '{walker.evaluate(board)}'")
        assert other.locator("#board li").count() == 1
        # A page whose server has ended says so in the console.
        for page in (walker, other):
            page.close()


def colour(page, right, down):
    """Return the colour of the page so many px from its middle."""
    clip = {"x": 640 + right, "y": 400 + down, "width": 1, "height": 1}
    return Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB").getpixel((0, 0))


def is_painted(page, own):
    """Return whether the floor a tile below the player has a colour, at one of several places: some
    may lie between two tiles."""
    return any(colour(page, right, down) == own for right, down in ((0, 30), (6, 36), (12, 42)))


PAGE = Path(__file__).parents[1] / "page"

#: The colours of paint, but not that of bare floor.
PAINTS = [
    ImageColor.getrgb(colour)
    for colour in re.findall(
        r"#\w{6}", re.search("const COLOURS = (.*);", PAGE.joinpath("paint.js").read_text())[1]
    )
][1:]

#: Stops the clock of a page, so that no paint dries.
STAND_STILL = "() => { const now = performance.now(); performance.now = () => now; }"

STRICT = """
from flatlands import Refused, action, number
from flatlands.games.paint.game import Game as Paint


class Game(Paint):
    @action()
    def spill(self, me, reach: int = number(1, 3)):
        raise Refused("dry", "You have no paint left.")
"""


@contextmanager
def stalled(open_page, game):
    """Yield a page whose player has a colour and whose link stalls, that colour, and the link."""
    with (
        inside("--game", game, STORE_URL="memory://") as server,
        closing(Proxy(server.port)) as proxy,
    ):
        page = open_page(f"http://localhost:{proxy.port}/")
        page.get_by_text("Walk with the arrow keys").wait_for()
        # For a moment a newcomer has the colour of bare floor.
        eventually(lambda: colour(page, 0, 0) in PAINTS, "the player has a colour")
        proxy.stall()
        yield page, colour(page, 0, 0), proxy
        page.close()


def test_paint_is_seen_before_the_server_answers(open_page):
    with stalled(open_page, "paint") as (page, own, proxy):
        page.keyboard.down("ArrowRight")
        eventually(lambda: colour(page, -40, 0) == own, "the way is painted")
        page.keyboard.up("ArrowRight")
        page.evaluate(STAND_STILL)
        page.keyboard.press("Space")
        eventually(lambda: is_painted(page, own), "the spill is seen")
        assert page.locator("#board li").count() == 0
        proxy.flow()
        wait_for(page, "Number(document.querySelector('#board b')?.textContent) > 20")
        assert is_painted(page, own)


def test_paint_that_the_server_refuses_is_wiped_off(open_page, tmp_path):
    (tmp_path / "game.py").write_text(STRICT)
    copytree(PAGE, tmp_path / "page")
    with stalled(open_page, f"{tmp_path}/") as (page, own, proxy):
        assert not is_painted(page, own)
        page.evaluate(STAND_STILL)
        page.keyboard.press("Space")
        eventually(lambda: is_painted(page, own), "the spill is seen")
        proxy.flow()
        page.get_by_text("You have no paint left.").wait_for()
        eventually(lambda: not is_painted(page, own), "it is wiped off")
