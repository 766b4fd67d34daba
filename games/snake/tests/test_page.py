"""Snake's own page: a snake that runs into another falls, and starts over."""

import io
from contextlib import closing
from pathlib import Path
from shutil import copytree

from PIL import Image

from flatlands.proxy import Proxy
from tests.browser.pages import draws, eventually
from tests.inside import inside
from tests.socket_client import SocketClient

UNIT = 1024


def walk_to(client, axis, at):
    """Let a client's snake go along an axis to a place there, in units."""
    step = [0, 0]
    step[axis] = 1 if at > client.at()[axis] else -1
    client.walk(*step)
    client.until(lambda: (client.at()[axis] - at) * step[axis] >= 0)


def test_a_snake_that_runs_into_another_one_starts_over(open_page):
    with (
        inside("--game", "snake", STORE_URL="memory://") as server,
        closing(Proxy(server.port)) as proxy,
    ):
        url = f"http://localhost:{proxy.port}/"
        page = open_page(url, viewport={"width": 390, "height": 700})
        page.get_by_text("Turn with the arrow keys").wait_for()
        fence = SocketClient(server.port).hello("Fence")
        fence.until(lambda: len(fence.model.players) == 2)
        own = next(id for id in fence.model.players if id != fence.model.id)
        # Snakes of one colour pass through each other.
        while (fence.model.id - own) % 255 == 0:
            fence.close()
            fence = SocketClient(server.port).hello("Fence")
            fence.until(lambda fence=fence: own in fence.model.players)
        x, y = fence.at(own)
        # The snake goes back and forth across the way, and bars it when the other comes; or its way
        # there does, if both began in one row.
        walk_to(fence, 0, x + 8 * UNIT)
        for rows in (-2, 2):
            walk_to(fence, 1, y + rows * UNIT)
        page.keyboard.press("ArrowRight")
        for turn in range(20):
            walk_to(fence, 1, y + (2 if turn % 2 else -2) * UNIT)
            if fence.model.players[own].values[1]:
                break
        page.get_by_text("You ran into Fence.").wait_for()
        # The button goes before the server answers, and a second key asks for nothing.
        proxy.stall()
        page.get_by_role("button", name="Again").click()
        page.get_by_role("button", name="Again").wait_for(state="hidden")
        page.keyboard.press("Space")
        proxy.flow()
        seen = fence.model.players
        fence.until(lambda: own not in seen or not seen[own].values[1])
        page.keyboard.press("ArrowDown")
        # A page whose server has ended says so in the console.
        page.close()
        fence.close()


ONE_FOOD = """
from flatlands.games.snake.game import Food, Game as Snake


class Game(Snake):
    def begin(self):
        return (0, 0)

    def plant(self, plot):
        return [Food((5, 0))] if plot == (0, 0) else []
"""


#: Lets the clock of a page stand still, so many ms after it did so first.
STAND_STILL = """(ms) => {
  const now = globalThis.stoodAt ??= performance.now();
  performance.now = () => now + ms;
}"""


def is_food_seen(page):
    """Return whether anything on a page has the colour of food."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    return any(colour == (255, 209, 102) for _, colour in picture.getcolors(10**7))


def test_food_is_gone_before_the_server_says_that_it_was_eaten(open_page, tmp_path):
    (tmp_path / "game.py").write_text(ONE_FOOD)
    copytree(Path(__file__).parents[1] / "page", tmp_path / "page")
    with (
        inside("--game", f"{tmp_path}/", STORE_URL="memory://") as server,
        closing(Proxy(server.port)) as proxy,
    ):
        page = open_page(f"http://localhost:{proxy.port}/")
        eventually(lambda: is_food_seen(page), "there is food")
        proxy.stall()
        page.evaluate(STAND_STILL, 0)
        page.keyboard.press("ArrowRight")
        # The snake is a tile and a half away, and then less than a tile.
        page.evaluate(STAND_STILL, 700)
        draws(page)
        assert is_food_seen(page)
        page.evaluate(STAND_STILL, 840)
        eventually(lambda: not is_food_seen(page), "it is eaten")
        page.evaluate("() => { delete performance.now; }")
        proxy.flow()
        page.locator("#board li").wait_for()
        page.close()
