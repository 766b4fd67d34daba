"""What a game changes in the store without a player, and several things and records at once."""

import pytest
from gevent import GreenletExit

from flatlands import (
    Game,
    Record,
    Records,
    Refused,
    StoreUnavailable,
    Thing,
    Transaction,
    action,
    every,
    number,
    plain,
)
from flatlands.server.storage.reader import SQUARE_AGAIN_MS
from flatlands.server.storage.transactions import TRIES
from flatlands.testkit import World
from tests.server.harness import Broken


class Purse(Record):
    """The gold of a person."""

    gold = number(0, 1000)


class Tower(Thing, reach=1):
    """It costs ten pieces of gold."""

    height = number(0, 9)
    _built = number(0, 9)


class Coin(Thing, reach=1):
    """The world puts it down."""


class Camp(Thing, per_square=1):
    """Only one fits a square."""


class Town(Game):
    """People buy towers, and the world puts a coin down each second."""

    ground, things = plain(), [Tower, Coin, Camp]
    purses = Records(Purse)

    @action(rate=100)
    def buy(self, me, x: int = number(-99, 99), y: int = number(-99, 99)):
        def bought(purse):
            if purse is None or purse.gold < 10:
                raise Refused("gold", "You need 10 pieces of gold.")
            return Transaction([purse.again(gold=purse.gold - 10), Tower((x, y))])

        self.store.transact([Purse.key(me.name)], bought)

    @action(rate=100)
    def camp(self, me):
        me.put(Camp((5, 5)))

    @every(1, once=True, waits=True)
    def mint(self):
        self.store.put(Coin((40, 0)))


@pytest.fixture
def world():
    return World(Town, nodes=2)


def towers(world, node=0):
    return [one for one in world.game(node).things_in((0, 0)) if isinstance(one, Tower)]


def test_the_world_puts_things_down_changes_and_takes_them_and_counts_points(world):
    ada = world.join("Ada", 1, at=(1, 1))
    here, there = world.game(0).store, world.game(1).store
    here.put(Tower((3, 3), height=1), Tower((4, 3)))
    world.run(1)
    assert sorted(one.x for one in ada.things("Tower")) == [3.5, 4.5]
    tower = min(towers(world, 1), key=lambda one: one.tile)
    assert here.change(tower, lambda now: now.again(height=now.height + 1)).height == 2
    changed = there.change(tower, lambda now: now.again(height=now.height + 1))
    assert changed.height == 3 and here.change(tower, lambda now: now.again(height=9))
    assert not here.take(tower)  # it is another one by now
    world.run(1)
    tower = min(towers(world, 1), key=lambda one: one.tile)
    taken = [
        some.take(tower, [Tower((9, 9)), Purse("pot", gold=3)], [("o" * 32, "built", 2)])
        for some in (here, there)
    ]
    assert taken == [True, False]
    here.score("o" * 32, "built", 5), here.score("", "built", 5)
    assert [(one.points, one.owner) for one in world.game(1).top("built", 9)] == [(7, "o" * 32)]
    world.run(1)
    assert sorted(one.x for one in ada.things("Tower")) == [4.5, 9.5]
    assert world.game(1).purses.read("pot").gold == 3
    world.check()  # all points are those that were counted


def test_a_board_names_who_plays_at_the_node_that_gives_the_points(world):
    ada, bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(2, 2))
    owners = [world.game(n).player(one.id).owner for n, one in enumerate((ada, bob))]
    here = world.game(0).store
    here.put(Tower((30, 30)))
    for owner in owners:
        here.score(owner, "built", 1)
    assert {one.owner: one.name for one in world.game(1).top("built", 9)} == {
        owners[0]: "Ada",
        owners[1]: "?",
    }
    world.game(1).store.transact([], lambda: Transaction(scores=[(owners[1], "built", 5)]))
    world.run(3)
    assert [one.name for one in world.game(0).top("built", 9)] == ["Bob", "Ada"]


def test_the_log_names_the_records_that_taking_a_thing_has_not_put(world, caplog):
    world.join("Ada", 0, at=(1, 1))
    here = world.game(0).store
    here.put(Tower((3, 3)), Purse("pot", gold=3))
    world.run(1)
    [tower] = towers(world)
    assert here.take(tower, [Purse("pot", gold=9), Purse("new", gold=1)])
    assert [world.game(0).purses.read(id).gold for id in ("pot", "new")] == [3, 1]
    [line] = [r.getMessage() for r in caplog.records if "take()" in r.getMessage()]
    assert line == "take() has not put the record 'pot': the store has one"


def test_a_transaction_finds_a_thing_by_its_id_where_its_node_sees_nothing(world):
    world.join("Ada", 0, at=(1, 1))
    here, there = world.game(0).store, world.game(1).store
    here.put(Tower((900, 900), height=1))
    items, store = world.game(0).node.play.items, world.game(0).node.store_client.store
    things = [items.read_thing(item.id, item.body)[0] for item in store.each(items.queue)]
    [id] = [thing.id for thing in things if isinstance(thing, Tower)]

    def higher(tower):
        return Transaction([tower.again(height=tower.height + 1)])

    assert there.transact([Tower.key(id)], higher) and here.transact([Tower.key(id)], higher)
    found = []
    # A key of another kind finds nothing, and nobody reads one item twice.
    there.transact([Coin.key(id)], found.append)
    there.transact([Tower.key(id)], found.append)
    assert found[0] is None and (found[1].tile, found[1].height) == ((900, 900), 3)
    with pytest.raises(ValueError, match="reads each thing and record once"):
        there.transact([Tower.key(id), Coin.key(id)], lambda *_: None)
    assert there.transact([Tower.key(id)], lambda tower: Transaction(remove=[tower]))
    assert not here.transact([Tower.key(id)], lambda tower: tower and Transaction(remove=[tower]))


def test_one_node_at_a_time_puts_down_what_the_world_does_by_itself(world):
    ada = world.join("Ada", 0, at=(38, 0))
    world.run(4.5)
    count = len(ada.things("Coin"))
    world.kill(1)
    world.run(6)
    assert 3 <= count < len(ada.things("Coin")) <= count + 7


@pytest.mark.parametrize("after", [False, True])
def test_a_purse_and_a_tower_change_together_whenever_the_node_dies(world, monkeypatch, after):
    world.game(0).purses.add(Purse("Ada", gold=15))
    ada, bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(2, 2))
    world.run(1)
    store = world.game(0).node.store_client.store
    real = store.transact

    def dies(*arguments):
        if after:
            assert real(*arguments)
        world.kill(0)
        raise GreenletExit

    monkeypatch.setattr(store, "transact", dies)
    with pytest.raises(GreenletExit):
        ada.do("buy", 7, 7)
    world.run(SQUARE_AGAIN_MS / 1000 + 5)
    # It is bought, and everybody sees it, or not bought at all.
    assert [one.x for one in bob.things("Tower")] == ([7.5] if after else [])
    assert world.game(1).purses.read("Ada").gold == (5 if after else 15)


def test_people_at_two_nodes_pay_from_one_purse_as_long_as_it_lasts(world):
    world.game(0).purses.add(Purse("Ada", gold=35))
    one, other = world.join("Ada", 0, at=(1, 1)), world.join("Ada", 1, at=(2, 2))
    for n in range(4):
        one.do("buy", n, 7), other.do("buy", n, 9)
    world.run(1)
    assert len(towers(world)) == len(one.things("Tower")) == len(other.things("Tower")) == 3
    assert world.game(1).purses.read("Ada").gold == 5
    assert len(one.errors() + other.errors()) == 5
    assert "You need 10 pieces of gold." in one.errors() + other.errors()


def test_nothing_of_a_transaction_happens_if_it_wants_nothing_fails_or_meets_what_is_there(world):
    game = world.game(0)
    game.purses.add(Purse("a", gold=1)), game.purses.add(Purse("b", gold=2))
    keys = [Purse.key("a"), Purse.key("nobody")]
    seen = []
    assert not game.store.transact(keys, lambda *some: seen.append(some))
    [(one, none)] = seen
    assert one.gold == 1 and none is None

    def put(*new):
        return lambda *_: Transaction([one.again(gold=9), *new], scores=[("o", "board", 1)])

    with pytest.raises(Refused, match="there is a b already"):
        game.store.transact(keys, put(Purse("b")))
    with pytest.raises(ZeroDivisionError):
        game.store.transact(keys, lambda *_: 1 // 0)
    with pytest.raises(Refused, match="there is a b already"):
        game.store.put(Purse("c"), Purse("b"))
    assert [game.purses.read(id).gold for id in "ab"] == [1, 2] and not game.purses.read("c")
    assert game.top("board", 9) == []
    assert game.store.transact(keys, put(Purse("nobody", gold=4)))
    assert [game.purses.read(id).gold for id in ("a", "nobody")] == [9, 4]
    assert game.store.transact([one], lambda now: Transaction(remove=[now]))
    assert game.purses.read("a") is None


def test_what_was_read_and_left_alone_must_not_have_changed_either(world):
    """Two may each stay, but not both go."""
    game, other = world.game(0), world.game(1)
    game.purses.add(Purse("a")), game.purses.add(Purse("b"))
    real, calls = other.node.store_client.store, []
    other.purses.read("a")

    def how(a, b):
        calls.append(b.gold)
        if len(calls) <= tries:
            queue = other.node.play.items.records[Purse]
            item = other.node.play.items.item(b.again(gold=b.gold + 1))[1]
            real.replace(queue, item)
        return Transaction([a.again(gold=len(calls))])

    keys, tries = [Purse.key("a"), Purse.key("b")], 1
    assert game.store.transact(keys, how) and calls == [0, 1]
    tries, calls[:] = TRIES, []
    with pytest.raises(Refused, match="too many want to change this at once"):
        game.store.transact(keys, how)
    assert calls == [*range(1, 1 + TRIES)] and game.purses.read("a").gold == 2


def test_a_thing_with_hidden_fields_goes_from_one_square_to_another(world):
    ada = world.join("Ada", 0, at=(14, 3))
    bob = world.join("Bob", 1, at=(17, 3))
    store, purse = world.game(0).store, Purse.key("pot")
    store.put(Tower((14, 3), height=2, _built=7))
    world.run(1)
    [tower] = towers(world)
    assert tower._built == 0  # no node is told

    def move(now, pot):
        assert (now.height, now._built, pot) == (2, 7, None)
        return Transaction([now.again(tile=(17, 3)), Purse("pot", gold=1)])

    assert store.transact([tower, purse], move)
    world.run(1)
    for player in (ada, bob):
        assert [one.x for one in player.things("Tower")] == [17.5]
    assert not store.take(tower)
    [tower] = [one for one in world.game(1).things_in((1, 0)) if isinstance(one, Tower)]
    assert store.transact([tower], lambda now: Transaction(remove=[now]))
    world.run(1)
    assert ada.things("Tower") == bob.things("Tower") == []


def test_a_thing_that_is_counted_frees_its_place_when_a_transaction_removes_it(world):
    ada = world.join("Ada", 0, at=(4, 4))
    for _ in range(2):
        ada.do("camp")
    world.run(1)
    assert len(ada.things("Camp")) == 1 and len(ada.errors()) == 1
    game = world.game(1)
    ada_there = world.join("Eve", 1, at=(4, 4))
    world.run(1)
    [camp] = [one for one in game.things_in((0, 0)) if isinstance(one, Camp)]
    with pytest.raises(ValueError, match="stays where it lies"):
        game.store.transact([camp], lambda now: Transaction([now.again(tile=(6, 6))]))
    assert game.store.transact([camp], lambda now: Transaction(remove=[now]))
    world.run(1)
    assert ada_there.things("Camp") == []
    ada.do("camp")
    world.run(1)
    assert len(ada_there.things("Camp")) == 1


class Odd(Record):
    """The game has no Records of it."""


@pytest.mark.parametrize(
    ("some", "how", "says"),
    [
        ([Tower((1, 1))], lambda _: None, "does not lie anywhere"),
        ([Odd.key("a")], lambda _: None, "no Records of the class Odd"),
        ([Purse.key("a"), Purse("a")], lambda *_: None, "reads each thing and record once"),
        ([], lambda: Transaction(remove=[Purse("a")]), "was not read"),
        ([Purse.key("no")], lambda _: Transaction(remove=[Purse("no")]), "was not read"),
        ([Purse.key("a")], lambda a: Transaction([a], [a]), "put or removed twice"),
        ([Purse.key("a")], lambda a: Transaction([a, a.again()]), "put or removed twice"),
        (Purse.key("a"), lambda _: None, "reads a list of things"),
        ([None], lambda _: None, "reads things, records and keys, not None"),
        ([], lambda: [Purse("x")], "return a Transaction or None"),
        ([], lambda: Transaction(Purse("x")), "puts and removes lists"),
        ([], lambda: Transaction([None, Purse("x")]), "puts and removes lists"),
        ([Purse.key("a")], lambda a: Transaction(remove=a), "puts and removes lists"),
        ([], lambda: Transaction([Odd("a")]), "no Records of this class"),
        ([], lambda: Transaction([Camp((1, 1))]), "only players can put"),
        ([], lambda: Transaction(), "has items or scores"),
        ([], lambda: Transaction([Purse(str(n)) for n in range(101)]), "at most 100 items"),
        ([], lambda: Transaction([Purse("x")], scores=[("o", "board", 2**31)]), r"below 2\^31"),
    ],
)
def test_a_transaction_that_cannot_be_says_why_and_changes_nothing(world, some, how, says):
    game = world.game(0)
    game.purses.add(Purse("a", gold=5))
    with pytest.raises(ValueError, match=says):
        game.store.transact(some, how)
    assert game.purses.read("a").gold == 5 and not game.purses.read("x")


def test_a_thing_is_changed_into_what_again_returns(world):
    world.join("Ada", 0, at=(1, 1))
    game = world.game(0)
    game.store.put(Tower((3, 3)))
    world.run(1)
    [tower] = towers(world)
    with pytest.raises(ValueError, match=r"into what its again\(\) returns"):
        game.store.transact([tower], lambda now: Transaction([now]))


def test_nothing_can_be_changed_while_the_store_is_away(world):
    game = world.game(0)
    game.node.store_client.store = Broken()
    for call in (
        lambda: game.store.put(Tower((1, 1))),
        lambda: game.store.score("o" * 32, "board", 1),
        lambda: game.store.transact([Purse.key("a")], lambda _: None),
    ):
        with pytest.raises(StoreUnavailable):
            call()
