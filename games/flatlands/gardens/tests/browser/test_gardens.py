"""Gardens: a gem becomes flowers that all see."""

from games.flatlands.gems.tests.browser.test_gems import GEMS, find_gem, garden, gems_lie
from games.flatlands.tests.browser.acts import PAINTED, PHONE, far, go
from tests.browser.pages import wait_for

__all__ = ["garden"]

#: What grows on the tile of a place, as a page knows it.
GROWS = "([x, y]) => flatlands.parts.gardens.looks.plant(Math.floor(x), Math.floor(y))"

#: A free place on the meadow in this world.
MEADOW = (-2.5, 12.6)


def test_a_player_that_has_found_a_gem_plants_it_and_another_player_sees_it(garden, play):
    ada, bob = play("Ada", url=garden.url), play("Bob", url=garden.url, **PHONE)
    gems_lie(ada)
    # The meadow is below it on its screen.
    bob.keyboard.press("h")
    ada.keyboard.press("p")
    sheet = ada.get_by_role("dialog", name="Plant")
    sheet.get_by_text("Each costs a gem: find one first.").wait_for()
    assert sheet.get_by_role("button", name="Flowers").is_disabled()
    find_gem(ada)
    sheet.get_by_text("to plant, on the tile in front of you.").wait_for()
    go(ada, *MEADOW)
    # Nothing grows beside a gem.
    for _, _, x, y in ada.evaluate(GEMS):
        if far((x, y), MEADOW) < 3:
            go(ada, x, y)
    ada.keyboard.press("h")
    wait_for(ada, "flatlands.state.here.y < 2")
    go(ada, *MEADOW)
    if sheet.is_hidden():
        # Whoever walks on is done with planting.
        ada.keyboard.press("p")
    wait_for(ada, "flatlands.parts.gardens.planting.bed !== null")
    had = sheet.get_by_role("status").inner_text()
    bed = ada.evaluate("(({ bed: { x, y } }) => [x, y])(flatlands.parts.gardens.planting)")
    wait_for(ada, "document.activeElement.textContent === 'Flowers'")
    ada.keyboard.press("Tab")
    ada.keyboard.press("Enter")
    for page in (ada, bob):
        wait_for(page, f"(at) => ({GROWS})(at) === 2", bed)
        wait_for(page, PAINTED)
    wait_for(ada, "(had) => document.querySelector('.garden p').textContent !== had", had)
    ada.keyboard.press("Escape")
    wait_for(ada, "flatlands.parts.gardens.planting.bed === null")
    ada.keyboard.press("p")
    x, y = MEADOW
    go(ada, x, y - 12)
    sheet.wait_for(state="hidden")
    ada.keyboard.press("n")
    ada.get_by_text("You planted a lantern").wait_for()
    # Without a gem it says what is missing.
    bob.keyboard.press("p")
    bob.get_by_text("Each costs a gem: find one first.").wait_for()
