"""Movers: they walk, arrive, are touched, taken and changed at any node, and survive theirs."""

import random
import zlib

import pytest

from flatlands import Game as Engine
from flatlands import Mover, Refused, Thing, number, plain, text
from flatlands.server.movers.movers import GROUP_MOST, MOVERS_MOST
from flatlands.server.storage.items import MOVER_GROUPS
from flatlands.testkit import World

#: Tiles that nobody may seem to jump in 50 ms, beside what it walks.
JUMP = 0.5


class Monster(Mover, speed=2.5, reach=1):
    health = number(0, 9)
    _loot = number(0, 99)


class Bullet(Mover, speed=10, reach=0.5, persist=False):
    by = number(0, 2**52)


class Sheep(Mover, together=True):
    pass


class Tower(Thing, reach=1):
    pass


class Field(Engine):
    """A field with monsters. It notes what its hooks are called with."""

    ground, things = plain(), [Tower, Monster, Bullet, Sheep]

    def __init__(self, *args):
        super().__init__(*args)
        self.notes = []

    def plant(self, plot):
        return [Tower((10, 3))] if plot == (0, 0) else []

    def on_arrive(self, mover):
        self.notes.append(("arrive", mover.id, mover.tile))

    def on_touch(self, me, thing):
        self.notes.append(("touch", me.name, thing.id))

    def on_near(self, mover, other):
        self.notes.append(("near", mover.id, other.id))

    def on_adopt(self, mover):
        self.notes.append(("adopt", mover.id, mover.tile))


class Wandering(Field):
    """A field whose monsters go on and on."""

    def on_arrive(self, mover):
        self.go(mover, [somewhere(), somewhere()])

    def on_adopt(self, mover):
        super().on_adopt(mover)
        self.go(mover, [somewhere(), somewhere()])


def somewhere():
    return random.randint(-18, 18), random.randint(-10, 10)


def do(world, what, *arguments, node=0, **more):
    """Call a method of the game of a node that may wait, and return what it returns."""
    answers = []

    def call():
        try:
            answers.append((True, what(world.game(node), *arguments, **more)))
        except (Refused, ValueError, RuntimeError) as error:
            answers.append((False, error))

    world.game(node).node.spawn(call)
    for _ in range(40):
        if not answers:
            world.run(0.05)
    [(right, answer)] = answers
    if not right:
        raise answer
    return answer


def settled(game=Field, nodes=2, **more):
    """Return a world whose nodes have divided the groups among them."""
    world = World(game, nodes, **more)
    world.run(18)
    return world


def notes(world, what):
    return [note[1:] for node in range(nodes_of(world)) for note in notes_of(world, node, what)]


def nodes_of(world):
    return len(world._hosts)


def notes_of(world, node, what):
    try:
        return [note for note in world.game(node).notes if note[0] == what]
    except ValueError:
        return []  # it was killed


def spawn(world, mover, *to, node=0):
    return do(world, Field.spawn, mover, *to, node=node)


def spawn_all(world, movers, node=0):
    """Spawn movers, each of which is given with its way."""

    def spawn(game):
        some = game.spawn([mover for mover, *_way in movers])
        for mover, (_, *way) in zip(some, movers, strict=True):
            if way:
                game.go(mover, *way)
        return some

    return do(world, spawn, node=node)


def seen(player):
    """Return the numbers of the movers on a screen."""
    return set(player.movers)


def held(world, node):
    return set(world.game(node).node.play.movers._groups.terms)


# Walking.


def test_a_mover_walks_over_its_way_and_arrives():
    world = settled()
    ada, bob = world.join("Ada", 0, at=(0, 5)), world.join("Bob", 1, at=(0, -5))
    monster = spawn(world, Monster((0, 0), health=4), [(6, 0), (6, 4)])
    world.run(1.5)
    for player in (ada, bob):
        assert seen(player) == {monster.number}
        x, y = player.place(monster.number)
        assert 2.5 < x < 5 and y == pytest.approx(0.5, abs=0.01)
    assert notes(world, "arrive") == []
    world.run(3)
    assert notes(world, "arrive") == [(monster.id, (6, 4))]
    assert [m.tile for m in world.game(1).movers_near((6, 4), 2)] == [(6, 4)]
    world.run(60)
    world.check()
    assert len(notes(world, "arrive")) == 1, "once for each way"


def test_a_mover_goes_and_stops_where_any_node_tells_it_to():
    world = settled()
    ada = world.join("Ada", 0, at=(0, 5))
    monster = spawn(world, Monster((0, 0)))
    owner = next(n for n in (0, 1) if monster.number % MOVER_GROUPS in held(world, n))
    for node in (owner, 1 - owner):
        world.game(node).go(monster, heading=(1, 0))
        world.run(1)
        x, _ = ada.place(monster.number)
        world.game(node).stop(monster)
        world.run(0.5)
        stands = ada.place(monster.number)
        world.run(1)
        assert ada.place(monster.number) == stands and stands[0] > x - 0.1
    assert stands[0] > 4.5 and notes(world, "arrive") == []
    world.game(1 - owner).go(monster, (0, 0))
    world.run(6)
    assert notes(world, "arrive") == [(monster.id, (0, 0))]


def test_players_touch_movers_and_movers_come_near_to_others():
    world = settled()
    world.join("Ada", 0, at=(5, 0)), world.join("Bob", 1, at=(7, 0))
    monster = spawn(world, Monster((0, 0)), (14, 0))
    world.run(3)
    other = spawn(world, Monster((10, 0)))
    world.run(5)
    assert sorted(notes(world, "touch")) == [("Ada", monster.id), ("Bob", monster.id)]
    # Both come near to each other; the tower is too far from both.
    assert sorted(notes(world, "near")) == sorted([(monster.id, other.id), (other.id, monster.id)])
    world.game(0).go(other, (10, 2))
    world.run(3)
    [tower] = world.game(0).things_in((0, 0))
    assert notes(world, "near")[2:] == [(other.id, tower.id)]


# What is done to them.


@pytest.mark.parametrize("kind", [Monster, Bullet])
@pytest.mark.parametrize("store", [True, False])
def test_of_all_who_take_movers_one_gets_each(kind, store):
    world = settled(store=store)
    ada, bob = world.join("Ada", 0, at=(0, 5)), world.join("Bob", 1, at=(0, -5))
    movers = [
        mover
        for node in (0, 1)
        for mover in spawn_all(world, [(kind((n, node)),) for n in range(25)], node)
    ]
    world.run(1)
    assert seen(ada) == seen(bob) == {mover.number for mover in movers}
    got = []

    def take(game, mine):
        for mover in mine:
            got.append(game.store.take(mover))

    for node in (0, 1):
        game = world.game(node)
        for part in range(5):
            game.node.spawn(take, game, movers[part::5])
    world.run(5)
    assert len(got) == 100 and sum(got) == 50
    assert seen(ada) == seen(bob) == set()
    world.run(60)
    world.check()


@pytest.mark.parametrize("kind", [Monster, Bullet])
def test_no_change_of_a_mover_is_lost(kind):
    world = settled()
    ada = world.join("Ada", 0, at=(0, 5))
    mover = spawn(world, kind((0, 0)), (8, 0))
    name = kind.fields[0].name

    def hit(game):
        game.store.change(mover, lambda now: now.again(**{name: getattr(now, name) + 1}))

    for node in (0, 1):
        for _ in range(4):
            world.game(node).node.spawn(hit, world.game(node))
    world.run(3)
    [one] = world.game(0).movers_near((8, 0), 10)
    assert getattr(one, name) == 8 and one.version == 9
    assert seen(ada) == {mover.number} and ada.place(mover.number)[0] > 6


def test_what_a_mover_hides_is_in_the_store_only():
    world = settled(nodes=1)
    ada = world.join("Ada", at=(0, 5))
    monster = spawn(world, Monster((0, 0), health=1, _loot=7))
    world.run(1)
    [one] = world.game().movers_near((0, 0), 3)
    assert one._loot == 0 and one.health == 1
    found = do(world, lambda game: game.store.change(one, lambda now: now.again(health=now._loot)))
    assert (found.health, found._loot) == (7, 7)
    assert seen(ada) == {monster.number}


# The death of their nodes.


def watch(world, player, seconds):
    """Let time pass, and check that no mover on a screen vanishes, jumps or is there twice."""
    before = {id: player.place(id) for id in seen(player)}
    for _ in range(round(seconds / 0.05)):
        world.run(0.05)
        now = {id: player.place(id) for id in seen(player)}
        assert now.keys() == before.keys()
        for id, (x, y) in now.items():
            assert max(abs(x - before[id][0]), abs(y - before[id][1])) < JUMP, id
        before = now


def test_movers_walk_on_when_their_node_is_killed():
    world = settled(Wandering, 3)
    people = [world.join(f"P{n}", n, at=(n, 0), size=(64, 40)) for n in range(3)]
    for node, count in ((0, 67), (1, 67), (2, 66)):
        ways = [(Monster(somewhere(), health=n % 10), somewhere()) for n in range(count)]
        spawn_all(world, ways, node)
    world.run(2)
    ids = seen(people[0])
    assert len(ids) == 200 and all(seen(each) == ids for each in people)
    groups = held(world, 1)
    theirs = {id for id in ids if id % MOVER_GROUPS in groups}
    assert 50 < len(theirs) < 90
    world.kill(1)
    watch(world, people[0], 6)
    assert seen(people[0]) == seen(people[2]) == ids
    assert {int(id.partition(":")[2]) for id, _ in notes(world, "adopt")} >= theirs
    before = {id: people[2].place(id) for id in theirs}
    world.run(5)
    still = [id for id in theirs if people[2].place(id) == before[id]]
    assert len(still) < len(theirs) / 10, "they go on"
    world.check()


def test_movers_of_a_killed_node_go_on_before_the_others_know_that_it_is_dead(monkeypatch):
    # As with very many nodes: heartbeats are half a minute apart.
    monkeypatch.setattr("flatlands.server.squares.peers.HEARTBEATS_HEARD", 0.1)
    world = settled(Wandering, 3)
    world.run(100)
    people = [world.join(f"P{n}", n, at=(n, 0), size=(64, 40)) for n in range(3)]
    spawn_all(world, [(Monster(somewhere()), somewhere()) for _ in range(60)])
    world.run(4)
    shares = [held(world, node) for node in range(3)]
    assert sorted(map(len, shares)) == [10, 11, 11]
    world.kill(1)
    watch(world, people[0], 6)
    assert held(world, 0) | held(world, 2) == set(range(MOVER_GROUPS))
    assert len(world.game(0).node.peers.peers) == 2, "the dead one is not known yet"
    world.run(250)
    assert sorted(map(len, (held(world, 0), held(world, 2)))) == [16, 16]
    world.check()


def test_bullets_die_with_their_node_and_no_store_is_asked():
    world = settled()
    ada = world.join("Ada", 0, at=(0, 5), size=(64, 40))
    bullet = spawn(world, Bullet((0, 0)), (20, 0), node=1)
    world.run(1)
    assert seen(ada) == {bullet.number} and ada.place(bullet.number)[0] > 8
    world.kill(1)
    world.run(12)
    assert seen(ada) == set()


def test_movers_survive_the_end_of_all_nodes():
    world = settled(Field, 1)
    monster = spawn(world, Monster((0, 0), health=3), [(0, 5), (0, 0)])
    world.run(8)
    there = world.game().movers_near((0, 0), 8)[0].tile
    world.run(2)
    world.stop(0)
    node = world.start()
    ada = world.join("Ada", node, at=(0, 3))
    world.run(8)
    assert seen(ada) == {monster.number}
    [one] = world.game(node).movers_near((0, 0), 8)
    assert (one.id, one.health, one.tile) == (monster.id, 3, there)
    assert [id for id, _ in notes(world, "adopt")] == [monster.id]


def freeze(world, node, frozen):
    world._hosts[node].frozen = frozen


def test_a_node_that_stood_still_does_no_harm_when_it_wakes():
    world = settled(Wandering)
    ada = world.join("Ada", 0, at=(0, 0), size=(64, 40))
    some = spawn_all(world, [(Monster((n, 0)), (n, 9)) for n in range(20)], node=1)
    ids = {one.number for one in some}
    world.run(2)
    assert seen(ada) == ids
    freeze(world, 1, True)
    world.run(6)
    freeze(world, 1, False)
    watch(world, ada, 6)
    assert seen(ada) == ids
    world.run(60)
    world.check()


def test_what_was_lost_between_nodes_is_found_again():
    world = settled()
    ada, bob = world.join("Ada", 0, at=(0, 5)), world.join("Bob", 1, at=(0, -5))
    mine = [spawn(world, Monster((n, 0)), node=0) for n in range(4)]
    world.cut(0, 1)
    # Node 1 takes and changes what node 0 moves, which hears nothing of that.
    got = do(world, lambda game: game.store.take(mine[0]), node=1)
    do(world, lambda game: game.store.change(mine[1], lambda m: m.again(health=7)), node=1)
    assert got and do(world, lambda game: game.store.take(mine[0]), node=0) is False
    world.heal()
    world.run(40)
    assert seen(ada) == seen(bob) == {one.number for one in mine[1:]}
    assert ada.movers[mine[1].number].values["health"] == 7
    world.check()


def test_a_node_that_holds_no_group_yet_lets_others_move_what_it_spawns():
    world = settled(nodes=1)
    ada = world.join("Ada", 0, at=(0, 5))
    node = world.start()
    assert held(world, node) == set()
    monster = spawn(world, Monster((0, 0)), (3, 0), node=node)
    world.run(3)
    assert seen(ada) == {monster.number} and notes(world, "arrive") == [(monster.id, (3, 0))]


# Bad input.


def test_what_is_wrong_with_a_mover_is_said():
    world = settled(nodes=1)
    world.join("Ada", at=(0, 5))
    monster = spawn(world, Monster((0, 0)))
    game = world.game()
    for wrong, sentence in (
        (lambda: game.go(monster), "go.. takes a tile, a list of tiles, or heading="),
        (lambda: game.go(monster, (1, 1), heading=(1, 0)), "go.. takes a tile"),
        (lambda: game.go(monster, heading=(2, 0)), "a direction is two numbers from -1 to 1"),
        (lambda: game.go(monster, [(0, 0)] * 51), "a way has at most 50 tiles, and not 51"),
        (lambda: game.go(monster, []), "a way has at least one tile"),
        (lambda: game.go(monster, "there"), "a tile must be two whole numbers"),
        (lambda: game.go(Monster((0, 0)), (1, 1)), "was not spawned: let it begin with spawn"),
        (lambda: game.movers_near((0, 0), 33), "reach must be 0 to 32 tiles"),
        (lambda: spawn(world, monster), "was spawned already"),
        (lambda: spawn(world, Tower((0, 0))), "list this class"),
        (lambda: do(world, lambda g: g.store.put(Monster((1, 1)))), "let it begin with spawn"),
        (lambda: do(world, lambda g: g.store.take(monster, then=[Monster((1, 1))])), "spawn"),
    ):
        with pytest.raises(ValueError, match=sentence):
            wrong()
    for speed in (1, 21, "fast"):
        with pytest.raises(ValueError, match=r"must be 1.25 to 20 tiles a second"):
            type("Slow", (Mover,), {"__module__": "game"}, speed=speed)
    with pytest.raises(ValueError, match="at most 6 fields, and 40 characters"):
        type("Wordy", (Mover,), {"__module__": "game", "name": text(0, 41)})
    with pytest.raises(ValueError, match="together of Flock must be True or False, not 1"):
        type("Flock", (Mover,), {"__module__": "game"}, together=1)
    with pytest.raises(ValueError, match="Flock cannot be together without persist"):
        type("Flock", (Mover,), {"__module__": "game"}, together=True, persist=False)


def test_a_game_without_movers_has_none():
    game = World(Engine, 1).game()
    assert game.movers_near((0, 0), 1) == []
    for ask in (game.movers_here, game.store.movers, game.stop):
        with pytest.raises(RuntimeError, match="a game has movers if its `things` list a class"):
            ask(Monster)


def test_one_node_moves_all_that_are_together():
    world = settled(Wandering, 3)
    ada = world.join("Ada", 0, at=(0, 5))
    node = next(at for at in range(3) if zlib.crc32(b"Sheep") % MOVER_GROUPS not in held(world, at))
    sheep = do(world, lambda game: game.spawn([Sheep((at, 0)) for at in range(12)]), node=node)
    monsters = do(world, lambda game: game.spawn([Monster((at, 2)) for at in range(12)]), node=node)
    world.run(2)

    def here():
        return [len(world.game(at).movers_here(Sheep)) for at in living]

    living = [0, 1, 2]
    assert sorted(here()) == [0, 0, 12]
    leader = here().index(12)
    assert {one.id for one in world.game(leader).movers_here(Sheep)} == {one.id for one in sheep}
    assert len(world.game(node).movers_here(Monster)) == 12
    if leader == 0:
        ada = world.join("Bob", 1, at=(0, 5))
    world.kill(leader)
    living.remove(leader)
    world.run(6)
    assert sorted(here()) == [0, 12]
    assert seen(ada) == {one.number for one in sheep + monsters}
    world.check()


@pytest.mark.interpreted
@pytest.mark.parametrize("nodes", [1, 3])
def test_a_group_has_a_limit(monkeypatch, nodes):
    assert GROUP_MOST * MOVER_GROUPS < MOVERS_MOST
    monkeypatch.setattr("flatlands.server.movers.movers.GROUP_MOST", 3)
    world = settled(Field, nodes)
    ada = world.join("Ada", at=(0, 5), size=(64, 40))
    for node in range(nodes):
        with pytest.raises(Refused, match="at most 3 movers of a kind that is together"):
            for at in range(4):
                spawn(world, Sheep((at, 0)), node=node)
        world.run(0.5)
    with pytest.raises(Refused, match="a world has at most 93 movers"):
        spawn_all(world, [(Monster(somewhere()),) for _ in range(94)])
    world.run(1)
    assert len(seen(ada)) == 3
    if nodes == 1:
        # Sheep take no room from monsters, nor do bullets.
        spawn_all(world, [(Bullet(somewhere()),) for _ in range(64)])
        spawn_all(world, [(Monster(somewhere()),) for _ in range(93)])
        world.run(1)
        assert len(seen(ada)) == 160
    world.check()


def test_numbers_are_never_given_twice_and_none_is_left_over():
    world = settled(Field, 2)
    given = set()
    for turn in range(12):
        some = spawn_all(world, [(Sheep((n, 0)),) for n in range(30)], node=turn % 2)
        assert given.isdisjoint(numbers := {one.number for one in some})
        given |= numbers
        for one in some:
            do(world, lambda game, one=one: game.store.take(one))
    assert len(given) == 360 and max(given) < 1000 * MOVER_GROUPS


def test_a_mover_whose_hooks_are_busy_arrives_later():
    world = settled(Field, 1)
    monster = spawn(world, Monster((0, 0)), (2, 0))
    queues = world.game().node.play.hook_queues
    full = queues.full
    queues.full = lambda _key: True
    world.run(4)
    assert notes(world, "arrive") == []
    queues.full = full
    world.run(1)
    assert notes(world, "arrive") == [(monster.id, (2, 0))]


def test_a_node_that_stops_while_it_adopts_leaves_where_all_are():
    world = settled(Field, 2)
    ways = [(Monster((0, n)), (30, n)) for n in range(32)]
    ids = {one.id for one in spawn_all(world, ways)}
    world.run(4)
    first, second = (world.game(node).node.play for node in (0, 1))
    claimed = second.movers.adoption._claimed
    first.stop()
    for _ in range(300):
        if not claimed:
            world.run(0.01)
    assert claimed
    second.stop()
    world.run(1)
    world.kill(0), world.kill(1)
    node = world.start()
    ada = world.join("Ada", node, at=(9, 9), size=(64, 48))
    world.run(4)
    assert {id for id, _ in notes(world, "adopt")} == ids
    assert min(ada.place(id)[0] for id in ada.movers) > 9


def test_a_place_that_could_not_be_written_is_written_later():
    world = settled(Field, 1)
    monster = spawn(world, Monster((0, 0)), (9, 0))
    world.lose_store()
    world.run(6)
    world.heal()
    world.run(6)
    world.kill(0)
    node = world.start()
    ada = world.join("Ada", node, at=(5, 3))
    world.run(8)
    assert ada.place(monster.number) == (9.5, 0.5)


def test_a_full_group_keeps_where_all_are_and_the_beginnings_of_their_ways():
    world = settled(Field, 1)
    ways = [[(at % 20, at // 20), *[somewhere() for _ in range(40)]] for at in range(100)]
    for at in range(0, 400, 100):
        spawn_all(world, [(Sheep((at // 100, 0)), way) for way in ways])
    world.run(6)
    world.kill(0)
    node = world.start()
    ada = world.join("Ada", node, at=(0, 3), size=(64, 64))
    world.run(5)
    assert len(seen(ada)) == 400
    world.run(15)
    # Each has come to the end of what was left of its way, and the game knows.
    assert len({id for id, _ in notes(world, "arrive")}) == 400
    world.check()


def test_adopted_movers_are_announced_for_a_while_and_not_for_ever():
    world = settled(Field, 2)
    spawn_all(world, [(Monster((n, 0)),) for n in range(20)], node=1)
    world.kill(1)
    world.run(8)
    node, announced = world.game(0).node, []
    publish = node.takeovers._publish_hosted
    node.takeovers._publish_hosted = lambda one: (announced.append(one), publish(one))
    world.start()
    world.run(5)
    assert announced
    world.run(30)
    announced.clear()
    world.run(10)
    assert announced == []


def test_a_name_is_one_that_everybody_can_show():
    for wrong in (text(0, 20), text(1, 21), number(0, 3)):
        with pytest.raises(ValueError, match=r"name of Pet must be text\(1, 20\)"):
            type("Pet", (Mover,), {"__module__": "game", "name": wrong})
    with pytest.raises(ValueError, match="_loot of Shot is hidden, but no store keeps it"):
        type("Shot", (Mover,), {"__module__": "game", "_loot": number(0, 3)}, persist=False)


def test_a_node_that_was_cut_off_for_long_gives_up_its_movers_at_once():
    world = settled(Field, 2)
    ada = world.join("Ada", 0, at=(0, 5), size=(64, 40))
    some = spawn_all(world, [(Monster((n, 0)),) for n in range(20)], node=1)
    ids = {one.number for one in some}
    # It receives nothing at all, and the store neither has it renew its groups.
    host = world._hosts[1]
    host.broker.down = True
    world.run(40)
    assert seen(ada) == ids
    host.broker.restore(host.node)
    world.run(4)
    here = [set(world.game(node).node.residents.by_id) & ids for node in (0, 1)]
    assert here == [ids, set()] and seen(ada) == ids
    world.check()


def test_what_cannot_be_read_of_a_group_stops_no_mover():
    world = settled(Field, 1)
    monster = spawn(world, Monster((0, 0)), (9, 0))
    world.run(4)
    world.kill(0)
    node = world.start()
    world.kill(node)
    node = world.start()
    database = world.game(node).node.store_client.store._connection
    database.execute("UPDATE item SET body = x'c1' WHERE id = ?", (str(monster.number % 32),))
    ada = world.join("Ada", node, at=(5, 3))
    world.run(40)
    assert seen(ada) == {monster.number}
    world.check()
