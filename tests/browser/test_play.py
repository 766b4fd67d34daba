"""The game as people play it: two pages and more, keys, clicks and touches."""

import io
import json
import math
import os
import time

import pytest
from PIL import Image

from flatlands.server.messages.protocol import SAY
from flatlands.world.track import UNIT
from tests.browser.conftest import PATIENCE, eventually, wait_for
from tests.inside import inside
from tests.processes import Proxy, ServerProcess, serving
from tests.socket_client import SocketClient

SEES = "(name) => [...flatlands.state.replica.players.values()].some((p) => p.name === name)"
PLACE = "() => flatlands.state.walk.drawn(flatlands.state.clock.now())"
TRUE_PLACE = """(name) => {
  const player = [...flatlands.state.replica.players.values()].find((p) => p.name === name);
  const t = flatlands.state.clock.now(), { x, y, dx, dy, start, duration } = player.track;
  const part = duration === 0 ? 1 : Math.min(Math.max((t - start) / duration, 0), 1);
  return [(x + dx * part) / 1024, (y + dy * part) / 1024];
}"""


#: Tiles a second that everybody walks.
SPEED = 5

#: Where keys lead to.
WAYS = {
    "w": (0, -1),
    "a": (-1, 0),
    "s": (0, 1),
    "d": (1, 0),
    "ArrowRight": (1, 0),
    "ArrowDown": (0, 1),
}

ARRIVED = "flatlands.state.walk.arrived"

#: That the server has heard of the end of a walk, and said so.
STANDS = """(({ own, walk }) => own?.ack === walk.number && own.track.duration === 0)(
  flatlands.state)"""

#: Where the server says that the page's own walker stands, or where the leg that it walks began.
TOLD_PLACE = "(({ x, y }) => [x / 1024, y / 1024])(flatlands.state.own.track)"


def seen(page, name, yes=True):
    wait_for(page, SEES, name, yes)


def place(page):
    return page.evaluate(PLACE)


def await_camera(page):
    """Return once the camera looks at the own walker: that decides where a click leads."""
    wait_for(
        page,
        f"""() => {{
      const {{ x, y }} = flatlands.state.camera, [px, py] = ({PLACE})();
      return Math.hypot(x - px, y - py) < 0.02;
    }}""",
    )


def far(a, b):
    return max(abs(p - q) for p, q in zip(a, b, strict=True))


def set_out(page, key, tiles):
    """Press a key, and return once the page's own walker has gone so many tiles where it leads."""
    (x, y), (dx, dy) = place(page), WAYS[key]

    def gone():
        now_x, now_y = place(page)
        return (now_x - x) * dx + (now_y - y) * dy > tiles

    page.keyboard.down(key)
    # How long a key is held tells nothing of how soon a busy page hears of it.
    eventually(gone, f"{key} leads {tiles} tiles on", PATIENCE / 1000 + tiles / SPEED)


def walk(page, key, tiles):
    """Hold a key until the page's own walker has gone so many tiles, and stands, for the server as
    well; return for how long it can have been held at the most."""
    began = time.monotonic()
    set_out(page, key, tiles)
    page.keyboard.up(key)
    held = time.monotonic() - began
    wait_for(page, f"{ARRIVED} && {STANDS}")
    return held


def late_by(server):
    """Return by how many seconds a server has been late, altogether."""
    return json.loads(server.get("stats"))["counted"].get("late_ms", 0) / 1000


def still(page):
    """Whether the page's own walker stands."""
    before = place(page)
    time.sleep(0.3)
    return far(place(page), before) < 0.02


def stands(page):
    """Return once the page's own walker stands for the server and is drawn where it stands: what is
    left of a misprediction fades first, but it does not walk."""
    wait_for(page, STANDS)
    told = page.evaluate(TOLD_PLACE)
    eventually(lambda: still(page), "the walker stands still")
    assert page.evaluate(TOLD_PLACE) == told
    assert far(place(page), told) < 0.1


def test_two_pages_see_each_other_come_walk_talk_and_go(play):
    ada, bob = play("Ada"), play("Bob")
    seen(ada, "Bob")
    seen(bob, "Ada")
    before = ada.evaluate(TRUE_PLACE, "Bob")
    held = walk(bob, "d", 6)
    eventually(lambda: far(ada.evaluate(TRUE_PLACE, "Bob"), place(bob)) < 0.05, "Ada sees the same")
    assert 5.5 < ada.evaluate(TRUE_PLACE, "Bob")[0] - before[0] < SPEED * held + 1
    bob.keyboard.press("Enter")
    bob.keyboard.type("hello Ada <b>& all</b>")
    bob.keyboard.press("Enter")
    ada.get_by_text("hello Ada <b>& all</b>").wait_for()
    bob.context.close()
    seen(ada, "Bob", yes=False)


def test_people_leave_and_return_as_one_walks_through_squares(play):
    # Small pages: what is out of sight and let go of is not far away.
    small = {"width": 480, "height": 320}
    walker, stayer = play("Walker", viewport=small), play("Stayer", viewport=small)
    seen(walker, "Stayer")
    walker.evaluate(
        """() => {
          const { state } = flatlands, { replica } = state, apply = replica.apply.bind(replica);
          globalThis.crossed = new Set();
          replica.apply = (message, now) => {
            apply(message, now);
            if (state.own !== undefined) crossed.add(state.own.square.join());
          };
        }"""
    )
    # Nothing is in the way there; and from more than 40 tiles away one is put home, and walks not.
    walk(walker, "a", 54)
    assert walker.evaluate("crossed.size") >= 4
    seen(walker, "Stayer", yes=False)
    seen(stayer, "Walker", yes=False)
    walker.keyboard.press("h")
    seen(stayer, "Walker")
    seen(walker, "Stayer")
    assert far(place(walker), [0, 0]) < 8


def test_ones_own_walk_is_predicted_as_the_server_decides(play):
    page = play("Predictor")
    page.evaluate(
        """() => {
          const { walk } = flatlands.state, reconcile = walk.reconcile.bind(walk);
          flatlands.errors = [];
          walk.reconcile = (player, now) => {
            const result = reconcile(player, now);
            if (player.ack === walk.number) flatlands.errors.push(Math.hypot(...walk.error));
            return result;
          };
        }"""
    )
    for key in "dsawdsaw":
        walk(page, key, 1.5)
    page.keyboard.down("d")
    set_out(page, "s", 2)
    page.keyboard.up("d")
    page.keyboard.up("s")
    wait_for(page, f"{ARRIVED} && {STANDS}")
    errors = page.evaluate("flatlands.errors")
    assert len(errors) >= 8
    # Clocks differ by a millisecond or two; a tile in two hundred is not seen.
    assert sorted(errors)[len(errors) // 2] < 0.05
    assert max(errors) < 0.5


@pytest.fixture
def alone():
    """A server of its own: where players of earlier tests linger, a click would mean them."""
    with inside() as server:
        yield server


def test_a_click_walks_to_the_spot(alone, play):
    page = play("Clicker", url=alone.url)
    await_camera(page)
    x, y = place(page)
    page.mouse.click(640 + 96, 400 + 64)
    eventually(lambda: place(page) != [x, y], "she sets out")
    wait_for(page, ARRIVED)
    assert far(place(page), [x + 3, y + 2]) < 0.7


def test_a_touch_walks_to_the_spot_and_the_stick_steers(alone, play):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = play("Toucher", url=alone.url, **phone)
    await_camera(page)
    x, y = place(page)
    page.touchscreen.tap(195, 422 - 110)
    eventually(lambda: place(page)[1] < y - 2, "it walks where it was touched")
    wait_for(page, ARRIVED)
    stick = page.locator(".stick").bounding_box()
    middle = stick["x"] + stick["width"] / 2, stick["y"] + stick["height"] / 2
    touch = page.context.new_cdp_session(page)

    def send(kind, dx):
        points = [{"x": middle[0] + dx, "y": middle[1], "id": 1}]
        points = [] if kind in ("touchEnd", "touchCancel") else points
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    x, y = place(page)
    send("touchStart", 0)
    send("touchMove", 60)
    eventually(lambda: place(page)[0] > x + 3, "the stick leads east")
    send("touchCancel", 0)
    wait_for(page, ARRIVED)
    stands(page)


@pytest.mark.parametrize(
    "event",
    [
        "dispatchEvent(new Event('blur'))",
        "document.getElementById('world').dispatchEvent(new PointerEvent('pointercancel'))",
    ],
)
def test_losing_the_focus_or_a_touch_stops_the_walk(play, event):
    page = play("Sleeper")
    set_out(page, "a", 1)
    assert not still(page)
    page.evaluate(event)
    assert page.evaluate(ARRIVED)
    wait_for(page, STANDS)
    stands(page)


def test_a_hidden_tab_stops_keeps_its_table_and_shows_the_present_afterwards(play):
    page, other = play("Hidden"), play("Mover")
    set_out(page, "a", 1)
    page.evaluate(
        """() => {
          Object.defineProperty(document, 'hidden', { value: true, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'));
        }"""
    )
    walk(other, "d", 4)
    stands(page)
    eventually(lambda: far(page.evaluate(TRUE_PLACE, "Mover"), place(other)) < 0.1, "both agree")
    # The tab tells who waves and who speaks meanwhile.
    other.keyboard.press("1")
    wait_for(page, "document.title.startsWith('Mover waves')")
    other.keyboard.press("Enter")
    other.keyboard.type("hello?")
    other.keyboard.press("Enter")
    wait_for(page, "document.title.startsWith('Mover speaks')")
    page.evaluate(
        """() => {
          delete document.hidden;
          document.dispatchEvent(new Event('visibilitychange'));
        }"""
    )
    assert page.title() == "Flatlands"


#: Notes the words with which the world is drawn.
NOTE_WORDS = """
  globalThis.words = new Set();
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...given) {
    words.add(text);
    return fillText.call(this, text, ...given);
  };
"""

#: The colours of the lines around what is held, which is that of the focus too, and of the lead and
#: the drop margin.
HELD, LEAD, DROP = (255, 209, 102), (63, 240, 192), (255, 125, 156)


#: The most pixels of one colour that all flowers on a screen have.
FLOWERS = 200


def count_colour(page, colour, clip=None):
    """Return how many pixels of a page, or of a box of it, have a colour."""
    picture = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
    return sum(count for count, other in picture.getcolors(10**7) if far(other, colour) < 8)


def wait_for_colour(page, colour, least, most=math.inf):
    """Return once so many pixels of a page have a colour."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not least <= (count := count_colour(page, colour)) <= most:
        assert time.monotonic() < deadline, f"{count} pixels are {colour}"


def test_the_grid_can_be_seen_and_tells_what_is_held(alone, play):
    page = play("Looker", url=alone.url, script=NOTE_WORDS)
    # How much of the lines is under panels depends on the place.
    page.keyboard.press("h")
    eventually(lambda: place(page) == [0.5, 0.5], "the walker stands in the middle of the plaza")
    await_camera(page)
    square, held = page.evaluate("[flatlands.state.own.square, flatlands.state.replica.held]")
    columns, rows = held["c1"] - held["c0"] + 1, held["r1"] - held["r0"] + 1
    label = f"sq {square[0]}:{square[1]}"
    assert not page.evaluate("(label) => words.has(label)", label)
    before = count_colour(page, HELD)
    # A flower may have some pixels of a margin's colour.
    assert max(count_colour(page, LEAD), count_colour(page, DROP)) < FLOWERS
    page.keyboard.press("g")
    page.get_by_role("button", name="Grid", pressed=True).wait_for()
    # The own square tells its name and who is in it, and so does each that is held.
    wait_for(page, "(label) => words.has(label)", label)
    wait_for(page, "words.has('1 here · 0/s')")
    names = "[...words].filter((word) => /^sq -?[0-9]+:-?[0-9]+$/.test(word)).length"
    wait_for(page, f"{names} === {columns * rows}")
    # Lines 2 px wide around all that is held; those of the margins are 3 px, and dashed. Panels may
    # cover some of them.
    wait_for_colour(page, HELD, before + 5000)
    for margin in (LEAD, DROP):
        wait_for_colour(page, margin, 1500)
    legend = page.get_by_label("Legend")
    for margin in (LEAD, DROP):
        assert count_colour(page, margin, legend.bounding_box()) > 5
    page.keyboard.press("g")
    legend.wait_for(state="hidden")
    page.get_by_role("button", name="Grid", pressed=False).wait_for()
    for margin in (LEAD, DROP):
        wait_for_colour(page, margin, 0, FLOWERS)
    wait_for_colour(page, HELD, 0, before + 500)


#: Notes the boxes of the pills, 24 css px high, that the last frame drew at the edge of the world,
#: and how many frames have drawn any.
NOTE_PILLS = """
  globalThis.pills = [];
  globalThis.pillFrames = 0;
  let drawn = [];
  const { roundRect } = CanvasRenderingContext2D.prototype, request = requestAnimationFrame;
  globalThis.requestAnimationFrame = (draw) => request((at) => {
    drawn = [];
    draw(at);
    if (drawn.length === 0) return;
    pills = drawn;
    pillFrames++;
  });
  CanvasRenderingContext2D.prototype.roundRect = function (x, y, w, h, ...rest) {
    if (this.canvas.id === 'world' && h === 24) {
      drawn.push({ left: x, top: y, right: x + w, bottom: y + h });
    }
    return roundRect.call(this, x, y, w, h, ...rest);
  };
"""

#: Puts three players around a place so many tiles from one's own.
CROWD = """([dx, dy]) => {
  const { own, replica } = flatlands.state, { x, y } = own.track;
  for (const [i, [gapX, gapY]] of [[0, 0], [0, 2], [2, 0]].entries()) {
    const track = { ...own.track, x: x + 1024 * (dx + gapX), y: y + 1024 * (dy + gapY) };
    replica.players.set(i, { ...own, id: i, name: `A friend far away ${i}`, track });
  }
  replica.nameChanges++;
}"""


@pytest.mark.parametrize("size", [(568, 320), (667, 375)], ids=str)
def test_marks_at_the_edge_of_a_low_screen_never_cover_each_other(alone, play, size):
    viewport = {"width": size[0], "height": size[1]}
    page = play("Scout", url=alone.url, script=NOTE_PILLS, viewport=viewport)
    for away in ((34, 0), (-34, 1), (-34, 14), (0, 24)):
        page.evaluate(CROWD, away)
        wait_for(page, "(n) => pillFrames > n", page.evaluate("pillFrames") + 5)
        pills = page.evaluate("pills")
        for i, pill in enumerate(pills):
            for other in pills[:i]:
                apart_x = pill["right"] <= other["left"] or other["right"] <= pill["left"]
                apart_y = pill["bottom"] <= other["top"] or other["bottom"] <= pill["top"]
                assert apart_x or apart_y, away


#: Puts a computer player with this id three tiles to the east.
COMPUTER = """(id) => {
  const { own, replica } = flatlands.state;
  const track = { ...own.track, x: own.track.x + 3 * 1024 };
  replica.players.set(id, { ...own, id, name: 'Computer', track });
  replica.nameChanges++;
}"""


@pytest.mark.parametrize(("id", "person"), [(32767, True), (32768, False), (65535, False)])
def test_deer_are_no_people_they_have_no_name_and_no_menu(alone, play, id, person):
    page = play("Wren", url=alone.url, script=NOTE_WORDS)
    page.evaluate(COMPUTER, id)
    wait_for(page, "flatlands.state.walkers.length === 2")
    readings = page.get_by_label("Readings")
    readings.get_by_text("You and 1 clockwork" if person else "Only you", exact=True).wait_for()
    wait_for(page, "words.has('Wren')")
    time.sleep(0.5)
    assert page.evaluate("words.has('Computer')") == person
    page.keyboard.press("m")
    near = page.get_by_role("dialog", name="Who is near")
    if person:
        near.get_by_role("button", name="clockwork Computer 3 tiles east").click()
        page.get_by_role("dialog", name="About Computer").wait_for()
    else:
        near.get_by_text("Nobody is in sight.").wait_for()
        assert near.get_by_text("Computer").count() == 0


#: Whether the own walker is drawn, and looks towards a place.
FACES = """([x, y]) => {
  const me = flatlands.state.walkers.find(({ own }) => own);
  if (me === undefined) return false;
  return me.dx * (x - me.x) + me.dy * (y - me.y) > 0.8 * Math.hypot(x - me.x, y - me.y);
}"""


def test_an_invitation_starts_a_guest_beside_its_sender(play, open_page, server):
    # As on a page without https: it may not copy, so the link is shown and selected.
    closed = "Object.defineProperty(navigator, 'clipboard', { value: undefined });"
    host = play("Host", script=closed)
    walk(host, "w", 12)
    stands(host)
    host.keyboard.press("i")
    field = host.get_by_label("Invite link")
    field.wait_for()
    link = field.input_value()
    assert link.startswith(f"{server.url}?near=")
    assert host.evaluate("getSelection().toString()") == link
    # That such a link is of no use elsewhere is told, and there is nothing to copy it by.
    host.get_by_text("It works on this machine only").wait_for()
    assert host.get_by_role("button", name="Copy").is_hidden()
    host.keyboard.press("Escape")
    page = open_page(link)
    page.get_by_text("Host invited you").wait_for()
    page.keyboard.press("Enter")
    wait_for(page, "flatlands.state.own !== undefined")
    page.get_by_text("Here you are, beside Host.").wait_for()
    assert 1.1 <= math.dist(place(page), place(host)) <= 2.6
    assert "near" not in page.url
    # They look at each other.
    for looks, at in ((page, place(host)), (host, place(page))):
        wait_for(looks, FACES, [*at])
    # The keys walk again.
    walk(host, "s", 1)


def test_an_invitation_is_copied_where_that_is_allowed_and_leads_to_another_worker(play):
    # A name by which others might reach it, at which a browser lets a page copy.
    with serving("--workers", "2") as server:
        url = server.url.replace("localhost", "flatlands.localhost")
        host = play("Host", url=url)
        host.context.grant_permissions(["clipboard-read", "clipboard-write"])
        walk(host, "w", 8)
        host.keyboard.press("i")
        host.get_by_text("Invite link copied").wait_for()
        link = host.evaluate("navigator.clipboard.readText()")
        assert link.startswith(f"{url}?near=")
        where = place(host)
        guest = play("Guest", url=link)
        seen(guest, "Host")
        assert math.dist(place(guest), where) <= 2.6
        # Connections go to either worker by chance: of eight guests some are at the other one.
        near = link.partition("near=")[2].partition("&")[0]
        others = [SocketClient(server.port).hello(f"G{n}", near=near) for n in range(8)]
        for other in others:
            x, y = other.at()
            assert 1.1 <= math.dist((x / UNIT, y / UNIT), where) <= 2.6
            other.close()
        for page in (guest, host):
            page.context.close()


#: Where the only other walker is drawn, in css px.
SOMEBODY_ELSE = """() => {
  const { camera, walkers } = flatlands.state, { x, y } = walkers.find(({ own }) => !own);
  const left = innerWidth / 2 + 32 * (x - camera.x), top = innerHeight / 2 + 32 * (y - camera.y);
  return { x: left, y: top - 18 };
}"""


def test_same_names_are_told_apart_and_anybody_can_be_muted(play):
    # A world of their own: the nearest walker must be the other one.
    with inside() as server:
        twin, other = play("Twin", url=server.url), play("Twin", url=server.url)
        wait_for(twin, "flatlands.state.names.size === 2")
        names = twin.evaluate("[...flatlands.state.names.values()]")
        assert len(set(names)) == 2
        mute = twin.get_by_role("button", name="Mute", exact=True)

        def offers_to_mute():
            at = twin.evaluate(SOMEBODY_ELSE)
            twin.mouse.click(at["x"], at["y"])
            time.sleep(0.5)
            return mute.is_visible()

        # A click follows, and one that comes when she is there opens the menu.
        eventually(offers_to_mute, "a click opens the menu")
        assert twin.get_by_text("Following Twin").is_visible()
        mute.click()
        other.keyboard.press("Enter")
        other.keyboard.type("can you hear me?")
        other.keyboard.press("Enter")
        other.get_by_text("can you hear me?").wait_for()
        time.sleep(0.3)
        assert twin.get_by_text("can you hear me?").count() == 0
        for page in (twin, other):
            page.context.close()


#: Where no font has the first two, the third is among the widest that any system draws.
WIDE = ("\ufdfd", "\U00012219", "\u1671")

#: Notes how wide a picture each text is drawn into, in css px.
NOTE_WIDTHS = """
  globalThis.drawn = [];
  const fillText = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    drawn.push([text, this.canvas.width / devicePixelRatio]);
    return fillText.call(this, text, ...rest);
  };
"""


def test_giant_letters_keep_their_bounds(alone, play):
    readers = {
        size: play(
            "Reader",
            url=alone.url,
            script=NOTE_WIDTHS,
            viewport={"width": size[0], "height": size[1]},
        )
        for size in ((1280, 800), (390, 844), (844, 390))
    }
    for letter in WIDE:
        giant = SocketClient(alone.port)
        giant.hello(letter * 20)
        for page in readers.values():
            seen(page, letter * 20)
        for _ in range(5):
            giant.send(SAY, letter * 60)
        for size, page in readers.items():
            keeps_its_bounds(page, letter, size)


def keeps_its_bounds(page, letter, size):
    """Look at what a page of a size shows of who has giant letters and has said five of them."""
    lines = "[...document.querySelectorAll('.log li')].map((line) => line.innerText)"
    said = f"(letter) => {lines}.filter((line) => line.includes(letter)).length"
    wait_for(page, f"(letter) => ({said})(letter) === 5", letter)
    # A bubble with its margins, and a name.
    widths = "(letter) => drawn.filter(([text]) => text.includes(letter)).map(([, width]) => width)"
    wait_for(page, f"(letter) => new Set(({widths})(letter)).size > 1", letter)
    found = page.evaluate(widths, letter)
    assert max(found) <= 262 and min(found) <= 166, size
    line, log = page.evaluate(
        """() => [Math.max(...[...document.querySelectorAll('.log li')].map(
          (line) => line.offsetHeight)), document.querySelector('.log').offsetHeight]"""
    )
    assert line <= 140 and log <= 0.4 * size[1] + 1, size
    left, right, width = page.evaluate(
        """() => {
          const { left, right } = document.querySelector('.chat').getBoundingClientRect();
          return [left, right, document.querySelector('.chat').scrollWidth];
        }"""
    )
    if shots := os.environ.get("SHOTS"):
        page.screenshot(path=f"{shots}/giant-{ord(letter):x}-{size[0]}.png")
    assert left >= 0 and right <= size[0] and width <= right - left, size


def test_a_name_does_not_turn_what_its_player_says_around(alone, play):
    page = play("Reader", url=alone.url)
    arab = play("\u0645\u0631\u062d\u0628\u0627", url=alone.url)
    arab.keyboard.press("Enter")
    arab.keyboard.insert_text("hello all\u200b")
    arab.keyboard.press("Enter")
    said = page.get_by_text("hello all")
    said.wait_for()
    assert said.inner_text() == "hello all"
    line = "document.querySelector('.log li')"
    assert page.evaluate(f"getComputedStyle({line}).direction") == "ltr"
    name, text = (page.locator(".log bdi").nth(i).bounding_box()["x"] for i in range(2))
    assert name < text


def test_a_bad_name_is_explained_and_can_be_mended(open_page):
    page = open_page()
    page.get_by_label("Your name").fill("a\u202eb")
    page.keyboard.press("Enter")
    page.get_by_text("a name must have 1 to 20 characters that can be seen").wait_for()
    page.get_by_label("Your name").fill("Fine")
    page.keyboard.press("Enter")
    wait_for(page, "flatlands.state.own?.name === 'Fine'")


def tab_to(page, label):
    """Press Tab until what has this label has the focus, which must be seen there."""
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.ariaLabel") == label:
            break
    focused = page.locator(":focus")
    assert focused.get_attribute("aria-label") == label
    box = focused.bounding_box()
    around = {"x": box["x"] - 6, "y": box["y"] - 6}
    around |= {"width": box["width"] + 12, "height": box["height"] + 12}
    ringed = count_colour(page, HELD, around)
    page.keyboard.press("Shift+Tab")
    bare = count_colour(page, HELD, around)
    assert ringed - bare > 2 * (box["width"] + box["height"]), label
    page.keyboard.press("Tab")


def test_everything_can_be_done_with_the_keyboard_and_focus_is_seen(alone, open_page):
    # The page may not copy: what an invitation shows is then a dialog.
    closed = "Object.defineProperty(navigator, 'clipboard', { value: undefined });"
    page, other = open_page(alone.url, script=closed), open_page(alone.url)
    for each, name in ((page, "Keys"), (other, "Other")):
        wait_for(each, "document.activeElement.id === 'name'")
        # What is offered is selected: one types over it.
        each.keyboard.type(name)
        each.keyboard.press("Enter")
        wait_for(each, "flatlands.state.own !== undefined")
    seen(page, "Other")
    wait_for(page, "flatlands.state.own.name === 'Keys'")

    def opens(name):
        page.get_by_role("dialog", name=name).wait_for()
        page.keyboard.press("Escape")
        page.get_by_role("dialog", name=name).wait_for(state="hidden")
        wait_for(page, "document.activeElement.id === 'world'")

    for key in ("ArrowRight", "ArrowDown", "w", "a"):
        walk(page, key, 1)
    legend = page.get_by_label("Legend")
    tab_to(page, "Grid")
    page.keyboard.press("Enter")
    legend.wait_for()
    # Pressing a button gave the keys back to the world.
    walk(page, "ArrowRight", 1)
    page.keyboard.press("g")
    legend.wait_for(state="hidden")
    home = "() => Math.hypot(...flatlands.state.walk.drawn(flatlands.state.clock.now())) < 1.5"
    tab_to(page, "Home")
    page.keyboard.press("Space")
    wait_for(page, home)
    walk(page, "s", 1)
    walk(page, "s", 1)
    page.keyboard.press("h")
    wait_for(page, home)
    tab_to(page, "Invite")
    page.keyboard.press("Enter")
    opens("Invite")
    page.keyboard.press("i")
    opens("Invite")
    tab_to(page, "Help")
    page.keyboard.press("Enter")
    opens("Help")
    tab_to(page, "Talk")
    page.keyboard.press("Enter")
    page.keyboard.type("never said")
    page.keyboard.press("Escape")
    walk(page, "d", 1)
    tab_to(page, "Say something")
    page.keyboard.press("Control+a")
    page.keyboard.type("said by button")
    page.keyboard.press("Enter")
    other.get_by_text("said by button").wait_for()
    page.keyboard.press("Enter")
    page.keyboard.type("said by key")
    page.keyboard.press("Enter")
    other.get_by_text("said by key").wait_for()
    assert other.get_by_text("never said").count() == 0
    for muted in ("true", "false"):
        page.keyboard.press("m")
        page.get_by_role("dialog", name="Who is near").wait_for()
        page.keyboard.press("Enter")
        page.get_by_role("dialog", name="About Other").wait_for()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        wait_for(page, f"(flatlands.state.muted.size === 1) === {muted}")
    walk(page, "w", 1)


@pytest.fixture
def proxy(alone):
    """A proxy before a server of its own."""
    proxy = Proxy(alone.port)
    yield proxy
    proxy.close()


#: Notes all that is told of the connection.
NOTE_ALARMS = """() => {
  const { on } = flatlands.net;
  flatlands.alarms = [];
  for (const name of ['quiet', 'lost']) {
    const told = on[name].bind(on);
    on[name] = (what) => { flatlands.alarms.push([name, what]); told(what); };
  }
}"""


def test_a_page_that_loses_its_connection_comes_back_as_itself(alone, proxy, play):
    watcher = play("Watcher", url=alone.url)
    page = play("Loser", url=f"http://localhost:{proxy.port}/", cut_off=True)
    id = page.evaluate("flatlands.state.own.id")
    seen(watcher, "Loser")
    watcher.evaluate(
        """(id) => {
          const { replica } = flatlands.state, apply = replica.apply.bind(replica);
          flatlands.dimmed = [];
          replica.apply = (message, now) => {
            apply(message, now);
            flatlands.dimmed.push(replica.players.get(id)?.dimmed);
          };
        }""",
        id,
    )
    page.evaluate(NOTE_ALARMS)
    walk(page, "d", 2)
    stands(page)
    before = place(page)
    proxy.cut()
    wait_for(page, "flatlands.alarms.some(([name]) => name === 'lost')")
    wait_for(page, "flatlands.net.playing")
    wait_for(page, "flatlands.state.own !== undefined")
    assert page.get_by_text("Connection lost").is_hidden()
    assert page.evaluate("flatlands.state.own.id") == id
    assert far(place(page), before) < 0.3
    wait_for(watcher, "(id) => flatlands.state.replica.players.get(id)?.dimmed === false", id)
    # It was never gone from anybody's screen, only asleep.
    dimmed = watcher.evaluate("flatlands.dimmed")
    assert True in dimmed and None not in dimmed
    walk(page, "a", 1)


def test_a_dead_link_is_told_and_given_up_and_the_player_can_try_again(alone, proxy, play):
    watcher = play("Watcher", url=alone.url)
    page = play("Lost", url=f"http://localhost:{proxy.port}/", cut_off=True)
    id = page.evaluate("flatlands.state.own.id")
    seen(watcher, "Lost")
    set_out(page, "d", 3)
    proxy.stall()
    page.get_by_text("No answer from the server").wait_for()
    halted = place(page)
    eventually(lambda: still(page), "the walker stands still")
    assert far(place(page), halted) < 1
    page.get_by_text("Connection lost.").wait_for()
    button = page.get_by_role("button", name="Try now")
    button.wait_for()
    assert page.locator(".banner").get_attribute("aria-live") == "polite"
    wait_for(page, "() => /Next try in [0-9] s/.test(document.querySelector('.count').textContent)")
    assert page.locator(".count").get_attribute("aria-live") == "off"
    # Nobody held the walk: the others see the player stand, though no connection has ended.
    stopped = watcher.evaluate(TRUE_PLACE, "Lost")
    time.sleep(0.5)
    assert watcher.evaluate(TRUE_PLACE, "Lost") == stopped
    assert not watcher.evaluate("(id) => flatlands.state.replica.players.get(id).dimmed", id)
    page.keyboard.up("d")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent === 'Try now'"):
            break
    page.evaluate("() => { flatlands.before = flatlands.net.socket; }")
    page.keyboard.press("Enter")
    assert page.evaluate("flatlands.net.socket !== flatlands.before")
    proxy.flow()
    wait_for(page, "flatlands.net.playing && flatlands.state.own !== undefined")
    assert page.evaluate("flatlands.state.own.id") == id
    assert far(place(page), stopped) < 0.3
    assert page.locator(".banner").is_hidden()
    # The keys walk, though the button had them.
    walk(page, "a", 1)


def test_a_walk_goes_on_after_a_link_was_dead_for_a_moment_only_where_its_key_is_held(
    alone, proxy, play
):
    page = play("Tunnel", url=f"http://localhost:{proxy.port}/")
    page.evaluate(NOTE_ALARMS)
    set_out(page, "d", 2)
    late = late_by(alone)
    proxy.stall()
    time.sleep(4.5)
    frozen = place(page)
    began = time.monotonic()
    proxy.flow()
    wait_for(page, "flatlands.alarms.some(([name, is]) => name === 'quiet' && !is)")
    # The page asks anew for the walk that the server ended.
    anew = "(({ own, walk }) => walk.number > 1 && own?.ack === walk.number)(flatlands.state)"
    wait_for(page, anew)
    eventually(lambda: place(page)[0] > frozen[0] + 4, "it walks on")
    assert page.evaluate("flatlands.net.playing")
    # The server ends the walk when it has heard nothing for 3 s, and later if it was late itself.
    walks = SPEED * (time.monotonic() - began + (late_by(alone) - late))
    assert place(page)[0] - frozen[0] < walks + 7 and not still(page)
    late = late_by(alone)
    heard = page.evaluate(
        "flatlands.state.clock.now() - performance.now() + flatlands.net.pingedAt"
    )
    proxy.stall()
    time.sleep(4.5)
    page.keyboard.up("d")
    frozen, halted = place(page), page.evaluate("flatlands.state.walk.frozenAt")
    proxy.flow()
    wait_for(page, "flatlands.alarms.filter(([name, is]) => name === 'quiet' && !is).length === 2")
    wait_for(page, f"{ARRIVED} && {STANDS}")
    # What is left of a misprediction fades.
    eventually(lambda: still(page), "it stands")
    # The server ended the walk 3 s after it had last heard the page, which was when the last ping
    # came or at most half a second after the page had halted.
    apart = max((halted - heard) / 1000 - 3, 0.5) + late_by(alone) - late
    assert far(place(page), frozen) < SPEED * apart + 1
    assert page.locator(".banner").is_hidden()
    assert not page.evaluate("flatlands.alarms.some(([name]) => name === 'lost')")


def test_a_page_that_stood_still_or_was_hidden_raises_no_false_alarm(alone, proxy, play):
    page = play("Sleeper", url=f"http://localhost:{proxy.port}/")
    page.evaluate(NOTE_ALARMS)
    page.evaluate("() => { const until = Date.now() + 9000; while (Date.now() < until); }")
    time.sleep(1)
    assert page.evaluate("flatlands.alarms") == []
    page.evaluate(
        """() => {
          Object.defineProperty(document, 'hidden', { value: true, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'));
        }"""
    )
    proxy.stall()
    time.sleep(9)
    assert page.evaluate("flatlands.alarms") == []
    page.evaluate(
        """() => {
          delete document.hidden;
          document.dispatchEvent(new Event('visibilitychange'));
        }"""
    )
    page.get_by_text("No answer from the server").wait_for()
    proxy.flow()
    wait_for(page, "() => document.querySelector('.banner').hidden")
    assert page.evaluate("flatlands.alarms") == [["quiet", True], ["quiet", False]]


def test_a_page_that_stood_still_as_it_came_back_tries_again(alone, proxy, play):
    # As a phone freezes a page in the moment in which it connects again: its hello comes too late.
    freeze = """
      const Real = WebSocket;
      globalThis.WebSocket = class extends Real {
        constructor(...given) {
          super(...given);
          if (!globalThis.freezes) return;
          globalThis.freezes = false;
          const until = Date.now() + 7500;
          while (Date.now() < until);
        }
      };
    """
    page = play("Phone", url=f"http://localhost:{proxy.port}/", script=freeze, cut_off=True)
    page.evaluate(NOTE_ALARMS)
    id = page.evaluate("flatlands.state.own.id")
    page.evaluate("() => { globalThis.freezes = true; }")
    proxy.cut()
    wait_for(page, "flatlands.alarms.filter(([name]) => name === 'lost').length >= 2")
    wait_for(page, "flatlands.net.playing && flatlands.state.own !== undefined")
    assert page.get_by_label("Your name").is_hidden()
    assert page.evaluate("flatlands.state.own.id") == id
    assert json.loads(alone.get("stats"))["counted"]["refused_hello"] >= 1


def test_a_full_world_is_told_and_tried_again(open_page, play):
    with inside("--max-players", "1") as server:
        first, page = play("First", url=server.url), open_page(server.url)
        page.get_by_label("Your name").fill("Second")
        page.keyboard.press("Enter")
        page.get_by_text("This world is full").wait_for()
        page.get_by_text("Next try in").wait_for()
        assert page.evaluate("flatlands.net.retryAt") is not None
        for each in (first, page):
            each.context.close()


def test_a_page_that_is_sent_away_says_why_and_does_not_come_again(play):
    page = play("Rude")
    for malformed, said in (
        ("'a text'", "messages must be binary frames"),
        ("new Uint8Array([0xc1])", "a message must be one MessagePack array"),
        ("new Uint8Array([0x91, 0x63])", "a message must begin with a kind"),
        ("new Uint8Array(5000)", "message"),
    ):
        page.evaluate(f"() => flatlands.net.socket.send({malformed})")
        page.get_by_label("Your name").wait_for()
        assert said in page.locator(".error").inner_text()
        assert page.evaluate("[flatlands.net.socket, flatlands.net.retryAt]") == [None, None]
        page.keyboard.press("Enter")
        wait_for(page, "flatlands.state.own !== undefined")


@pytest.mark.parametrize(
    ("end", "told"),
    [(ServerProcess.kill, "Connection lost"), (ServerProcess.stop, "The server restarts.")],
)
def test_a_page_outlives_its_server_and_says_what_it_waits_for(end, told, play):
    server = ServerProcess(SECRET_KEY="kept")
    try:
        page = play("Survivor", url=server.url, cut_off=True)
        walk(page, "d", 4)
        stands(page)
        id, before = page.evaluate("flatlands.state.own.id"), place(page)
        end(server)
        page.get_by_text(told).wait_for()
        wait_for(page, "flatlands.net.retry > 1000")
        assert page.get_by_text(told).is_visible()
        with serving(port=server.port, SECRET_KEY="kept"):
            wait_for(page, "flatlands.net.playing && flatlands.state.own !== undefined")
            assert page.locator(".banner").is_hidden()
            assert page.evaluate("flatlands.state.own.id") == id
            assert far(place(page), before) < 0.1
            walk(page, "d", 1)
            page.context.close()
    finally:
        server.close()


def test_a_takeover_asks_before_it_comes_back(play, open_page):
    page = play("Double")
    token = page.evaluate("localStorage.getItem('flatlands.token')")
    other = open_page()
    other.evaluate("(token) => localStorage.setItem('flatlands.token', token)", token)
    other.get_by_label("Your name").fill("Double")
    other.keyboard.press("Enter")
    wait_for(other, "flatlands.state.own !== undefined")
    page.get_by_text("You went on playing").wait_for()
    time.sleep(1.5)
    assert not page.evaluate("flatlands.net.playing")
    page.get_by_role("button", name="Play here").click()
    wait_for(page, "flatlands.net.playing")
    other.get_by_text("You went on playing").wait_for()
