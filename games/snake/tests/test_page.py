"""Snake's own page: a snake that runs into another falls, and starts over."""

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
    with inside("--game", "snake", STORE_URL="memory://") as server:
        page = open_page(server.url, viewport={"width": 390, "height": 700})
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
        page.get_by_role("button", name="Again").click()
        page.get_by_role("button", name="Again").wait_for(state="hidden")
        page.keyboard.press("ArrowDown")
        # A page whose server has ended says so in the console.
        page.close()
        fence.close()
