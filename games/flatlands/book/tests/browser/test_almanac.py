"""The notice board, which opens the almanac."""

from games.flatlands.gems.tests.browser.test_gems import garden
from games.flatlands.tests.browser.acts import click_tile
from tests.browser.pages import wait_for

__all__ = ["garden"]


def test_the_notice_board_opens_the_almanac(garden, play):
    ada = play("Ada", url=garden.url)
    wait_for(ada, "flatlands.state.own !== undefined")
    click_tile(ada, 4.5, -4.2, 310)
    ada.get_by_role("dialog", name="Almanac").wait_for()
