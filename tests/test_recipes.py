"""docs/recipes/: each recipe has at most 40 lines, and keeps its promise on two nodes."""

import math
import re
import shutil

import pytest

from flatlands.testkit import World
from flatlands.testkit.simulate import plan, play
from tests.processes import ROOT, python
from tests.typescript import CHECK, ran

FOLDER = ROOT / "docs" / "recipes"
RECIPES = sorted(page.stem for page in FOLDER.glob("*.md") if page.name != "README.md")

#: The most lines of a recipe's game.
LINES_MOST = 40

#: Seconds after which somebody whose node has died is gone, and 5 more.
GONE = 20


def snippets(name, language):
    return re.findall(rf"```{language}\n(.*?)```", (FOLDER / f"{name}.md").read_text(), re.S)


@pytest.fixture
def made(tmp_path):
    """Return a function that writes the game of a recipe, and returns its path."""

    def make(name):
        [source] = snippets(name, "python")
        path = tmp_path / f"{name}.py"
        path.write_text(source)
        return path

    return make


@pytest.fixture
def world(request, made):
    """The world of the recipe that a test is named after."""
    name = re.match(r"test_(\w+?)_", request.node.name)[1]
    return World(made(name), nodes=2)


def names(player):
    return {seen.name for seen in player.players.values()}


def heard(player):
    return [(who.name, more) for what, who, more in player.events if what == "said"]


def told(player, name):
    """Return the fields of all messages of a name, in order."""
    return [more[1] for what, _, more in player.events if what == "message" and more[0] == name]


def test_the_table_lists_all_recipes_and_other_pages_lead_there():
    listed = re.findall(r"^\| \[[^]]+\]\((\w+)\.md\)", (FOLDER / "README.md").read_text(), re.M)
    assert sorted(listed) == RECIPES and len(RECIPES) == 11
    assert "(docs/recipes/README.md)" in (ROOT / "README.md").read_text()
    assert "(../recipes/README.md)" in (ROOT / "docs" / "games" / "README.md").read_text()


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_one_game_that_is_short(name):
    [source] = snippets(name, "python")
    lines = source.splitlines()
    assert len(lines) <= LINES_MOST and max(map(len, lines)) <= 100
    page = (FOLDER / f"{name}.md").read_text()
    assert page.startswith("# ") and "\n## What happens if\n" in page
    for action in re.findall(r"game\.do\.(\w+)", page):
        assert re.search(rf"@action\(.*\)\n    def {action}\(self, me", source), action


def playing(world):
    """Return the game of a node at which somebody plays."""
    return world.game(next(player.node for player in world.players if player.playing))


def records(game, records):
    """Return all records of a kind."""
    items = game.node.store_client.store.each(records._queue)
    return [records.read(item.id) for item in items]


def things(game):
    """Return all things that the store has."""
    items = game.node.play.items
    found = (
        items.read_thing(it.id, it.body) for it in game.node.store_client.store.each(items.queue)
    )
    return [thing for thing, _waits in filter(None, found)]


def one_flag(world):
    game = playing(world)
    assert len(things(game)) + (game.holders.read("flag").player != 0) == 1


def all_paid(world):
    game = playing(world)
    purses = records(game, game.purses)
    assert all(purse.gold + 3 * purse.apples == 10 for purse in purses)
    [stall] = things(game)
    assert stall.apples + sum(purse.apples for purse in purses) == 4


#: What must hold in random worlds besides.
RULES = {"flag": one_flag, "shop": all_paid}


@pytest.mark.parametrize("name", RECIPES)
def test_random_worlds_of_a_recipe_are_right(made, name):
    path = made(name)
    (path.parent / "bot.py").write_text('TICKET = "Ada:correct horse"\n')
    for seed in range(4):
        play(path, RULES.get(name, lambda world: None), plan(seed)._replace(store=True))


@pytest.mark.process
@pytest.mark.parametrize("name", [name for name in RECIPES if snippets(name, "js")])
def test_the_page_of_a_recipe_is_right_by_the_types_of_its_game(tmp_path, made, name):
    template = ROOT / "flatlands" / "template" / "page"
    shutil.copytree(template, tmp_path / "page")
    made(name).rename(tmp_path / "game.py")
    source, begin = (tmp_path / "game.py").read_text(), "const game = join({ canvas });\n"
    (tmp_path / "game.py").write_text(source.replace("    ground", '    page = "page"\n    ground'))
    [lines] = snippets(name, "js")
    head = "".join(
        (template / "main.js").read_text().partition("const game")[0].splitlines(True)[2:]
    )
    (tmp_path / "page" / "main.js").write_text(head + (begin * ("= join(" not in lines)) + lines)
    assert python("-m", "flatlands", "types", tmp_path).returncode == 0
    assert ran("node", CHECK, tmp_path / "page" / "jsconfig.json") == ""


def test_rooms_are_separate_and_whoever_comes_back_is_in_its_room(world):
    ada, bob, cay = (world.join(name, n % 2) for n, name in enumerate(("Ada", "Bob", "Cay")))
    for player in (bob, cay):
        player.do("enter", 7)
    world.run(3)
    for player in (ada, bob, cay):
        player.say(f"{player.name} is here")
    world.run(2)
    assert names(ada) == {"Ada"} and names(bob) == names(cay) == {"Bob", "Cay"}
    assert heard(ada) == [] and heard(cay) == [("Bob", "Bob is here")]
    # Nobody walks out of a room.
    bob.walk(1, 1)
    world.run(30)
    assert bob.tile == (7 * 1600 + 62, 62)
    world.kill(1)
    world.run(2)
    bob.back(0)
    world.run(5)
    world.check()
    assert bob.tile == (7 * 1600 + 62, 62) and names(cay) == {"Bob", "Cay"}
    assert names(ada) == {"Ada"}


def test_rooms_put_back_whoever_comes_to_another_room_than_its_own(world):
    ada = world.join("Ada", at=(7 * 1600 + 32, 32))
    world.run(1)
    assert ada.tile == (32, 32)


def test_whisper_reaches_one_player_or_its_sender_is_told(world):
    ada, bob, cay = (world.join(name, n % 2) for n, name in enumerate(("Ada", "Bob", "Cay")))
    world.run(1)
    ada.do("whisper", bob.id, "psst")
    world.run(2)
    assert told(bob, "whisper") == [[ada.id, "Ada", "psst"]] and ada.errors() == []
    world.kill(1)
    ada.do("whisper", bob.id, "anybody?")
    world.run(2)
    assert ada.errors() == ["Nobody has got that: the player is not here."]
    bob.back(0)
    world.run(2)
    ada.do("whisper", bob.id, "back?")
    bob.do("whisper", ada.id, "yes")
    world.run(2)
    assert told(bob, "whisper")[1:] == [[ada.id, "Ada", "back?"]]
    assert told(ada, "whisper") == [[bob.id, "Bob", "yes"]] and len(ada.errors()) == 1
    assert told(cay, "whisper") == []


def test_whisper_is_refused_if_no_node_answers(world):
    ada, bob = world.join("Ada", 0), world.join("Bob", 1)
    world.run(1)
    world.cut(0, 1)
    ada.do("whisper", bob.id, "psst")
    world.run(2)
    assert len(ada.errors()) == 1 and told(bob, "whisper") == []


def test_tag_one_player_is_it_on_all_pages_and_passes_it_on(world):
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(9, 0))
    world.run(3)
    first, other = (ada, bob) if ada.message("it") == [ada.id] else (bob, ada)
    assert other.message("it") == first.message("it") == [first.id]
    first.go(*other.place())
    world.run(5)
    assert first.message("it") == other.message("it") == [other.id]
    # They still stand together, and it is not given back at once.
    world.run(5)
    assert first.message("it") == [other.id]


@pytest.mark.parametrize("back", [True, False])
def test_tag_is_another_player_only_if_whoever_is_it_does_not_come_back(world, back):
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(30, 0))
    world.run(3)
    it, other = (ada, bob) if ada.message("it") == [ada.id] else (bob, ada)
    world.kill(it.node)
    world.run(2)
    if back:
        it.back(other.node)
    world.run(GONE)
    assert other.message("it") == [it.id if back else other.id]
    assert not back or it.message("it") == [it.id]


def test_shop_sells_the_last_apple_once_and_nobody_pays_for_nothing(world):
    ada, bob = world.join("Ada", 0, at=(8, 7)), world.join("Bob", 1, at=(8, 9))
    world.run(2)
    [stall] = ada.things()
    for player in (ada, bob, ada, bob, ada, bob):
        player.do("buy")
    world.run(5)
    world.check()
    [stall] = bob.things()
    gold, apples = zip(*(player.message("purse") for player in (ada, bob)), strict=True)
    assert stall.values == {"apples": 0} and sum(apples) == 4
    assert all(10 - 3 * had == left for had, left in zip(apples, gold, strict=True))
    assert [player.errors() for player in (ada, bob)] == [["All apples are sold."]] * 2


def test_shop_sells_the_last_apple_to_whoever_is_faster(world, monkeypatch):
    ada, bob = world.join("Ada", 0, at=(8, 7)), world.join("Bob", 1, at=(8, 9))
    world.run(2)
    for player in (ada, bob, bob):
        player.do("buy")
    store, there = world.game(0).node.store_client.store, world.game(1)
    get, rivals = store.get, [bob.id]

    def late(queue, ids):
        """Read, and let Bob buy before Ada does."""
        found = get(queue, ids)
        if rivals:
            there.buy(there.player(rivals.pop()))
        return found

    monkeypatch.setattr(store, "get", late)
    ada.do("buy")
    world.run(5)
    world.check()
    assert [player.message("purse") for player in (ada, bob)] == [[7, 1], [1, 3]]
    assert ada.errors() == ["All apples are sold."] and bob.errors() == []


def test_shop_keeps_what_was_bought_and_refuses_whoever_has_no_gold(world):
    ada = world.join("Ada", 0, at=(8, 7))
    world.run(2)
    for _ in range(3):
        ada.do("buy")
    assert ada.message("purse") == [1, 3]
    world.kill(0)
    ada.back(1)
    world.run(3)
    ada.do("buy")
    assert ada.errors() == ["An apple costs 3 pieces of gold."]
    assert [stall.values["apples"] for stall in ada.things()] == [1]
    # The purse is that of the person, in any window; far from the stall nothing is sold.
    again = world.join("Ada", 1, at=(8, 11), person=ada)
    world.run(2)
    again.do("buy")
    assert again.message("purse") is None and again.errors() == []
    assert len(world.game(1).purses.all(world.game(1).player(ada.id).owner)) == 1


def test_shop_does_nothing_by_half_while_the_store_is_away(world):
    ada = world.join("Ada", 0, at=(8, 7))
    world.run(2)
    world.lose_store()
    ada.do("buy")
    world.run(2)
    world.heal()
    world.run(5)
    assert len(ada.errors()) == 1 and ada.message("purse") is None
    ada.do("buy")
    assert ada.message("purse") == [7, 1]
    world.run(5)
    world.check()


@pytest.mark.parametrize("dies", [0, 1])
def test_round_ends_once_and_has_one_winner_whichever_node_dies(world, dies):
    ada, bob = world.join("Ada", 0), world.join("Bob", 1)
    world.run(8)
    for player, points in ((ada, 2), (bob, 3)):
        for _ in range(points):
            player.do("point")
    world.run(30)
    world.kill(dies)
    world.run(2)
    dead, alive = (ada, bob) if dies == 0 else (bob, ada)
    dead.back(alive.node)
    world.run(60)
    rounds = [n for n, _ends, _winner in told(alive, "round")]
    assert rounds == sorted(rounds) and {*rounds} == {1, 2}
    assert alive.message("round")[2] == dead.message("round")[2] == "Bob"
    assert {one.name: one.points for one in world.game(alive.node).scores.all("1")} == {
        "Ada": 2,
        "Bob": 3,
    }
    assert ada.errors() == bob.errors() == []
    # The next one is nobody's.
    world.run(62)
    assert alive.message("round")[0] == 3 and alive.message("round")[2] == ""


def test_round_takes_no_point_after_its_end(world, monkeypatch):
    ada, bob = world.join("Ada", 0), world.join("Bob", 1)
    world.run(8)
    game = world.game(0)
    read = game.rounds.read
    old = read("round")
    world.run(61)
    assert read("round").n == old.n + 1
    # A node that has read the round just before it ended.
    monkeypatch.setattr(game.rounds, "read", lambda id: old)
    ada.do("point")
    bob.do("point")
    assert ada.errors() == ["That round is over."] and bob.errors() == []
    assert game.scores.all(str(old.n)) == [] and len(game.scores.all(str(old.n + 1))) == 1


def test_board_is_that_of_the_day_at_all_nodes_whatever_their_clocks_say(made):
    world = World(made("board"), nodes=2, skew=24 * 3600)
    # The kit begins 6,400 s before midnight.
    world.run(6000)
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(0, 0))
    points = []
    for _ in range(2):
        touch(world, ada, bob)
        ada.do("board", 0)
        bob.do("board", 0)
        world.run(3)
        rows, place = ada.message("board")
        assert bob.message("board")[0] == rows and 1 in (place, bob.message("board")[1])
        points.append(sum(points for _name, points in rows))
        world.run(500)
    # Midnight has passed once: the first day is now yesterday.
    ada.do("board", 1)
    assert sum(points for _name, points in ada.message("board")[0]) >= points[0] > 0 < points[1]
    world.check()


def touch(world, *players):
    """Let players go to a coin at the same time, and return its worth."""
    [coin, *_] = sorted(players[0].things("Coin"), key=lambda coin: coin.id)
    for player in players:
        player.go(coin.x, coin.y)
    world.run(15)
    return coin.values["worth"]


def test_board_counts_a_coin_once_whatever_dies(world):
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(0, 0))
    world.run(1)
    worth = touch(world, ada, bob)
    world.kill(0)
    ada.back(1)
    world.run(5)
    world.check()
    ada.do("board", 0)
    rows, _place = ada.message("board")
    # They may have found others on the way; `check` compares what was taken with the points.
    assert sum(points for _name, points in rows) >= worth


def test_login_gives_a_name_to_one_person_who_proves_it_at_any_node(world):
    ada = world.join("Page", 0, ticket="Ada:correct horse")
    eve = world.join("Page", 1, ticket="ada:battery staple")
    short = world.join("Page", 1, ticket="Bob:1234567")
    none = world.join("Page", 1)
    world.run(1)
    assert ada.playing and ada.me.name == "Ada"
    assert eve.refused == "That name is taken, or the password is wrong."
    assert short.refused == "A password has at least 8 characters."
    assert not none.playing and none.refused
    again = world.join("Page", 1, ticket="Ada:correct horse")
    world.run(1)
    world.kill(0)
    ada.back(1)
    world.run(5)
    world.check()
    [owner] = {world.game(1).player(player.id).owner for player in (ada, again)}
    assert owner
    account = world.game(1).accounts.read("ada")
    assert "horse" not in repr(account) and len(account.hash) == 128


def test_login_lets_one_of_two_have_a_name_that_is_new(world, monkeypatch):
    # Both nodes have seen that nobody has the name, before either adds it.
    accounts = world.game(1).accounts
    read, calls = accounts.read, []

    def first_nobody(id):
        calls.append(id)
        return None if len(calls) == 1 else read(id)

    monkeypatch.setattr(accounts, "read", first_nobody)
    ada = world.join("Page", 0, ticket="Ada:correct horse")
    eve = world.join("Page", 1, ticket="Ada:battery staple")
    assert ada.playing and eve.refused and len(calls) == 2


def flags(world, node, *players):
    """Return how many flags there are, in the world and carried; and who carries one, or 0."""
    lying = {thing.id for player in players for thing in player.things("Flag")}
    holder = world.game(node).holders.read("flag")
    return len(lying) + (holder.player != 0), holder.player


def test_flag_is_one_that_is_taken_dropped_and_kept_over_the_death_of_a_node(world):
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(6, 0))
    world.run(2)
    assert flags(world, 0, ada, bob) == (1, 0)
    for player in (ada, bob):
        player.go(3.5, 0.5)
    world.run(4)
    count, carrier = flags(world, 0, ada, bob)
    first, other = (ada, bob) if carrier == ada.id else (bob, ada)
    assert count == 1 and carrier == first.id and other.message("flag") == [first.id]
    world.kill(first.node)
    world.run(2)
    first.back(other.node)
    world.run(GONE)
    assert flags(world, other.node, ada, bob) == (1, first.id)
    other.do("drop")
    world.run(2)
    assert flags(world, other.node, ada, bob) == (1, first.id)
    first.do("drop")
    world.run(2)
    world.check()
    assert flags(world, other.node, first, other) == (1, 0) and first.message("flag") == [0]
    [flag] = other.things("Flag")
    assert (flag.x, flag.y) == (first.tile[0] + 2.5, first.tile[1] + 0.5)
    other.go(flag.x, flag.y)
    world.run(3)
    assert flags(world, other.node, ada, bob) == (1, other.id)


@pytest.mark.parametrize("how", ["leave", "kill"])
def test_flag_of_somebody_who_has_gone_lies_at_its_first_place(world, how):
    ada, bob = world.join("Ada", 0, at=(3, 0)), world.join("Bob", 1, at=(12, 0))
    world.run(3)
    assert flags(world, 1, ada, bob) == (1, ada.id)
    if how == "leave":
        ada.leave()
    else:
        world.kill(0)
    world.run(GONE)
    world.check()
    assert flags(world, 1, bob) == (1, 0)
    assert [(flag.x, flag.y) for flag in bob.things("Flag")] == [(3.5, 0.5)]


def test_monster_hunts_is_hit_once_for_each_blow_and_outlives_its_node(world):
    world.run(20)
    ada, bob = (world.join(name, n, at=(n, 0), size=(96, 96)) for n, name in enumerate(("A", "B")))
    world.run(1)
    ids = set(ada.movers)
    assert len(ids) == 5 and set(bob.movers) == ids
    prey = min(ids, key=lambda id: math.dist(ada.place(id), ada.place()))
    for player in (ada, bob):
        player.go(*ada.place(prey))
    world.run(30)
    # It stands beside them, and has bitten somebody.
    assert math.dist(ada.place(prey), ada.place()) < 1.5
    assert told(ada, "bitten") or told(bob, "bitten")
    blows = sum(one.values["health"] for one in ada.movers.values())
    for player in (ada, bob):
        player.do("hit")
    world.run(1)
    assert sum(one.values["health"] for one in bob.movers.values()) == blows - 2
    world.kill(1)
    ada.go(ada.place()[0] + 6, ada.place()[1])
    world.run(12)
    assert math.dist(ada.place(prey), ada.place()) < 1.5, "it hunts on"
    for _ in range(3):
        ada.do("hit")
        world.run(1)
    assert [row.points for row in world.game(0).top("monsters", 10)] == [1]
    world.run(10)
    assert len(ids - set(ada.movers)) == 1 and len(ada.movers) == 5
    world.check()


def test_bullet_hits_one_player_who_is_at_any_node_and_is_gone_then(world):
    ada, bob = world.join("Ada", 0, at=(0, 0)), world.join("Bob", 1, at=(6, 0))
    cay = world.join("Cay", 0, at=(9, 0))
    world.run(1)
    ada.do("fire", 1, 0)
    world.run(0.3)
    assert len(bob.movers) == 1
    world.run(2)
    for player in (ada, bob, cay):
        assert told(player, "hit") == [[ada.id, bob.id]] and not player.movers
    ada.do("fire", 0, 1)
    world.run(3)
    assert not ada.movers and len(told(cay, "hit")) == 1, "it has gone as far as it flies"
    ada.do("fire", 1, 0)
    world.run(0.2)
    world.kill(0)
    world.run(12)
    assert not bob.movers
    world.check()


def test_cart_carries_a_rider_from_stop_to_stop_whichever_node_dies(world):
    ada = world.join("Ada", 0, at=(0, 0), size=(64, 40))
    bob = world.join("Bob", 1, at=(10, 5), size=(64, 40))
    while not ada.movers or max(map(abs, ada.place(next(iter(ada.movers))))) > 1.5:
        world.run(0.1)
    [cart] = ada.movers
    ada.do("board")
    world.run(2)
    assert bob.players[ada.id].values["cart"] == cart

    def apart():
        (x, y), (at_x, at_y) = ada.place(), ada.place(cart)
        return max(abs(x - at_x), abs(y - at_y))

    for _ in range(40):
        world.run(0.5)
        assert apart() < 2.6
    world.kill(0)
    world.run(2)
    ada.back(1)
    world.run(8)
    before = ada.place(cart)
    for _ in range(20):
        world.run(0.5)
        assert apart() < 2.6
    assert ada.place(cart) != before
    ada.do("board")
    world.run(10)
    assert apart() > 3 and bob.players[ada.id].values["cart"] == 0
    world.check()
