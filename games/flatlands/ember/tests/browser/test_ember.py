"""The ember goes from hand to hand, by mouse and by finger, and lights a landmark for all."""

import pytest

from flatlands.games.flatlands.ember import ember
from games.flatlands.tests.browser.acts import (
    ARRIVED,
    PHONE,
    TURN_TO,
    await_camera,
    click_tile,
    count_colour,
)
from games.flatlands.tests.servers import inside
from tests.browser.pages import draws, eventually, wait_for

#: Who carries the ember, as a page knows it: the name, or null.
CARRIER = "flatlands.parts.ember.held?.name"

#: The name of the landmark that is to burn next.
GOAL = "flatlands.parts.ember.goal?.mark.name"
#: In the world of this seed, that landmark stands near the plaza.
SEED = "1"

#: A device for fingers on which all of the plaza is in sight, wherever its player stands there; and
#: css px on its screen, four tiles east of its player.
TABLET = {**PHONE, "viewport": {"width": 1280, "height": 800}}
ASIDE = 640 + 4 * 32, 400

#: The colour of flames.
FLAME = (255, 138, 43)

#: Let a page believe that nothing burns, and that all burns again.
PUT_OUT = """() => {
  const { fires } = flatlands.parts.ember;
  globalThis.burning ??= [...fires];
  fires.clear();
}"""
LIGHT = "() => burning.forEach(([place, fire]) => flatlands.parts.ember.fires.set(place, fire))"


@pytest.fixture
def quiet(monkeypatch):
    """A server on which nobody else walks, no gems lie, and the ember burns for almost as long as
    pages believe, since pages of a busy machine are slow."""
    monkeypatch.setattr(ember, "BURNS", 55_000)
    with inside("--gems", "0", "--seed", SEED, STORE_URL="memory://") as server:
        yield server


def choose(page, name):
    """Choose a player or a place from the list of what is nearby."""
    page.keyboard.press("m")
    page.get_by_role("dialog", name="Who is near").get_by_role("button", name=name).first.click()


def test_two_players_bring_the_ember_to_a_landmark_that_burns_for_both(quiet, play):
    ada, bob = play("Ada", url=quiet.url), play("Bob", url=quiet.url, **TABLET)
    for page in (ada, bob):
        wait_for(page, GOAL)
    goal = ada.evaluate(GOAL)
    assert bob.evaluate(GOAL) == goal, "all have one goal"
    # The hearth of the plaza burns as long as the page believes so.
    ada.evaluate(TURN_TO, 3)
    eventually(lambda: count_colour(ada, FLAME) > 50, "the hearth burns")
    eventually(lambda: ada.evaluate(PUT_OUT) or count_colour(ada, FLAME) == 0, "it is dark")
    ada.evaluate(LIGHT)
    # A player that comes near takes the ember; one that stood near already does not.
    # A key would lead out of sight on a page that is slow to see how far.
    await_camera(bob)
    bob.touchscreen.tap(*ASIDE)
    draws(bob)
    wait_for(bob, ARRIVED)
    click_tile(ada, -3.5, 4.5, 310)
    wait_for(ada, f"{CARRIER} === 'Ada'")
    note = ada.locator(".notes .ember")
    assert note.inner_text().startswith(f"Carry the ember to {goal}, ")
    wait_for(bob, f"{CARRIER} === 'Ada'")
    choose(bob, "Follow Ada")
    wait_for(bob, f"{CARRIER} === 'Bob'")
    ada.get_by_text("Bob took the ember from you.").wait_for()
    assert ada.evaluate(CARRIER) == "Bob"
    choose(bob, goal)
    toast = f"{goal} burns! Ada and Bob brought the ember."
    ada.get_by_text(toast).wait_for()
    bob.get_by_text("Ada and Bob lit this fire").wait_for()
    for page in (ada, bob):
        wait_for(page, "flatlands.parts.ember.fires.size === 2")
    wait_for(ada, f"![undefined, '{goal}'].includes({GOAL})")
    ada.keyboard.press("n")
    ada.get_by_text(f"You and Bob brought the ember to {goal}.").wait_for()
    # A player that comes later knows of it too.
    cid = play("Cid", url=quiet.url)
    wait_for(cid, "flatlands.parts.ember.fires.size === 2")
