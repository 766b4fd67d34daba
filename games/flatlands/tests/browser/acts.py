"""What the tests do in the page, as people would, and what they read from it."""

import io
import math
import time

from PIL import Image

from flatlands.server.messages.protocol import FIRST_PERSON_ID
from tests.browser.pages import PATIENCE, draws, eventually, wait_for

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}

#: Makes a page behave as without https: it may not copy links, and shows them instead.
MAY_NOT_COPY = "Object.defineProperty(navigator, 'clipboard', { value: undefined });"

OWN_ID = "flatlands.state.own.id"
PRESENT = "flatlands.state.own !== undefined"
#: Whether all that a page shows is painted; what is out of view is painted once it is needed.
PAINTED = """(({ grid, gridCols, gridLeft, gridTop, stale }) => [...grid.keys()].every((i) =>
  !stale.has(`${gridLeft + i % gridCols}:${gridTop + Math.floor(i / gridCols)}`)
))(flatlands.view.normal.ground)"""
ARRIVED = "flatlands.state.walk.arrived"
PLACE = "() => flatlands.state.walk.drawn(flatlands.state.clock.now())"

#: What a page knows of the player with a name, and where it believes it to be.
KNOWN = "(name) => [...flatlands.state.replica.players.values()].find((p) => p.name === name)"
TRUE_PLACE = f"""(name) => {{
  const {{ x, y, dx, dy, start, duration }} = ({KNOWN})(name).track;
  const t = flatlands.state.clock.now();
  const part = duration === 0 ? 1 : Math.min(Math.max((t - start) / duration, 0), 1);
  return [(x + dx * part) / 1024, (y + dy * part) / 1024];
}}"""

#: Whether the server has heard of the end of a walk, and said so.
STANDS = """(({ own, walk }) => own?.ack === walk.number && own.track.duration === 0)(
  flatlands.state)"""

#: Where the server says that the page's own walker stands, or that its present leg began.
SERVER_PLACE = "(({ x, y }) => [x / 1024, y / 1024])(flatlands.state.own.track)"

#: Tiles a second that everybody walks.
SPEED = 5

#: The direction of each key that walks.
WAYS = {"w": (0, -1), "a": (-1, 0), "s": (0, 1), "d": (1, 0)}
WAYS |= {"ArrowRight": WAYS["d"], "ArrowDown": WAYS["s"]}

#: The colour of the lines around what is held, and of the focus.
HELD = (255, 209, 102)

#: Sets the minute of a page's day.
TURN_TO = """(minute) => {
  const { state } = flatlands;
  state.dayShift = minute * 60000 - state.clock.now() % (16 * 60000);
}"""

#: Counts the sounds that begin, oscillators and noise.
COUNT_SOUNDS = """
  globalThis.sounds = { OscillatorNode: 0, AudioBufferSourceNode: 0 };
  for (const name of Object.keys(sounds)) {
    const { start } = globalThis[name].prototype;
    globalThis[name].prototype.start = function (...given) {
      // What a place sounds like begins at no time of its own, and goes on.
      sounds[name] += given.length > 0;
      return start.apply(this, given);
    };
  }
  // A gem's sound has two notes, and no other sound has this one.
  globalThis.chimes = 0;
  const { setValueAtTime } = AudioParam.prototype;
  AudioParam.prototype.setValueAtTime = function (value, at) {
    chimes += value === 1046.5;
    return setValueAtTime.call(this, value, at);
  };
"""
TONES = "sounds.OscillatorNode"
STEPS = "sounds.AudioBufferSourceNode"
CHIMES = "chimes"


def noting(paper="#ffffff"):
    """Return a script that notes what a page draws: `words`, each with the widths of the pictures
    into which it was drawn, in css px; `dashes` of lines, by their colours; `painted`, how often
    the world was drawn; and where that drew `pills`, which are 24 css px high, and `bubbles`,
    pictures with paper of this colour: [what, left, top, right, bottom]."""
    return f"""{{
      Object.assign(globalThis, {{ words: new Map(), dashes: {{}}, painted: 0 }});
      Object.assign(globalThis, {{ pills: [], bubbles: [] }});
      let drawn = {{ pills: [], bubbles: [] }};
      const papers = new WeakSet(), request = requestAnimationFrame;
      globalThis.requestAnimationFrame = (draw) => request((at) => {{
        drawn = {{ pills: [], bubbles: [], world: false }};
        draw(at);
        const {{ world, ...found }} = drawn;
        if (world) Object.assign(globalThis, {{ ...found, painted: painted + 1 }});
      }});
      const change = (name, note) => {{
        const {{ prototype }} = CanvasRenderingContext2D, given = prototype[name];
        prototype[name] = function (...more) {{
          note(this, this.canvas.id === 'world', ...more);
          return given.apply(this, more);
        }};
      }};
      change('fillText', ({{ canvas }}, world, text) =>
        words.set(text, [...words.get(text) ?? [], canvas.width / devicePixelRatio]));
      change('strokeRect', (on) => {{
        if (on.getLineDash().length > 0) dashes[on.strokeStyle] = on.getLineDash().join();
      }});
      change('roundRect', ({{ canvas, fillStyle }}, world, x, y, w, h) => {{
        if (world && h === 24) drawn.pills.push(['pill', x, y, x + w, y + h]);
        else if (!world && fillStyle === '{paper}') papers.add(canvas);
      }});
      change('drawImage', (on, world, picture, ...[x, y, more]) => {{
        if (!world) return;
        drawn.world = true;
        if (more !== undefined || !papers.has(picture)) return;
        drawn.bubbles.push(['bubble', x, y, x + picture.width, y + picture.height]);
      }});
    }}"""


def enter(page, name=None):
    """Join from the title, under a name if one is given."""
    page.get_by_label("Your name").wait_for()
    if name is not None:
        page.get_by_label("Your name").fill(name)
    page.keyboard.press("Enter")
    wait_for(page, PRESENT)


def come_back(page):
    """Load a page again that plays: it plays on."""
    page.reload()
    wait_for(page, PRESENT)


def open_you(page):
    """Open, by way of the book, the dialog for one's name and face; return it."""
    page.keyboard.press("n")
    page.get_by_role("button", name="Name and face").click()
    dialog = page.get_by_role("dialog", name="You")
    dialog.wait_for()
    return dialog


def say(page, text):
    page.keyboard.press("Enter")
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def turn_away(page, hidden=True):
    """Hide the tab of a page, or bring it back into view."""
    page.evaluate(
        """(value) => {
          Object.defineProperty(document, 'hidden', { value, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'));
        }""",
        hidden,
    )


def put(page, id, dx, dy, name="Somebody", says=None, mover=""):
    """Show a page a player, or a mover of a kind, at (dx, dy) tiles from its own player. It may say
    something. The id of a player is `id` more than the lowest one."""
    page.evaluate(
        """([id, dx, dy, name, says, type]) => {
          const { own, replica } = flatlands.state;
          const track = { ...own.track, x: own.track.x + 1024 * dx, y: own.track.y + 1024 * dy };
          const player = { ...own, id, name, track, type };
          replica.players.set(id, player);
          replica.nameChanges++;
          if (says !== null) setTimeout(() => replica.onSay(player, says), 500);
        }""",
        [id if mover else FIRST_PERSON_ID + id, dx, dy, name, says, mover],
    )


def seen(page, name, yes=True):
    wait_for(page, f"(name) => ({KNOWN})(name) !== undefined", name, yes)


def place(page):
    return page.evaluate(PLACE)


def far(a, b):
    return max(abs(p - q) for p, q in zip(a, b, strict=True))


def await_camera(page):
    """Return once the camera looks at the page's own walker: that decides where a click leads."""
    wait_for(
        page,
        f"""() => {{
      const {{ x, y }} = flatlands.state.camera, [px, py] = ({PLACE})();
      return Math.hypot(x - px, y - py) < 0.02;
    }}""",
    )


def click_tile(page, x, y, reach=260):
    """Click at a place in tiles, or on the way there, `reach` css px from the middle of the
    screen, to the sides or up and down."""
    await_camera(page)
    camera = page.evaluate("flatlands.state.camera")
    dx, dy = (x - camera["x"]) * 32, (y - camera["y"]) * 32
    share = min(1, reach / max(abs(dx), abs(dy), 1))
    page.mouse.click(640 + dx * share, 400 + dy * share)


def go(page, x, y):
    """Click towards a place until the page's own walker stands there: one click leads as far as the
    screen reaches."""
    for reach in (260, 150) * 6:
        # A player that still walks may only be passing through.
        wait_for(page, ARRIVED)
        if math.dist(place(page), (x, y)) < 0.8:
            return
        if page.locator("dialog[open]").count():
            # The last click hit something else, such as the almanac at the plaza.
            page.keyboard.press("Escape")
        click_tile(page, x, y, reach)
        # The walker sets out with the next frame.
        draws(page)
    raise AssertionError(f"({x}, {y}) cannot be walked to: {place(page)}")


def set_out(page, key, tiles):
    """Press a key; return once the page's own walker has gone so many tiles in its direction."""
    (x, y), (dx, dy) = place(page), WAYS[key]

    def gone():
        now_x, now_y = place(page)
        return (now_x - x) * dx + (now_y - y) * dy > tiles

    page.keyboard.down(key)
    # How long a key is held says nothing about how soon a busy page hears of it.
    eventually(gone, f"{key} leads {tiles} tiles on", PATIENCE / 1000 + tiles / SPEED)


def arrives(page):
    """Return once the page's own walker stands, for the server as well."""
    wait_for(page, f"{ARRIVED} && {STANDS}")


def walk(page, key, tiles):
    """Hold a key until the page's own walker has gone so many tiles, and stands, for the server as
    well; return for how long it can have been held at the most."""
    began = time.monotonic()
    set_out(page, key, tiles)
    page.keyboard.up(key)
    held = time.monotonic() - began
    arrives(page)
    return held


def still(page):
    """Return whether the page's own walker stands."""
    before = place(page)
    time.sleep(0.3)
    return far(place(page), before) < 0.02


def stands(page):
    """Return once the page's own walker stands for the server and is drawn there: what is
    left of a misprediction fades first, but it does not walk."""
    wait_for(page, STANDS)
    before = page.evaluate(SERVER_PLACE)
    eventually(lambda: still(page), "the walker stands still")
    assert page.evaluate(SERVER_PLACE) == before
    assert far(place(page), before) < 0.1


def walk_to(page, name):
    """Walk to a named place by choosing it in the list of what is nearby."""
    page.keyboard.press("m")
    page.get_by_role("dialog").get_by_role("button", name=name).click()


def picture(page, clip=None):
    """Return a picture of a page, or of a box of it."""
    return Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")


def count_colour(page, colour, clip=None):
    """Return how many pixels of a page, or of a box of it, have a colour."""
    colours = picture(page, clip).getcolors(10**7)
    return sum(count for count, other in colours if far(other, colour) < 8)


def wait_for_colour(page, colour, least, most=math.inf):
    """Return once at least `least` pixels of a page, and at most `most`, have a colour."""
    what = f"from {least} to {most} pixels are {colour}"
    eventually(lambda: least <= count_colour(page, colour) <= most, what)


def tab_to(page, label):
    """Press Tab until the element with this label has the focus, which must be visible there."""
    name = """(({ ariaLabel, innerText }) => ariaLabel ?? innerText.split('\\n')[0])(
      document.activeElement)"""
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate(name) == label:
            break
    assert page.evaluate(name) == label
    focused = page.locator(":focus")
    box = focused.bounding_box()
    around = {"x": box["x"] - 6, "y": box["y"] - 6}
    around |= {"width": box["width"] + 12, "height": box["height"] + 12}
    ringed = count_colour(page, HELD, around)
    page.keyboard.press("Shift+Tab")
    bare = count_colour(page, HELD, around)
    assert ringed - bare > 2 * (box["width"] + box["height"]), label
    page.keyboard.press("Tab")


def boxes(page, *selectors):
    """Return the boxes of the visible elements: [selector, left, top, right, bottom]."""
    return page.evaluate(
        """(selectors) => selectors.flatMap((selector) =>
          [...document.querySelectorAll(selector)].flatMap((found) => {
            const { left, top, right, bottom } = found.getBoundingClientRect();
            const { opacity } = getComputedStyle(found);
            return right > left && opacity > 0.5 ? [[selector, left, top, right, bottom]] : [];
          }))""",
        [*selectors],
    )


def apart(some, others):
    """Assert that no box in `some` covers one in `others`."""
    for one in some:
        _, left, top, right, bottom = one
        for other in others:
            beside = right <= other[1] or other[3] <= left
            assert beside or bottom <= other[2] or other[4] <= top, (one, other)


def all_apart(found):
    """Assert that none of the boxes covers another."""
    for i, one in enumerate(found):
        apart([one], found[:i])
