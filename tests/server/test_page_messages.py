"""A game that declares its messages to pages sends no others, and none with other fields."""

from typing import Literal, Optional

import pytest

from flatlands import Game as Engine
from flatlands import Part, plain
from flatlands.server.game.page_messages import fits, in_typescript
from flatlands.testkit import World

#: A type, as TypeScript has it, values of it, and others.
KINDS = [
    (int, "number", [0, -5], [True, "1", None, 1.5, []]),
    (str, "string", ["", "a"], [1, None]),
    (bool, "boolean", [True], [1, None]),
    (None, "null", [None], [0, False]),
    (str | None, "string | null", ["a", None], [1]),
    (Optional[int], "number | null", [1, None], ["a", True]),  # noqa: UP045
    (Literal["a", "it's", 1], '"a" | "it\'s" | 1', ["a", 1], ["b", True, 2]),
    (list[int], "number[]", [[], [1, 2], (3,)], [1, [1, "a"], None]),
    (list[int | None], "(number | null)[]", [[1, None]], [["a"]]),
    (tuple[int, ...], "number[]", [(), [1, 2]], [["a"]]),
    (tuple[int, str], "[number, string]", [(1, "a"), [1, "a"]], [(1,), ("a", 1), (1, "a", 2)]),
    (
        list[tuple[str, list[int]]],
        "[string, number[]][]",
        [[], [["a", [1]], ("b", ())]],
        [[["a", 1]]],
    ),
]


@pytest.mark.parametrize(("kind", "written", "right", "wrong"), KINDS, ids=lambda it: str(it)[:20])
def test_a_type_has_its_values_and_no_others(kind, written, right, wrong):
    assert in_typescript(kind) == written
    assert [fits(kind, value) for value in right] == [True] * len(right)
    assert [fits(kind, value) for value in wrong] == [False] * len(wrong)


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (["board"], "messages must be a dict, such as"),
        ({"": {}}, "the name of a message must have 1 to 20 characters, not ''"),
        ({"b" * 21: {}}, "the name of a message must have 1 to 20 characters"),
        ({"board": list[str]}, "the message board must have the types of its fields by their"),
        ({"board": {"best row": str}}, "the message board must have the types of its fields"),
        ({"board": {"rows": float}}, "rows of the message board cannot be float: pages can be"),
        ({"board": {"rows": list}}, "rows of the message board cannot be list"),
        ({"board": {"rows": list[dict[str, int]]}}, "cannot be dict[str, int]"),
        ({"board": {"rows": "list[str]"}}, "cannot be 'list[str]'"),
        ({"board": {"rows": 3}}, "rows of the message board cannot be 3"),
    ],
)
def test_what_is_no_message_is_said_when_the_game_loads(messages, said):
    with pytest.raises(ValueError) as wrong:
        type("Mine", (Engine,), {"messages": messages})
    assert said in str(wrong.value)


class Bells(Part):
    """A part with a message."""

    messages = {"bell": {"loud": bool}}


class Club(Engine):
    """Sends whatever a test wants."""

    ground, parts, presence = plain(), (Bells,), True
    messages = {"board": {"rows": list[tuple[str, int]], "of": int}, "bare": {}}


class Open(Engine):
    """Declares none, and has a part that does."""

    ground, parts, presence = plain(), (Bells,), True


WAYS = [
    lambda game, me, *message: me.send(*message),
    lambda game, me, *message: game.broadcast_local(*message),
    lambda game, me, *message: game.broadcast(*message),
    lambda game, me, *message: game.send(me.id, *message),
    lambda game, me, *message: game.deliver(me.id, *message),
    lambda game, me, *message: game.send_to_owner(me.owner, *message),
]


def begun(kind):
    """Return a player of a world, and a function that sends it a message in one of the ways."""
    world = World(kind)
    ada = world.join("Ada")
    game = world.game(0)

    def send(way, *message):
        way(game, game.player(ada.id), *message)
        world.run(1)

    return ada, send


@pytest.mark.parametrize("way", WAYS)
def test_a_game_sends_only_what_it_declares(way):
    ada, send = begun(Club)
    send(way, "board", [["Ada", 3]], 7)
    send(way, "bare")
    send(way, "bell", True)
    assert ada.message("board") == [[["Ada", 3]], 7]
    assert ada.message("bare") == [] and ada.message("bell") == [True]
    for message, said in [
        (
            ("board", [["Ada", 3]]),
            "the message board must have the fields (rows, of), not ([['Ada', 3]],)",
        ),
        (("bare", 1), "the message bare must have the fields (), not (1,)"),
        (("board", [["Ada"]], 7), "rows of the message board must be list[tuple[str, int]], not"),
        (("board", [], None), "of of the message board must be int, not None"),
        (("bord", [], 7), "the game declares no message bord: add it to its messages"),
        (("bell", 1), "loud of the message bell must be bool, not 1"),
    ]:
        with pytest.raises(ValueError) as wrong:
            send(way, *message)
        assert said in str(wrong.value)


@pytest.mark.parametrize("way", WAYS)
def test_a_game_that_declares_no_messages_sends_any_and_its_parts_what_they_declare(way):
    ada, send = begun(Open)
    send(way, "anything", [1, "two"])
    assert ada.message("anything") == [[1, "two"]]
    with pytest.raises(ValueError, match="loud of the message bell must be bool"):
        send(way, "bell", "loud")


def test_two_parts_cannot_have_a_message_of_one_name():
    class Both(Engine):
        ground, parts, messages = plain(), (Bells,), {"bell": {}}

    with pytest.raises(ValueError, match="two parts of the game have a message called bell"):
        World(Both)
