"""Everybody can play: what axe-core finds on every screen, and the contrast of all words."""

import pytest

from tests.browser.acts import PHONE, enter, put
from tests.browser.conftest import eventually, toggle_grid, use_tool
from tests.inside import inside
from tests.processes import ROOT

#: Nothing fades for those who want less motion: what is looked at is what it will be.
DESKTOP = {"viewport": {"width": 1280, "height": 800}}

#: Resolves once the page has drawn all that it knew before.
DRAWN = """async () => {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
}"""

#: The only rule that is left out needs the colours behind a word, which it cannot read from a
#: canvas; `CONTRASTS` computes them.
RUN = """async () => {
  const { violations, passes } = await axe.run(document,
    { rules: { 'color-contrast': { enabled: false } }, resultTypes: ['violations'] });
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html }) => [id, html.slice(0, 160)]));
  return [found, passes.length];
}"""


@pytest.fixture(scope="module")
def axe():
    """The program that looks for what keeps people out."""
    file = ROOT / "tests/js/node_modules/axe-core/axe.min.js"
    assert file.exists(), "axe-core is not installed: make test does it, with npm"
    return file.read_text()


@pytest.fixture
def alone():
    # Nothing is left on the plaza, so they begin elsewhere.
    places = ("--spread", "1", "--spread-ring", "40")
    with inside("--gems", "0", *places, STORE_URL="memory://") as server:
        yield server


#: Computes the contrast of all words that are shown, over white, which is as bright as the ground
#: gets: [contrast, text] where it is below 4.5. A panel's blur is left out.
CONTRASTS = """() => {
  const parse = (css) => {
    const [red, green, blue, alpha = 1] = css.match(/[0-9.]+/g).map(Number);
    return { red, green, blue, alpha };
  };
  const over = (top, below) => Object.fromEntries(['red', 'green', 'blue'].map((channel) =>
    [channel, top[channel] * top.alpha + below[channel] * (1 - top.alpha)]));
  const light = ({ red, green, blue }) => {
    const [r, g, b] = [red, green, blue].map((value) => value / 255).map((value) =>
      value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at !== null && at.id !== 'hud'; at = at.parentElement) {
      const layer = parse(getComputedStyle(at).backgroundColor);
      if (layer.alpha > 0) layers.push(layer);
      // Dialogs lie in front of everything, whatever contains them.
      if (layer.alpha === 1 || at.matches('dialog')) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below),
      { red: 255, green: 255, blue: 255 });
  };
  const found = [];
  const judge = (element, css, text) => {
    const back = behind(element), front = over(parse(css), back);
    const [a, b] = [light(front), light(back)].sort((one, other) => other - one);
    found.push([(a + 0.05) / (b + 0.05), text.trim().slice(0, 40)]);
  };
  for (const element of document.querySelectorAll('#hud *')) {
    const shown = element.checkVisibility({ opacityProperty: true });
    if (!shown || element.matches(':disabled, .unseen, .unseen *')) continue;
    const style = getComputedStyle(element);
    for (const node of element.childNodes) {
      if (node.nodeType === Node.TEXT_NODE && node.data.trim() !== '') {
        judge(element, style.color, node.data);
      }
    }
    if (element instanceof HTMLInputElement) {
      judge(element, style.color, element.value);
      if (element.placeholder !== '') {
        judge(element, getComputedStyle(element, '::placeholder').color, element.placeholder);
      }
    }
  }
  return found;
}"""

#: Lets ten players say something, who have all colours in turn, and the own one as well.
ALL_COLOURS = """async () => {
  const { lookOf, COLOURS } = await import('/faces.js');
  const { own, replica } = flatlands.state;
  COLOURS.forEach(({ name }, i) => {
    const player = { ...own, id: 90_000 + i, name, look: lookOf(i, 0, 0) };
    replica.players.set(player.id, player);
    replica.nameChanges++;
    replica.onSay(player, 'I am ' + name);
  });
  return COLOURS.length;
}"""


@pytest.mark.parametrize("device", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing_on_any_screen_and_all_words_have_enough_contrast(
    alone, axe, open_page, device
):
    page = open_page(alone.url, script=axe, reduced_motion="reduce", **device)
    page.get_by_label("Your name").wait_for()
    read = set()

    def look(where):
        eventually(lambda: page.evaluate(CONTRASTS), f"words on {where}")
        page.evaluate(DRAWN)
        found, passed = page.evaluate(RUN)
        assert found == [], where
        assert passed > 15, where
        contrasts = page.evaluate(CONTRASTS)
        assert [each for each in contrasts if each[0] < 4.5] == [], where
        read.update(text for _, text in contrasts)

    look("title")
    enter(page, "Ada")
    assert page.evaluate(ALL_COLOURS) == 10
    put(page, 7, 3, 0, "Computer")
    look("game")
    for name in ("Help", "You", "Leave a cairn", "Invite"):
        use_tool(page, name)
        page.locator("dialog[open]").wait_for()
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
    page.locator(".gems").click()
    page.get_by_role("dialog", name="Board").wait_for()
    look("board")
    page.keyboard.press("Escape")
    toggle_grid(page)
    look("grid")
    toggle_grid(page)
    # There is something to scroll back to.
    page.get_by_role("button", name="Talk").click()
    look("chat")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Map of everybody").click()
    page.get_by_role("button", name="Close the map").wait_for()
    look("map of everybody")
    page.goto(f"{alone.url}live")
    page.get_by_role("link", name="Walk in").wait_for()
    look("the map for a wall")
    # It has looked at what was too faint once.
    assert {"raspberry", "I am raspberry", "Channels", "Most gems", "How to play"} <= read
    assert any(text.startswith("Say something") for text in read)
