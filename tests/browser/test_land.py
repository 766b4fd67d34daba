"""The land as one sees it: the light of the day, the regions, and the way home and back."""

import io

from PIL import Image, ImageStat

from tests.browser.conftest import eventually, wait_for
from tests.browser.test_play import far, place
from tests.processes import serving

#: Lets it be another minute of a page's day.
TURN_TO = """(minute) => {
  const { state } = flatlands;
  state.dayShift = minute * 60000 - state.clock.now() % (16 * 60000);
}"""


def picture(page):
    """Return the mean red, green and blue of the world where no panels are."""
    box = {"x": 400, "y": 220, "width": 480, "height": 420}
    return ImageStat.Stat(Image.open(io.BytesIO(page.screenshot(clip=box))).convert("RGB")).mean


def bright(page):
    return sum(picture(page))


def test_night_falls_lamps_are_lit_and_the_overlay_stays_bright(play):
    page = play("Owl")
    page.evaluate(TURN_TO, 3)
    wait_for(page, "flatlands.state.sky.dark === 0")
    eventually(lambda: bright(page) > 420, "it is bright by day")
    by_day = bright(page)
    page.evaluate(TURN_TO, 12)
    eventually(lambda: bright(page) < 0.8 * by_day, "it is dark at night")
    # The names stay as white as they are by day.
    dark = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    assert max(sum(pixel) for _, pixel in dark.getcolors(2**24)) > 700
    page.keyboard.press("g")
    wait_for(page, "flatlands.state.overlay !== null")
    eventually(lambda: bright(page) > 0.8 * by_day, "no night falls over the overlay")


def test_snow_lies_in_its_region_and_home_again_leads_back_there(play):
    with serving("--spread", "1", "--spread-ring", "200") as server:
        page = play("Fox", server.url, cut_off=True)
        page.evaluate(TURN_TO, 3)
        wait_for(page, "Math.abs(flatlands.state.here.x - 200) < 20")
        before = place(page)
        eventually(lambda: picture(page)[2] > 185, "snow is white and a little blue")
        page.keyboard.press("h")
        eventually(lambda: far(place(page), [0, 0]) < 8, "she is on the plaza")
        eventually(lambda: picture(page)[2] < 170, "no snow lies there")
        page.keyboard.press("h")
        eventually(lambda: far(place(page), before) < 0.1, "she is back where she was")
        page.get_by_text("Back where you were.").wait_for()
