"""How the page is loaded, and how little it asks of slow machines."""

import random
import shutil
import threading
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from playwright.sync_api import Error

from server.web.pages import STATIC, Files
from tests.browser.conftest import eventually, wait_for

BEGUN = (
    "'begun' in document.documentElement.dataset && document.styleSheets.length"
    " === document.querySelectorAll('link[rel=stylesheet]').length"
)

#: The address of every file that the page has loaded, without again.js.
LOADED = """performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)
  .filter((path) => path !== '/again.js')"""


class Server(ThreadingMixIn, WSGIServer):
    """A server that answers several connections at a time."""

    daemon_threads = True


class Quiet(WSGIRequestHandler):
    """Logs nothing."""

    def log_message(self, *_):
        pass


class Rollout:
    """Two versions of the page behind one address; `share` of all requests get the newer one."""

    def __init__(self, folder):
        shutil.copytree(STATIC, folder)
        with (folder / "names.js").open("a") as script:
            script.write("\n// Newer.\n")
        self.older, self.newer = Files(STATIC, self.missing), Files(folder, self.missing)
        self.share = 0.0
        self.missed = 0
        self.chance = random.Random(7)
        self.server = make_server("127.0.0.1", 0, self, Server, Quiet)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __call__(self, environ, start):
        newer = self.chance.random() < self.share
        return (self.newer if newer else self.older)(environ, start)

    def missing(self, environ, start):
        self.missed += environ["PATH_INFO"].startswith("/v/")
        start("404 Not Found", [("Content-Length", "0")])
        return []

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def rollout(tmp_path):
    rollout = Rollout(tmp_path / "static")
    yield rollout
    rollout.close()


def unless_it_loads(look):
    """Return what a look at a page returns, or False if the page is just loaded again."""
    try:
        return look()
    except Error as error:
        assert "navigation" in error.message
        return False


def versions(page):
    """Return the versions of which a page has loaded files."""
    return {path.split("/")[2] for path in page.evaluate(LOADED) if path.startswith("/v/")}


def test_a_page_of_an_older_server_never_mixes_with_files_of_a_newer_one(rollout, open_page):
    """Half of the requests get each version until the page has missed a file; then all get the
    newer one."""
    rollout.share = 0.5
    page = open_page(rollout.url, cut_off=True)
    eventually(lambda: rollout.missed > 0, "a file is asked of the wrong server")
    rollout.share = 1.0
    eventually(lambda: unless_it_loads(lambda: page.evaluate(BEGUN)), "the page begins")
    assert versions(page) == {rollout.newer.version}
    page.get_by_label("Your name").wait_for()


def test_a_page_that_never_gets_its_files_says_so(rollout, open_page):
    page = open_page(rollout.url, cut_off=True)
    wait_for(page, BEGUN)
    page.route("**/main.js", lambda route: route.fulfill(status=404))
    page.clock.install()
    page.reload()
    told = page.get_by_text("Flatlands could not be loaded.")

    def told_as_time_passes():
        page.clock.run_for(10_000)
        page.wait_for_load_state("load")
        return told.is_visible()

    eventually(lambda: unless_it_loads(told_as_time_passes), "the page says so")


def test_the_page_asks_for_all_its_modules_before_it_has_read_one(open_page):
    page = open_page()
    wait_for(page, BEGUN)
    session, by = page.context.new_cdp_session(page), {}
    session.on("Network.requestWillBeSent", lambda event: by.update(
        {event["request"]["url"]: event["initiator"]["type"]}
    ))  # fmt: skip
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.reload()
    wait_for(page, BEGUN)
    named = page.evaluate(
        "[...document.querySelectorAll('link[rel=modulepreload]')].map((link) => link.href)"
    )
    modules = {url for url in by if url.endswith(".js") and not url.endswith("/again.js")}
    assert modules == set(named) and len(modules) > 60
    assert {by[url] for url in modules} == {"parser"}


#: Counts whatever asks the page for a size or a place, so that its layout has to be computed.
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

#: How many boxes marks leave free.
BOXES = "flatlands.state.panels.length"


def test_no_frame_asks_for_sizes_and_marks_know_the_panels_all_the_same(play):
    page = play("Wisp", script=COUNTING)
    wait_for(page, f"{BOXES} > 3")
    page.wait_for_timeout(1500)
    before = page.evaluate("asked")
    page.keyboard.down("d")
    page.wait_for_timeout(2000)
    page.keyboard.up("d")
    # Readings that get a digit more are measured once, of some ten panels.
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
    wait_for(page, f"{BOXES} > 3")


def test_a_slow_machine_loses_the_blur_first_and_then_half_of_its_pixels(play):
    """The pages of these tests draw ten frames a second."""
    page = play("Snail", viewport={"width": 640, "height": 480}, device_scale_factor=2)
    wide = "document.getElementById('world').width"
    wait_for(page, f"{wide} === 1280 && !flatlands.state.plain")
    eventually(lambda: page.evaluate("flatlands.state.plain"), "the blur is gone", 60)
    assert page.evaluate(wide) == 1280
    eventually(lambda: page.evaluate(wide) == 640, "frames have fewer pixels", 60)
    before = page.evaluate("flatlands.state.here.x")
    # A click still leads where it points.
    page.mouse.click(400, 240)
    wait_for(page, "flatlands.state.goal === null && flatlands.state.walk.arrived")
    assert abs(page.evaluate("flatlands.state.here.x") - before - 80 / 32) < 0.6
