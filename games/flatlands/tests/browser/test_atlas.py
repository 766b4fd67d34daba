"""The map of everybody in the page: opening it, following its arrow, watching without playing."""

import re

import pytest

from flatlands.server.messages.protocol import KEY
from games.flatlands.cairns.tests.browser.test_cairns import leave
from games.flatlands.tests.browser.acts import PHONE, count_colour, enter, picture, walk, walk_to
from games.flatlands.tests.servers import inside
from tests.browser.pages import draws, eventually, wait_for
from tests.server.servers import stats
from tests.socket_client import SocketClient

#: Returns where the dots are on the screen, in css px, by their columns and rows.
DOTS = """[...flatlands.state.atlas.dots.values()].filter(({ gone }) => gone === null)
  .map((dot) => ({ ...flatlands.lookout.gaze.toScreen(dot.col + 0.5, dot.row + 0.5),
    square: [dot.col, dot.row], people: dot.people }))"""

#: Returns whether the map has come to rest, so that a click hits its target.
RESTS = """(({ gaze: { to, x, y, scale }, shown }) => shown === 1
  && Math.abs(to.scale / scale - 1) < 0.001 && Math.hypot(to.x - x, to.y - y) * scale < 1
)(flatlands.lookout)"""

SQUARE = "[here.x, here.y].map((tiles) => Math.floor(tiles / 16))"
OWN_SQUARE = f"(({{ here }}) => {SQUARE})(flatlands.state)"


@pytest.fixture
def spread_server():
    # Each test has its own server, since players of an earlier test are still counted for a while.
    # A test must request it before the pages, which have to be closed first.
    # Players begin on four squares around the plaza, where no obstacles are.
    with inside("--spread", "4", "--walkers", "0", "--deer", "0") as server:
        yield server


def by_touch(page):
    return page.evaluate("matchMedia('(pointer: coarse)').matches")


def open_map(page):
    """Open the map, on a phone by a touch of the small one."""
    if by_touch(page):
        page.locator("#minimap").tap()
    else:
        page.keyboard.press("o")
    wait_for(page, "flatlands.state.atlas.pictures > 0")
    wait_for(page, RESTS)


def dots(page):
    return {tuple(dot["square"]): dot for dot in page.evaluate(DOTS)}


def test_a_click_on_the_map_makes_an_arrow_lead_to_another_player(spread_server, play):
    ada = play("Ada", spread_server.url)
    others = [SocketClient(spread_server.port).hello(name).model for name in ("Ben", "Cid")]
    squares = [other.players[other.id].square for other in others]
    squares.insert(0, tuple(ada.evaluate(OWN_SQUARE)))
    goal = next(square for square in squares if square != squares[0])
    open_map(ada)
    eventually(lambda: set(dots(ada)) == set(squares), "the map shows everybody")
    wait_for(ada, "document.querySelector('.atlas-line').textContent === '3 people'")
    # With the grid on, channels and servers are named.
    ada.keyboard.press("g")
    ada.get_by_text("3 people on").wait_for()
    # Keys move the map and not the player.
    ada.keyboard.down("ArrowRight")
    ada.keyboard.up("ArrowRight")
    assert ada.evaluate("flatlands.state.walk.arrived")
    ada.keyboard.press("0")
    draws(ada)
    wait_for(ada, RESTS)
    place = dots(ada)[goal]
    ada.mouse.move(place["x"], place["y"])
    ada.get_by_text(f"square {goal[0]}, {goal[1]} · ").wait_for()
    ada.mouse.click(place["x"], place["y"])
    wait_for(ada, "flatlands.state.aim !== null && !flatlands.lookout.isOpen")
    wait_for(ada, "document.activeElement.id === 'world'")
    # Follow it: the arrow ends in that square.
    walk_to(ada, f"square {goal[0]}, {goal[1]}")
    eventually(lambda: ada.evaluate("flatlands.state.aim === null"), "the arrow ends", 40)
    assert tuple(ada.evaluate(OWN_SQUARE)) == goal


#: Where places in tiles are on the screen, in css px.
PLACES = """(places) => places.map(([x, y]) => flatlands.lookout.gaze.toScreen(x / 16, y / 16))"""
#: Tiles in the world of seed 2013; that of the lake is its middle.
LAKE = (-60, -60)
EAST_PATH = (24, 0)
EASTERN_SNOW = (140, 60)
FLAG = (255, 125, 156)

#: Moves a place in tiles to the middle of the map, so near that cairns are drawn on a phone, too.
LOOK_AT = """([x, y]) => {
  const { gaze } = flatlands.lookout;
  gaze.whole = false;
  gaze.put(x / 16, y / 16, 96);
}"""


def choose(page, x, y, below=0):
    """Open the map, and click or touch a place in tiles, or `below` css px under it; return what
    the page says of it. A goal that was chosen before is under its flag."""
    open_map(page)
    page.evaluate(LOOK_AT, [x, y])
    # With a frame the page knows where the names are.
    draws(page)
    at = page.evaluate(PLACES, [[x, y]])[0]
    (page.touchscreen.tap if by_touch(page) else page.mouse.click)(at["x"], at["y"] + below)
    wait_for(page, "flatlands.state.aim !== null && !flatlands.lookout.isOpen")
    wait_for(page, "flatlands.state.arrows.some(({ aim }) => aim)")
    note = page.get_by_role("status").filter(has_text=": follow the arrow with the flag.")
    note.wait_for()
    wait_for(page, "flatlands.lookout.shown === 0")
    aim = page.evaluate("flatlands.state.aim")
    assert abs(aim["x"] - x) <= 3 + aim["reach"] and abs(aim["y"] - y) <= 3 + aim["reach"]
    return note.inner_text().split(":")[0]


@pytest.mark.parametrize("options", [{}, PHONE], ids=["mouse", "finger"])
def test_a_click_on_a_dot_a_name_or_a_cairn_makes_an_arrow_lead_there(alone, play, options):
    # With reduced motion the map does not glide.
    page = play("Ada", alone.url, reduced_motion="reduce", **options)
    walk(page, "w", 14)
    leave(page, "The lake is north.")
    wait_for(page, "flatlands.state.things.size === 1")
    cairn = page.evaluate("(([{ x, y }]) => [x, y])([...flatlands.state.things.values()])")
    walk(page, "s", 5)
    ben = SocketClient(alone.port).hello("Ben")
    ben.go(-24 * 1024, 8 * 1024)
    ben.until(lambda: ben.at()[0] < -18 * 1024)
    mark = page.evaluate("(({ x, y }) => [x + 0.5, y + 0.5])(flatlands.state.landmarks.of(0, -1))")
    # Whoever opened the map for each of these in a few seconds would ask too often.
    other = ("Gull Light, ", *mark, 24) if by_touch(page) else ("1 person, ", -24, 8)
    for name, *goal in (other, ("Ada’s cairn, ", *cairn)):
        assert re.fullmatch(rf"{name}\d+ tiles [a-z-]+", choose(page, *goal)), (name, goal)
    # The map shows the flag, says where it stands, and takes it away again.
    page.keyboard.press("o")
    text = page.get_by_label("Map of everybody", exact=True).locator("span")
    text.filter(has_text="Ada’s cairn, ").wait_for()
    wait_for(page, RESTS)
    eventually(lambda: count_colour(page, FLAG) > 20, "the flag is drawn")
    page.get_by_role("button", name="Remove the flag").click()
    wait_for(page, "flatlands.state.aim === null && document.activeElement.id === 'atlas'")
    page.get_by_role("button", name="Remove the flag").wait_for(state="hidden")
    # Enter chooses the middle, where nothing has a name.
    page.evaluate(LOOK_AT, EAST_PATH)
    page.keyboard.press("ArrowRight")
    draws(page)
    page.keyboard.press("Enter")
    wait_for(page, "flatlands.state.aim?.label === 'The flag' && !flatlands.lookout.isOpen")
    page.keyboard.press("Escape")
    wait_for(page, "flatlands.state.aim === null")


def test_the_map_shows_the_land_by_day_and_found_landmarks_until_escape(spread_server, play):
    page = play("Ivy", spread_server.url)
    page.evaluate(
        """() => { const mark = flatlands.state.landmarks.of(0, -1);
          localStorage.setItem('flatlands.found', `${mark.x}:${mark.y} 1:1`); }"""
    )
    open_map(page)
    wait_for(page, "flatlands.lookout.found.map(({ name }) => name).join() === 'Gull Light'")

    def is_day():
        places = page.evaluate(PLACES, [LAKE, EAST_PATH, EASTERN_SNOW])
        shot = picture(page)
        lake, path, snow = (shot.getpixel((at["x"], at["y"])) for at in places)
        return lake[2] > 130 > lake[0] and path[0] > path[1] > path[2] > 100 and min(snow) > 170

    eventually(is_day, "the land has the colours of the small map")
    assert not page.locator(".tools").is_visible()
    assert stats(spread_server)["maps"] == 1
    page.keyboard.press("+")
    wait_for(page, "!flatlands.lookout.gaze.whole")
    page.keyboard.press("Escape")
    wait_for(page, "flatlands.lookout.shown === 0")
    assert page.locator(".tools").is_visible()
    # The server learns of it, and sends no more pictures.
    eventually(lambda: stats(spread_server)["maps"] == 0, "nobody has a map")


def test_live_shows_the_map_without_playing_and_leads_to_a_title_that_says_who_is_there(
    spread_server, open_page
):
    page = open_page(spread_server.url.rstrip("/") + "/live")
    wait_for(page, "globalThis.flatlands?.state.atlas.pictures > 0")
    assert not page.get_by_label("Your name").is_visible()
    before = page.evaluate("flatlands.state.atlas.totals.people")
    # A player that cannot be recognised again is not named.
    SocketClient(spread_server.port).hello("Fay").send(KEY, "0123456789abcdef")
    wait_for(page, "(before) => flatlands.state.atlas.totals.people === before + 1", before)
    wait_for(page, "flatlands.state.atlas.dots.size > 0")
    page.keyboard.press("Escape")
    assert page.evaluate("flatlands.lookout.isOpen && flatlands.state.ownId === null")
    page.get_by_role("link", name="Walk in").click()
    page.get_by_text("walking now").wait_for()
    page.get_by_text("Fay walked here in the last two days.").wait_for()
    enter(page)
    # The connection that only watched is closed.
    wait_for(page, "flatlands.lookout.spectator.socket === null")
