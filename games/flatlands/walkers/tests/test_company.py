"""Clockwork walkers keep company: they greet, answer, wave back, and lead to a sight."""

import math
import re
from itertools import compress

import pytest

from flatlands.games.flatlands.ground.landmarks import Landmarks
from flatlands.games.flatlands.treasure import STONE_TILES
from flatlands.games.flatlands.walkers import company, errands, sight, talk
from flatlands.games.flatlands.walkers.people import NAMES
from flatlands.games.flatlands.walkers.talk import AGAIN, GREETINGS, SAYINGS, SIGHTS, Facts, answer
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.testkit.clock import Clock
from flatlands.testkit.ground import PatchedTerrain
from flatlands.testkit.store import shared_stores
from flatlands.world.terrain import BRIDGE, DEEP, PATH, PLAZA, WATER, Terrain
from flatlands.world.track import UNIT, Goal, leg
from games.flatlands.tests.harness import Harness, Sizes
from games.flatlands.tests.worlds import lonely
from games.flatlands.walkers.tests.test_herd import herding, others
from tests.processes import ROOT

WAVE = 1
LAUGH = 3
DANCE = 4
SCREEN = (96, 64)


def clockwork(count=6, **more):
    """Return a harness whose only node hosts `count` clockwork walkers."""
    harness = Harness(sizes=Sizes(people=count), **more)
    harness.run(4000)
    return harness


def is_clockwork(player):
    return player.id < FIRST_PERSON_ID and player.name != "Deer"


def keeping(node):
    """Return what a node knows of the players to whom its clockwork walkers keep company."""
    return node.game.herd._company


def names(client):
    """Return the names of the clockwork walkers that a client sees."""
    return {p.name for p in client.model.players.values() if is_clockwork(p)}


def lines(client, since=0):
    """Return what clockwork walkers have said to somebody in particular."""
    herd = names(client)
    return [text for who, text in client.model.chat[since:] if who in herd and text not in SAYINGS]


def greetings(client, guest):
    known = {text.format(guest=guest, own=own) for text in (*GREETINGS, AGAIN) for own in NAMES}
    return [text for text in lines(client) if text in known]


def nearest(client):
    """Return the clockwork walker that reacts to a client's player: the nearest one, as the client
    knows it."""
    now, here = client.now(), client.at()
    herd = [p for p in client.model.players.values() if is_clockwork(p)]
    return min(herd, key=lambda p: math.dist(p.at(now), here))


def beside_one(harness, who="Ada", others=()):
    """Return a client beside a clockwork walker, long after the greeting."""
    client = harness.stand(who, (0, 0), SCREEN)
    for other in others:
        harness.stand(other, (UNIT, 0), SCREEN)
    harness.run(60_000)
    await_one(harness, client)
    return client


def await_one(harness, client):
    """Wait until a clockwork walker is beside a client's player, and return it."""
    for _ in range(400):
        one = nearest(client)
        if math.dist(one.at(client.now()), client.at()) < 4 * UNIT:
            return one
        harness.run(50)
    raise AssertionError("none came near")


def after(client, *message, ms=3000):
    """Let a client send something; return what clockwork walkers say, and all emotes, within `ms`
    milliseconds."""
    chat, emotes = len(client.model.chat), len(client.model.game_events)
    client.send(*message)
    client.harness.run(ms)
    return lines(client, chat), client.model.game_events[emotes:]


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("phase", range(0, 4000, 800))
def test_a_newcomer_is_greeted_by_name_within_three_seconds_by_a_walker_that_says_what_it_is(
    nodes, phase
):
    if nodes == 1:
        harness = clockwork()
    else:
        harness = herding(nodes=nodes, sizes=Sizes(people=12), skew=700)
        harness.run(25_000)
    harness.run(phase)
    host = harness.hosts[0] if nodes == 1 else others(harness)[0]
    ada = harness.stand("Ada", (0, 0), SCREEN, host)
    harness.run(3000)
    [text] = greetings(ada, "Ada")
    assert "clockwork" in text
    [speaker] = [who for who, said in ada.model.chat if said == text]
    # The greeter has come near and waved, and no other walker greets her.
    harness.run(2500)
    assert speaker in text and ada.model.game_events == [(speaker, WAVE)]
    greeter = next(p for p in ada.model.players.values() if p.name == speaker)
    assert math.dist(greeter.at(ada.now()), ada.at()) < 8 * UNIT
    harness.run(20_000)
    assert greetings(ada, "Ada") == [text]
    said, _ = after(ada, 6, "Who are you?")
    assert len([text for text in said if text.startswith("I am ")]) <= 1
    harness.check()


def test_each_newcomer_is_greeted_once_even_one_that_comes_back():
    harness = clockwork()
    ada = harness.stand("Ada", (0, 0), SCREEN)
    bob = harness.stand("Bob", (2 * UNIT, UNIT), SCREEN)
    harness.run(5000)
    assert len(greetings(bob, "Ada")) == len(greetings(ada, "Bob")) == 1
    ada.connection.lose()
    harness.run(3000)
    again = harness.client().hello("Ada", SCREEN, ada.model.token)
    harness.run(15_000)
    assert again.id == ada.id and len(greetings(bob, "Ada")) == 1


def test_a_wave_is_returned_once_by_the_nearest_walker_after_turning_round():
    harness = clockwork()
    ada = beside_one(harness)
    friend = nearest(ada)
    before = len(ada.model.game_events)
    ada.send(35, "emote", [WAVE])
    while len(ada.model.game_events) < before + 2:
        harness.run(100)
    assert ada.model.game_events[before:] == [("Ada", WAVE), (friend.name, WAVE)]
    x, y, dx, dy, *_ = ada.model.players[friend.id].track
    assert (dx or dy) and abs(dx) <= 1 and abs(dy) <= 1
    ax, ay = ada.at()
    assert dx * (ax - x) >= 0 and dy * (ay - y) >= 0
    harness.run(5000)
    assert len(ada.model.game_events) == before + 2


def test_a_walker_that_returns_a_wave_walks_along_for_a_while():
    harness = clockwork()
    ada = beside_one(harness)
    friend = nearest(ada).id
    ada.send(35, "emote", [WAVE])
    harness.run(2000)

    def away():
        return math.dist(ada.at(), ada.model.players[friend].at(ada.now())) / UNIT

    for step in range(12):
        ada.walk((1, 0, -1, 0)[step % 4], (0, 1, 0, -1)[step % 4])
        harness.run(1500)
        assert away() < 8, "it keeps up"
    assert keeping(harness.node)._person(friend).errand is not None
    ada.walk(0, 0)
    harness.run(4000)
    assert keeping(harness.node)._person(friend).errand is None


def test_a_player_that_answers_its_greeters_wave_is_not_waved_to_again():
    harness = clockwork()
    ada = harness.stand("Ada", (0, 0), SCREEN)
    while not ada.model.game_events:
        harness.run(50)
    ada.send(35, "emote", [WAVE])
    harness.run(8000)
    assert [emote for _, emote in ada.model.game_events] == [WAVE, WAVE]


@pytest.mark.parametrize("nodes", [1, 3])
def test_clockwork_does_not_return_a_wave_that_a_person_returns(nodes):
    harness = herding(nodes=nodes, sizes=Sizes(people=12))
    anna = harness.stand("Anna", (0, 0), SCREEN)
    ben = harness.stand("Ben", (2 * UNIT, 0), SCREEN, harness.hosts[-1])
    for host in harness.hosts:
        # A node that has only just begun to hear the square knows of no wave before.
        harness.stand("Seer", (0, 15 * UNIT), SCREEN, host)
    harness.run(60_000)
    for _ in range(3):
        before = len(anna.model.game_events)
        anna.send(35, "emote", [WAVE])
        harness.run(1200)
        ben.send(35, "emote", [WAVE])
        harness.run(8000)
        assert anna.model.game_events[before:] == [("Anna", WAVE), ("Ben", WAVE)]


def test_clockwork_returns_a_wave_that_a_person_has_not_returned_in_time():
    harness = clockwork()
    anna = beside_one(harness, "Anna", others=["Ben"])
    before = len(anna.model.game_events)
    _, emotes = after(anna, 35, "emote", [WAVE], ms=company.WAITS_FOR_PEOPLE)
    assert emotes == [("Anna", WAVE)]
    harness.run(2000)
    assert [emote for _, emote in anna.model.game_events[before:]] == [WAVE, WAVE]


def test_the_nearest_walker_comes_and_dances_with_a_person_that_dances_alone():
    harness = clockwork()
    ada = beside_one(harness)
    for _ in range(3):
        before = len(ada.model.game_events)
        ada.send(35, "emote", [DANCE])
        while len(ada.model.game_events) < before + 2:
            harness.run(100)
        own, (name, emote) = ada.model.game_events[before:]
        [friend] = [p for p in ada.model.players.values() if p.name == name and is_clockwork(p)]
        assert own == ("Ada", DANCE) and emote == DANCE
        assert math.dist(friend.at(ada.now()), ada.at()) <= errands.BESIDE + 2
        harness.run(4000)
        assert len(ada.model.game_events) == before + 2
    # Where another person is near they are left alone.
    harness.stand("Bob", (5 * UNIT, 0), SCREEN)
    harness.run(30_000)
    assert after(ada, 35, "emote", [DANCE], ms=6000)[1] == [("Ada", DANCE)]


def test_other_emotes_are_not_returned_and_far_ones_not_seen():
    harness = clockwork()
    ada = beside_one(harness)
    assert after(ada, 35, "emote", [LAUGH])[1] == [("Ada", LAUGH)]
    far = harness.place("Far", (9, 9))
    harness.run(1000)
    assert after(far, 35, "emote", [WAVE])[1] == [("Far", WAVE)]


def test_words_that_are_not_understood_are_answered_with_a_gesture():
    harness = clockwork()
    ada = beside_one(harness)
    said, emotes = after(ada, 6, "xyzzy plugh", ms=2500)
    assert said == [] and [emote for _, emote in emotes] == [6]


def test_people_that_talk_to_each_other_are_left_alone_until_they_name_a_walker():
    harness = clockwork()
    ada = beside_one(harness, others=["Bob"])
    assert after(ada, 6, "Hello Bob, where is the lake?")[0] == []
    friend = await_one(harness, ada).name
    [text], _ = after(ada, 6, f"{friend}, who are you?")
    assert (friend, text) in ada.model.chat and "computer player" in text


def test_clockwork_keeps_silent_in_a_crowd():
    harness = clockwork()
    for at in range(company.CROWD + 2):
        harness.stand(f"One of {at}", (at % 7 * UNIT, at // 7 * UNIT), (20, 20))
    harness.run(30_000)
    ada = harness.stand("Ada", (0, 0), SCREEN)
    ada.send(6, "Who are you?")
    assert after(ada, 35, "emote", [WAVE], ms=10_000) == ([], [("Ada", WAVE)])


def test_clockwork_limits_what_it_says_in_a_minute_and_whom_it_remembers(monkeypatch):
    harness = clockwork()
    ada = beside_one(harness)
    before = len(ada.model.chat)
    for _ in range(40):
        ada.send(6, f"Who are you, {nearest(ada).name}?")
        harness.run(1400)
    assert 5 < len(lines(ada, before)) <= company.ANSWERS_A_MINUTE
    monkeypatch.setattr(company, "REMEMBERED", 10)
    met = keeping(harness.node)._met
    for at in range(30):
        guest = harness.stand(f"Guest {at}", (0, 0), (20, 20))
        harness.run(300)
        guest.connection.lose(1000)
        harness.run(300)
        assert guest.id in met and len(met) <= 10


# The way to a sight.


def led(harness, follows):
    """Let a newcomer be greeted, and follow the leader while `follows` says so; return its client,
    and what the leader said to it after the greeting, until the end."""
    ada = harness.stand("Ada", (0, 0), SCREEN)
    errands = keeping(harness.node)._errands
    leader = None
    for _ in range(500):
        harness.run(200)
        if leader is None:
            leader = next((who for who, text in ada.model.chat if "Click me" in text), None)
        elif not errands.leading:
            break
        else:
            known = next((p for p in ada.model.players.values() if p.name == leader), None)
            if known is not None and follows():
                ada.go(*known.at(ada.now()))
    return ada, [text for who, text in ada.model.chat if who == leader and text not in SAYINGS][1:]


def come(kind):
    """Return the invitation to a kind of sight."""
    return talk.COME.format(guest="Ada", sight=SIGHTS[kind][0])


def calls(text):
    return text == talk.WAITING.format(guest="Ada")


@pytest.mark.parametrize("store", [False, True])
def test_a_newcomer_is_led_by_paths_to_a_landmark(store):
    clock = Clock()
    more = {"clock": clock, "stores": shared_stores(clock)} if store else {}
    harness = clockwork(free=False, **more)
    harness.run(3000)
    been = set()

    def follows():
        speaker = next(who for who, text in harness.clients[0].model.chat if "Click me" in text)
        leader = next(r for r in harness.node.residents.by_id.values() if r.name == speaker)
        x, y = leader.track.at(harness.loop.now())
        been.add(harness.node.terrain.kind(x // UNIT, y // UNIT))
        return True

    begun = harness.clock.time
    ada, said = led(harness, follows)
    took = harness.clock.time - begun
    first, *rest = [text for text in said if not calls(text)]
    assert first == come(sight.LANDMARK) and rest == [SIGHTS[sight.LANDMARK][1].format(guest="Ada")]
    assert all("Ada" in text for text in lines(ada))
    x, y = ada.at()
    assert math.dist((x / UNIT, y / UNIT), (61, -74)) < 6 and took < 50_000
    # Over the bridge, and not through the wood.
    assert BRIDGE in been and {PATH, PLAZA} & been
    harness.check()


def test_a_leader_waits_comes_back_once_and_gives_up_kindly():
    harness = clockwork(free=False)
    ada, said = led(harness, lambda: False)
    give_up = talk.GIVES_UP.format(guest="Ada", way="")[:17]
    assert said[0] == come(sight.LANDMARK) and calls(said[1])
    assert said[2] == talk.CLICK_ME.format(guest="Ada") and said[3].startswith(give_up)
    assert len(said) == 4 and errands.COMES_BACK_AFTER_MS + errands.GIVES_UP_AFTER_MS == 25_000
    assert keeping(harness.node)._errands.leading == 0
    # And the leader goes on with its life.
    harness.run(10_000)
    assert all(p.track[5] > 0 for p in ada.model.players.values() if is_clockwork(p))


def test_a_guest_that_has_gone_elsewhere_does_not_hear_that_the_leader_gives_up():
    harness = clockwork(free=False)
    ada = harness.stand("Ada", (0, 0), SCREEN)
    while not any("Click me" in text for text in lines(ada)):
        harness.run(100)
    for _ in range(60):
        ada.walk(0, 1)
        harness.run(1000)
    assert not any("Another time" in text for text in lines(ada))
    assert math.hypot(*ada.at()) > errands.HEARS_WITHIN + errands.FOLLOWS_WITHIN


@pytest.mark.parametrize("seed", [2013, 1, 7, 12, 35, 99, 12345, 4_000_000_000])
def test_with_any_seed_there_is_a_sight_and_a_way_there_that_can_be_walked(seed):
    terrain = Terrain(seed)
    sights, others = (
        sight.Sights(ground, Landmarks(ground)) for ground in (terrain, Terrain(seed))
    )
    while not sights.look():
        pass
    while not others.look():
        pass
    best = sights.best
    assert best == others.best and best.length < sight.FARTHEST_TILES + 11
    assert abs(math.hypot(*best.places[0]) - sight.BEGINS_TILES * UNIT) < 4 * UNIT
    tiles = set()
    for start, end in zip(best.places, best.places[1:], strict=False):
        track = leg(terrain, *start, Goal(*end), 0)
        assert (track.x + track.dx, track.y + track.dy) == end
        tiles |= {
            tuple(place // UNIT for place in track.at(t)) for t in range(0, track.end + 1, 100)
        }
    # The way is by paths, but for the last steps to a landmark.
    off = [tile for tile in tiles if terrain.kind(*tile) not in (PATH, BRIDGE, PLAZA)]
    x, y = (place // UNIT for place in best.places[-1])
    assert all(best.kind == sight.LANDMARK and math.dist(tile, (x, y)) < 12 for tile in off)
    if best.kind == sight.LANDMARK:
        marks = [Landmarks(terrain).of(i, j) for i in (-1, 0) for j in (-1, 0)]
        assert min(math.dist((x, y), mark) for mark in filter(None, marks)) < 4
    elif best.kind == sight.OVER_WATER:
        assert terrain.kind(x, y) == BRIDGE
        around = [(x + dx, y + dy) for dx in range(-4, 5) for dy in range(-4, 5)]
        assert sum(terrain.kind(*tile) in (WATER, DEEP) for tile in around) > 20
    else:
        assert best.kind == sight.CROSSING
    # From anywhere on the plaza one can walk straight to its beginning.
    for angle in range(16):
        x, y = (
            round(far * sight.BEGINS_TILES * UNIT) for far in (math.cos(angle), math.sin(angle))
        )
        track = leg(terrain, x, y, Goal(*best.places[0]), 0)
        assert track is None or (track.x + track.dx, track.y + track.dy) == best.places[0]


# People who are alone at twin stones.


def helping(walkers=8, seconds=15, **more):
    """Return a world of three nodes with clockwork people, the node that has these, the other two,
    and the nearest twin stones."""
    world = lonely(3, walkers=walkers, twins=2, gem_pause=10**4, **more)
    world.run(seconds)
    [holder] = [node for node in range(3) if world.game(node).herd.has_people]
    scout = world.join("Scout", holder, at=(0, 0), size=(96, 64))
    world.run(2)
    return world, holder, [node for node in range(3) if node != holder], scout.things("Twin")[0]


def waiting(world, node, twin, name="Ada", stone=-1):
    """Return a player who stands on a twin stone: -1 is the left one."""
    tile = int(twin.x - 0.5) + stone * STONE_TILES, int(twin.y - 0.5)
    player = world.join(name, node, at=tile)
    player.go(twin.x + stone * STONE_TILES, twin.y)
    return player


def helpers(world, holder):
    """Return the clockwork people that help somebody now, and how many began to in a minute."""
    company = keeping(world.game(holder).node)
    people = [company._person(one.number) for one in world.movers("Walker")]
    helps = [getattr(one.errand, "__name__", "") == "step_on" for one in people]
    return [*compress(people, helps)], len(company._helped)


def told(player):
    """Return what clockwork has said to a player about twin stones."""
    some = [text.format(guest=player.name) for text in (talk.HELPS, talk.IS_BARRED)]
    return [more for what, _, more in player.events if what == "said" and more in some]


@pytest.mark.parametrize("at", range(2))
def test_clockwork_takes_the_other_twin_stone_for_a_person_that_waits_alone(at):
    world, holder, others, twin = helping()
    ada = waiting(world, [holder, others[0]][at], twin)
    world.run(2)
    assert not helpers(world, holder)[1], "a person may only have come by"
    for _ in range(300):
        world.run(0.1)
        assert len(helpers(world, holder)[0]) <= 1
        if ada.message("twin"):
            break
    assert ada.message("twin") == [""] and told(ada) == [talk.HELPS.format(guest="Ada")]
    assert not [one for one in ada.things("Half") if one.values["player"] == ada.id]
    # The gem is gone, and so is its helper.
    world.run(2)
    assert helpers(world, holder) == ([], 1)
    world.check()


def test_where_another_person_is_near_clockwork_does_not_help():
    world, holder, others, twin = helping()
    ada = waiting(world, others[0], twin)
    bob = world.join("Bob", others[1], at=(ada.tile[0], ada.tile[1] + 3))
    world.run(15)
    assert helpers(world, holder) == ([], 0)
    bob.leave()
    for _ in range(50):
        if not helpers(world, holder)[0]:
            world.run(0.1)
    # Somebody comes while it is on its way.
    world.join("Cid", others[1], at=(ada.tile[0], ada.tile[1] + 3))
    world.run(1.5)
    assert helpers(world, holder) == ([], 1)
    world.run(10)
    assert not ada.message("twin") and told(ada) == [talk.HELPS.format(guest="Ada")]


def test_clockwork_that_cannot_get_to_the_stone_says_so_once_a_minute():
    world, holder, others, twin = helping()
    node, stone = world.game(holder).node, (int(twin.x - 0.5) + STONE_TILES, int(twin.y - 0.5))
    free = node.terrain.blocked

    def blocked(x, y):
        return math.dist((x, y), stone) < 2 or free(x, y)

    # Only the node that moves clockwork knows of what bars the way.
    node.movement.terrain = PatchedTerrain(blocked)
    ada = waiting(world, others[0], twin)
    world.run(30)
    assert told(ada) == [talk.HELPS.format(guest="Ada"), talk.IS_BARRED.format(guest="Ada")]
    assert helpers(world, holder) == ([], 1) and not ada.message("twin")
    world.run(45)
    assert len(told(ada)) == 4


# People who have enough company.


def test_a_newcomer_where_five_people_are_present_is_left_alone():
    harness = clockwork()
    for at in range(4):
        harness.stand(f"One of {at}", (at * UNIT, UNIT), SCREEN)
    harness.run(60_000)
    ada = harness.stand("Ada", (0, 0), (20, 20))
    harness.run(3 * company.QUIET)
    assert ada.model.chat == []


def test_clockwork_seldom_speaks_to_nobody_in_particular_and_only_in_company():
    harness = clockwork(count=20)
    harness.run(2 * company.QUIET)
    ada = harness.stand("Ada", (0, 0), SCREEN)
    when = []
    for _ in range(6000):
        harness.run(100)
        when += [harness.clock.time] * (len(ada.model.chat) - len(when))
    muttered = [at for at, (_, text) in zip(when, ada.model.chat, strict=True) if text in SAYINGS]
    assert 3 <= len(muttered) <= 600_000 // company.QUIET
    assert all(
        b - a >= company.QUIET - 200 for a, b in zip(when, when[1:], strict=False) if b in muttered
    )


# Players that come back.


def test_a_player_that_comes_back_is_greeted_as_such_and_not_led():
    harness = herding(nodes=2, sizes=Sizes(people=12))
    nora = harness.stand("Nora", (0, 0), SCREEN, harness.hosts[0])
    harness.run(30_000)
    token = nora.model.token
    nora.connection.lose(1000)
    harness.run(5000)
    for host in harness.hosts:
        # Days later.
        keeping(host.node)._met.clear()
    again = harness.client(harness.hosts[1]).hello("Nora", SCREEN, token)
    harness.run(40_000)
    assert again.id == nora.id and lines(again) == [AGAIN.format(guest="Nora")]


# What is said.

FACTS = Facts("Ada", "Fern", (3 * UNIT, 0), (-UNIT, -4 * UNIT), (43 * UNIT, 0), 1, 5)


WHO = "I am Fern, Ada. I am clockwork: a computer player."
ANSWERS = {
    **dict.fromkeys(("who are you?", "Are you real", "are you a bot?"), WHO),
    "any gems?": "Ada, I see a gem 6 tiles north-west of here. Walk over it, and it is yours.",
    "how many are there": "Ada, I see 1 person and 5 clockwork. Press O, or Map, to see everybody.",
    "landmark": "Ada, a landmark stands 40 tiles east of here. Signposts give their names.",
    "Good day!": "Hello, Ada! I am clockwork, but I know my way. Ask me where something is.",
    "what is the ember": "Take the ember from a fire, Ada, and wave to me: "
    "I help you light a dark landmark.",
    "bye": "Goodbye, Ada! Come back soon.",
    **dict.fromkeys(("fliegen", "shiny")),
}


def test_an_answer_is_chosen_by_keyword_and_is_true():
    assert {question: answer(question, FACTS) for question in ANSWERS} == ANSWERS


def test_a_walker_that_knows_nothing_says_so():
    facts = FACTS._replace(gem=None, landmark=None, here=(0, 0))
    assert "no gem" in answer("gem?", facts)
    assert "signpost" in answer("landmark", facts)
    assert "This is the plaza" in answer("where am I", facts)
    assert talk.way((0, 0), (UNIT, 0)) == "1 tile east"


def test_each_line_names_its_guest_fits_a_message_and_mentions_only_keys_that_exist():
    guest, own, far = "W" * 20, max(NAMES, key=len), 10**9 * UNIT
    there = talk.way((0, 0), (-far, -far))
    said = [text.format(guest=guest, own=own) for text in (*GREETINGS, AGAIN)]
    said += [
        text.format(guest=guest, way=there) for text in (talk.WAITING, talk.CLICK_ME, talk.GIVES_UP)
    ]
    said += [talk.COME.format(guest=guest, sight=what) for what, _ in SIGHTS]
    said += [arrived.format(guest=guest) for _, arrived in SIGHTS]
    said += [
        text.format(guest=guest) for text in (talk.HELPS, talk.IS_BARRED, talk.OFFERS, talk.TAKES)
    ]
    questions = (
        "lake, landmark, ember, gem, cairn, plaza, how many, who are you, key, grid, map, deer, "
        "signpost, night, friend, hat, wave, sound, help, where, how are you, thanks, sorry, "
        "nice, bye, hello"
    ).split(", ")
    facts = FACTS._replace(guest=guest, here=(far, far), people=10**6)
    for known in (facts, facts._replace(gem=None, landmark=None, here=(0, 0))):
        said += [answer(question, known) for question in questions]
    assert all(guest in text and len(text) <= 120 and "{" not in text for text in said)
    named = set(re.findall(r"Press (\w)(?:, or ([\w ]+),)?", "\n".join(said)))
    assert len(named) > 6
    page = "".join(path.read_text() for path in (ROOT / "games/flatlands").rglob("page/**/*.js"))
    for key, label in named:
        deed = rf"letter: '{key.lower()}', sign: '\w+', label: '{label}'"
        # Not all keys have an entry of the menu: then a button has that word, if there is one.
        alone = re.search(rf"\['{key.lower()}', \S", page) and f"'{label}" in page
        assert re.search(deed, page) or alone, key


def test_a_batch_that_the_broker_refuses_harms_nobody():
    harness = clockwork()
    harness.broker.down = True
    ada = harness.stand("Ada", (0, 0), SCREEN)
    harness.run(5000)
    harness.broker.restore(harness.node)
    harness.run(5000)
    assert len(greetings(ada, "Ada")) == 1 and not harness.loop.stats["errors"]
    harness.check()
