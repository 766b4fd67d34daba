"""The ember goes from fire to fire through one hand at a time, and is never lost, whatever dies."""

import random
from math import dist
from pathlib import Path

import pytest
from gevent import GreenletExit

from flatlands import Records
from flatlands.games.flatlands.ember import ember as module
from flatlands.games.flatlands.ember.ember import BURNS, DAY, HANDS, HEARTH, LATE, names_of
from flatlands.games.flatlands.events import WAVE
from flatlands.games.flatlands.ground.landmarks import Landmarks
from flatlands.games.flatlands.notes import MARK, Note
from flatlands.testkit.store import SimulatedStore
from flatlands.world.terrain import Terrain
from games.flatlands.tests.worlds import ask, lonely, noted, put, resident, same_person

PART = 0, 0
TILE = Landmarks(Terrain(2013)).of(*PART)
#: A place beside a landmark, and the seconds for which the ember burns in one hand.
FOOT = TILE[0], TILE[1] + 2
SECONDS = BURNS / 1000

#: Seconds in which the fastest may have walked from the hearth to the place beside the landmark.
WALK = dist(HEARTH, FOOT) / 6

BESIDE = HEARTH[0] + 1, HEARTH[1]


@pytest.fixture
def world():
    return lonely()


def two(world, there=BESIDE):
    """Return a player at the hearth and a second one, each on a node of its own."""
    players = world.join("Ada", 0, at=HEARTH), world.join("Bob", 1, at=there)
    world.run(1)
    return players


def read(world, node=0):
    """Return what the store has of the ember: its record, or None, and all fires."""
    embers, fires = (
        Records(kind)._of(lambda: world.game(node).node.play.items)
        for kind in (module.Ember, module.Fire)
    )
    return embers.read(module.EMBER_ID), fires.all(module.FIRE_GROUP)


def carrier(world, node=0):
    """Return who has the ember, or 0."""
    ember, now = read(world, node)[0], world.game(node).now()
    return ember.carrier if ember is not None and ember.left(now) > 0 else 0


def take(world, player, of=0):
    return ask(world, player, "take", of)


def light(world, player):
    return ask(world, player, "light")


def carry(world, player, tile=FOOT):
    """Let a player carry the ember from the hearth to a tile."""
    world.run(WALK)
    put(world, player, tile)


def hands(world, player):
    """Return the lines about the ember in a player's book, as (who, n, x, y)."""
    return [line[1:] for line in noted(world, player, "hand")]


def test_a_carrier_is_not_its_own_next_hand_under_another_key(world):
    ada, _ = two(world)
    assert take(world, ada) == ""
    resident(world, ada).owner = "another"
    assert "somebody else's turn" in take(world, ada, ada.id)


def test_a_relay_of_two_on_two_nodes_lights_a_landmark_and_their_books_note_it(world):
    ada, bob = world.join("Ada", 0, at=HEARTH), world.join("Bob", 1, at=(9, 9))
    far = world.join("Far", 1, at=FOOT)
    world.run(1)
    for player in (ada, bob, far):
        assert not ask(world, player, "fires")
        assert player.message("ember") == [0, 0, ""] and player.message("fires") == [[]]
    assert take(world, ada) == "" and carrier(world) == ada.id
    for player in (ada, bob, far):
        id, until, name = player.message("ember")
        assert (id, name) == (ada.id, "Ada") and BURNS - 2000 < until - player.now() <= BURNS
    put(world, bob, BESIDE)
    assert take(world, bob, ada.id) == "" and carrier(world, 1) == bob.id
    assert [player.message("ember")[2] for player in (ada, bob, far)] == ["Bob"] * 3
    carry(world, bob)
    assert light(world, far) == "you are not carrying the ember" and light(world, bob) == ""
    for player in (ada, bob, far):
        [[[x, y, until, names]]] = player.message("fires")
        assert (x, y) == TILE and names == ["Ada", "Bob"]
        assert DAY * 1000 - 5000 < until - player.now() <= DAY * 1000
        assert player.message("ember")[0] == 0 == carrier(world)
    assert hands(world, ada) == [("Bob", 2, *PART)] and hands(world, bob) == [("Ada", 2, *PART)]
    assert not hands(world, far)


@pytest.mark.parametrize("how", ["home and back", "put", "back on another connection"])
@pytest.mark.parametrize("then", ["lights", "hands it on"])
def test_it_goes_out_where_its_carrier_has_jumped(world, how, then):
    ada, bob = world.join("Ada", 0, at=FOOT), world.join("Bob", 1, at=FOOT)
    world.run(1)
    if how == "home and back":
        ada.send(4, 1)
        world.run(2.5)
    put(world, ada, HEARTH)
    assert take(world, ada) == ""
    if how == "home and back":
        ada.send(4, 2)
    elif how == "put":
        put(world, ada, FOOT)
    else:
        world.kill(0)
        ada.back(1)
        world.run(3)
        put(world, ada, FOOT)
    world.run(2)
    assert dist(ada.tile, FOOT) < 3 and carrier(world, 1) == ada.id
    refused = light(world, ada) if then == "lights" else take(world, bob, ada.id)
    assert refused == "the ember has gone out: carry it all the way on foot"
    errors = [more for one in (ada, bob) for what, _, more in one.events if what == "error"]
    assert errors[-1][0] == "ember", "pages show it"
    assert carrier(world, 1) == 0 == bob.message("ember")[0] and not read(world, 1)[1]
    assert light(world, ada) == "you are not carrying the ember"
    put(world, ada, HEARTH), put(world, bob, HEARTH)
    assert "somebody else's turn" in take(world, ada) and take(world, bob) == ""
    assert bob.message("ember")[0] == carrier(world, 1) == bob.id


def test_of_two_players_that_reach_for_the_ember_one_gets_it(world):
    ada, bob = two(world)
    cid = world.join("Cid", 1, at=BESIDE)
    world.run(1)
    ada.do("take", 0), bob.do("take", 0)
    world.run(1)
    assert carrier(world) == ada.id
    assert (ada.errors(), bob.errors()) == ([], ["the ember is no longer there"])
    # A player that asks Ada for it does not get it from Bob, who was faster.
    bob.do("take", ada.id), cid.do("take", ada.id)
    world.run(1)
    assert carrier(world) == bob.id and len(cid.errors()) == 1
    assert take(world, cid, bob.id) == "" and carrier(world) == cid.id


def test_it_burns_out_and_the_fires_give_it_to_all_but_those_that_just_had_it(world):
    ada, bob = two(world)
    take(world, ada)
    world.run(SECONDS - 3)
    assert carrier(world) == ada.id and "somebody else's turn" in take(world, ada, ada.id)
    world.run(2)
    assert carrier(world) == 0
    assert "somebody else's turn" in take(world, ada), "nobody keeps it by running around a fire"
    assert take(world, bob) == "" and carrier(world) == bob.id
    assert names_of(read(world)[0]) == ["Bob"], "what has burnt out is no relay"
    world.run(SECONDS)
    put(world, bob, FOOT)
    assert light(world, bob) == "you are not carrying the ember"
    put(world, bob, BESIDE)
    world.run(SECONDS)
    assert take(world, bob) == "" and carrier(world) == bob.id


def test_none_of_its_last_hands_gets_it_again_even_in_another_window(world):
    some = [world.join(f"P{n}", n % 2, at=HEARTH) for n in range(HANDS + 1)]
    window = world.join("Window", 0, at=HEARTH)
    same_person(world, window, some[0])
    assert take(world, some[0]) == ""
    assert "somebody else's turn" in take(world, window, some[0].id)
    for before, player in zip(some, some[1:], strict=False):
        assert take(world, player, before.id) == ""
        assert "somebody else's turn" in take(world, before, player.id)
    # By now the first of them is no longer among the last ones.
    assert names_of(read(world)[0]) == ["P1", "P2", "P3", "P4"]
    assert take(world, window, some[-1].id) == "" and carrier(world) == window.id


def test_a_player_that_is_not_there_or_lies_gets_nothing(world):
    ada, bob = two(world, (HEARTH[0] + 4, HEARTH[1]))
    assert take(world, bob) == "you are too far away from it"
    take(world, ada)
    for id in (ada.id, bob.id, 1, 2**50):
        assert take(world, bob, id)
    assert light(world, ada) == "you are too far away from a landmark"
    bare = world.join("Bare", 0, at=HEARTH)
    resident(world, bare).owner = ""
    assert "send a key first" in take(world, bare, ada.id)
    assert carrier(world) == ada.id and not read(world)[1]


def test_a_landmark_burns_for_a_day_gives_embers_and_is_lit_once(world):
    ada, bob = two(world, FOOT)
    assert take(world, bob) == "you are too far away from it", "it is dark"
    take(world, ada)
    carry(world, ada)
    assert light(world, ada) == ""
    assert take(world, bob) == "" and light(world, bob) == "this landmark is already burning"
    assert carrier(world) == bob.id, "it is not lost by that"
    ada.leave(), bob.leave()
    world._harness.clock.time += DAY * 1000 - 30_000
    cid = world.join("Cid", 0, at=HEARTH)
    world.run(10)
    assert not ask(world, cid, "fires") and len(cid.message("fires")[0]) == 1
    world.run(25)
    assert not ask(world, cid, "fires") and cid.message("fires") == [[]]
    assert take(world, cid) == ""
    carry(world, cid)
    assert light(world, cid) == "" and len(hands(world, cid)) == 1


@pytest.mark.parametrize("done", [False, True])
def test_a_node_that_dies_while_it_lights_has_done_all_of_it_or_nothing(world, monkeypatch, done):
    ada, bob = two(world)
    take(world, ada)
    assert take(world, bob, ada.id) == ""
    carry(world, bob)
    real = SimulatedStore.take

    def dies(self, queue, *arguments, **more):
        if done:
            real(self, queue, *arguments, **more)
        world.kill(1)
        raise GreenletExit

    monkeypatch.setattr(SimulatedStore, "take", dies)
    with pytest.raises(GreenletExit):
        bob.do("light")
    monkeypatch.undo()
    bob.back(0)
    world.run(3)
    assert carrier(world) == (0 if done else bob.id)
    assert len(read(world)[1]) == int(done)
    if not done:
        put(world, bob, FOOT)
        assert light(world, bob) == ""
    # A page that asks learns of what was sent to nobody.
    assert not ask(world, bob, "fires")
    assert [row[3] for row in bob.message("fires")[0]] == [["Ada", "Bob"]]
    assert len(hands(world, ada)) == len(hands(world, bob)) == 1


@pytest.mark.parametrize("skew", [2, 3600], ids=["a little", "an hour"])
def test_where_clocks_differ_a_later_hand_has_it_for_longer_and_nobody_for_very_long(skew):
    world = lonely(skew=skew)
    ada, bob = world.join("Ada", 1, at=HEARTH), world.join("Bob", 0, at=BESIDE)
    world.run(1)
    assert take(world, ada) == "" and carrier(world, 1) == ada.id
    until = ada.message("ember")[1]
    # By a clock that is an hour behind nobody has the ember.
    assert carrier(world, 0) == (ada.id if skew == 2 else 0)
    assert take(world, bob, ada.id if skew == 2 else 0) == "" and carrier(world, 0) == bob.id
    assert (bob.message("ember")[1] > until) == (skew == 2)


def test_the_page_has_the_same_places_and_times():
    part = Path(__file__).parents[1]
    assert f"BURNS = {BURNS};" in (part / "page" / "ember.js").read_text()
    x, y = HEARTH
    assert (
        f"PLAZA_HEARTH = {{ x: {x}, y: {y} }}"
        in (part.parent / "page" / "landmarks.js").read_text()
    )


def check_deed(before, after, lit, now):
    """Raise AssertionError unless the ember can have become by one deed, at a node time, what it is
    in the store, where new fires were `lit`."""
    left = -BURNS if before is None else before.left(now)
    if after is None:
        # The ember was spent on one fire, which has the names of its hands.
        assert left > 0 and [names_of(fire) for fire in lit] == [names_of(before)]
        return
    if before is not None and after.until < before.until:
        assert left > 0 >= after.left(now) and after.marks == before.marks and not lit
        return
    *others, last = after.marks.split()
    chain = before.marks.split() if before is not None and left > 0 else []
    assert not lit and others == chain[1 - HANDS :]
    assert left <= -BURNS or last not in before.marks, "it is somebody else's turn"
    assert left <= 0 or after.until > before.until


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.outside) for n in range(1, 3))]
)
def test_whatever_happens_it_goes_through_one_hand_at_a_time_and_each_fire_is_lit_once(seed):
    chance = random.Random(seed)
    world = lonely(3, seed=seed)
    nodes, everybody, passed = [0, 1, 2], [], 0
    #: The fires that were lit, and for each the books of the hands that brought the ember.
    owed = {}
    places = [HEARTH, BESIDE, FOOT, (FOOT[0] + 1, FOOT[1])]
    ember, fires = read(world)
    for step in range(300):
        deed, node = chance.random(), chance.choice(nodes)
        playing = [one for one in everybody if one.node in nodes and one.playing]
        lost = [one for one in everybody if one.node not in nodes or one.lost]
        if not playing or (deed < 0.1 and len(playing) < 6):
            everybody.append(world.join(f"P{step}", node, at=chance.choice(places)))
        elif deed < 0.25:
            put(world, chance.choice(playing), chance.choice(places))
        elif deed < 0.6:
            one, has = chance.choice(playing), carrier(world, node)
            for other in playing:
                if other.id == has and deed < 0.5:
                    put(world, one, other.tile)
            one.do("take", chance.choice((0, has, has, chance.choice(playing).id)))
        elif deed < 0.8:
            has = carrier(world, node)
            one = next((one for one in playing if one.id == has), playing[0])
            if deed < 0.7:
                carry(world, one)
            elif deed < 0.75:
                put(world, one, FOOT)
            one.do("light")
        elif deed < 0.85:
            chance.choice((chance.choice(playing).lose, chance.choice(playing).leave))()
        elif deed < 0.92 and lost:
            chance.choice(lost).back(node)
        elif deed < 0.94:
            nodes.remove(node)
            world.kill(node)
            nodes.append(world.start())
        elif deed < 0.96:
            world.cut(*chance.sample(nodes, 2))
        else:
            world.heal()
        before, burnt, (ember, fires) = ember, fires, read(world, nodes[0])
        lit = [fire for fire in fires if fire.id not in [one.id for one in burnt]]
        if lit or (ember and ember.values) != (before and before.values):
            passed += ember is not None and len(ember.marks.split()) > 1
            check_deed(before, ember, lit, world.game(nodes[0]).now())
            owed |= {fire.id: before.marks.split() for fire in lit}
        world.run(chance.choice((0.1, 0.1, 1, 5)))
        if chance.random() < 0.03:
            # Another day begins, on which all is dark.
            world._harness.clock.time += DAY * 1000
            world.run(5)
            ember, fires = read(world, nodes[0])
    assert passed and owed
    notes = Records(Note)._of(lambda: world.game(nodes[0]).node.play.items)
    for id, marks in owed.items():
        for mark in marks:
            assert notes.read(f"{mark}/hand {id}").n == len(marks) and len(mark) == MARK


# Clockwork that walks with a carrier who is alone.


def with_clockwork():
    """Return a world with clockwork people at one node, and at the other one a player at the
    hearth, who has the ember, and with whom clockwork walks."""
    world = lonely(2, walkers=8)
    world.run(15)
    [holder] = [node for node in range(2) if world.game(node).herd.has_people]
    ada = world.join("Ada", 1 - holder, at=HEARTH)
    # She is greeted first.
    world.run(45)
    assert take(world, ada) == ""
    ada.do("emote", WAVE)
    world.run(1)
    return world, ada


def bearer(world):
    """Return the clockwork person that has the ember, or None."""
    return next((one for one in world.movers("Walker") if one.number == carrier(world)), None)


def await_bearer(world):
    """Let clockwork take the ember as soon as it may; return who has it, and for how long its
    carrier before had it, in s."""
    for tenth in range(400):
        if (one := bearer(world)) is not None:
            return one, tenth / 10
        world.run(0.1)
    raise AssertionError("it did not")


def test_clockwork_carries_it_for_one_stretch_for_a_person_alone_who_takes_it_back():
    world, ada = with_clockwork()
    one, after = await_bearer(world)
    assert LATE / 1000 - 3 < after < LATE / 1000 + 2
    assert ada.message("ember")[::2] == [one.number, one.name]
    assert "somebody else's turn" in take(world, ada, one.number)
    world.run(LATE / 1000)
    assert take(world, ada, one.number) == "" and carrier(world) == ada.id
    assert names_of(read(world)[0]) == [one.name, "Ada"]
    # It does not get it again.
    carry(world, ada)
    assert carrier(world) == ada.id and light(world, ada) == ""
    assert [row[3] for row in ada.message("fires")[0]] == [["Ada"]]
    assert hands(world, ada) == [("Ada", 1, *PART)]


def test_people_take_it_from_clockwork_and_the_stone_and_the_books_name_only_people():
    world, ada = with_clockwork()
    one, _ = await_bearer(world)
    bob = world.join("Bob", ada.node, at=one.tile)
    assert take(world, bob, one.number) == ""
    assert names_of(read(world)[0]) == ["Ada", one.name, "Bob"]
    assert "somebody else's turn" in take(world, ada, bob.id)
    carry(world, bob)
    assert light(world, bob) == ""
    assert [row[3] for row in bob.message("fires")[0]] == [["Ada", "Bob"]]
    assert hands(world, ada) == [("Bob", 2, *PART)] and hands(world, bob) == [("Ada", 2, *PART)]


def test_where_another_person_is_near_clockwork_leaves_the_ember_to_people():
    world, ada = with_clockwork()
    bob = world.join("Bob", ada.node, at=(HEARTH[0] + 12, HEARTH[1]))
    world.run(LATE / 1000 + 1)
    assert carrier(world) == ada.id
    bob.leave()
    await_bearer(world)
