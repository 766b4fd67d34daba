"""What a game decides of the chat: what may be said, and what is said instead."""

import pytest

from flatlands import Game, Part, Refused, StoreUnavailable, plain
from flatlands.server.messages.texts import TEXT_LIMIT
from flatlands.testkit import World


class Polite(Part):
    """It ends each sentence."""

    def on_say(self, me, text):
        return text + "."


class Town(Game):
    """It has rules of its own."""

    ground, parts = plain(), [Polite]
    heard = ()

    def on_say(self, me, text):
        if text == "spam":
            raise Refused("rude", "We do not say that here.")
        if text == "store":
            raise StoreUnavailable("not now")
        return {"secret": None, "tea": "coffee", "long": "x" * TEXT_LIMIT, "five": 5}.get(
            text, text
        )


def said(player):
    return [more for what, _, more in player.events if what == "said"]


@pytest.fixture
def two():
    world = World(Town, nodes=2)
    ada, bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(2, 2))
    world.run(1)
    return world, ada, bob


def test_a_game_replaces_drops_and_refuses_what_players_say(two):
    world, ada, bob = two
    for text in ("hello", "tea", "secret", "spam"):
        ada.say(text)
        world.run(1)
    assert said(bob) == ["hello.", "coffee."]
    assert ada.errors() == ["We do not say that here."]


def test_a_hook_that_fails_says_nothing_and_the_player_is_told(two):
    world, ada, bob = two
    ada.say("store")
    world.run(1)
    assert "cannot reach its store" in ada.errors()[0] and not said(bob)
    with pytest.raises(ValueError, match="on_say must return None or a text of 1 to 120"):
        ada.say("five")
    # An error of the same line is not logged again.
    ada.say("long")
    world.run(1)
    assert not said(bob) and len(ada.errors()) == 3


@pytest.mark.parametrize("chat", ["off", ["Hello!", "Thank you"]])
def test_in_a_game_with_little_chat_only_that_is_said(chat):
    world = World(type("Quiet", (Game,), {"ground": plain(), "chat": chat}))
    ada, bob = world.join("Ada", at=(1, 1)), world.join("Bob", at=(2, 2))
    for text in ("Hello!", "hello"):
        ada.say(text)
        world.run(1)
    assert said(bob) == ([] if chat == "off" else ["Hello!"])
    assert len(ada.errors()) == (2 if chat == "off" else 1)
    assert ada._kinds["chat", 0] == (("off", []) if chat == "off" else ("phrases", chat))


@pytest.mark.parametrize(
    "chat", ["maybe", [], ["Hello "], [5], ["x" * 121], ["Hello"] * 51, None, True]
)
def test_a_chat_that_cannot_be_is_a_clear_error(chat):
    with pytest.raises(ValueError, match='`chat` must be "on", "off", or a list of up to 50 texts'):
        type("Wrong", (Game,), {"chat": chat})
