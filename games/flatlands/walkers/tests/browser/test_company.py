"""Clockwork walkers keep company: they greet by name, wave back, answer, and show what they are."""

import pytest

from games.flatlands.tests.browser.acts import (
    come_back,
    say,
)
from games.flatlands.tests.servers import inside
from tests.browser.pages import eventually, wait_for
from tests.socket_client import SocketClient

#: The lines of the chat that have a text in them.
LINES = """(text) => [...document.querySelectorAll('.log li')]
  .filter((li) => li.innerText.includes(text)).length"""

#: The clockwork walker that is nearest, as a page draws it.
NEAREST = """() => {
  const { here, walkers } = flatlands.state;
  const away = ({ x, y }) => Math.hypot(x - here.x, y - here.y);
  const near = walkers.filter(({ type }) => type === 'Walker').sort((a, b) => away(a) - away(b))[0];
  return near === undefined ? null : { id: near.id, name: near.name, away: away(near) };
}"""


@pytest.fixture
def lively():
    """A server with as many clockwork walkers as `make play` has."""
    with inside("--walkers", "20", "--deer", "8", "--store", "memory://") as server:
        # A page is ready before a server has placed so many.
        eventually(
            lambda: b'"computer_players":28' in server.get("stats").replace(b" ", b""),
            "all are there",
        )
        yield server


def until(page, expression, what, act):
    """Repeat an act until an expression is true: chance decides whether the act succeeds."""

    def comes_of_it():
        act()
        try:
            eventually(lambda: page.evaluate(expression), what, 6)
        except AssertionError:
            return False
        return True

    eventually(comes_of_it, what, 60)


def test_a_newcomer_is_greeted_waved_to_and_answered_and_later_given_no_hint(lively, play):
    page = play("Ada", url=lively.url)
    page.get_by_text("Walk with the arrow keys").wait_for()
    wait_for(page, f"({LINES})('Ada') > 0")
    greeting = page.evaluate(
        "[...document.querySelectorAll('.log li')].map((li) => li.innerText)"
        ".find((text) => text.includes('Ada'))"
    )
    assert "clockwork" in greeting
    # The greeter has waved; if the player waves back, both get a spark.
    sparks = """flatlands.state.walkers.filter(({ sparkAt }) => sparkAt > 0)
      .map(({ own }) => own).sort()"""
    both = f"({sparks}).join() === 'false,true'"
    until(page, both, "a wave is returned", lambda: page.keyboard.press("1"))

    def ask():
        eventually(lambda: (page.evaluate(NEAREST) or {"away": 99})["away"] < 6, "one is near")
        say(page, f"{page.evaluate(NEAREST)['name']}, who are you?")

    until(page, f"({LINES})('a computer player') > 0", "one answers", ask)
    SocketClient(lively.port).hello("Bob")
    readings = page.get_by_label("Readings")
    eventually(lambda: "You, Bob and " in readings.inner_text(), "Bob is named")
    assert " clockwork" in readings.inner_text()
    page.keyboard.press("ArrowDown", delay=500)
    wait_for(page, "localStorage.getItem('flatlands.walked') !== null")
    come_back(page)
    assert page.get_by_text("Walk with the arrow keys").is_hidden()
