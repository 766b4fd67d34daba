"""A game that changes never loses anything in the store unnoticed."""

import pytest

from flatlands import Game as Engine
from flatlands import Part, Thing, flag, number, plain, text
from flatlands.server.storage import schema
from flatlands.stores.base import StoreError
from flatlands.stores.registry import open_store
from flatlands.testkit.clock import Clock
from flatlands.testkit.store import SimulatedStore, shared_stores
from tests.processes import ServerProcess
from tests.server.harness import Harness
from tests.server.test_settings import run


def kind(name="Apple", **having):
    return type(name, (Thing,), having)


@pytest.fixture
def store():
    return shared_stores(Clock())()


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (number(0, 7), number(0, 7)),
        (number(0, 7), number(-1, 8)),
        (text(0, 7), text(0, 8)),
        (text(1, 7), text(0, 7)),
        (flag(), flag()),
    ],
)
def test_fields_may_have_more_than_before(store, was, now):
    first, second = [kind(colour=was)], [kind(colour=now, ripe=flag())]
    third = [kind(colour=now, ripe=flag()), kind(name="Pear")]
    for kinds, numbers in ((first, {"Apple": 0}), (second, {"Apple": 1})):
        assert schema.note(store, "shop", kinds) == numbers
    assert schema.note(store, "shop", third) == {"Apple": 1, "Pear": 0}
    # An older server that is started again changes nothing, and gets its old number.
    assert schema.note(store, "shop", first) == {"Apple": 0}
    assert schema.note(store, "shop", third) == {"Apple": 1, "Pear": 0}
    assert schema.note(store, "other", third) == {"Apple": 0, "Pear": 0}


def test_a_game_may_change_as_often_and_have_as_many_kinds_as_it_likes(store):
    many = {f"field_number_{n:07}": number(-(2**52), 2**52) for n in range(16)}
    kinds = [kind(name=f"Kind{n:016}", **many) for n in range(60)]
    for turn in range(60):
        changed = kind(**{**many, "field_number_0000000": number(-(2**52) + 60 - turn, 2**52)})
        numbers = schema.note(store, "shop", [*kinds, changed])
        assert numbers["Apple"] == turn and numbers[kinds[0].__name__] == 0
    # The version of long ago is not known any more, so it counts as a new one.
    first = kind(**{**many, "field_number_0000000": number(-(2**52), 2**52)})
    assert schema.note(store, "shop", [first])["Apple"] == 60


def test_a_version_that_was_left_for_a_while_is_still_known(store):
    """A field must allow all that any version could have put there, not only the last version."""
    upgrade = classmethod(lambda cls, values: values)
    schema.note(store, "shop", [kind(colour=number(0, 7))])
    schema.note(store, "shop", [kind(colour=text(0, 7), upgrade=upgrade)])
    with pytest.raises(ValueError, match="whole number from 0 to 7"):
        schema.note(store, "shop", [kind(colour=text(0, 9))])


def test_a_version_keeps_its_number_when_the_store_is_replaced_under_a_server(tmp_path):
    """That server has things with the number, so a server that is started later must know it."""
    changed, file = kind(colour=number(0, 8)), tmp_path / "store"
    opened = [open_store(f"sqlite:///{file}", "w") for _ in range(2)]
    schema.note(opened[0], "shop", [kind(colour=number(0, 7))])
    before, after = schema.GameSchema("shop", [changed]), schema.GameSchema("shop", [changed])
    before.learn(opened[0])
    file.unlink()
    with pytest.raises(StoreError, match="deleted or replaced"):
        opened[0].names()
    before.learn(opened[0])
    after.learn(opened[1])
    assert before.number(changed) == after.number(changed) == 1
    for store in opened:
        store.close()


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (number(0, 7), text(0, 7), "must be a text from 0 to 7 characters now"),
        (number(0, 7), flag(), "must be true or false now"),
        (flag(), number(0, 1), "whole number from 0 to 1"),
        (number(0, 7), number(1, 7), "from 1 to 7"),
        (number(0, 7), number(0, 6), "from 0 to 6"),
        (text(0, 7), text(0, 6), "from 0 to 6"),
    ],
)
def test_a_field_that_can_have_less_than_before_needs_an_upgrade(store, was, now, said):
    schema.note(store, "shop", [kind(colour=was)])
    with pytest.raises(ValueError, match=said) as told:
        schema.note(store, "shop", [kind(colour=now)])
    assert "Apple: colour" in str(told.value) and "classmethod upgrade" in str(told.value)
    # Nothing was noted: the old version is still known.
    assert schema.note(store, "shop", [kind(colour=was)]) == {"Apple": 0}
    upgrade = classmethod(lambda cls, values: values)
    changed = kind(colour=now, upgrade=upgrade)
    assert schema.note(store, "shop", [changed]) == {"Apple": 1}


def old():
    class Apple(Thing, reach=1):
        colour = number(0, 7)
        owner = text(0, 9)

    class Game(Engine):
        ground, things = plain(), [Apple]

        def plant(self, plot):
            return [Apple((4, 4), colour=5, owner="Ada")] if plot == (0, 0) else []

    return Game


def new(broken=False):
    class Apple(Thing, reach=1):
        colour = text(0, 9)
        ripe = number(3, 9)

        @classmethod
        def upgrade(cls, values):
            if broken:
                raise RuntimeError("not so")
            names = ["red", "green", "blue", "grey", "white", "black", "gold", "pink"]
            return {**values, "colour": names[values["colour"]]}

    class Game(Engine):
        ground, things = plain(), [Apple]

        def on_touch(self, me, thing):
            me.send("touched", thing.colour, thing.ripe)
            me.take(thing, then=[thing.again((9, 9), colour="blue")])

    return Game


@pytest.fixture
def kept():
    """The clock and the stores that harnesses use, one after the other."""
    clock = Clock()
    return {"clock": clock, "stores": shared_stores(clock)}


def play(game, kept, **more):
    """Return a harness that plays a game on the kept store, and a client in it."""
    harness = Harness(play=game, **{**kept, **more})
    client = harness.place("Ada", (0, 0))
    harness.run(4000)
    return harness, client


def test_things_are_upgraded_when_they_are_read(kept, caplog):
    before, client = play(old(), kept)
    assert client.model.things[0, 0][0][5:] == [5, "Ada"]
    before.stop(before.hosts[0])
    kept["clock"].time += 10_000
    after, client = play(new(), kept)
    assert client.model.things[0, 0][0][5:] == ["black", 3]
    # The apple is taken as the present version has it, though the store has the old one.
    client.go(4 * 1024 + 512, 4 * 1024 + 512)
    after.run(4000)
    assert client.model.messages["touched"] == ["black", 3]
    [apple] = client.model.things[0, 0]
    assert apple[3:] == [9 * 1024 + 512, 9 * 1024 + 512, "blue", 3]
    assert "upgrade" not in caplog.text


def test_an_older_version_leaves_alone_what_it_cannot_know(kept):
    play(old(), kept)
    newer, client = play(new(), kept)
    client.go(4 * 1024 + 512, 4 * 1024 + 512)
    newer.run(4000)
    assert client.model.things[0, 0][0][5:] == ["blue", 3]
    # A server of the old version that still runs, or runs again.
    older, other = play(old(), kept)
    assert not other.model.things.get((0, 0))
    older.node.play.content.clear((0, 0))
    older.run(1000)
    last, again = play(new(), kept)
    assert again.model.things[0, 0][0][5:] == ["blue", 3]


def test_a_worker_that_is_started_with_another_game_loses_nothing(kept):
    """The game's file has changed, and a worker that died is started again with the new one."""
    play(old(), kept)

    class Apple(Thing):
        colour = text(0, 9)

    narrow = type("Game", (Engine,), {"ground": plain(), "things": [Apple]})
    harness, client = play(narrow, kept)
    assert not client.model.things.get((0, 0))
    assert "Apple: colour must be a text" in harness.node.store_client.trouble
    _last, again = play(old(), kept)
    assert again.model.things[0, 0][0][5:] == [5, "Ada"]


def test_a_store_that_is_away_at_first_is_read_later(kept):
    away = [True]
    play(old(), kept)

    class Absent(SimulatedStore):
        def _wait(self, call, *arguments):
            if away[0]:
                raise StoreError("it is away")
            return super()._wait(call, *arguments)

    def absent():
        store = kept["stores"]()
        store.__class__ = Absent
        return store

    harness, client = play(new(), kept, stores=absent)
    assert not client.model.things.get((0, 0))
    away[0] = False
    harness.run(20_000)
    assert client.model.things[0, 0][0][5:] == ["black", 3]


def test_parts_made_by_a_function_count_too(kept):
    """The worker checks what they have in the store, and no other kind suffers."""
    play(old(), kept)

    def basket(colour):
        things = [kind(name="Pear", colour=colour)]
        part = type("Basket", (Part,), {"things": things, "plant": lambda self, plot: []})
        game = new()
        game.parts = [lambda of: part(of)]
        return game

    newer, client = play(basket(number(0, 3)), kept)
    client.go(4 * 1024 + 512, 4 * 1024 + 512)
    newer.run(4000)
    assert client.model.things[0, 0][0][5:] == ["blue", 3]
    _same, client = play(basket(number(0, 3)), kept)
    assert client.model.things[0, 0][0][5:] == ["blue", 3]
    narrow, client = play(basket(number(0, 2)), kept)
    assert not client.model.things.get((0, 0))
    assert "Pear: colour must be a whole number from 0 to 2" in narrow.node.store_client.trouble


def test_an_upgrade_that_fails_harms_nobody(kept, caplog):
    play(old(), kept)
    _after, client = play(new(broken=True), kept)
    assert client.model.things[0, 0][0][5:] == ["", 3]
    assert caplog.text.count("upgrade of Apple failed") == 1


GAME = """
from flatlands import Game as Engine, Thing, number, plain, text


class Apple(Thing):
    colour = {field}


class Game(Engine):
    ground, things = plain(), [Apple]
"""


@pytest.mark.process
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_game_that_would_lose_something_does_not_start(tmp_path, workers):
    path, store = tmp_path / "orchard.py", f"sqlite:///{tmp_path}/kept.db"
    path.write_text(GAME.format(field="number(0, 7)"))
    server = ServerProcess("--game", str(path), "--store", store)
    server.close()
    path.write_text(GAME.format(field="text(0, 7)"))
    ended = run("--game", str(path), "--store", store, "--workers", workers, "--port", "0")
    assert ended.returncode == 2
    assert "orchard.py has changed: Apple: colour must be a text" in ended.stderr
