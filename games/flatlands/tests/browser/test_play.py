"""The game as people play it: two pages and more, keys, clicks and touches."""

import json
import math
import re
import time
from operator import methodcaller

import pytest
from PIL import Image

from flatlands.proxy import Proxy
from flatlands.server.messages.protocol import DO, SAY
from flatlands.world.track import UNIT
from games.flatlands.tests.browser.acts import (
    ARRIVED,
    HELD,
    MAY_NOT_COPY,
    OWN_ID,
    PHONE,
    PRESENT,
    SPEED,
    TRUE_PLACE,
    arrives,
    await_camera,
    boxes,
    count_colour,
    enter,
    far,
    noting,
    open_you,
    place,
    say,
    seen,
    set_out,
    stands,
    still,
    tab_to,
    turn_away,
    wait_for_colour,
    walk,
)
from games.flatlands.tests.servers import ServerProcess, inside
from tests.browser.pages import PATIENCE, draws, eventually, wait_for
from tests.socket_client import SocketClient


def late_by(server):
    """Return how many seconds a server has been late, altogether."""
    return json.loads(server.get("stats"))["counted"].get("late_ms", 0) / 1000


def test_two_pages_see_each_other_come_walk_talk_and_go(play):
    ada, bob = play("Ada"), play("Bob")
    seen(ada, "Bob")
    seen(bob, "Ada")
    before = ada.evaluate(TRUE_PLACE, "Bob")
    held = walk(bob, "d", 6)
    eventually(lambda: far(ada.evaluate(TRUE_PLACE, "Bob"), place(bob)) < 0.05, "Ada sees the same")
    # The server may hear late that a key was released.
    assert 5.5 < ada.evaluate(TRUE_PLACE, "Bob")[0] - before[0] < SPEED * (held + 1)
    say(bob, "hello Ada <b>& all</b>")
    ada.get_by_text("hello Ada <b>& all</b>").wait_for()
    bob.context.close()
    seen(ada, "Bob", yes=False)


def test_ones_own_walk_is_predicted_as_the_server_decides(play):
    page = play("Predictor")
    page.evaluate(
        """() => {
          const { walk, clock } = flatlands.state, reconcile = walk.reconcile.bind(walk);
          flatlands.errors = [];
          walk.reconcile = (player, now) => {
            const result = reconcile(player, now);
            const trip = Math.min(...clock.samples.map((one) => one.trip));
            const doubt = trip / 2 + Math.abs(clock.target - clock.offset);
            const error = Math.hypot(...walk.error);
            if (player.ack === walk.number) flatlands.errors.push(error - doubt * SPEED);
            return result;
          };
        }""".replace("SPEED", str(SPEED / 1000))
    )
    for key in "dsawdsaw":
        walk(page, key, 1.5)
    page.keyboard.down("d")
    set_out(page, "s", 2)
    page.keyboard.up("d")
    page.keyboard.up("s")
    arrives(page)
    errors = page.evaluate("flatlands.errors")
    assert len(errors) >= 8
    # The page's clock may be wrong by half of what its quickest ping took, which on a busy machine
    # is many ms. Nobody sees a twentieth of a tile.
    assert sorted(errors)[len(errors) // 2] < 0.05
    # One answer may have come so late that the server has walked on.
    assert sorted(errors)[-2] < 0.5


def test_a_click_walks_to_the_spot_and_holding_the_mouse_keeps_walking(alone, play):
    page = play("Clicker", url=alone.url)
    await_camera(page)
    x, y = place(page)
    page.mouse.click(640 + 96, 400 + 64)
    eventually(lambda: place(page) != [x, y], "she sets out")
    wait_for(page, ARRIVED)
    x, y = x + 3, y + 2
    assert far(place(page), [x, y]) < 0.7
    page.mouse.move(640 + 60, 400)
    page.mouse.down()
    # The pointer was two tiles away, and leads as long as it is held.
    eventually(lambda: place(page)[0] > x + 6, "it leads east")
    x, y = place(page)
    page.mouse.move(640, 400 + 150, steps=4)
    eventually(lambda: place(page)[1] > y + 5, "it leads south")
    page.mouse.up()
    arrives(page)
    stands(page)
    x, y = place(page)
    # A key wins over the mouse that is still held.
    page.mouse.move(640 + 200, 400)
    page.mouse.down()
    eventually(lambda: place(page)[0] > x + 2, "it leads east again")
    page.keyboard.down("ArrowLeft")
    turned = place(page)[0]
    eventually(lambda: place(page)[0] < turned - 2, "the key leads west")
    page.keyboard.up("ArrowLeft")
    arrives(page)
    page.mouse.up()
    stands(page)


def test_a_touch_walks_to_the_spot_a_held_finger_keeps_walking_and_the_stick_steers(alone, play):
    page = play("Toucher", url=alone.url, **PHONE)
    touch = page.context.new_cdp_session(page)

    def send(kind, *at):
        points = [{"x": x, "y": y, "id": 1} for x, y in at]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    await_camera(page)
    x, y = place(page)
    # Beside the board of the signpost, which begins races.
    page.touchscreen.tap(60, 422 + 110)
    eventually(lambda: place(page)[1] > y + 2, "it walks where it was touched")
    wait_for(page, ARRIVED)
    x, y = place(page)
    send("touchStart", (195, 422 - 90))
    eventually(lambda: place(page)[1] < y - 6, "a finger leads north")
    send("touchEnd")
    arrives(page)
    [(_, left, top, right, bottom)] = boxes(page, ".stick")
    x, y = place(page)
    send("touchStart", ((left + right) / 2, (top + bottom) / 2))
    send("touchMove", ((left + right) / 2 + 60, (top + bottom) / 2))
    eventually(lambda: place(page)[0] > x + 3, "the stick leads east")
    send("touchCancel")
    arrives(page)
    stands(page)


def test_a_page_that_loses_the_focus_a_touch_or_the_tab_stops_and_shows_who_calls(alone, play):
    page, other = play("Hidden", url=alone.url), SocketClient(alone.port).hello("Mover")
    cancelled = "document.getElementById('world').dispatchEvent(new PointerEvent('pointercancel'))"
    for key, event in (("a", "dispatchEvent(new Event('blur'))"), ("d", cancelled)):
        set_out(page, key, 1)
        assert not still(page)
        page.evaluate(event)
        assert page.evaluate(ARRIVED), event
        stands(page)
        page.keyboard.up(key)
    set_out(page, "a", 1)
    turn_away(page)
    x, y = other.at()
    other.go(x + 4 * UNIT, y)
    stands(page)
    there = [x / UNIT + 4, y / UNIT]
    eventually(lambda: far(page.evaluate(TRUE_PLACE, "Mover"), there) < 0.1, "both agree")
    # Meanwhile the tab's title shows who waves and who speaks.
    other.send(DO, "emote", [1])
    wait_for(page, "document.title.startsWith('Mover waved')")
    other.send(SAY, "hello?")
    wait_for(page, "document.title.startsWith('Mover spoke')")
    turn_away(page, hidden=False)
    assert page.title() == "Flatlands"


#: The colour of the line around the lead.
LEAD = (63, 240, 192)
#: The colour of the line around the drop margin.
DROP = (255, 125, 156)
#: All flowers on a screen have at most so many pixels of such a colour.
FLOWER_PIXELS = 200


def test_the_grid_can_be_seen_and_shows_what_is_held(alone, play):
    # With reduced motion the grid is there at once.
    page = play("Looker", url=alone.url, script=noting(), reduced_motion="reduce")
    # How much of the lines is under panels depends on the place.
    page.keyboard.press("h")
    eventually(lambda: place(page) == [0.5, 0.5], "the walker stands in the middle of the plaza")
    await_camera(page)
    square, held = page.evaluate("[flatlands.state.own.square, flatlands.state.replica.held]")
    columns, rows = held["c1"] - held["c0"] + 1, held["r1"] - held["r0"] + 1
    label = f"sq {square[0]}:{square[1]}"
    assert not page.evaluate("(label) => words.has(label)", label)
    before = count_colour(page, HELD)
    assert max(count_colour(page, LEAD), count_colour(page, DROP)) < FLOWER_PIXELS
    readings, legend = page.get_by_label("Readings"), page.get_by_label("Legend")
    readings.get_by_text("Only you").wait_for()
    assert readings.get_by_text("Ping").is_hidden()
    page.keyboard.press("g")
    for reading in ("Ping", "msg/s"):
        readings.get_by_text(reading).wait_for()
    # The player's square shows its name and who is in it, and so does each that is held.
    for word in (label, "1 here · 0/s", "drop margin", "lead margin", "your screen"):
        wait_for(page, "(word) => words.has(word)", word)
    names = "[...words.keys()].filter((word) => /^sq -?[0-9]+:-?[0-9]+$/.test(word)).length"
    wait_for(page, f"{names} === {columns * rows}")
    # Lines 2 px wide around all that is held; those of the margins are 3 px, and dashed. Panels may
    # cover some of them.
    wait_for_colour(page, HELD, before + 5000)
    for margin in (LEAD, DROP):
        wait_for_colour(page, margin, 1500)
        assert count_colour(page, margin, legend.bounding_box()) > 5
    # Dashes distinguish them too, in the world and in the legend.
    signs = legend.locator("line").evaluate_all(
        "(lines) => lines.map((line) => line.getAttribute('stroke-dasharray'))"
    )
    for dashes in (signs, page.evaluate("Object.values(dashes)")):
        assert len(dashes) == len(set(dashes)) == 3
    page.keyboard.press("g")
    legend.wait_for(state="hidden")
    readings.get_by_text("Ping").wait_for(state="hidden")
    for margin in (LEAD, DROP):
        wait_for_colour(page, margin, 0, FLOWER_PIXELS)
    wait_for_colour(page, HELD, 0, before + 500)


#: Whether the player's walker is drawn, and looks towards a place.
FACES = """([x, y]) => {
  const me = flatlands.state.walkers.find(({ own }) => own);
  if (me === undefined) return false;
  return me.dx * (x - me.x) + me.dy * (y - me.y) > 0.8 * Math.hypot(x - me.x, y - me.y);
}"""


def test_an_invitation_starts_a_guest_beside_its_sender_and_can_be_copied_if_allowed(alone, play):
    host = play("Host", url=alone.url, script=MAY_NOT_COPY)
    walk(host, "w", 12)
    stands(host)
    host.keyboard.press("i")
    field = host.get_by_label("Invite link")
    field.wait_for()
    link = field.input_value()
    assert link.startswith(f"{alone.url}?near=")
    assert host.evaluate("getSelection().toString()") == link
    # The page says that such a link is of no use elsewhere, and offers no way to copy it.
    host.get_by_text("It works on this machine only").wait_for()
    assert host.get_by_role("button", name="Copy").is_hidden()
    host.keyboard.press("Escape")
    # A host name that others might reach, at which a browser lets a page copy.
    url = alone.url.replace("localhost", "flatlands.localhost")
    page = play("Guest", url=link.replace(alone.url, url))
    page.get_by_text("Here you are, beside Host.").wait_for()
    assert 1.1 <= math.dist(place(page), place(host)) <= 2.6
    assert "near" not in page.url
    # They look at each other.
    for looks, at in ((page, place(host)), (host, place(page))):
        wait_for(looks, FACES, [*at])
    # The keys walk again.
    walk(host, "s", 1)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("i")
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith(f"{url}?near=")
    # A photo goes along.
    with page.expect_download() as download:
        page.get_by_role("button", name="Photo").click()
    assert re.fullmatch(r"\d+ tiles [a-z-]+ of the plaza\.png", download.value.suggested_filename)
    photo = Image.open(download.value.path())
    assert photo.size == (1280, 800) and len(photo.getcolors(2**24)) > 50


#: Where the only other walker is drawn, in css px.
SOMEBODY_ELSE = """() => {
  const { camera, walkers } = flatlands.state, { x, y } = walkers.find(({ own }) => !own);
  const left = innerWidth / 2 + 32 * (x - camera.x), top = innerHeight / 2 + 32 * (y - camera.y);
  return { x: left, y: top - 18 };
}"""


def test_players_of_one_name_are_told_apart_and_anybody_can_be_muted(alone, play):
    twin, other = play("Twin", url=alone.url), SocketClient(alone.port).hello("Twin")
    wait_for(twin, "flatlands.state.names.size === 2 && flatlands.state.walkers.length === 2")
    names = twin.evaluate("[...flatlands.state.names.values()]")
    assert len(set(names)) == 2
    mute = twin.get_by_role("button", name="Mute", exact=True)
    # Not under the board of a signpost, which would be clicked.
    other.go(int(4.5 * UNIT), int(3.5 * UNIT))
    there = "({ own, x, walking }) => !own && !walking && Math.abs(x - 4.5) < 0.1"
    wait_for(twin, f"flatlands.state.walkers.some({there})")

    def offers_to_mute():
        at = twin.evaluate(SOMEBODY_ELSE)
        twin.mouse.click(at["x"], at["y"])
        return mute.is_visible()

    # A click follows, and one that comes when she is there opens the menu.
    eventually(offers_to_mute, "a click opens the menu", seldom=0.3)
    assert twin.get_by_text("Following Twin").is_visible()
    mute.click()
    # Neither what a muted player says is shown, nor what it does; the page knows its last act.
    other.send(DO, "emote", [3])
    other.send(SAY, "can you hear me?")
    other.walk(0, 1)
    wait_for(twin, "(id) => flatlands.state.replica.players.get(id).ack === 2", other.model.id)
    draws(twin)
    assert twin.get_by_text("can you hear me?").count() == 0
    assert twin.evaluate("flatlands.state.walkers.every(({ saying }) => !saying?.emote)")


def test_giant_letters_and_names_from_right_to_left_harm_no_words(alone, play):
    sizes = ((1280, 800), (390, 844), (844, 390))
    readers = [
        play("Reader", url=alone.url, script=noting(), viewport={"width": width, "height": height})
        for width, height in sizes
    ]
    # Where no font has the first two, the third is among the widest that any system draws.
    for letter in ("\ufdfd", "\U00012219", "\u1671"):
        giant = SocketClient(alone.port).hello(letter * 20)
        for page in readers:
            seen(page, letter * 20)
        for _ in range(5):
            giant.send(SAY, letter * 60)
        for size, page in zip(sizes, readers, strict=True):
            keeps_its_bounds(page, letter, size)
    # A name does not reverse what its player says.
    SocketClient(alone.port).hello("\u0645\u0631\u062d\u0628\u0627").send(SAY, "hello all")
    said = readers[0].get_by_text("hello all")
    said.wait_for()
    line = readers[0].locator(".log li").filter(has=said)
    assert line.evaluate("(line) => getComputedStyle(line).direction") == "ltr"
    name, text = (line.locator("bdi").nth(i).bounding_box()["x"] for i in range(2))
    assert name < text


def keeps_its_bounds(page, letter, size):
    """Check that a page of a size keeps giant letters, in a name and in five lines, in bounds."""
    lines = "[...document.querySelectorAll('.log li')].map((line) => line.innerText)"
    said = f"(letter) => {lines}.filter((line) => line.includes(letter)).length"
    wait_for(page, f"(letter) => ({said})(letter) === 5", letter)
    # A bubble with its margins, and a name.
    widths = "(letter) => [...words].flatMap(([text, all]) => text.includes(letter) ? all : [])"
    wait_for(page, f"(letter) => new Set(({widths})(letter)).size > 1", letter)
    found = page.evaluate(widths, letter)
    assert max(found) <= 262 and min(found) <= 166, size
    line, log, left, right, width = page.evaluate(
        """() => {
          const chat = document.querySelector('.chat'), log = document.querySelector('.log');
          const { left, right } = chat.getBoundingClientRect();
          const heights = [...log.querySelectorAll('li')].map(({ offsetHeight }) => offsetHeight);
          return [Math.max(...heights), log.offsetHeight, left, right, chat.scrollWidth];
        }"""
    )
    assert line <= 140 and log <= 0.4 * size[1] + 1, size
    assert left >= 0 and right <= size[0] and width <= right - left, size


def tab_to_entry(page, name):
    tab_to(page, "More")
    page.keyboard.press("Enter")
    tab_to(page, name)


def test_everything_can_be_done_with_the_keyboard_and_focus_is_visible(alone, open_page):
    # This makes the invitation show a dialog.
    page, other = open_page(alone.url, script=MAY_NOT_COPY), open_page(alone.url)
    for each, name in ((page, "Keys"), (other, "Other")):
        wait_for(each, "document.activeElement.id === 'name'")
        # The name that is offered is selected: typing replaces it.
        each.keyboard.type(name)
        each.keyboard.press("Enter")
        wait_for(each, PRESENT)
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
    page.keyboard.press("g")
    legend.wait_for()
    page.keyboard.press("g")
    legend.wait_for(state="hidden")
    home = "() => Math.hypot(...flatlands.state.walk.drawn(flatlands.state.clock.now())) < 1.5"
    tab_to_entry(page, "Home")
    page.keyboard.press("Space")
    wait_for(page, home)
    # Pressing a button gave the keyboard back to the world.
    walk(page, "s", 2)
    page.keyboard.press("h")
    wait_for(page, home)
    for name in ("Invite", "Help"):
        tab_to_entry(page, name)
        page.keyboard.press("Enter")
        opens(name)
    page.keyboard.press("i")
    opens("Invite")
    page.keyboard.press("Enter")
    page.keyboard.type("never said")
    page.keyboard.press("Escape")
    walk(page, "d", 1)
    tab_to(page, "Say something")
    page.keyboard.press("Control+a")
    page.keyboard.type("said by button")
    page.keyboard.press("Enter")
    other.get_by_text("said by button").wait_for()
    say(page, "said by key")
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
    """A proxy in front of a server that this test has to itself."""
    proxy = Proxy(alone.port)
    yield proxy
    proxy.close()


#: Notes everything that the page says of the connection.
NOTE_ALARMS = """() => {
  const { on } = flatlands.net;
  flatlands.alarms = [];
  for (const name of ['quiet', 'lost']) {
    const call = on[name].bind(on);
    on[name] = (what) => { flatlands.alarms.push([name, what]); call(what); };
  }
}"""

#: Whether the page has said this many times that nothing is heard.
QUIETS = "(n) => flatlands.alarms.filter(([name, is]) => name === 'quiet' && is).length === n"


def test_a_page_whose_connection_is_cut_or_dead_says_so_and_comes_back_as_itself(
    alone, proxy, play
):
    watcher = play("Watcher", url=alone.url)
    page = play("Loser", url=f"http://localhost:{proxy.port}/", cut_off=True)
    id = page.evaluate(OWN_ID)
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
    # It does not come back before the other page has seen that it was away.
    proxy.stall()
    proxy.cut()
    wait_for(page, "flatlands.alarms.some(([name]) => name === 'lost')")
    wait_for(watcher, "flatlands.dimmed.includes(true)")
    proxy.flow()
    wait_for(page, f"flatlands.net.playing && {PRESENT}")
    assert page.get_by_text("Connection lost").is_hidden()
    assert page.evaluate(OWN_ID) == id
    assert far(place(page), before) < 0.3
    awake = "(id) => flatlands.state.replica.players.get(id)?.dimmed === false"
    wait_for(watcher, awake, id)
    # It was never gone from anybody's screen, only asleep.
    dimmed = watcher.evaluate("flatlands.dimmed")
    assert None not in dimmed
    # A dead link is reported, and given up.
    set_out(page, "a", 3)
    proxy.stall()
    page.get_by_text("No answer from the server").wait_for()
    halted = place(page)
    eventually(lambda: still(page), "the walker stands still")
    assert far(place(page), halted) < 1
    page.get_by_text("Connection lost.").wait_for()
    page.get_by_role("button", name="Try now").wait_for()
    assert page.locator(".banner").get_attribute("aria-live") == "polite"
    wait_for(page, "() => /Next try in [0-9] s/.test(document.querySelector('.count').textContent)")
    assert page.locator(".count").get_attribute("aria-live") == "off"
    # The server heard of no held key any more: others see the player stand, still connected.
    stopped = watcher.evaluate(TRUE_PLACE, "Loser")
    time.sleep(0.5)
    assert watcher.evaluate(TRUE_PLACE, "Loser") == stopped
    assert watcher.evaluate(awake, id)
    page.keyboard.up("a")
    # The player can try again.
    tab_to(page, "Try now")
    page.evaluate("() => { flatlands.before = flatlands.net.socket; }")
    page.keyboard.press("Enter")
    assert page.evaluate("flatlands.net.socket !== flatlands.before")
    proxy.flow()
    wait_for(page, f"flatlands.net.playing && {PRESENT}")
    assert page.evaluate(OWN_ID) == id
    assert far(place(page), stopped) < 0.3
    assert page.locator(".banner").is_hidden()
    # The keys walk again, though the button had the focus.
    walk(page, "d", 1)


def test_a_walk_continues_after_a_brief_dead_link_only_while_its_key_is_held(alone, proxy, play):
    page = play("Tunnel", url=f"http://localhost:{proxy.port}/")
    page.evaluate(NOTE_ALARMS)
    set_out(page, "d", 2)
    late = late_by(alone)
    proxy.stall()
    time.sleep(4.5)
    wait_for(page, QUIETS, 1)
    frozen = place(page)
    began = time.monotonic()
    proxy.flow()
    wait_for(page, "flatlands.alarms.some(([name, is]) => name === 'quiet' && !is)")
    # The page asks again for the walk that the server ended.
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
    wait_for(page, QUIETS, 2)
    page.keyboard.up("d")
    frozen, halted = place(page), page.evaluate("flatlands.state.walk.frozenAt")
    proxy.flow()
    wait_for(page, "flatlands.alarms.filter(([name, is]) => name === 'quiet' && !is).length === 2")
    arrives(page)
    # What remains of a misprediction fades.
    eventually(lambda: still(page), "it stands")
    # The server ended the walk 3 s after it had last heard the page, which was when the last ping
    # came or at most half a second after the page had halted.
    apart = max((halted - heard) / 1000 - 3, 0.5) + late_by(alone) - late
    assert far(place(page), frozen) < SPEED * apart + 1
    assert page.locator(".banner").is_hidden()
    assert not page.evaluate("flatlands.alarms.some(([name]) => name === 'lost')")


def test_a_page_that_is_refused_or_sent_away_says_why_and_tries_again_where_that_helps(open_page):
    with inside("--max-players", "1") as server:
        page, second = open_page(server.url), open_page(server.url, cut_off=True)
        page.get_by_label("Your name").fill("\u3164\u2800")
        page.keyboard.press("Enter")
        error = page.get_by_text("a name must have 1 to 20 visible characters")
        error.first.wait_for()
        enter(page, "Rude")
        # A player that is in the game stays there, under the name that was allowed.
        open_you(page)
        page.keyboard.insert_text("\u3164\u2800")
        page.keyboard.press("Enter")
        page.get_by_text("A name must have 1 to 20 visible characters").wait_for()
        assert page.evaluate("flatlands.net.playing && flatlands.state.own.name") == "Rude"
        for malformed, said in (
            ("'a text'", "messages must be binary frames"),
            ("new Uint8Array([0xc1])", "a message must be one MessagePack array"),
        ):
            page.evaluate(f"() => flatlands.net.socket.send({malformed})")
            page.get_by_label("Your name").wait_for()
            assert page.locator(".hint.shown").count() == 0, "nobody walks any more"
            assert said in page.locator(".error").inner_text()
            assert page.evaluate("[flatlands.net.socket, flatlands.net.retryAt]") == [None, None]
            enter(page, "Rude")
            page.locator(".hint.shown").wait_for()
        second.get_by_label("Your name").fill("Second")
        second.keyboard.press("Enter")
        second.get_by_text("This world is full").wait_for()
        second.get_by_text("Next try in").wait_for()
        assert second.evaluate("flatlands.net.retryAt") is not None
        for width, height in ((1280, 720), (1024, 768), (844, 390), (390, 844), (320, 568)):
            second.set_viewport_size({"width": width, "height": height})
            card, banner = (second.locator(each).bounding_box() for each in (".card", ".banner"))
            beside = banner["x"] >= card["x"] + card["width"]
            assert beside or banner["y"] + banner["height"] <= card["y"], (width, card, banner)
            assert banner["x"] + banner["width"] <= width
        for each in (page, second):
            each.context.close()


def test_a_page_outlives_its_server_and_its_player_comes_back_tomorrow_too(play):
    server = ServerProcess(SECRET_KEY="kept")
    try:
        page = play("Survivor", url=server.url, cut_off=True)
        open_you(page).get_by_role("button", name="Next hat").click()
        page.get_by_role("button", name="Save").click()
        walk(page, "d", 4)
        stands(page)
        before = place(page)
        own = "[flatlands.state.own.id, flatlands.state.own.look, flatlands.state.own.name].join()"
        who = page.evaluate(own)
        for end, sentence in (
            (methodcaller("kill"), "Connection lost"),
            (methodcaller("stop"), "The server restarts."),
        ):
            end(server)
            page.get_by_text(sentence).wait_for()
            wait_for(page, "flatlands.net.retry > 1000")
            assert page.get_by_text(sentence).is_visible()
            page.get_by_label("Say something").fill(f"after: {sentence}")
            page.keyboard.press("Enter")
            page.get_by_text("Not connected: try again in a moment.").wait_for()
            server.close()
            server = ServerProcess(port=server.port, SECRET_KEY="kept")
            wait_for(page, f"flatlands.net.playing && {PRESENT}")
            assert page.locator(".banner").is_hidden()
            assert far(place(page), before) < 0.1
            wait_for(page, f"{own} === '{who}'")
            # The message that could not be sent is still in the field.
            page.keyboard.press("Enter")
            page.locator(".log").get_by_text(f"after: {sentence}").wait_for()
        walk(page, "d", 9)
        stands(page)
        before = place(page)
        server.stop()
        server.close()
        context = page.context
        page.close()
        server = ServerProcess(port=server.port, SECRET_KEY="kept")
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(server.url)
        enter(page)
        wait_for(page, f"{own} === '{who}'")
        assert far(place(page), before) < 1
        context.close()
        server.stop()
    finally:
        server.close()


def test_a_page_that_lost_its_player_to_another_asks_before_it_comes_back(play, open_page):
    page = play("Double")
    # As another device has it to which somebody took all that a browser keeps of a player.
    kept = page.evaluate("({ ...localStorage })")
    other = open_page()
    other.evaluate("(kept) => Object.assign(localStorage, kept)", kept)
    enter(other, "Double")
    page.get_by_text("You are playing").wait_for()
    assert page.evaluate("[flatlands.net.socket, flatlands.net.retryAt]") == [None, None]
    page.get_by_role("button", name="Play here").click()
    wait_for(page, "flatlands.net.playing")
    other.get_by_text("You are playing").wait_for()
