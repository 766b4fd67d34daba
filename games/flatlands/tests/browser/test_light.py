"""How the page is loaded, and how little it asks of slow machines."""

import random
import re
import shutil
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Error
from werkzeug import Response
from werkzeug.test import Client

from flatlands.server.web.joined import join_modules
from flatlands.server.web.pages import STATIC, StaticFiles, laid_over
from games.flatlands.tests.browser.acts import ARRIVED, await_camera, place
from tests.browser.pages import draws, eventually, wait_for
from tests.processes import ROOT

PAGE = ROOT / "games/flatlands/page"
PAGE_FILES = laid_over(STATIC, PAGE)

BEGUN = (
    "'begun' in document.documentElement.dataset && document.styleSheets.length"
    " === document.querySelectorAll('link[rel=stylesheet]').length"
)

#: The address of every file that the page has loaded, except again.js.
LOADED = """performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)
  .filter((path) => path !== '/again.js')"""


class Rollout:
    """Two versions of the page behind one address; `share` of all requests get the newer one."""

    def __init__(self, folder):
        for name, path in PAGE_FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / name)
        with (folder / "names.js").open("a") as script:
            script.write("\n// Newer.\n")
        missing = Response(status=404)
        self.older = StaticFiles(STATIC, missing, page=PAGE)
        self.newer = StaticFiles(folder, missing)
        self.share = 0.0
        self.missed = 0
        self.chance = random.Random(7)

    def answer(self, route):
        """Answer a request of a page."""
        newer = self.chance.random() < self.share
        path = urlsplit(route.request.url).path
        answer = Client(self.newer if newer else self.older).get(path)
        self.missed += answer.status_code == 404 and path.startswith("/v/")
        route.fulfill(status=answer.status_code, headers=dict(answer.headers), body=answer.data)


@pytest.fixture
def rollout(tmp_path, open_page):
    """A rollout, and a page that knows no other server."""
    rollout, page = Rollout(tmp_path / "static"), open_page("about:blank", cut_off=True)
    page.route("**/*", rollout.answer)
    return rollout, page


def unless_it_loads(look):
    """Return what `look` returns, or False if the page is being loaded again."""
    try:
        return look()
    except Error as error:
        assert "navigation" in error.message
        return False


def versions(page):
    """Return the versions of which a page has loaded files."""
    return {path.split("/")[2] for path in page.evaluate(LOADED) if path.startswith("/v/")}


def test_a_page_of_an_older_server_never_mixes_with_files_of_a_newer_one(rollout):
    """Half of the requests get each version until the page has missed a file; then all get the
    newer one."""
    rollout, page = rollout
    rollout.share = 0.5
    page.goto("http://localhost/")

    def missed():
        # Requests are answered while the page is waited for.
        page.wait_for_timeout(50)
        return rollout.missed > 0

    eventually(missed, "a file is asked of the wrong server")
    rollout.share = 1.0
    eventually(lambda: unless_it_loads(lambda: page.evaluate(BEGUN)), "the page begins")
    assert versions(page) == {rollout.newer.version}
    page.get_by_label("Your name").wait_for()


def test_a_page_that_never_gets_its_files_says_so(rollout):
    _, page = rollout
    page.goto("http://localhost/")
    wait_for(page, BEGUN)
    page.route("**/joined.js", lambda route: route.fulfill(status=404))
    page.clock.install()
    page.reload()
    failure = page.get_by_text("Flatlands could not be loaded.")

    def told_as_time_passes():
        page.clock.run_for(10_000)
        page.wait_for_load_state("load")
        return failure.is_visible()

    eventually(lambda: unless_it_loads(told_as_time_passes), "the page says so")


#: Returns how many modules were joined, and those that export something else when loaded alone.
COMPARED = """async () => {
  const { default: modules } = await import('/all.js'), wrong = [];
  const names = (of) => Object.keys(of).filter((name) => of[name] !== undefined).sort().join();
  for (const [path, joined] of Object.entries(modules)) {
    const alone = names(await import('/' + path));
    if (names(joined) !== alone) wrong.push([path, names(joined), alone]);
  }
  return [Object.keys(modules).length, wrong];
}"""


def test_joined_modules_export_the_same_as_each_alone(blank):
    sources = {name: path.read_text() for name, path in PAGE_FILES.items() if name.endswith(".js")}
    # All but the two that would start a game.
    del sources["page.js"]
    imports = re.findall(r"^import [^;]+;", sources["main.js"], re.M)
    joined = join_modules({**sources, "all.js": "\n".join(imports)}, "all.js")
    blank.route(
        "**/all.js",
        lambda route: route.fulfill(
            content_type="text/javascript",
            body=f"{joined} delete $modules['all.js']; export default $modules;",
        ),
    )
    many, wrong = blank.evaluate(COMPARED)
    assert many > 90 and wrong == []


def test_a_visit_takes_few_requests_and_bytes(open_page, server):
    page = open_page("about:blank")
    session, asked = page.context.new_cdp_session(page), {}
    session.on(
        "Network.loadingFinished",
        lambda event: asked.update({event["requestId"]: event["encodedDataLength"]}),
    )
    session.send("Network.enable")
    page.goto(server.url)
    wait_for(page, BEGUN)
    page.wait_for_load_state("networkidle")
    assert 4 < len(asked) <= 15 and 100_000 < sum(asked.values()) <= 200_000
    # Developers can load the modules one by one.
    page.goto(server.url + "?debug")
    wait_for(page, BEGUN)
    loaded = page.evaluate(LOADED)
    assert sum(path.endswith(".js") for path in loaded) > 90
    assert not any("joined" in path for path in loaded)


@pytest.mark.parametrize("typed", ["Early Bird", ""])
def test_the_title_can_be_used_before_the_modules_are_there(open_page, server, typed):
    page = open_page("about:blank")
    waiting = []
    page.route("**/joined.js", lambda route: waiting.append(route))
    page.goto(server.url, wait_until="commit")
    page.get_by_label("Your name").press_sequentially(typed)
    name = "document.querySelector('#name')"
    page.evaluate(f"{name}.before = true")
    page.get_by_role("button", name="Play").click()
    assert page.get_by_role("button", name="Play").is_visible() and page.url == server.url
    waiting[0].continue_()
    # A player that typed no name gets one.
    wait_for(page, "globalThis.flatlands?.state.own?.name.length > 0")
    assert page.evaluate("flatlands.state.own.name").startswith(typed)
    # The field is still the same one.
    assert page.evaluate(f"{name}.before && {name}.value === flatlands.state.own.name")


def test_the_map_for_a_wall_shows_no_title_while_it_loads(open_page, server):
    page = open_page("about:blank")
    page.route("**/joined.js", lambda _: None)
    page.goto(server.url + "live", wait_until="commit")
    page.locator("#title").wait_for(state="attached")
    assert page.locator("#title").is_hidden()


def test_without_scripts_the_page_says_what_it_needs(open_page):
    page = open_page(java_script_enabled=False)
    noscript = page.locator("noscript")
    assert noscript.is_visible() and "needs JavaScript" in noscript.inner_text()
    assert page.get_by_text("Walk with others").is_visible()
    assert page.get_by_role("button", name="Play").is_hidden()


#: Counts all calls that ask for a size or a place, so that the layout has to be computed.
COUNTING = """{
  globalThis.asked = 0;
  const count = (object, name, kind) => {
    const property = Object.getOwnPropertyDescriptor(object, name), { [kind]: given } = property;
    property[kind] = function (...more) {
      asked++;
      return given.apply(this, more);
    };
    Object.defineProperty(object, name, property);
  };
  count(Element.prototype, 'getBoundingClientRect', 'value');
  for (const name of ['offsetWidth', 'offsetHeight']) count(HTMLElement.prototype, name, 'get');
  for (const name of ['innerWidth', 'innerHeight']) count(globalThis, name, 'get');
}"""

#: How many boxes the marks at the edge keep clear of.
BOXES = "flatlands.state.panels.length"


def test_no_frame_asks_for_sizes_but_marks_still_know_the_panels(play):
    page = play("Wisp", script=COUNTING)
    wait_for(page, f"{BOXES} > 2")
    page.wait_for_timeout(1500)
    before = page.evaluate("asked")
    page.keyboard.down("d")
    page.wait_for_timeout(2000)
    page.keyboard.up("d")
    # When a reading gets another digit, it is measured once, of some ten panels.
    assert page.evaluate("asked") - before <= 40
    shown = page.evaluate(BOXES)
    page.keyboard.press("g")
    wait_for(page, f"{BOXES} > {shown}")
    page.keyboard.press("g")
    wait_for(page, f"{BOXES} === {shown}")
    right = "Math.max(...flatlands.state.panels.map((box) => box.right))"
    assert page.evaluate(right) > 1200
    page.set_viewport_size({"width": 700, "height": 600})
    wait_for(page, f"{right} <= 712 && flatlands.state.viewport.w < 30")
    page.keyboard.press("o")
    wait_for(page, f"{BOXES} === 0")
    page.keyboard.press("Escape")
    wait_for(page, f"{BOXES} > 2")


def test_a_slow_machine_never_gets_the_blur_and_draws_half_of_the_pixels(play):
    """The pages of these tests draw ten frames a second."""
    page = play("Snail", viewport={"width": 640, "height": 480}, device_scale_factor=2)
    wide = "document.getElementById('world').width"
    wait_for(page, f"{wide} === 1280 && flatlands.state.plain")
    # No words are visible through a dialog.
    dialog = "getComputedStyle(document.querySelector('.help')).backgroundColor"
    assert page.evaluate(dialog) == "rgba(20, 26, 36, 0.94)"
    eventually(lambda: page.evaluate(wide) == 640, "frames have fewer pixels", 60)
    assert page.evaluate("flatlands.state.plain")
    # Elsewhere on the plaza a click may meet a board.
    page.keyboard.press("h")
    eventually(lambda: place(page) == [0.5, 0.5], "the walker is home")

    def leads():
        await_camera(page)
        x, _ = place(page)
        page.mouse.click(400, 240)
        draws(page)
        wait_for(page, ARRIVED)
        return abs(place(page)[0] - x - 80 / 32) < 0.6

    # On a machine as slow as this, a click may last so long that it leads on, like a held button.
    eventually(leads, "a click leads where it points")
