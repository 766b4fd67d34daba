"""The land as one sees it: the light of the day, the regions, and the way home and back."""

from PIL import ImageStat

from games.flatlands.tests.browser.acts import (
    PRESENT,
    TURN_TO,
    far,
    picture,
    place,
    put,
    walk_to,
)
from games.flatlands.tests.servers import inside
from tests.browser.pages import eventually, wait_for


def mean(page):
    """Return the mean red, green and blue of the world where no panels are."""
    return ImageStat.Stat(picture(page, {"x": 400, "y": 220, "width": 480, "height": 420})).mean


def bright(page):
    return sum(mean(page))


def test_night_falls_lamps_are_lit_and_the_overlay_stays_bright(play):
    page = play("Owl")
    page.evaluate(TURN_TO, 3)
    wait_for(page, "flatlands.state.sky.dark === 0")
    eventually(lambda: bright(page) > 420, "it is bright by day")
    by_day = bright(page)
    page.evaluate(TURN_TO, 12)
    eventually(lambda: bright(page) < 0.8 * by_day, "it is dark at night")
    # The names stay as white as they are by day.
    assert max(sum(pixel) for _, pixel in picture(page).getcolors(2**24)) > 700
    # Other players are lighter than the night would make them.
    put(page, 99_001, 2, 0)
    body = """() => {
      const { x, y } = flatlands.state.walkers.find(({ id }) => id === 2 ** 31 + 99001);
      return flatlands.view.pointOf(flatlands.state, x, y - 0.35);
    }"""
    wait_for(page, "flatlands.state.walkers.find(({ id }) => id === 2 ** 31 + 99001)?.alpha === 1")

    def other():
        at = page.evaluate(body)
        clip = {"x": at["x"] - 4, "y": at["y"] - 4, "width": 8, "height": 8}
        return sum(ImageStat.Stat(picture(page, clip)).mean)

    light = other()
    page.evaluate("flatlands.view.walkers.drawLight = () => {}")
    eventually(lambda: other() < 0.8 * light, "they are dark without that")
    page.keyboard.press("g")
    wait_for(page, "flatlands.state.overlay !== null")
    eventually(lambda: bright(page) > 0.8 * by_day, "no night falls over the overlay")


def test_snow_lies_in_its_region_and_a_second_press_of_home_leads_back_there(play):
    with inside("--spread", "1", "--spread-ring", "200") as server:
        page = play("Fox", server.url, cut_off=True)
        page.evaluate(TURN_TO, 3)
        wait_for(page, "Math.abs(flatlands.state.here.x - 200) < 20")
        before = place(page)
        eventually(lambda: mean(page)[2] > 185, "snow is white and a little blue")
        page.keyboard.press("h")
        eventually(lambda: far(place(page), [0, 0]) < 8, "she is on the plaza")
        eventually(lambda: mean(page)[2] < 170, "no snow lies there")
        page.keyboard.press("h")
        eventually(lambda: far(place(page), before) < 0.1, "she is back where she was")
        page.get_by_text("Back where you were.").wait_for()


def test_a_bridge_leads_to_a_goal_across_water_and_a_page_says_if_none_does(play):
    # In this world a lake is east of the square in which newcomers begin.
    with inside("--seed", "178", "--spread", "1", "--spread-ring", "70") as server:
        page = play("Hen", server.url)
        go = """([x, y]) => { flatlands.state.aim = { x, y, reach: 1, label: 'the far shore' }; }"""
        page.evaluate(go, [86.5, 8.5])
        walk_to(page, "the far shore")
        page.get_by_text("You are there.", exact=True).first.wait_for()
        wait_for(page, "flatlands.state.aim === null")
        # The middle of the lake.
        page.evaluate(go, [76.5, 22.5])
        walk_to(page, "the far shore")
        toast = "Water bars the way to the far shore, and there is no way around it near here."
        page.get_by_text(toast).wait_for()
        assert page.evaluate("flatlands.state.aim !== null")


def test_a_page_whose_ground_differs_from_its_servers_offers_to_reload(open_page):
    page = open_page()
    old = page.request.get(page.url + "joined.js").text().replace("GROUND = 3;", "GROUND = 2;")
    page.route(
        "**/joined.js", lambda route: route.fulfill(body=old, content_type="text/javascript")
    )
    page.reload()
    page.get_by_label("Your name").fill("Newt")
    page.keyboard.press("Enter")
    page.get_by_text("The land has changed since this page was loaded.").wait_for()
    page.unroute("**/joined.js")
    # The old page, which is there until then, must not be mistaken for the new one.
    with page.expect_navigation():
        page.get_by_role("button", name="Reload").click()
    wait_for(page, PRESENT)
    assert page.get_by_text("The land has changed").is_hidden()
