"""Being somebody: one's own face and name, coming back as the same one, emotes and sounds."""

import math
from itertools import cycle

from games.flatlands.tests.browser.acts import (
    COUNT_SOUNDS,
    KNOWN,
    OWN_ID,
    PHONE,
    PRESENT,
    STEPS,
    TONES,
    come_back,
    enter,
    far,
    open_you,
    place,
    seen,
    stands,
    walk,
)
from tests.browser.pages import eventually, use_tool, wait_for
from tests.socket_client import SocketClient

#: The walker with this name as a page draws it.
DRAWN = "(name) => flatlands.state.walkers.find((walker) => walker.name === name)"


def pixels(page):
    """Return the colours on the player's own face."""
    return page.evaluate(
        """() => {
          const canvas = document.querySelector('.title canvas');
          const copy = new OffscreenCanvas(canvas.width, canvas.height)
            .getContext('2d', { willReadFrequently: true });
          copy.drawImage(canvas, 0, 0);
          const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
          const colours = {};
          for (let i = 0; i < data.length; i += 4) {
            if (data[i + 3] < 255) continue;
            const key = [data[i], data[i + 1], data[i + 2]].join();
            colours[key] = (colours[key] ?? 0) + 1;
          }
          return colours;
        }"""
    )


def test_a_face_is_chosen_by_clicks_or_arrow_keys_and_seen_by_others(alone, play, open_page):
    other, page = play("Other", url=alone.url), open_page(alone.url)
    page.get_by_role("group", name="Colour").wait_for()
    wanted = {"Colour": "violet", "Hat": "top hat", "Ears": "long ears"}
    for group, value in wanted.items():
        root = page.get_by_role("group", name=group)
        for _ in range(10):
            if root.locator("output").inner_text() == value:
                break
            root.get_by_role("button", name="Next").click()
    face = page.get_by_role("img", name="Your face: violet, top hat, long ears")
    face.wait_for()
    # The face turns: what is drawn of it changes.
    violet = "155,93,229"
    eventually(lambda: pixels(page).get(violet, 0) > 500, "the face is violet")
    first = page.locator(".title canvas").screenshot()
    eventually(lambda: page.locator(".title canvas").screenshot() != first, "the face turns")
    enter(page, "Vi")
    seen(other, "Vi")
    wait_for(other, f"({KNOWN})('Vi').look === 1024 + 5 + 16 + 3 * 128")
    # And the walker is drawn so.
    wait_for(other, f"({DRAWN})('Vi')?.look === 1024 + 5 + 16 + 3 * 128")
    # Arrow keys choose another hat, and walk nowhere.
    before = place(page)
    dialog = open_you(page)
    hat = dialog.get_by_role("group", name="Hat")
    hat.get_by_role("button", name="Next").focus()
    page.keyboard.press("ArrowRight")
    assert hat.locator("output").inner_text() != "top hat"
    page.keyboard.press("ArrowLeft")
    assert hat.locator("output").inner_text() == "top hat"
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    wait_for(page, "document.activeElement.id === 'world'")
    stands(page)
    assert far(place(page), before) < 0.02


def test_a_name_changes_in_the_game_or_on_a_reload_and_starting_over_makes_somebody_else(
    alone, play
):
    other, page = SocketClient(alone.port).hello("Other"), play("Typpo", url=alone.url)
    id = page.evaluate(OWN_ID)

    def sees(*names):
        found = other.model.players
        other.until(lambda: {player.name for player in found.values()} == {"Other", *names})

    sees("Typpo")
    open_you(page)
    # The name is selected: typing replaces it.
    page.keyboard.type("Typo")
    page.keyboard.press("Enter")
    sees("Typo")
    page.get_by_role("dialog", name="You").wait_for(state="hidden")
    walk(page, "d", 1)
    come_back(page)
    assert page.evaluate(OWN_ID) == id
    open_you(page)
    page.keyboard.type("Old")
    page.keyboard.press("Enter")
    sees("Old")
    page.evaluate("flatlands.state.aim = { x: 90, y: 0, reach: 2, label: 'The flag' }")
    open_you(page)
    page.get_by_role("button", name="Start over").click()
    # The page asks first.
    page.get_by_text("You cannot undo this").wait_for()
    assert page.evaluate("flatlands.net.playing")
    secret = page.evaluate("localStorage.getItem('flatlands.key')")
    page.get_by_role("button", name="Yes, start over").click()
    page.get_by_label("Your name").wait_for()
    assert page.get_by_label("Your name").input_value() != "Old"
    # The player left for good, and does not sleep there.
    sees()
    enter(page, "New")
    assert page.evaluate(OWN_ID) != id
    assert page.evaluate("localStorage.getItem('flatlands.key')") != secret
    assert page.evaluate("flatlands.state.aim") is None
    sees("New")


#: What a page shows of the emote of the player with this name.
EMOTE = """(name) => {
  const walker = flatlands.state.walkers.find((walker) => walker.name === name);
  return walker?.saying?.emote ?? 0;
}"""
SPARKS = """(name) => flatlands.state.walkers.some((walker) => walker.name === name
  && walker.sparkAt > 0)"""


def test_emotes_by_key_ring_and_touch_are_seen_and_a_returned_wave_gives_both_a_spark(alone, play):
    a, b = play("Ada", url=alone.url), play("Bob", url=alone.url, **PHONE)
    SocketClient(alone.port).hello("Cleo")
    for page in (a, b):
        for name in ("Ada", "Bob", "Cleo"):
            wait_for(page, DRAWN, name)
    a.keyboard.press("1")
    wait_for(b, f"({EMOTE})('Ada') === 1")
    assert not b.evaluate(SPARKS, "Ada")
    b.keyboard.press("1")
    for page in (a, b):
        wait_for(page, SPARKS, "Ada")
        wait_for(page, SPARKS, "Bob")
        assert not page.evaluate(SPARKS, "Cleo")
    a.get_by_text("You and Bob wave to each other: a spark!").wait_for(state="attached")
    a.keyboard.press("4")
    wait_for(b, f"({EMOTE})('Ada') === 4")
    b.get_by_text("Ada danced.").wait_for(state="attached")
    # The ring, by keys alone.
    a.keyboard.press("e")
    ring = a.get_by_role("button", name="Wave (1)")
    ring.wait_for()
    a.keyboard.press("ArrowRight")
    wait_for(a, "document.activeElement.ariaLabel === 'Heart (2)'")
    a.keyboard.press("Enter")
    ring.wait_for(state="hidden")
    wait_for(b, f"({EMOTE})('Ada') === 2")
    walk(a, "d", 1)
    # The ring, by a finger.
    b.get_by_role("button", name="Wave", exact=True).tap()
    b.get_by_role("button", name="Huh?").tap()
    wait_for(a, f"({EMOTE})('Bob') === 6")
    assert b.get_by_role("button", name="Wave (1)").is_hidden()


def test_steps_and_emotes_make_sounds_and_a_key_mutes_them_for_later_too(alone, play):
    page = play("Loud", url=alone.url, script=COUNT_SOUNDS)
    ways = cycle("da")

    def is_heard(steps):
        # A page that draws rarely has few steps, or none.
        walk(page, next(ways), 3)
        return page.evaluate(f"{STEPS} >= {steps}")

    eventually(lambda: is_heard(2), "steps sound", 60)
    page.keyboard.press("1")
    wait_for(page, f"{TONES} >= 2")
    page.keyboard.press("v")
    page.get_by_text("Unmute sounds").wait_for(state="attached")
    page.get_by_text("Sounds are off.").wait_for()
    quiet = page.evaluate("sounds")
    walk(page, "a", 3)
    page.keyboard.press("2")
    wait_for(page, f"({EMOTE})('Loud') === 2")
    assert page.evaluate("sounds") == quiet
    come_back(page)
    walk(page, "d", 2)
    assert page.evaluate("sounds") == {"OscillatorNode": 0, "AudioBufferSourceNode": 0}
    page.keyboard.press("v")
    eventually(lambda: is_heard(1), "steps sound", 60)


#: Lets a page share, and notes what it shares.
SHARES = """
  globalThis.shared = [];
  navigator.share = async (what) => { shared.push(what); };
"""


def test_a_guest_on_a_phone_comes_back_by_a_shared_link_and_learns_if_its_host_is_gone(alone, play):
    host = play("Host", url=alone.url, script=SHARES, **PHONE)
    use_tool(host, "Invite")
    host.get_by_role("button", name="Share").tap()
    host.get_by_role("dialog", name="Invite").wait_for(state="hidden")
    [shared] = host.evaluate("shared")
    # A player that has played before still begins beside the host, and as itself.
    friend = play("Friend", url=alone.url)
    id = friend.evaluate(OWN_ID)
    walk(friend, "d", 8)
    stands(friend)
    friend.goto(shared["url"])
    friend.get_by_text("Host invited you").wait_for()
    enter(friend)
    friend.get_by_text("Here you are, beside Host.").wait_for()
    assert friend.evaluate(OWN_ID) == id
    assert 1.1 <= math.dist(place(friend), place(host)) <= 2.6
    # After a lost connection the player does not begin there again.
    walk(friend, "d", 6)
    stands(friend)
    before = place(friend)
    friend.evaluate("flatlands.net.connect()")
    wait_for(friend, f"flatlands.net.playing && {PRESENT}")
    assert far(place(friend), before) < 0.3
    # Whoever only closes the page is still there for some seconds.
    host.evaluate("flatlands.net.leave()")
    seen(friend, "Host", yes=False)
    friend.goto(shared["url"])
    enter(friend)
    friend.get_by_text("Host has left.").wait_for()
