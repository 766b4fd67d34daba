"""The fixtures of the page of Flatlands, which conftest.py gives all tests that open it."""

import pytest

from games.flatlands.tests.servers import inside
from tests.browser.pages import draws, wait_for


@pytest.fixture(scope="module")
def server():
    """A server for all tests of a file; what one player does there, others see."""
    with inside() as server:
        yield server


@pytest.fixture
def alone():
    """A server for one test, on which nobody else walks and nothing lies; it keeps what lasts."""
    with inside("--gems", "0", "--twins", "0", STORE_URL="memory://") as server:
        yield server


@pytest.fixture(scope="module")
def blank(browser, server):
    """A page of the server that draws nothing."""
    page = browser.new_page()
    page.goto(f"{server.url}stats")
    yield page
    page.close()


@pytest.fixture
def play(open_page):
    """A function that opens a page and joins under a name."""

    def play_as(name, url=None, **options):
        page = open_page(url, **options)
        page.get_by_label("Your name").fill(name)
        page.keyboard.press("Enter")
        wait_for(page, "flatlands.state.own !== undefined")
        # In every frame the page finds out where its player is.
        draws(page)
        return page

    return play_as
