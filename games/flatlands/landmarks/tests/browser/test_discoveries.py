"""What a page shows a player that comes to a landmark."""

from games.flatlands.tests.browser.acts import (
    come_back,
    go,
)
from games.flatlands.tests.servers import inside
from tests.browser.pages import wait_for


def test_a_finder_of_a_landmark_is_shown_its_number_once_and_later_only_the_name(play):
    # In this world an oak stands beside the square in which newcomers begin.
    by_the_oak = ("--seed", "16", "--spread", "1", "--spread-ring", "70")
    with inside(*by_the_oak, "--store", "memory://") as server:
        first = "You are the first to find Kettle Oak: your name is carved there."
        second = "You are the second to find Kettle Oak. Hen was the first. Landmarks found: 1."
        for name, toast, x in (("Hen", first, 72.5), ("Jay", second, 68.5)):
            page = play(name, server.url, cut_off=True)
            oak = "flatlands.state.marks.map((mark) => mark.name).join() === 'Kettle Oak'"
            wait_for(page, oak)
            go(page, x, 17)
            wait_for(page, "flatlands.state.found !== null")
            page.get_by_text(toast).wait_for()
        come_back(page)
        wait_for(page, "flatlands.state.found !== null")
        page.get_by_text("Kettle Oak", exact=True).wait_for()
