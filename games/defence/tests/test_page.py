"""Defence's own page: monsters come, a player builds towers, and sees what they cost."""

from tests.browser.pages import draws, eventually
from tests.inside import inside


def test_a_player_builds_towers_as_long_as_it_has_gold(open_page):
    with inside("--game", "defence", STORE_URL="memory://") as server:
        page = open_page(server.url, viewport={"width": 390, "height": 700})
        page.get_by_text("Walk beside the way of the monsters").wait_for()
        draws(page)
        page.get_by_text("the castle has 20 lives").wait_for()
        button = page.get_by_role("button", name="Build a tower")
        page.get_by_text("(10 of 30 gold)").wait_for()
        button.click()
        page.get_by_text("(10 of 20 gold)").wait_for()
        # There is one here already.
        page.keyboard.press("Space")
        page.get_by_text("There is a tower already.").wait_for()
        for gold in (10, 0):
            page.keyboard.down("ArrowLeft")
            page.wait_for_timeout(600)
            page.keyboard.up("ArrowLeft")
            page.wait_for_timeout(300)
            page.keyboard.press("Enter")
            page.get_by_text(f"(10 of {gold} gold)").wait_for()
        eventually(button.is_disabled, "a button that promises nothing")
