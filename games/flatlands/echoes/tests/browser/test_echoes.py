"""A race from signpost to signpost against an echo, on a real server with a store in memory."""

import pytest

from games.flatlands.tests.browser.acts import PHONE, all_apart, boxes, go, walk_to
from games.flatlands.tests.servers import inside
from tests.browser.pages import wait_for

#: In this world the next signpost east of the plaza is 34 tiles away, with nothing in between.
SEED = 151

#: The place of the echo that a page shows, or nothing.
ECHO = "(() => { const [echo] = flatlands.state.ghosts; return echo && [echo.x, echo.y]; })()"

#: Whether the clock of the player's race goes; the time at its end has a unit.
GOES = "Number(document.querySelector('.race b').textContent) > 0"

#: On which side the course of the player's race is.
OWN_SIDE = "flatlands.parts.echoes.own().course.side"

#: A place on the last row of the board, in css px, or nothing.
ROW = """(() => {
  const { view } = flatlands, { innerWidth: wide, innerHeight: high } = window;
  for (let y = 0; y < high; y += 4) for (let x = 0; x < wide; x += 9) {
    if (view.courseAt(x, y) === 3) return [x + 9, y + 4];
  }
})()"""

READ = "flatlands.state.sign !== null && flatlands.state.sign.i === 0"


@pytest.fixture
def near_post():
    with inside("--gems", "0", "--seed", str(SEED), STORE_URL="memory://") as server:
        yield server


def come(page):
    """Go home, to the signpost on the plaza, which is read from there."""
    page.keyboard.press("h")
    wait_for(page, f"{READ} && flatlands.state.walk.arrived")


def test_a_run_becomes_an_echo_that_players_race_against_and_others_see(near_post, play):
    ada = play("Ada", url=near_post.url)
    come(ada)
    note = ada.locator(".race")
    ada.keyboard.press("r")
    note.get_by_text("Go! To").wait_for()
    label = ada.evaluate("flatlands.state.aim.label")
    assert ada.evaluate(OWN_SIDE) == 0
    # Not by the shortest way.
    go(ada, 7.5, -4.5)
    walk_to(ada, label)
    note.get_by_text(f"Nobody was here before you: the way to {label} is yours.").wait_for()
    assert ada.evaluate(ECHO) is None

    ben = play("Ben", url=near_post.url)
    come(ben)
    wait_for(ben, "flatlands.state.sign?.courses.some(({ best }) => best?.startsWith('Ada '))")
    ada.keyboard.press("h")
    wait_for(ada, f"{READ} && flatlands.state.walk.arrived")
    ada.keyboard.press("r")
    note.get_by_text(f"Go! To {label}: Ada").wait_for()
    wait_for(ada, f"{ECHO} !== undefined")
    begins = ada.evaluate(ECHO)
    # Others see it once it runs.
    wait_for(ben, "flatlands.parts.echoes.races.size === 1")
    assert ben.evaluate(ECHO) is None
    assert note.locator("b").inner_text() == "0.0"
    walk_to(ada, label)
    wait_for(ada, GOES)
    for page in (ada, ben):
        wait_for(page, f"{ECHO}?.[1] > {begins[1] + 3}")
    assert ben.evaluate("flatlands.state.ghosts[0].name") == "Ada’s echo"
    assert ben.locator(".race").is_hidden()
    note.get_by_text("faster than your own echo.").wait_for()
    # The echo stops where the run did, and is gone.
    wait_for(ada, "flatlands.parts.echoes.races.size === 0 && flatlands.state.ghosts.length === 0")
    assert ada.evaluate("flatlands.state.aim") is None


def test_on_a_phone_a_touch_of_the_board_begins_a_race_and_no_panel_is_covered(near_post, play):
    page = play("Ada", url=near_post.url, **PHONE)
    come(page)
    # The player's walker is in the middle, below its head.
    panels = ".race", ".strip", ".tools", ".map", ".log li", ".stick"
    middle = ["own walker", 175, 385, 215, 430]
    for turn in range(2):
        wait_for(page, ROW)
        x, y = page.evaluate(ROW)
        page.touchscreen.tap(x, y)
        wait_for(page, "flatlands.parts.echoes.races.size")
        assert page.evaluate(OWN_SIDE) == 3
        page.get_by_text("Go! To").wait_for()
        all_apart([*boxes(page, *panels), middle])
        if turn == 0:
            page.get_by_role("button", name="Stop the race").click()
            wait_for(page, "flatlands.parts.echoes.races.size", expected=False)
