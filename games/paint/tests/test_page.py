"""A game with its own page: what one player paints the other sees."""

from tests.browser.pages import wait_for
from tests.inside import inside


def test_a_player_that_walks_paints_the_floor_for_everybody(open_page):
    with inside("--game", "paint", STORE_URL="memory://") as server:
        # One page has all modules joined, the other one by one.
        walker = open_page(server.url)
        other = open_page(f"{server.url}?debug", viewport={"width": 390, "height": 700})
        for page in (walker, other):
            page.get_by_text("Walk with the arrow keys").wait_for()
        walker.keyboard.down("ArrowRight")
        board = "document.querySelector('#board').textContent"
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
