"""Twin stones: they open for two people, each of whom gets a half once, whatever dies meanwhile."""

import random
from itertools import combinations
from math import dist

import pytest

from flatlands.games.flatlands.clockwork import Walker
from flatlands.games.flatlands.options import Options
from flatlands.games.flatlands.treasure import STONE_TILES
from flatlands.games.flatlands.twins.twins import (
    APART_TILES,
    NOTIFY_EVERY_MS,
    NOTIFY_WITHIN_TILES,
    Twins,
)
from flatlands.server.players.moderation import BY_OWNER, MUTE, OWNER_PREFIX_CHARS
from flatlands.testkit import World
from games.flatlands.tests.worlds import lonely, noted, part, resident, same_person, spoil


def start(nodes=2, gem_pause=10**4, twins=2, **more):
    """Return a world with twin stones, and no other gems."""
    return lonely(nodes, gem_pause=gem_pause, twins=twins, **more)


def found(world):
    """Return a player that sees twin stones, and the stones."""
    scout = world.join("Scout", at=(0, 0), size=(96, 64))
    world.run(5)
    return scout, scout.things("Twin")[0]


def beside(world, twin, name, stone, node=0, away=1):
    """Return a player who stands some tiles above a stone: -1 is the left one, 1 the right one."""
    at = int(twin.x - 0.5) + stone * STONE_TILES, int(twin.y - 0.5) - away
    return world.join(name, node, at=at)


def on(world, twin, *players):
    """Let players go to stones: (player, stone)."""
    for player, stone in players:
        player.go(twin.x + stone * STONE_TILES, twin.y)
    world.run(1.5)


def gems(player):
    """Return how many gems a player has, as the board says."""
    player._world.run(2)
    player.do("scores")
    return player.message("board")[0]


def partners(player):
    """Return the players with whom a player has opened twin stones, as its book says."""
    return [who for _, who, *_ in noted(player._world, player, "twin")]


def test_the_highest_numbers_of_gems_and_twin_stones_fit_into_a_plot():
    world = World("flatlands", options=Options(walkers=0, deer=0, gems=60, twins=40))
    # Around the plaza there are fewer.
    scout = world.join("Scout", at=(0, -160), size=(96, 64))
    world.run(5)
    assert len(scout.things("Gem")) > 60 and len(scout.things("Twin")) > 10


def test_a_newcomer_comes_upon_one_pair_of_twin_stones():
    world = start(1, twins=1)
    scout, _ = found(world)
    world.run(5)
    near = [twin for twin in scout.things("Twin") if dist((twin.x, twin.y), (0, 0)) < 60]
    assert len(near) == 1


def test_nobody_can_be_at_two_twin_stones_of_one_plot():
    world = start(1, twins=100)
    scout, _ = found(world)
    plots = {}
    for twin in scout.things("Twin"):
        plots.setdefault(twin.id.rpartition(":")[0], []).append((twin.x, twin.y))
    gaps = [dist(*pair) for twins in plots.values() for pair in combinations(twins, 2)]
    assert len(gaps) > 20 and min(gaps) > APART_TILES


def test_two_players_on_two_nodes_that_stand_on_the_stones_get_it_and_a_third_does_not():
    world = start()
    scout, twin = found(world)
    ada = beside(world, twin, "Ada", -1)
    bob = beside(world, twin, "Bob", 1, 1)
    cid = beside(world, twin, "Cid", 1, 1)
    on(world, twin, (ada, -1))
    world.run(10)
    assert scout.things("Twin") and gems(ada) == 0
    on(world, twin, (bob, 1), (cid, 1))
    world.run(5)
    lucky, other = (bob, cid) if bob.message("twin") else (cid, bob)
    assert ada.message("twin") == [lucky.name] and lucky.message("twin") == ["Ada"]
    assert [gems(one) for one in (ada, lucky, other)] == [1, 1, 0]
    assert [partners(one) for one in (ada, lucky, other)] == [[lucky.name], ["Ada"], []]
    assert all(one.id != twin.id for one in scout.things("Twin")) and not scout.things("Half")
    world.run(5)
    world.check()


def test_one_persons_two_windows_and_a_player_without_a_key_open_nothing():
    world = start(nodes=3)
    scout, twin = found(world)
    ada = beside(world, twin, "Ada", -1)
    again = beside(world, twin, "Ada's other window", 1, 1)
    same_person(world, again, ada)
    on(world, twin, (ada, -1), (again, 1))
    world.run(10)
    assert scout.things("Twin") and not scout.things("Half")
    assert again.errors() == ["both stones have you on them: somebody else must stand on one"]
    # A player that has sent no key is not known to be another person.
    nobody = beside(world, twin, "Nobody", 1, 2)
    resident(world, nobody).owner = ""
    on(world, twin, (nobody, 1))
    world.run(10)
    assert scout.things("Twin") and not scout.things("Half")
    # Another person may stand on the same stone as all these.
    on(world, twin, (beside(world, twin, "Bob", 1), 1))
    world.run(3)
    assert partners(ada) == ["Bob"] and gems(ada) == 1


def clockwork_on(world, twin, stone):
    """Let clockwork stand on a stone, at the second node, and do nothing else."""
    games = [world.game(at) for at in range(len(world._hosts))]
    for game in games:
        game.herd.stop()
    tile = int(twin.x - 0.5) + stone * STONE_TILES, int(twin.y - 0.5)
    games[1].node.spawn(lambda: games[1].spawn(Walker(tile, name="Fern")))
    world.run(0.5)


def test_with_clockwork_on_the_other_stone_they_open_for_a_person_alone_who_gets_one_half():
    world = start(nodes=3)
    scout, twin = found(world)
    keyless = beside(world, twin, "Keyless", -1)
    resident(world, keyless).owner = ""
    on(world, twin, (keyless, -1))
    clockwork_on(world, twin, 1)
    world.run(2)
    assert scout.things("Twin") and not scout.things("Half"), "it has no key"
    keyless.leave()
    ada = beside(world, twin, "Ada", -1)
    on(world, twin, (ada, -1))
    assert ada.message("twin") == [""] and gems(ada) == 1 and partners(ada) == [""]
    assert all(one.id != twin.id for one in scout.things("Twin")) and not scout.things("Half")
    world.check()


@pytest.mark.parametrize("stone", [-1, 1], ids=["on the same stone", "on the other stone"])
def test_where_two_people_are_clockwork_does_not_count(stone):
    world = start(nodes=3)
    scout, twin = found(world)
    ada, bob = beside(world, twin, "Ada", -1), beside(world, twin, "Bob", stone, 2)
    part(world, Twins)._open = part(world, Twins, 2)._open = lambda *_given: None
    on(world, twin, (ada, -1), (bob, stone))
    for node in (0, 2):
        del part(world, Twins, node)._open
    clockwork_on(world, twin, 1)
    world.run(2)
    if stone == -1:
        assert scout.things("Twin") and not scout.things("Half")
        on(world, twin, (bob, 1))
        world.run(1)
    assert [gems(one) for one in (ada, bob)] == [1, 1]
    assert [partners(one) for one in (ada, bob)] == [["Bob"], ["Ada"]]
    world.check()


def heard(player):
    """Return all that a player was sent of players that wait."""
    return [more[1] for what, _, more in player.events if what == "message" and more[0] == "waits"]


def test_nearby_players_learn_who_waits_and_when_nobody_waits_any_more():
    world = start()
    _, twin = found(world)
    x, y = int(twin.x - 0.5), int(twin.y - 0.5)
    free = world._hosts[0].node.terrain
    near, far = (
        world.join("N", 1, at=next((x + dx, y) for dx in away if not free.blocked(x + dx, y)))
        for away in (
            range(NOTIFY_WITHIN_TILES, NOTIFY_WITHIN_TILES - 20, -1),
            range(NOTIFY_WITHIN_TILES + 1, NOTIFY_WITHIN_TILES + 20),
        )
    )
    ada = beside(world, twin, "Ada", -1)
    # A player that only walks over a stone does not wait.
    ada.walk(0, 1)
    world.run(1)
    assert heard(near) == []
    on(world, twin, (ada, -1))
    world.run(1)
    waits = [ada.id, "Ada", x, y, True]
    assert heard(near) == [waits] and heard(ada) == [waits]
    world.run(2 * NOTIFY_EVERY_MS / 1000)
    assert heard(near) == [waits] * 3
    # Going back and forth does not send it more often.
    for _ in range(5):
        ada.walk(0, 1)
        world.run(1)
        on(world, twin, (ada, -1))
    assert heard(near) == [waits] * 3 + [[*waits[:4], False]]
    world.run(NOTIFY_EVERY_MS / 1000)
    assert heard(near)[-1] == waits
    bob = beside(world, twin, "Bob", 1, 1)
    on(world, twin, (bob, 1))
    assert ada.message("twin") == ["Bob"] and heard(near)[-1] == [*waits[:4], False]
    assert heard(far) == []


@pytest.mark.parametrize("by_key", [False, True])
def test_nobody_learns_of_a_muted_player_or_of_everybody_in_a_crowd(by_key):
    world = start(nodes=1)
    scout, twin = found(world)
    ada = beside(world, twin, "Ada", -1)
    mark = resident(world, ada).owner[:OWNER_PREFIX_CHARS]
    order = (BY_OWNER[MUTE], mark) if by_key else (MUTE, str(ada.id))
    world._hosts[0].node.moderation.apply(*order, 600)
    on(world, twin, (ada, -1))
    world.run(30)
    assert heard(scout) == []
    on(world, twin, *((beside(world, twin, "B", -1), -1) for _ in range(9)))
    world.run(60)
    assert len(heard(scout)) <= 4


@pytest.mark.parametrize("dying", (0, 1))
def test_a_player_whose_node_dies_before_it_takes_its_half_gets_it_once_back(dying):
    world = start(nodes=3)
    first, second = part(world, Twins), part(world, Twins, 1)
    opened, second._open = first._open, lambda *_given: None

    def dies(*given):
        opened(*given)
        # Everything that follows is lost with the node.
        first._waits.clear()
        world.kill(dying)

    first._open = dies
    _, twin = found(world)
    scout = world.join("Scout", 2, at=(0, 0), size=(96, 64))
    both = [beside(world, twin, "Ada", -1), beside(world, twin, "Bob", 1, 1)]
    on(world, twin, (both[0], -1), (both[1], 1))
    world.run(20)
    dead, other = both[dying], both[1 - dying]
    [half] = scout.things("Half")
    assert half.values == {"player": dead.id, "name": other.name}
    # Nobody else can take it.
    on(world, twin, (other, (-1, 1)[dying]))
    world.run(3)
    assert gems(other) == 1 and partners(other) == [dead.name]
    dead.back(2)
    world.run(5)
    assert gems(dead) == 1 and partners(dead) == [other.name]
    assert not scout.things("Half")
    world.check()


@pytest.mark.parametrize("lost", ["the store", "the link"])
def test_stones_that_do_not_open_while_something_is_lost_open_by_themselves_later(lost):
    world = start()
    scout, twin = found(world)
    ada, bob = beside(world, twin, "Ada", -1), beside(world, twin, "Bob", 1, 1)
    if lost == "the store":
        world.lose_store()
    else:
        world.run(3)
        world.cut(0, 1)
    on(world, twin, (ada, -1), (bob, 1))
    world.run(20)
    assert scout.things("Twin") and not scout.things("Half")
    world.heal()
    world.run(30)
    assert [gems(one) for one in (ada, bob)] == [1, 1]
    assert partners(ada) == ["Bob"] and partners(bob) == ["Ada"]


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.outside) for n in range(2, 4))]
)
def test_in_any_world_each_of_two_that_open_the_stones_gets_its_half_once(seed):
    chance = random.Random(seed)
    random.seed(seed)
    world = start(nodes=3, gem_pause=2, seed=seed, skew=chance.choice((0, 0.2)))
    scout, twin = found(world)
    players = [beside(world, twin, f"P{n}", n % 2 * 2 - 1, n % 3) for n in range(4)]
    nodes = [0, 1, 2]

    def act():
        player = chance.choice(players)
        twins = player.things("Twin") if player.playing else []
        if twins and chance.random() < 0.8:
            twin = chance.choice(twins)
            player.go(twin.x + chance.choice((-STONE_TILES, STONE_TILES)), twin.y)
        elif player.playing and chance.random() < 0.3:
            player.lose()

    for _ in range(120):
        act()
        if chance.random() < 0.12:
            spoil(world, nodes, chance)
        for player in players:
            if not player.playing:
                player.back(chance.choice(nodes), size=(64, 40))
        world.run(chance.random() * 1.5)
        if len(nodes) < 2:
            nodes.append(world.start())
    settle(world, players, nodes)
    check(world, players)


def settle(world, players, nodes):
    """End all faults, and let all players take what is theirs and stand where nothing opens."""
    world.heal()
    # A player that came back to a node that did not hear the others is there twice until then.
    for _ in range(2):
        for player in players:
            if not player.playing:
                player.back(nodes[0])
        world.run(65)
    for player in players:
        for half in player.things("Half"):
            if half.values["player"] == player.id:
                player.go(half.x, half.y)
                world.run(10)
    for player in players:
        x, y = player.place()
        player.go(x, y - 3 * STONE_TILES)
    world.run(10)


def check(world, players):
    """Raise AssertionError unless each opening gave two people one half each, and only once."""
    world.check()
    store = world._harness.hosts[0].node.store_client.store
    left = [item for item in store.each("things flatlands 2013-16") if item.id.startswith("Half:")]
    opened, halves = (
        [id for id, _ in world._taken.things if id.startswith(kind)] for kind in ("Twin:", "Half:")
    )
    books = {player.name: partners(player) for player in players}
    assert len(halves) + len(left) == 2 * len(opened) > 0
    assert [gems(player) for player in players] == [len(books[player.name]) for player in players]
    for name, others in books.items():
        assert left or all(books[other].count(name) == others.count(other) for other in others)
