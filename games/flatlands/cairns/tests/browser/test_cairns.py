"""Cairns as people leave and read them, on a real server with a store in memory."""

import re

from games.flatlands.tests.browser.acts import (
    MAY_NOT_COPY,
    click_tile,
    come_back,
    go,
    place,
    seen,
    walk,
)
from tests.browser.pages import eventually, wait_for

#: The cairns that are drawn: [text, stones, x, y].
CAIRNS = """() => [...flatlands.state.things.values()]
  .filter(({ thing, alpha, goneAt }) => thing.type === 'Cairn' && alpha > 0 && goneAt === null)
  .map(({ thing, x, y }) => [thing.values.text, thing.values.stones, x, y])"""


def leave(page, text):
    """Press the key for a cairn, write its line, and leave it there."""
    page.keyboard.press("c")
    page.get_by_role("dialog", name="Leave a cairn").wait_for()
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Leave a cairn").wait_for(state="hidden")


def test_a_cairn_is_left_read_by_others_grows_and_can_be_hidden(alone, play):
    ada = play("Ada", url=alone.url, script=MAY_NOT_COPY)
    # A player is refused before it writes, not afterwards.
    ada.keyboard.press("c")
    ada.get_by_text("You cannot leave a cairn on the plaza: walk on a little.").wait_for()
    assert ada.get_by_role("dialog", name="Leave a cairn").is_hidden()
    # However far the keys lead afterwards, the player stays in the square.
    for y in (-5.5, -10.5):
        go(ada, 0.5, y)
    leave(ada, "The lake is east <b>of</b> here.")
    wait_for(ada, f"({CAIRNS})().length === 1")
    # Seen from below the cairn, its line is shown above it.
    walk(ada, "s", 1)
    # The keys walk again; the builder can read its own line, but not hide it.
    own = ada.get_by_role("region", name="Cairn of Ada")
    own.wait_for()
    assert "1 stone" in own.inner_text()
    assert own.get_by_role("button").filter(visible=True).count() == 0
    # On a small screen the line is where the plants open, which then covers it.
    ada.set_viewport_size({"width": 320, "height": 568})
    eventually(lambda: own.bounding_box()["x"] < 100, "the card is there again")
    ada.keyboard.press("p")
    ada.get_by_role("dialog", name="Plant").wait_for()
    on_top = "([x, y]) => document.elementFromPoint(x, y).closest('.sheet, .cairn')?.className"

    def covered():
        # The card follows the cairn: the screen has just changed its size.
        card, sheet = own.bounding_box(), ada.locator(".sheet:visible").bounding_box()
        inside = [160, (sheet["y"] + card["y"] + card["height"]) / 2]
        return sheet["y"] < inside[1] and "sheet" in (ada.evaluate(on_top, inside) or "")

    eventually(covered, "the plants lie over the card")
    ada.get_by_role("button", name="Close").click()
    ada.set_viewport_size({"width": 1280, "height": 800})
    # A line that was refused need not be typed again.
    leave(ada, "So is the mill.")
    ada.get_by_text("There is already a cairn close by").wait_for()
    ada.keyboard.press("c")
    assert ada.get_by_label("One line").input_value() == "So is the mill."
    ada.keyboard.press("Escape")
    walk(ada, "d", 4)
    own.wait_for(state="hidden")
    ((_, _, x, y),) = ada.evaluate(CAIRNS)
    assert (x % 1, y % 1) == (0.5, 0.5) and 0 < place(ada)[1] - y < 2

    ada.keyboard.press("i")
    ada.get_by_label("Invite link").wait_for()
    bob = play("Bob", url=ada.get_by_label("Invite link").input_value())
    ada.keyboard.press("Escape")
    seen(bob, "Ada")
    wait_for(bob, f"({CAIRNS})().length === 1")
    card = bob.get_by_role("region", name="Cairn of Ada")
    # A click reads it from afar.
    walk(bob, "s", 3)
    click_tile(bob, x, y - 0.2, 310)
    card.get_by_text("The lake is east <b>of</b> here.").wait_for()
    assert card.get_by_role("button", name="Add a stone").is_hidden()
    go(bob, x, y + 1.6)
    card.get_by_role("button", name="Add a stone").click()
    card.get_by_text("2 stones").wait_for()
    wait_for(ada, f"({CAIRNS})()[0][1] === 2")
    # Nobody can add two stones: a second one is not offered.
    card.get_by_role("button", name="Add a stone").wait_for(state="hidden")
    assert bob.locator(".toast.shown").count() == 0
    card.get_by_role("button", name="Hide").click()
    card.wait_for(state="hidden")
    wait_for(bob, f"({CAIRNS})().length === 0")
    assert bob.evaluate("[...flatlands.state.muted]") == [ada.evaluate("flatlands.state.ownId")]
    walk(bob, "s", 1)
    eventually(lambda: len(ada.evaluate(CAIRNS)) == 1, "Ada sees her cairn")

    # Her book notes it, and a card shows it when she comes back.
    line = "Bob put a stone on your cairn"
    come_back(ada)
    card = ada.get_by_role("status", name="While you were away")
    card.get_by_text(line).wait_for()
    card.get_by_role("button", name="Open the book").click()
    book = ada.get_by_role("dialog", name="Your book")
    book.get_by_role("heading", name=re.compile("Today|Yesterday")).wait_for()
    assert "1 cairn" in book.inner_text() and card.is_hidden()
    book.get_by_role("button", name=line).click()
    book.wait_for(state="hidden")
    wait_for(ada, "() => flatlands.state.aim?.label === 'your cairn'")
    come_back(ada)
    ada.keyboard.press("n")
    book.get_by_text(line).wait_for()
    assert card.is_hidden()
    book.get_by_role("button", name="Almanac").click()
    almanac = ada.get_by_role("dialog", name="Almanac")
    almanac.get_by_text("Ada’s cairn is the oldest").wait_for()
