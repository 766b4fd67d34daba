"""The interface gives way to the picture: bubbles, arrows, hints, readings, help, chat."""

import time

import pytest
from PIL import ImageChops, ImageStat

from games.flatlands.tests.browser.acts import (
    PHONE,
    TURN_TO,
    all_apart,
    apart,
    arrives,
    await_camera,
    boxes,
    count_colour,
    far,
    noting,
    picture,
    place,
    put,
    set_out,
    still,
    walk,
    walk_to,
)
from tests.browser.pages import PATIENCE, draws, eventually, use_tool, wait_for
from tests.socket_client import SocketClient

#: Desktops, also in a low window and at 200 %; and phones both ways, and tablets.
DESKTOPS = [(1280, 800), (1000, 700), (640, 400), (2560, 1440), (1100, 600)]
FINGERS = [(390, 844), (844, 390), (320, 568), (568, 320), (1024, 768), (820, 1180)]


def sized(width, height):
    fingers = {"has_touch": True, "is_mobile": True} if (width, height) in FINGERS else {}
    return {"viewport": {"width": width, "height": height}, **fingers}


def without_rim(bubble):
    """Return the box of a bubble: its picture has a rim for the shadow."""
    return [bubble[0], *(v + 3 for v in bubble[1:3]), *(v - 3 for v in bubble[3:])]


def all_within(found, size):
    """Assert that none of the boxes covers another or leaves the page."""
    all_apart(found)
    for what, left, top, right, bottom in found:
        assert left >= 0 and top >= 0 and right <= size[0] and bottom <= size[1], (what, size)


def tile_of(size):
    """Return the css px of a tile on a screen of a size."""
    return 27 if min(size) < 500 else 32


#: Where a place in tiles is on the screen, in css px.
ON_SCREEN = """([x, y, tile]) => {
  const { camera } = flatlands.state;
  return [innerWidth / 2 + (x - camera.x) * tile, innerHeight / 2 + (y - camera.y) * tile];
}"""


#: Keeps what is said on the screen.
SAID_FOR_EVER = """() => {
  for (const { saying } of flatlands.state.walkers) if (saying) saying.until = Infinity;
}"""

#: Keeps what would fade after a while, such as hints and speech.
NOTHING_FADES = """{
  const wait = setTimeout;
  globalThis.setTimeout = (call, ms, ...more) => wait(call, ms < 12000 ? ms : 2 ** 31 - 1, ...more);
}"""


def settle(page):
    """Return once a page has done what it does after a change: all transitions, and two frames."""
    page.evaluate("""async () => {
      const over = document.getAnimations().map(({ finished }) => finished.catch(() => {}));
      await Promise.all(over);
    }""")
    for _ in range(2):
        draws(page)


def go_home(page):
    page.keyboard.press("h")
    eventually(lambda: far(place(page), (0.5, 0.5)) < 0.1 and still(page), "it is at home")


def at_each(page, sizes):
    """Yield each size once a page has it."""
    for width, height in sizes:
        page.set_viewport_size({"width": width, "height": height})
        # Panels are laid out with the next frames.
        settle(page)
        yield width, height


@pytest.mark.parametrize(
    "sizes", [[(1440, 900)], [(844, 390), (820, 1180), (390, 844), (320, 568)]], ids=str
)
def test_the_title_is_beside_the_plaza_where_those_who_are_out_stroll(alone, open_page, sizes):
    SocketClient(alone.port).hello("Walker")
    page = open_page(alone.url, **sized(*sizes[0]))
    page.get_by_text("1 person is walking now").wait_for()
    # The picture shows players as the game draws them: oneself, and another one.
    wait_for(page, "flatlands.state.walkers.filter(({ alpha }) => alpha === 1).length === 2")
    for size in at_each(page, sizes):
        [card] = boxes(page, ".card")
        all_within([card], size)
        inside = ["#title .start input", "#title .play", "#title .looks"]
        parts = boxes(page, *inside)
        assert [part for part, *_ in parts] == inside
        for part, left, top, right, bottom in parts:
            assert left >= card[1] and top >= card[2], (part, size)
            assert right <= card[3] and bottom <= card[4], (part, size)
        for x, y in ((0.5, 0.5), (0.5, 3.1), (-1, 0.5), (2, 0.5)):
            at_x, at_y = page.evaluate(ON_SCREEN, [x, y, tile_of(size)])
            assert 0 <= at_x <= size[0] and 0 <= at_y <= size[1], size
            assert not (card[1] <= at_x <= card[3] and card[2] <= at_y <= card[4]), (x, y, size)
        # The picture has the face that is chosen.
        look = "flatlands.state.walkers.find(({ own }) => own).look"
        before = page.evaluate(look)
        page.get_by_role("group", name="Hat").get_by_role("button", name="Next").click()
        wait_for(page, f"{look} !== {before}")
        page.get_by_role("button", name="Play").click(trial=True)
    page.get_by_role("button", name="Play").click()
    wait_for(page, "flatlands.state.own !== undefined && flatlands.state.walkers.length === 2")


def fill_the_log(page):
    for id in range(90_001, 90_005):
        put(page, id, 0, 60, says="What a long day it was, how far one came! " * 2)
    wait_for(page, "document.querySelectorAll('.log li').length >= 4")


@pytest.mark.parametrize("sizes", [DESKTOPS, FINGERS], ids=["desktops", "fingers"])
def test_hints_legend_and_tools_never_cover_each_other_or_the_player(alone, play, sizes):
    page = play("Fitter", url=alone.url, script=NOTHING_FADES, **sized(*sizes[0]))
    wait_for(page, "document.querySelector('.hint.shown') !== null")
    fill_the_log(page)
    for id in range(90_005, 90_017):
        put(page, id, 4, -3)
    page.locator(".tally", has_text="and 11 others").wait_for()
    fixed = (".map", ".tools", ".tally")
    entries = page.locator(".tools .entries button:visible .word")
    names = "Home, Invite, Book, Leave a cairn, Help"

    def walker(size):
        return ["walker", size[0] / 2 - 14, size[1] / 2 - 38, size[0] / 2 + 14, size[1] / 2 + 22]

    for size in at_each(page, sizes):
        shown = boxes(page, ".hint", *fixed, ".stick", ".chat input")
        assert {".hint", *fixed} <= {name for name, *_ in shown}, size
        all_within([walker(size), *shown], size)
        [hint] = boxes(page, ".hint")
        assert (hint[3] - hint[1]) * (hint[4] - hint[2]) < 0.09 * size[0] * size[1], size
        # Speech is never under them either.
        [log] = boxes(page, ".log")
        above = [walker(size), *(one for one in shown if one[0] != ".chat input")]
        assert log[4] > log[2] + 40, size
        apart([log], above)
        # No word stands alone on a line.
        lines = page.evaluate(
            """() => {
              const range = document.createRange();
              range.selectNodeContents(document.querySelector('.hint'));
              return [...range.getClientRects()].map(({ width }) => width);
            }"""
        )
        assert min(lines) > 0.4 * max(lines), size
        # Few tools are always shown; the others are in a menu, by their names.
        page.get_by_role("button", name="More", exact=True).click()
        assert ", ".join(entries.all_inner_texts()) == names, size
        all_within(boxes(page, ".entries", ".tools > button"), size)
        page.keyboard.press("Escape")
        assert boxes(page, ".entries") == []
    page.keyboard.press("g")
    page.get_by_label("Legend").wait_for()
    for size in at_each(page, sizes):
        shown = boxes(page, ".legend", ".readings .list", *fixed, ".stick")
        assert {".legend", ".readings .list"} <= {name for name, *_ in shown}, size
        all_within([walker(size), *shown], size)


#: The boxes of the faces of all walkers, in the form of those of panels.
FACES = """() => flatlands.state.walkers.map(({ x, y }) => {
  const { camera } = flatlands.state, tile = Math.min(innerWidth, innerHeight) < 500 ? 27 : 32;
  const left = innerWidth / 2 + tile * (x - camera.x);
  const top = innerHeight / 2 + tile * (y - camera.y);
  return ['face', left - 8, top - 25, left + 8, top - 11];
})"""


@pytest.mark.parametrize("sizes", [[(1280, 800)], [(844, 390), (390, 844)]], ids=str)
def test_speech_is_never_under_panels_or_other_words(alone, play, sizes):
    page = play("Hearer", url=alone.url, script=noting(), **sized(*sizes[0]))
    for size in at_each(page, sizes):
        tile = tile_of(size)
        x, y = size[0] / 2 / tile - 1, size[1] / 2 / tile - 0.4
        corners = [(-x, -y), (x, -y), (-x, y), (x, y), (x - 2, -y + 5), (-x + 4, -y + 2)]
        # A low screen has no room for more.
        corners = corners[: 4 if size[1] < 500 else 6]
        for i, (dx, dy) in enumerate(corners):
            put(page, 90_000 + i, int(dx), int(dy), f"Speaker {i}", "Press G to see the grid!")
        # Somebody stands where bubbles would be.
        for i, (dx, dy) in enumerate(corners[2:4]):
            put(page, 91_000 + i, int(dx), int(dy) - 1.5)
        # Names that overlap give way; speech does not.
        wait_for(page, "(n) => bubbles.length === n", len(corners))
        page.evaluate(SAID_FOR_EVER)
        settle(page)
        found = page.evaluate("bubbles")
        assert len(found) == len(corners), size
        faces = page.evaluate(FACES)
        assert len(faces) == 1 + len(corners) + 2
        bare = [*map(without_rim, found)]
        apart(bare, faces)
        apart(found, boxes(page, ".map", ".tally", ".stick", ".dock", ".hint"))
        all_apart(bare)


def test_an_arrow_beside_panels_shows_a_goal_or_player_and_a_click_walks_there(alone, play):
    page = play("Seeker", url=alone.url, script=noting())
    [(_, left, top, right, bottom)] = boxes(page, ".dock")
    page.evaluate(
        """([x, y]) => {
          const { camera } = flatlands.state;
          flatlands.state.aim = { x: camera.x + (x - innerWidth / 2) / 32,
            y: camera.y + (y - innerHeight / 2) / 32, reach: 1, label: 'a goal' };
        }""",
        [(left + right) / 2, (top + bottom) / 2],
    )
    wait_for(page, "pills.length === 1")
    [pill] = page.evaluate("pills")
    apart([pill], boxes(page, ".map", ".tally", ".dock"))
    assert left - pill[1] < 200 and abs(pill[2] - top) < 200
    # Where nothing covers the goal, its flag is enough.
    page.evaluate("() => { flatlands.state.aim.y -= 9; }")
    wait_for(page, "pills.length === 0")
    page.evaluate("() => { flatlands.state.aim = null; }")
    # A player that follows needs no hint about walking, even while it has nowhere to go.
    put(page, 90_001, 1, 0)
    page.locator(".hint.shown").wait_for()
    wait_for(page, "flatlands.state.walkers.some(({ own, alpha }) => !own && alpha === 1)")
    page.mouse.click(640 + 32, 400 - 16)
    page.get_by_text("Following Somebody").wait_for()
    assert page.locator(".hint.shown").count() == 0
    page.keyboard.press("Escape")
    # A player half on the screen needs no arrow.
    put(page, 90_001, 20, 0)
    wait_for(page, "flatlands.state.walkers.length === 2")
    settle(page)
    assert page.evaluate("pills.length") == 0
    x, y = place(page)
    put(page, 90_001, 24, 0)
    wait_for(page, "pills.length === 1")
    [(_, left, top, right, bottom)] = page.evaluate("pills")
    assert right - left <= 88
    page.mouse.move((left + right) / 2, (top + bottom) / 2)
    assert page.evaluate("document.getElementById('world').style.cursor") == "pointer"
    page.mouse.click((left + right) / 2, (top + bottom) / 2)
    eventually(lambda: place(page)[0] > x + 4, "it walks there")
    page.get_by_text("Following Somebody").wait_for()
    # A player that is gone is no longer followed, and the page says so.
    page.evaluate("flatlands.state.replica.players.delete(2 ** 31 + 90001)")
    page.get_by_text("Somebody is out of sight.").wait_for()
    assert page.get_by_text("Following Somebody").is_hidden()
    assert page.evaluate("flatlands.state.followed") is None


#: What can be seen of the notes; what the screen readers have of them.
SEEN = """[...document.querySelectorAll('.notes > *')].filter((note) => note.textContent !== ''
  && note.getBoundingClientRect().height > 1).map((note) => note.textContent)"""
READ = "document.querySelector('.notes').innerText"


def test_of_all_notes_the_most_important_one_is_shown(alone, play):
    page = play("Nan", url=alone.url)
    wait_for(page, "flatlands.state.walkers.length > 0")
    page.evaluate("""() => {
      const { hud } = flatlands.lookout, more = (sort) => {
        const note = document.createElement('div');
        note.className = `note panel ${sort}`;
        note.append(`an ${sort}`, document.createElement('button'));
        return note;
      };
      hud.note(70, globalThis.other = more('other'));
      hud.hint('a hint');
      hud.toast('a toast');
      hud.banner('a banner');
      hud.notes.followed.textContent = 'who is followed';
      hud.notes.followNote.hidden = false;
    }""")
    for hide, left in (
        ("flatlands.lookout.hud.banner(null)", "a toast"),
        ("flatlands.lookout.hud.notes.toastNote.replaceChildren()", "a hint"),
        ("flatlands.lookout.hud.notes.hintNote.replaceChildren()", "an other"),
        ("other.hidden = true", "who is followed"),
    ):
        assert left in page.evaluate(READ)
        page.evaluate(hide)
        assert page.evaluate(SEEN) == [left]
        buttons = page.locator(".other button:visible")
        assert buttons.count() == left.startswith("an ")


#: A French keyboard, as far as the tests press its keys: what is printed at each place.
AZERTY = {"KeyW": "z", "KeyA": "q", "KeyM": ",", "Semicolon": "m", "KeyQ": "a"}

#: Tells a page of that keyboard.
HAS_AZERTY = f"""Object.defineProperty(navigator, 'keyboard', {{ value: {{
  getLayoutMap: async () => new Map(Object.entries({AZERTY})) }} }});"""


def test_help_wording_and_letters_fit_the_device_at_hand(alone, play):
    for options, keys in (({}, True), (PHONE, False)):
        page = play("Reine", url=alone.url, script=HAS_AZERTY, **options)
        field = page.get_by_label("Say something")
        assert ("(Enter)" in field.get_attribute("placeholder")) == keys
        use_tool(page, "Help")
        page.get_by_role("dialog", name="Help").wait_for()
        assert page.get_by_text("Arrows or Z Q S D").is_visible() == keys
        assert page.get_by_text("Touch an arrow").is_hidden() == keys
        assert page.get_by_text("Escape", exact=True).is_visible() == keys
        assert page.locator(".help dt:visible").count() == 8
        if keys:
            letters_go_by_what_is_printed_and_walking_keys_by_their_place(page)
        # However long the help is, the way to close it is in view.
        page.set_viewport_size({"width": 844, "height": 390})
        [way_out] = boxes(page, ".help dl ~ form .play:not(.quiet)")
        assert way_out[4] < 390


def letters_go_by_what_is_printed_and_walking_keys_by_their_place(page):
    """Press keys of a French keyboard; the help is open before and afterwards."""
    keys = page.context.new_cdp_session(page)

    def send(kind, code):
        given = {"type": kind, "code": code, "key": AZERTY[code]}
        keys.send("Input.dispatchKeyEvent", given)

    page.keyboard.press("Escape")
    near = page.get_by_role("dialog", name="Who is near")
    # The page obeys a key at once.
    send("keyDown", "KeyM")
    assert near.is_hidden()
    send("keyDown", "Semicolon")
    near.wait_for()
    page.keyboard.press("Escape")
    near.wait_for(state="hidden")
    x, y = place(page)
    send("keyDown", "KeyA")
    eventually(lambda: place(page)[0] < x - 1, "Q walks to the left")
    send("keyUp", "KeyA")
    arrives(page)
    use_tool(page, "Help")


def test_the_chat_scrolls_back_and_the_keys_then_scroll(alone, play):
    page = play("Reader", url=alone.url)
    talkers = [SocketClient(alone.port).hello(f"Talker {number}") for number in range(6)]
    for number in range(24):
        # Nobody says too much at once.
        talkers[number % 6].send(6, f"line {number:02}")
        page.get_by_text(f"line {number:02}").wait_for()
    shown = "[...document.querySelectorAll('.log li')].filter((each) => each.offsetHeight).length"
    assert page.evaluate(shown) <= 5
    x, y = place(page)
    # What has faded is shown again at once.
    last = "document.querySelector('.log li:last-child')"
    page.evaluate(f"{last}.classList.add('old')")
    wait_for(page, f"getComputedStyle({last}).opacity === '0'")
    page.keyboard.press("Enter")
    assert page.evaluate(shown) == 24
    assert page.evaluate(f"getComputedStyle({last}).opacity") == "1"
    # Screen readers read it out.
    log = page.locator(".log[aria-live=polite]")
    bottom = log.evaluate("(log) => log.scrollTop")
    assert bottom > 0 and log.evaluate("(log) => log.clientHeight") <= 0.4 * 800 + 1
    for _ in range(12):
        page.keyboard.press("PageUp")
    wait_for(page, "() => document.querySelector('.log').scrollTop === 0")
    first = page.get_by_text("line 00").bounding_box()
    box = log.bounding_box()
    assert box["y"] - 1 <= first["y"] < box["y"] + 30
    # New messages do not scroll the reader to the end.
    talkers[0].send(6, "line 24")
    page.get_by_text("line 24").wait_for()
    assert log.evaluate("(log) => log.scrollTop") == 0
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.wheel(0, 80)
    wait_for(page, "() => document.querySelector('.log').scrollTop > 40")
    assert far(place(page), [x, y]) < 0.1
    page.keyboard.press("Escape")
    assert page.evaluate(shown) <= 5
    walk(page, "d", 1)
    for talker in talkers:
        talker.close()


def test_nearby_players_and_places_are_listed_and_can_be_walked_to(alone, play):
    page = play("Asker", url=alone.url, script=noting())
    put(page, 90_001, 6, -6)
    put(page, 1, 3, 0, "Computer", mover="Walker")
    # Deer do not count as players: they have neither a name nor a menu.
    put(page, 2, 2, 0, "Deer", mover="Deer")
    wait_for(page, "flatlands.state.walkers.length === 4")
    tally = page.get_by_label("Readings")
    tally.get_by_text("You, Somebody and 1 clockwork", exact=True).wait_for()
    # Screen readers announce a person who comes into view, and of nobody else.
    texts = "[...document.querySelectorAll('.unseen')].map((each) => each.textContent).join('|')"
    wait_for(page, f"{texts}.includes('Somebody is 8 tiles north-east.')")
    assert "Computer" not in page.evaluate(texts)
    for name in ("Asker", "Somebody", "Computer"):
        wait_for(page, "(name) => words.has(name)", name)
    assert not page.evaluate("words.has('Deer')")
    page.keyboard.press("m")
    near = page.get_by_role("dialog", name="Who is near")
    assert near.get_by_label("Find").input_value() == ""
    rows = near.get_by_role("listitem").all_inner_texts()
    # People come before clockwork, which is marked.
    assert [" ".join(row.split()) for row in rows[:2]] == [
        "Somebody 8 tiles north-east",
        "clockwork Computer 3 tiles east",
    ]
    assert rows[2].startswith("The plaza")
    assert "Deer" not in "".join(rows)
    # Enter that only accepts what an input method has composed chooses nothing.
    near.get_by_label("Find").dispatch_event("keydown", {"key": "Enter", "keyCode": 229})
    assert near.is_visible()
    x, y = place(page)
    near.get_by_role("button", name="Wave to Somebody").click()
    wait_for(page, "flatlands.state.walkers.some(({ own, saying }) => own && saying?.emote === 1)")
    page.keyboard.press("m")
    near.get_by_role("button", name="Somebody 8 tiles").click()
    page.get_by_role("dialog", name="About Somebody").wait_for()
    page.get_by_role("button", name="Mute", exact=True).wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("m")
    near.get_by_role("button", name="Follow Somebody").click()
    eventually(lambda: far(place(page), [x + 6, y - 6]) < 3, "it walks there")
    # A key ends the walk.
    page.get_by_text("Following Somebody").wait_for()
    set_out(page, "ArrowDown", 1)
    page.keyboard.up("ArrowDown")
    page.get_by_text("Following Somebody").wait_for(state="hidden")
    assert page.evaluate("flatlands.state.followed") is None
    # The same by a button on the map.
    page.get_by_role("button", name="Who is near").click()
    near.wait_for()
    near.get_by_label("Find").press_sequentially("PLAZ")
    near.get_by_role("button", name="Follow Somebody").wait_for(state="detached")
    near.get_by_label("Find").press("Enter")
    eventually(lambda: far(place(page), [0.5, 0.5]) < 1.5, "it walks to the plaza")
    # And by words of the chat, which nobody hears.
    page.keyboard.press("Enter")
    page.keyboard.type("/find somebo")
    near.get_by_role("button", name="Follow Somebody").wait_for()
    assert near.get_by_label("Find").input_value() == "somebo"
    page.keyboard.press("Escape")
    near.wait_for(state="hidden")
    assert page.get_by_label("Say something").input_value() == ""
    assert page.evaluate("!document.querySelector('.log').textContent.includes('find')")


def test_with_reduced_motion_nothing_moves_by_itself(alone, play):
    page = play("Calm", url=alone.url, reduced_motion="reduce")

    def nothing_moves():
        before = picture(page)
        for _ in range(4):
            time.sleep(0.4)
            # The changing light of the day does not count as motion.
            change = ImageChops.difference(before, picture(page)).point(lambda by: by > 16)
            if change.getbbox() is not None:
                return False
        return True

    for minute, when in ((3, "by day"), (12, "at night")):
        page.evaluate(TURN_TO, minute)
        # First the land is painted, and the hint disappears.
        eventually(nothing_moves, f"nothing moves {when}", 2 * PATIENCE / 1000)


def test_no_panel_covers_the_board_of_a_signpost(alone, play):
    page = play("Reader", url=alone.url, script=noting("#f3e2bd"), **sized(844, 390))
    go_home(page)
    # The player's walker is where the board would be; below it the log is full.
    page.evaluate("flatlands.state.aim = { x: 2.5, y: -1.8, reach: 0.2, label: 'the north' }")
    walk_to(page, "the north")
    wait_for(page, "flatlands.state.aim === null")
    await_camera(page)
    fill_the_log(page)
    settle(page)
    [board] = page.evaluate("bubbles")
    panels = boxes(page, ".log", ".map", ".tools", ".tally", ".stick")
    walker = ["walker", 422 - 14, 195 - 32, 422 + 14, 195 + 18]
    apart([board], [walker, *panels])


def test_nothing_covers_the_players_own_walker(alone, play):
    page = play("Center", url=alone.url, reduced_motion="reduce")
    go_home(page)
    page.evaluate(TURN_TO, 3)
    raspberry, board = (239, 71, 111), (243, 226, 189)
    # North of the signpost of the plaza, where its board would be.
    page.evaluate("flatlands.state.aim = { x: 0.5, y: -2.8, reach: 0.2, label: 'the north' }")
    walk_to(page, "the north")
    wait_for(page, "flatlands.state.aim === null")
    page.get_by_text("You are there.").first.wait_for(state="hidden")
    await_camera(page)
    page.evaluate("() => { flatlands.state.own.look = 1024; }")
    body = {"x": 640 - 12, "y": 400 - 34, "width": 24, "height": 34}
    eventually(lambda: count_colour(page, raspberry, body) > 50, "she is drawn")
    before = count_colour(page, raspberry, body)
    wait_for(page, "flatlands.state.sign !== null")
    assert count_colour(page, board) > 1000
    around = {"x": 640 - 16, "y": 400 - 38, "width": 32, "height": 50}
    # The paving is nearly as light in a few places.
    assert count_colour(page, board, around) < 10
    # In a crowd she is on top, even of names.
    put(page, 90_001, 0, 0.4)
    put(page, 90_002, 0, -0.7)
    page.evaluate("flatlands.state.replica.players.get(2 ** 31 + 90001).look = 1033")
    wait_for(page, "flatlands.state.walkers.filter(({ alpha }) => alpha === 1).length === 3")
    settle(page)
    assert count_colour(page, raspberry, body) > 0.9 * before
    # At night she is lighter than somebody beside her who looks the same.
    put(page, 90_001, 2, 0)
    page.evaluate("flatlands.state.replica.players.get(2 ** 31 + 90001).look = 1024")
    page.evaluate(TURN_TO, 12.5)

    def light(left):
        """Return how red a raspberry is there."""
        box = {"x": left - 5, "y": 400 - 14, "width": 10, "height": 8}
        return ImageStat.Stat(picture(page, box)).mean[0]

    eventually(lambda: light(640) > 1.1 * light(640 + 64) > 100, "she is lighter")
