"""What the page costs to load, and to draw among many walkers.

    python -m games.flatlands.tests.browser.measure --help

Loading: a first and a second visit of a slow phone, straight to the server (HTTP/1.1, six
connections), and a first one behind nginx with TLS (HTTP/2). Told are, beside their targets, when
the field for the name was seen, and how many requests were made and bytes came; and when a press of
Play was obeyed, and how many answers had to be waited for one after the other.

Drawing: the page stands on the plaza among real clients that wander around it. Told is the CPU time
of its scripts and of its main thread for each frame, and the frames a second. `--slow` throttles
the CPU. There is no GPU here, so the canvas is drawn by the CPU too.
"""

import argparse
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from flatlands.loadtest.kit.processes import Program
from games.flatlands.tests.browser import acts
from games.flatlands.tests.browser.acts import enter
from games.flatlands.tests.servers import serving
from tests.browser.pages import ARGUMENTS, chromium, wait_for
from tests.nginx import nginx

PHONE: dict[str, Any] = {**acts.PHONE, "device_scale_factor": 2}
#: The line of a slow phone answers after this long.
LATENCY_MS = 150
#: The line of a slow phone, of 1.6 Mbit/s, in bytes a second.
THROUGHPUT = 200_000
#: The CPU of a slow phone is so many times slower.
SLOW = 4
#: The target: the field for the name is there so soon at a first and at a second visit.
FIELD_SECONDS = {"first": 1.5, "second": 1.0}
#: The target: a first visit makes at most so many requests.
REQUESTS = 15
#: The target: a first visit loads at most so much.
KILOBYTES = 200

#: Notes when the field for the name has been painted, and when the page has begun: `seen` in ms.
WATCH = """{
  globalThis.seen = {};
  const look = () => {
    const shown = document.querySelector('#name')?.checkVisibility({ visibilityProperty: true });
    if (shown) seen.field ??= performance.now();
    if (document.documentElement?.dataset.begun === '') seen.begun ??= performance.now();
    if (!seen.field || !seen.begun) requestAnimationFrame(() => setTimeout(look));
  };
  look();
}"""
BEGUN = "!!globalThis.seen?.field && !!seen.begun"


class Waterfall:
    """The requests of a page that go over the line, with the times of sending and of answering."""

    def __init__(self, session: CDPSession) -> None:
        self.asked: dict[str, dict[str, Any]] = {}
        self.bytes = 0
        session.on("Network.responseReceived", self._answered)
        session.on("Network.loadingFinished", self._finished)

    def _answered(self, event: dict[str, Any]) -> None:
        response = event["response"]
        if "timing" in response and not response.get("fromDiskCache"):
            timing = response["timing"]
            sent = timing["requestTime"] + timing["sendStart"] / 1000
            self.asked[event["requestId"]] = {"sent": sent}

    def _finished(self, event: dict[str, Any]) -> None:
        if event["requestId"] in self.asked:
            self.asked[event["requestId"]]["came"] = event["timestamp"]
            self.bytes += event["encodedDataLength"]

    def rounds(self) -> int:
        """Return how many answers had to come one after the other."""
        times = sorted((one["sent"], one["came"]) for one in self.asked.values() if "came" in one)
        depths: list[tuple[float, int]] = []
        for sent, came in times:
            depth = 1 + max((d for end, d in depths if end <= sent), default=0)
            depths.append((came, depth))
        return max((depth for _, depth in depths), default=0)


def load(browser: Browser, url: str, *visits: str) -> None:
    """Measure visits of a slow phone, and print them."""
    context = browser.new_context(ignore_https_errors=True, **PHONE)
    context.add_init_script(WATCH)
    for visit in visits:
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        through = dict.fromkeys(("downloadThroughput", "uploadThroughput"), THROUGHPUT)
        line = {"offline": False, "latency": LATENCY_MS, **through}
        session.send("Network.emulateNetworkConditions", line)
        session.send("Emulation.setCPUThrottlingRate", {"rate": SLOW})
        waterfall = Waterfall(session)
        page.goto(url)
        wait_for(page, BEGUN)
        page.wait_for_timeout(1000)
        field, begun = (page.evaluate(f"seen.{name}") / 1000 for name in ("field", "begun"))
        print(
            f"  {visit} visit: name field after {field:.1f} s (target {FIELD_SECONDS[visit]}), "
            f"begun after {begun:.1f} s; {len(waterfall.asked)} requests (target {REQUESTS}), "
            f"{waterfall.bytes / 1000:.0f} KB (target {KILOBYTES}), {waterfall.rounds()} answers "
            "one after the other",
            flush=True,
        )
        page.close()
    context.close()


def metrics(session: CDPSession) -> dict[str, float]:
    found = session.send("Performance.getMetrics")["metrics"]
    return {one["name"]: one["value"] for one in found}


def draw(page: Page, seconds: float, slow: float) -> None:
    """Measure what frames cost, and print it."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    if slow > 1:
        session.send("Emulation.setCPUThrottlingRate", {"rate": slow})
        page.wait_for_timeout(30_000)
    page.evaluate("""() => {
      globalThis.frames_ = [];
      const count = (at) => { frames_.push(at); requestAnimationFrame(count); };
      requestAnimationFrame(count);
    }""")
    found = []
    for _ in range(3):
        page.evaluate("frames_.length = 0")
        before = metrics(session)
        page.wait_for_timeout(seconds * 1000 / 3)
        after = metrics(session)
        at = page.evaluate("frames_")
        spent = {
            name: (after[name] - before[name]) * 1000 / len(at)
            for name in ("ScriptDuration", "TaskDuration", "LayoutDuration", "RecalcStyleDuration")
        }
        found.append((spent, (len(at) - 1) * 1000 / (at[-1] - at[0])))
    spent, rate = min(found, key=lambda one: one[0]["ScriptDuration"])
    median = statistics.median(one[0]["ScriptDuration"] for one in found)
    walkers = page.evaluate("flatlands.state.walkers.length")
    plain = page.evaluate("flatlands.state.plain")
    print(
        f"  {walkers} walkers, CPU {slow:g}x slower: {spent['ScriptDuration']:.1f} ms of script a "
        f"frame (median of 3: {median:.1f}), main thread {spent['TaskDuration']:.1f} ms, layout "
        f"{spent['LayoutDuration']:.2f} ms, styles {spent['RecalcStyleDuration']:.2f} ms; "
        f"{rate:.0f} frames a second{', plain' if plain else ''}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m games.flatlands.tests.browser.measure")
    add = parser.add_argument
    add("--loading", action="store_true", help="measure loading")
    add("--walkers", type=int, nargs="*", default=[], help="draw among so many clients")
    add("--slow", type=float, default=1, help="the CPU is so many times slower")
    add("--phone", action="store_true", help="a screen of 390 x 844 with 2 px per css px")
    add("--map", action="store_true", help="with the map of the world open")
    add("--seconds", type=float, default=24, help="measure drawing for this many seconds (24)")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        if options.loading:
            with serving() as server:
                print("straight to the server, HTTP/1.1")
                load(browser, server.url, "first", "second")
            with (
                serving("--trusted-proxies", "127.0.0.1") as server,
                TemporaryDirectory() as folder,
                nginx(Path(folder), server.port) as front,
            ):
                print("behind nginx, HTTP/2")
                # A browser caches nothing from a server with a self-signed certificate.
                load(browser, front.url, "first")
        for walkers in options.walkers:
            crowd = ["--bots", str(walkers), "--seconds", str(options.seconds * 2 + 90)]
            bots = [sys.executable, "loadtest/bots.py", *crowd]
            with (
                serving("--max-per-address", "0") as server,
                Program([*bots, "--url", f"ws://localhost:{server.port}/ws"], "the bots"),
            ):
                desktop = {"viewport": {"width": 1440, "height": 900}}
                context = browser.new_context(**(PHONE if options.phone else desktop))
                page = context.new_page()
                page.goto(server.url)
                enter(page, "Meter")
                wait_for(page, f"flatlands.state.walkers.length >= {walkers}")
                if options.map:
                    page.keyboard.press("o")
                page.wait_for_timeout(8000)
                draw(page, options.seconds, options.slow)
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
