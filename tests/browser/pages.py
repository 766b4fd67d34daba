"""Real pages in a real headless Chromium."""

import os
import shutil
import time

import pytest

#: ms that a page may take for anything.
PATIENCE = 40_000

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # Each window would open two hidden pages for its address bar, which cost a second of CPU.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,PaintHolding,MediaRouter",
]

#: Makes a page draw four times a second, and without the blur behind panels: without a GPU, sixty
#: frames take a whole core, and the blur is a third of each.
CHEAPER_FRAMES = """{
  const request = requestAnimationFrame;
  globalThis.requestAnimationFrame = (draw) => setTimeout(() => request(draw), 240);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('* { backdrop-filter: none !important; }');
  addEventListener('DOMContentLoaded', () => document.adoptedStyleSheets.push(sheet));
}"""


FIREFOX = "firefox-esr"


def eventually(condition, what, patience=PATIENCE / 1000, seldom=0.03):
    """Return once `condition()` is true, within `patience` seconds. It is called every 0.03 s
    at first, and later every `seldom` s."""
    deadline, pause = time.monotonic() + patience, 0.03
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(pause)
        pause = min(pause * 1.2, seldom)


def wait_for(page, expression, argument=None, expected=True):
    """Return once an expression is (or with expected=False is not) true in a page.

    Playwright's own wait evaluates text in the page, which the page's policy forbids. Each
    evaluation costs some ms of CPU.
    """
    eventually(
        lambda: bool(page.evaluate(expression, argument)) == expected,
        f"{expression} ({argument}) is {expected}",
        seldom=0.1,
    )


def draws(page):
    """Return once a page has drawn one more frame."""
    page.evaluate("() => new Promise((resolve) => requestAnimationFrame(resolve))")


def use_tool(page, name):
    """Press an entry of the menu of all tools."""
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name=name, exact=True).click()


def chromium():
    """Return the path of Chromium on this machine."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    assert program, "the browser tests need Chromium: run them with make test"
    return program


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, request):
    """A function that opens pages, each in its own context; none may have complained at the end.
    One without a `url` is that of the fixture `server`.

    `script` runs in a page before its own scripts. What the browser says of lost connections is
    ignored for a page that is `cut_off`, and for all once the test has ended: their server may
    have ended first. A page that `fails` may complain.
    """
    contexts, complaints, ended = [], [], False

    def open_one(url=None, script=None, cut_off=False, fails=False, **options):
        def listen(said):
            lost = "WebSocket" in said.text or "Failed to load resource" in said.text
            if said.type in ("error", "warning") and not (lost and (cut_off or ended)):
                complaints.append(said.text)

        options.setdefault("viewport", {"width": 1280, "height": 800})
        context = browser.new_context(**options)
        contexts.append(context)
        context.add_init_script(CHEAPER_FRAMES)
        if script is not None:
            context.add_init_script(script)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        if not fails:
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", listen)
        page.goto(url or request.getfixturevalue("server").url)
        return page

    yield open_one
    ended = True
    for context in contexts:
        context.close()
    assert complaints == []
