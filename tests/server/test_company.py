"""Clockwork walkers keep company: they greet, answer, wave back, and lead to the lake."""

import math

import pytest

from server.messages.protocol import DEER_FROM, OTHERS_FROM
from server.players import company
from server.players.company import ANSWERS_A_MINUTE, CROWD
from server.players.errands import FOLLOWS_WITHIN, PATIENCE, STANDS_FOR
from server.players.herd import Sizes
from server.players.lake import BEGINS, STRIDE, Lake
from server.players.people import name
from server.players.talk import ARRIVED, COME, GREETINGS, SAYINGS, WAITING, Facts, answer, way
from tests.server.harness import Clock, Harness, clock_stores
from tests.server.test_herd import herding
from world.terrain import DEEP, WATER, Terrain
from world.track import UNIT, Goal, leg

WAVE = 1
SCREEN = (96, 64)

#: ms within which a newcomer is greeted.
GREETED_WITHIN = 3000


def clockwork(count=6, **more):
    """Return a harness whose only node hosts so many clockwork walkers."""
    harness = Harness(sizes=Sizes(people=count), **more)
    harness.run(2000)
    return harness


def names(client):
    """Return the names of the clockwork walkers that a client sees."""
    return {p.name for p in client.model.players.values() if p.id < DEER_FROM}


def lines(client, since=0):
    """Return what clockwork walkers have said, without what they say to nobody."""
    herd = names(client)
    return [text for who, text in client.model.chat[since:] if who in herd and text not in SAYINGS]


def greetings(client, guest):
    return [text for text in lines(client) if guest in text]


def nearest(client):
    """Return the clockwork walker that reacts to a client's player, as the client knows it: the
    nearest in its square, or else the nearest."""
    now, here = client.now(), client.at()
    square = client.harness.node.grid.square
    herd = [p for p in client.model.players.values() if p.id < DEER_FROM]
    return min(
        herd, key=lambda p: (square(*p.at(now)) != square(*here), math.dist(p.at(now), here))
    )


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


@pytest.mark.parametrize("phase", range(0, 4000, 700))
def test_a_newcomer_is_greeted_by_name_within_three_seconds_by_one_who_says_what_it_is(phase):
    harness = clockwork()
    harness.run(phase)
    ada = harness.stand("Ada", (0, 0), SCREEN)
    harness.run(GREETED_WITHIN)
    [text] = greetings(ada, "Ada")
    assert "clockwork" in text
    [speaker] = [who for who, said in ada.model.chat if said == text]
    # It has come near and waved, and nobody else greets her.
    harness.run(2500)
    assert speaker in text and ada.model.emotes == [(speaker, WAVE)]
    greeter = next(p for p in ada.model.players.values() if p.name == speaker)
    assert math.dist(greeter.at(ada.now()), ada.at()) < 8 * UNIT
    harness.run(20_000)
    assert greetings(ada, "Ada") == [text]
    harness.check()


def test_each_newcomer_is_greeted_once_also_one_who_comes_back():
    harness = clockwork()
    ada = harness.stand("Ada", (0, 0), SCREEN)
    bob = harness.stand("Bob", (2 * UNIT, UNIT), SCREEN)
    harness.run(5000)
    assert len(greetings(bob, "Ada")) == len(greetings(ada, "Bob")) == 1
    token = next(message[1] for message in ada.connection.messages[::-1] if message[0] == 17)
    ada.connection.lose()
    harness.run(3000)
    again = harness.client().hello("Ada", SCREEN, token)
    harness.run(15_000)
    assert again.id == ada.id and len(greetings(bob, "Ada")) == 1


@pytest.mark.parametrize("phase", range(0, 3000, 250))
def test_of_the_walkers_of_several_nodes_one_greets_and_one_answers(phase):
    harness = herding(nodes=3, sizes=Sizes(people=12), skew=700)
    harness.run(25_000 + phase)
    ada = harness.stand("Ada", (0, 0), SCREEN, harness.hosts[1])
    harness.run(GREETED_WITHIN)
    assert len(greetings(ada, "Ada")) == 1
    harness.run(12_000)
    assert len(greetings(ada, "Ada")) == 1
    ada.send(6, "Who are you?")
    before = len(ada.model.chat)
    harness.run(3000)
    answers = [text for text in lines(ada, before) if text.startswith("I am ")]
    assert len(answers) <= 1
    harness.check()


def test_the_next_one_greets_if_the_nearest_ones_node_has_not_heard():
    harness = herding(nodes=2, sizes=Sizes(people=8))
    harness.run(25_000)
    deaf = harness.hosts[0].node.herd._company
    deaf.heard = lambda _square, _events: None
    harness.hosts[0].node.replicas.report_events(deaf.heard)
    for at in range(4):
        guest = f"Ada {at}"
        ada = harness.stand(guest, (0, 0), SCREEN, harness.hosts[1])
        harness.run(GREETED_WITHIN)
        assert len(greetings(ada, guest)) == 1
        ada.connection.lose(1000)
        harness.run(5000)


def test_a_wave_is_returned_once_by_the_nearest_who_turns_round():
    harness = clockwork()
    ada = beside_one(harness)
    friend = nearest(ada)
    before = len(ada.model.emotes)
    ada.send(32, WAVE)
    for _ in range(30):
        harness.run(100)
        if len(ada.model.emotes) > before + 1:
            break
    assert ada.model.emotes[before:] == [("Ada", WAVE), (friend.name, WAVE)]
    x, y, dx, dy, *_ = ada.model.players[friend.id].track
    assert (dx or dy) and abs(dx) <= 1 and abs(dy) <= 1
    ax, ay = ada.at()
    assert dx * (ax - x) >= 0 and dy * (ay - y) >= 0
    harness.run(5000)
    assert len(ada.model.emotes) == before + 2


def test_who_answers_a_greeters_wave_is_not_waved_to_again():
    harness = clockwork()
    ada = harness.stand("Ada", (0, 0), SCREEN)
    while not ada.model.emotes:
        harness.run(50)
    ada.send(32, WAVE)
    harness.run(8000)
    assert [emote for _, emote in ada.model.emotes] == [WAVE, WAVE]


def test_other_emotes_are_not_returned_and_far_ones_not_seen():
    harness = clockwork()
    ada = beside_one(harness)
    before = len(ada.model.emotes)
    ada.send(32, 4)
    harness.run(3000)
    assert len(ada.model.emotes) == before + 1
    far = harness.place("Far", (9, 9))
    harness.run(1000)
    far.send(32, WAVE)
    harness.run(3000)
    assert far.model.emotes == [("Far", WAVE)]


def test_who_asks_is_answered_by_one_and_honestly():
    harness = clockwork()
    ada = beside_one(harness)
    for question, expected in (
        ("Hello there, who are you?", "a computer player"),
        ("where is the plaza", "plaza"),
        ("Thank you", "welcome"),
    ):
        await_one(harness, ada)
        before = len(ada.model.chat)
        ada.send(6, question)
        harness.run(2500)
        [text] = lines(ada, before)
        assert expected in text
        harness.run(2000)
    harness.check()


def test_what_is_not_understood_is_answered_by_a_gesture():
    harness = clockwork()
    ada = beside_one(harness)
    chat, emotes = len(ada.model.chat), len(ada.model.emotes)
    ada.send(6, "xyzzy plugh")
    harness.run(2500)
    assert lines(ada, chat) == [] and [e for _, e in ada.model.emotes[emotes:]] == [6]


def test_people_who_talk_with_each_other_are_left_alone_unless_one_is_named():
    harness = clockwork()
    ada = beside_one(harness, others=["Bob"])
    before = len(ada.model.chat)
    ada.send(6, "Hello Bob, where is the lake?")
    harness.run(3000)
    assert lines(ada, before) == []
    friend = await_one(harness, ada).name
    ada.send(6, f"{friend}, who are you?")
    harness.run(3000)
    [(who, text)] = [said for said in ada.model.chat[before:] if said[1] in lines(ada, before)]
    assert who == friend and "computer player" in text


def test_in_a_crowd_they_keep_silent():
    harness = clockwork()
    for at in range(CROWD + 2):
        harness.stand(f"One of {at}", (at % 7 * UNIT, at // 7 * UNIT), (20, 20))
    harness.run(30_000)
    ada = harness.stand("Ada", (0, 0), SCREEN)
    chat, emotes = len(ada.model.chat), len(ada.model.emotes)
    ada.send(6, "Who are you?")
    ada.send(32, WAVE)
    harness.run(10_000)
    assert lines(ada, chat) == [] and ada.model.emotes[emotes:] == [("Ada", WAVE)]


def test_they_say_only_so_much_in_a_minute_and_remember_only_so_many(monkeypatch):
    harness = clockwork()
    ada = beside_one(harness)
    before = len(ada.model.chat)
    for _ in range(40):
        ada.send(6, f"Who are you, {nearest(ada).name}?")
        harness.run(1400)
    assert 5 < len(lines(ada, before)) <= ANSWERS_A_MINUTE
    monkeypatch.setattr(company, "REMEMBERED", 10)
    met = harness.node.herd._company._met
    for at in range(30):
        guest = harness.stand(f"Guest {at}", (0, 0), (20, 20))
        harness.run(300)
        guest.connection.lose(1000)
        harness.run(300)
        assert guest.id in met and len(met) <= 10


def test_a_node_without_clockwork_walkers_hears_nothing():
    harness = Harness()
    assert harness.node.replicas._around.on_events != harness.node.herd.heard
    assert Harness(sizes=Sizes(people=1)).node.herd._company._person(OTHERS_FROM) is None


# The lake.


def led(harness, follows, disturb=None):
    """Let a newcomer be greeted, and follow the leader if it is to; return its client and what was
    said, as (name, text). `disturb` is called again and again with the leader's id."""
    ada = harness.stand("Ada", (0, 0), SCREEN)
    leader = None
    for _ in range(600):
        harness.run(200)
        said = [(who, text) for who, text in ada.model.chat if text not in SAYINGS]
        if leader is None:
            leader = next((who for who, text in said if text == COME), None)
        elif follows:
            known = next((p for p in ada.model.players.values() if p.name == leader), None)
            if known is not None:
                ada.go(*known.at(ada.now()))
                if disturb is not None:
                    disturb(known.id)
        if any(who == leader and text not in (COME, WAITING) for who, text in said[-1:]):
            break
    return ada, said


@pytest.mark.parametrize("store", [False, True])
def test_a_newcomer_is_led_to_the_lake(store):
    clock = Clock()
    more = {"clock": clock, "stores": clock_stores(clock)} if store else {}
    harness = clockwork(free=False, **more)
    harness.run(3000)
    ada, said = led(harness, follows=True)
    assert [text for _, text in said if text != WAITING][1:] == [COME, ARRIVED]
    # It is beside water.
    x, y = (place // UNIT for place in ada.at())
    near = [(x + dx, y + dy) for dx in range(-9, 10) for dy in range(-9, 10)]
    around = [harness.node.terrain.kind(*tile) for tile in near]
    assert WATER in around or DEEP in around
    assert math.hypot(*ada.at()) > BEGINS * UNIT
    harness.run(STANDS_FOR)
    assert harness.node.herd._company._errands.leading == 0
    harness.check()


def test_who_gets_the_ember_while_it_leads_somebody_leads_on():
    harness = clockwork(free=False)
    # Whoever gets it is woken up, to run away.
    _, said = led(harness, follows=True, disturb=harness.node.herd._wake)
    assert [text for _, text in said if text != WAITING][1:] == [COME, ARRIVED]


def test_a_leader_looks_back_calls_once_and_gives_up_kindly():
    harness = clockwork(free=False)
    ada, said = led(harness, follows=False)
    texts = [text for _, text in said]
    assert texts[1:3] == [COME, WAITING] and texts[3].startswith("Another time, then. The lake is ")
    assert len(texts) == 4
    leader = next(p for p in ada.model.players.values() if p.name == said[1][0])
    away = math.dist(leader.at(ada.now()), ada.at())
    assert FOLLOWS_WITHIN < away < FOLLOWS_WITHIN + (STRIDE + 2) * UNIT
    assert harness.node.herd._company._errands.leading == 0
    # And it goes on with its life.
    harness.run(10_000)
    assert ada.model.players[leader.id].track[5] > 0


def test_who_leaves_while_being_led_is_waited_for_no_longer_than_others():
    harness = clockwork(free=False)
    ada = harness.stand("Ada", (0, 0), SCREEN)
    other = harness.stand("Other", (3 * UNIT, 0), SCREEN)
    while not any(text == COME for _, text in other.model.chat):
        harness.run(100)
    ada.connection.lose(1000)
    harness.run(PATIENCE + 15_000)
    assert harness.node.herd._company._errands.leading <= 1
    harness.check()


@pytest.mark.parametrize("seed", [2013, 1, 7, 99, 12345, 4_000_000_000])
def test_the_way_to_the_lake_can_be_walked_and_is_the_same_everywhere(seed):
    terrain = Terrain(seed)
    lake, other = Lake(terrain), Lake(Terrain(seed))
    turns = 0
    while not lake.look():
        turns += 1
    while not other.look():
        pass
    assert (lake.place, lake.way) == (other.place, other.way)
    assert lake.place is not None and turns < 200
    assert lake.way[-1] == lake.place
    assert abs(math.hypot(*lake.way[0]) - BEGINS * UNIT) < UNIT
    for start, end in zip(lake.way, lake.way[1:], strict=False):
        track = leg(terrain, *start, Goal(*end), 0)
        assert (track.x + track.dx, track.y + track.dy) == end
        assert math.dist(start, end) <= STRIDE * UNIT * 1.01
    x, y = (place // UNIT for place in lake.place)
    assert any(terrain.kind(x + dx, y + dy) in (DEEP, WATER) for dx, dy in
               ((1, 0), (-1, 0), (0, 1), (0, -1)))  # fmt: skip
    # From anywhere on the plaza one goes straight to its beginning.
    for angle in range(16):
        x, y = (round(far * BEGINS * UNIT) for far in (math.cos(angle), math.sin(angle)))
        track = leg(terrain, x, y, Goal(*lake.way[0]), 0)
        assert track is None or (track.x + track.dx, track.y + track.dy) == lake.way[0]


def test_where_there_is_no_lake_nobody_is_led_anywhere():
    harness = clockwork()
    ada = harness.stand("Ada", (0, 0), SCREEN)
    harness.run(30_000)
    assert len(greetings(ada, "Ada")) == 1 and COME not in lines(ada)
    assert harness.node.herd._company._lake.place is None


# What is said.

FACTS = Facts(
    "Fern", (3 * UNIT, 0), (3 * UNIT, 9 * UNIT), (-UNIT, -4 * UNIT), (43 * UNIT, 0), 1, 5
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who are you?", "I am Fern. I am clockwork: a computer player."),
        ("Are you real", "I am Fern. I am clockwork: a computer player."),
        ("are you a bot?", "I am Fern. I am clockwork: a computer player."),
        ("where's the lake", "The nearest lake that I know is 9 tiles south of here."),
        ("any gems?", "I see a gem 6 tiles north-west of here. Walk over it, and it is yours."),
        ("how many are there", "I see 1 person and 5 clockwork. The map, or O, shows everybody."),
        ("landmark", "A landmark stands 40 tiles east of here. Signposts tell their names."),
        ("Good day!", "Hello! I am clockwork, but I know my way. Ask me where something is."),
        ("what is the ember", "Whom the ember's carrier touches has it next. Run!"),
        ("bye", "Goodbye! Come back soon."),
        ("fliegen", None),
        ("shiny", None),
    ],
)
def test_an_answer_is_by_keyword_and_true(question, expected):
    assert answer(question, FACTS) == expected


def test_who_knows_nothing_says_so():
    facts = FACTS._replace(lake=None, gem=None, landmark=None, here=(0, 0))
    assert "know of no lake" in answer("lake?", facts)
    assert "no gem" in answer("gem?", facts)
    assert "signpost" in answer("landmark", facts)
    assert "This is the plaza" in answer("where am I", facts)
    assert way((0, 0), (UNIT, 0)) == "1 tile east"


def test_everything_that_is_said_fits_a_message_with_the_longest_names():
    for text in GREETINGS:
        assert len(text.format(guest="W" * 20, own=max(map(name, range(26)), key=len))) <= 120
    questions = ["lake", "landmark", "ember", "gem", "cairn", "plaza", "how many", "who are you",
                 "key", "grid", "map", "deer", "signpost", "night", "friend", "hat", "wave",
                 "sound", "help", "where",
                 "how are you", "thanks", "sorry", "nice", "bye", "hello"]  # fmt: skip
    far = 10**9 * UNIT
    facts = FACTS._replace(here=(far, far), people=10**6)
    for question in questions:
        assert 1 <= len(answer(question, facts)) <= 120, question


def test_a_batch_that_the_broker_refuses_harms_nobody():
    harness = clockwork()
    harness.broker.down = True
    ada = harness.stand("Ada", (0, 0), SCREEN)
    harness.run(5000)
    harness.broker.restore(harness.node)
    harness.run(5000)
    assert len(greetings(ada, "Ada")) == 1 and not harness.loop.stats["errors"]
    harness.check()
