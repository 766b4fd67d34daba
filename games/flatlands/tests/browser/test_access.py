"""Everybody can play: what axe-core finds on every screen, and the contrast of all words."""

import pytest

from games.flatlands.tests.browser.acts import PHONE, enter, put
from games.flatlands.tests.servers import inside
from tests.browser.pages import draws, use_tool, wait_for
from tests.processes import ROOT

#: With reduced motion nothing fades, so each screen is checked in its final state.
DESKTOP = {"viewport": {"width": 1280, "height": 800}}

#: Returns the violations, the words whose contrast is enough, and how many rules passed.
#: Everything is checked on white, the brightest that the ground gets, without a panel's blur.
#: Fields get the colour of their placeholders: for fields axe gives the contrast, but no verdict.
RUN = """async () => {
  for (const canvas of document.querySelectorAll('#world, #atlas')) canvas.style.display = 'none';
  document.body.style.background = '#fff';
  for (const field of document.querySelectorAll('input:placeholder-shown')) {
    field.style.color = getComputedStyle(field, '::placeholder').color;
  }
  const { violations, incomplete, passes } = await axe.run(document);
  const nodesOf = (results) => results.flatMap(({ id, nodes }) =>
    nodes.map(({ html, any: [check], target }) =>
      ({ id, html, target, ratio: check?.data?.contrastRatio ?? 0 })));
  const fields = nodesOf(incomplete).filter(({ ratio }) => ratio > 0);
  const found = [...nodesOf(violations), ...fields.filter(({ ratio }) => ratio < 4.5)];
  const read = nodesOf(passes).filter(({ ratio }) => ratio > 0);
  const words = [...read, ...fields].map(({ target }) => document.querySelector(target[0]))
    .map(({ placeholder, textContent }) => placeholder ?? textContent);
  return [found.map(({ id, html }) => [id, html.slice(0, 160)]), words, passes.length];
}"""


@pytest.fixture(scope="module")
def axe():
    """Return the source of axe, which looks for what keeps people out."""
    file = ROOT / "tests/js/node_modules/axe-core/axe.min.js"
    assert file.exists(), "axe-core is not installed: make test does it, with npm"
    return file.read_text()


@pytest.fixture
def alone():
    # Nothing may be left on the plaza, so players begin elsewhere.
    places = ("--spread", "1", "--spread-ring", "40")
    with inside("--gems", "0", "--twins", "0", *places, STORE_URL="memory://") as server:
        yield server


#: Lets ten players, who have all colours in turn, and the page's own player say something.
ALL_COLOURS = """async () => {
  const { lookOf, COLOURS } = await import('/faces.js');
  const { own, replica } = flatlands.state;
  COLOURS.forEach(({ name }, i) => {
    const player = { ...own, id: 2 ** 31 + 90_000 + i, name, look: lookOf(i, 0, 0) };
    replica.players.set(player.id, player);
    replica.nameChanges++;
    replica.onSay(player, 'I am ' + name);
  });
  return COLOURS.length;
}"""


#: The sizes of letters in css px, of all fields of the page.
FIELDS = """[...document.querySelectorAll('input:not([type=radio], [type=checkbox])')]
  .map((field) => [field.ariaLabel ?? field.id, parseFloat(getComputedStyle(field).fontSize)])"""


def test_a_phone_does_not_zoom_into_a_field(alone, open_page):
    page = open_page(alone.url, **PHONE)
    enter(page, "Ada")
    # All dialogs are in the document once one of them was open.
    page.get_by_role("button", name="Who is near").click()
    page.get_by_role("dialog", name="Who is near").wait_for()
    sizes = page.evaluate(FIELDS)
    assert len(sizes) >= 5 and not [field for field in sizes if field[1] < 16]


@pytest.mark.parametrize("device", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing_on_any_screen_and_all_words_have_enough_contrast(
    alone, axe, open_page, device
):
    page = open_page(alone.url, script=axe, reduced_motion="reduce", **device)
    page.get_by_label("Your name").wait_for()
    read = set()

    def look(where):
        draws(page)
        found, words, passed = page.evaluate(RUN)
        assert found == [], where
        assert words and passed > 15, where
        read.update(words)

    look("title")
    enter(page, "Ada")
    assert page.evaluate(ALL_COLOURS) == 10
    put(page, 7, 3, 0, "Computer", mover="Walker")
    look("game")
    for name in ("Help", "Book", "Leave a cairn", "Invite"):
        use_tool(page, name)
        page.locator("dialog[open]").wait_for()
        wait_for(page, "document.querySelector('.hint').textContent === ''")
        look(name)
        page.keyboard.press("Escape")
        page.locator("dialog[open]").wait_for(state="hidden")
    page.get_by_role("button", name="Who is near").click()
    look("who is near")
    page.get_by_role("button", name="clockwork Computer").click()
    page.get_by_role("dialog", name="About Computer").wait_for()
    look("menu of a walker")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Wave", exact=True).click()
    look("ring")
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.get_by_role("dialog", name="Plant").wait_for()
    look("plants")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    look("grid")
    page.keyboard.press("g")
    page.get_by_role("button", name="More").click()
    look("menu")
    page.keyboard.press("Escape")
    # So that there is something to scroll back to.
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Enter")
    look("chat")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Map of everybody").click()
    page.get_by_role("button", name="Close the map").wait_for()
    wait_for(page, "flatlands.state.atlas.pictures > 0")
    look("map of everybody")
    page.goto(f"{alone.url}live")
    page.get_by_role("link", name="Walk in").wait_for()
    look("the map for a wall")
    # The check covered what had once been too faint.
    assert {"raspberry", "I am raspberry", "Channels", "Most gems", "How to play"} <= read
    assert any(text.startswith("Say something") for text in read)
