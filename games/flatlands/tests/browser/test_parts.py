"""The page of Flatlands without any of its parts."""

from games.flatlands.tests.browser.acts import PAINTED, go
from games.flatlands.tests.servers import inside
from games.flatlands.tests.test_parts import PARTS
from tests.browser.pages import use_tool, wait_for


def test_the_page_draws_and_plays_without_all_parts(without, play):
    without(*PARTS)
    with inside(STORE_URL="memory://") as server:
        assert b"PARTS = {};" in server.get("parts.js")
        ada, ben = play("Ada", url=server.url), play("Ben", url=server.url)
        go(ada, 6.5, 9.5)
        wait_for(ada, PAINTED)
        use_tool(ada, "Help")
        ada.get_by_text("The world is divided into squares").wait_for()
        ada.keyboard.press("Escape")
        ada.keyboard.press("Enter")
        ada.keyboard.type("Nothing is missing")
        ada.keyboard.press("Enter")
        ben.get_by_text("Nothing is missing").first.wait_for()
