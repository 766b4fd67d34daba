"""The page of Flatlands without any of its parts."""

from games.flatlands.tests.browser.acts import PAINTED, go
from games.flatlands.tests.servers import inside
from games.flatlands.tests.test_parts import PARTS
from tests.browser.pages import use_tool, wait_for


def test_what_lasts_is_left_without_the_other_parts(without, play):
    without(*set(PARTS) - {"cairns"})
    with inside(STORE_URL="memory://") as server, inside() as forgets:
        ada, ben = play("Ada", url=server.url), play("Ben", url=forgets.url)
        go(ada, 12.5, 12.5)
        use_tool(ada, "Leave a cairn")
        ada.get_by_role("textbox", name="One line").fill("Here we are")
        ada.get_by_role("button", name="Leave it here").click()
        ada.get_by_text("Here we are").first.wait_for()
        ben.get_by_role("button", name="More").click()
        ben.get_by_role("button", name="Help").wait_for()
        assert not ben.get_by_role("button", name="Leave a cairn").is_visible()


def test_the_page_draws_and_plays_without_all_parts(without, play):
    without(*PARTS)
    with inside(STORE_URL="memory://") as server:
        assert b"PARTS = {};" in server.get("parts.js")
        ada, ben = play("Ada", url=server.url), play("Ben", url=server.url)
        go(ada, 6.5, 9.5)
        wait_for(ada, PAINTED)
        use_tool(ada, "You")
        ada.get_by_role("dialog", name="You").wait_for()
        ada.keyboard.press("Escape")
        ada.keyboard.press("Enter")
        ada.keyboard.type("Nothing is missing")
        ada.keyboard.press("Enter")
        ben.get_by_text("Nothing is missing").first.wait_for()
