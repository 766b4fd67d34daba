"""What a game is told of its players, and what their pages may ask of it."""

import gevent
import pytest
from gevent.event import Event as Door

from flatlands.brokers.base import Message
from flatlands.server.game.actions import action, flag, number, text
from flatlands.server.game.cells import Cells
from flatlands.server.game.game import Game, Part
from flatlands.server.game.hooks import CALLS_WAITING, Hook, HookQueues, PlayerGone
from flatlands.server.game.me import Me
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.protocol import Refused
from flatlands.server.players.moderation import BY_OWNER, MUTE, OWNER_PREFIX_CHARS
from flatlands.server.runtime.limits import Rate
from flatlands.server.storage.kinds import Event
from flatlands.world.track import UNIT
from tests.server.harness import Harness, events
from tests.server.servers import until

KEY = 10
DO = 35
ASK = 37


class Shop(Game):
    """Notes what happens in it."""

    said, door = [], Door()

    def on_join(self, me, back):
        self.said.append(("join", me.name, back))
        me.send("hello", me.id, None)

    def on_leave(self, me):
        self.said.append(("leave", me.name, me.tile == (me.tile[0], me.tile[1])))
        with pytest.raises(PlayerGone):
            me.send("farewell")

    def on_enter(self, me, square, before):
        self.said.append(("enter", me.name, before, square, me.square == square))

    @action(rate=1, burst=3)
    def buy(self, me, what: str = text(1, 10), many: int = number(1, 9), now: bool = flag()):
        self.said.append((me, what, many, now))

    @action(rate=100, burst=100)
    def wait(self, me):
        self.door.wait()
        self.said.append("waited")

    @action()
    def fail(self, me):
        raise RuntimeError("it is closed")

    @action(rate=100, burst=100)
    def haggle(self, me, how: int = number(0, 2)):
        if how == 1:
            raise Refused("price", "That is too little.")
        if how == 2:
            me.refuse(Refused("price", "That is too little."))
        self.said.append("haggled")


@pytest.fixture
def shop():
    """A harness, and a player. An action that waits does so until the door opens."""
    Shop.door.clear()
    harness = Harness(play=Shop)
    client = harness.place("Ada", (0, 0))
    Shop.said.clear()
    return harness, client


def test_an_action_of_a_page_is_checked_as_the_method_says(shop):
    harness, client = shop
    client.send(DO, "buy", ["a lamp", 2, True])
    client.send(DO, "buy", [" tea\u0301  pot ", 9, False])
    me = Me(harness.node, harness.node.residents.by_id[client.id])
    assert Shop.said == [(me, "a lamp", 2, True), (me, "te\u00e1 pot", 9, False)]
    for text_that_is_none in ("\u200b", "", "a long, long word"):
        harness.run(1000)
        client.send(DO, "buy", [text_that_is_none, 1, True])
        assert client.model.errors.pop() == "say" and client.connection.open
    assert len(Shop.said) == 2


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ([], "buy must have 3 fields"),
        (["a", 1, True, 1], "buy must have 3 fields"),
        ([None, 1, True], "buy: what must be a text from 1 to 10 characters"),
        (["a", 10, True], "buy: many must be a whole number from 1 to 9"),
        (["a", 1.5, True], "buy: many must be a whole number from 1 to 9"),
        (["a", "1", True], "buy: many must be a whole number from 1 to 9"),
        (["a", 1, 1], "buy: now must be true or false"),
    ],
)
def test_an_action_with_wrong_fields_is_refused_and_the_player_plays_on(shop, fields, sentence):
    harness, client = shop
    assert harness.node.play.actions["buy"].row.fault(fields) == sentence
    client.send(DO, "buy", fields)
    assert client.model.errors == ["fields"] and not Shop.said
    assert client.connection.closed is None


@pytest.mark.parametrize(
    ("fields", "code"), [(["a", 10, True], "fields"), (["a long, long word", 1, True], "say")]
)
def test_a_page_that_goes_on_sending_wrong_fields_is_closed_as_one_that_floods(shop, fields, code):
    _, client = shop
    for _ in range(200):
        if client.connection.closed is None:
            client.send(DO, "buy", fields)
    assert client.model.errors[:4] == [code] * 3 + ["flood"] and client.model.errors[-1] == "flood"
    assert client.connection.closed[0] == 1008
    assert [said[0] for said in Shop.said] == ["leave"], "whoever floods goes at once"


def test_a_message_whose_fields_are_no_array_breaks_the_protocol(shop):
    _, client = shop
    client.send(DO, "buy", "a")
    assert client.model.errors == ["fields"]
    assert [said[0] for said in Shop.said] == ["leave"], "whoever breaks the protocol goes at once"
    assert client.connection.closed[1].startswith("do: fields must be an array")


def test_a_muted_player_says_nothing_by_an_action(shop):
    harness, client = shop
    client.send(KEY, "a-key-of-tests-and-nobody")
    mark = harness.node.residents.by_id[client.id].owner[:OWNER_PREFIX_CHARS]
    harness.node.moderation.apply(BY_OWNER[MUTE], mark, 60)
    client.send(DO, "buy", ["a word", 1, True])
    assert client.model.errors == ["muted"] and not Shop.said
    client.send(DO, "fail", [])
    assert harness.loop.stats["hooks_failed"] == 1


def test_each_action_has_its_own_rate(shop):
    harness, client = shop
    for _ in range(4):
        client.send(DO, "buy", ["tea", 1, True])
    client.send(DO, "fail", [])
    assert len(Shop.said) == 3 and client.model.errors == ["flood", "failed"]
    assert [24, "flood", "too often: buy at most 1 a second"] in client.connection.messages
    assert harness.loop.stats["hooks_failed"] == 1
    harness.run(1000)
    client.send(DO, "buy", ["tea", 1, True])
    assert len(Shop.said) == 4


def test_a_rate_does_not_start_again_at_another_node():
    Shop.said.clear()
    harness = Harness(play=Shop, nodes=2, ready=True)
    a = harness.place("Ada", (0, 0), host=harness.hosts[0])
    for _ in range(3):
        a.send(DO, "buy", ["tea", 1, True])
    a.connection.lose(1001)
    harness.run(50)
    b = harness.client(harness.hosts[1]).hello("Ada", token=a.model.token)
    harness.run(100)
    b.model.errors.clear()
    for _ in range(3):
        b.send(DO, "buy", ["tea", 1, True])
    assert b.id == a.id and b.model.errors == ["flood", "flood"]


@pytest.mark.parametrize(
    ("play", "named"), [(Game, "it has none"), (Shop, "buy, fail, haggle, wait")]
)
def test_a_name_that_is_no_action_is_refused_though_it_is_a_method(play, named):
    client = Harness(play=play).place("Ada", (0, 0))
    Shop.said.clear()
    for name in ("sell", "on_join", "broadcast_local", "broadcast", "x"):
        client.send(DO, name, [])
        said = client.connection.messages[-1][1:]
        assert said == ["game", f"do must name an action of this game: {named}"]
    # The page may belong to another game.
    assert not Shop.said and client.connection.closed is None


def test_a_game_hears_who_joins_leaves_and_enters_a_square():
    Shop.said.clear()
    harness = Harness(play=Shop, nodes=2, ready=True)
    a = harness.place("Ada", (0, 0))
    assert a.model.messages == {"hello": [a.id, None]}
    assert Shop.said[0] == ("join", "Ada", False)
    Shop.said.clear()
    a.walk(1, 0)
    harness.run(4000)
    a.walk(0, 0)
    assert Shop.said == [("enter", "Ada", (0, 0), (1, 0), True)]
    a.connection.lose(1006)
    harness.run(2000)
    b = harness.client(harness.hosts[1]).hello("Ada", token=a.model.token)
    harness.run(200)
    # The player continued at another node: it did not leave.
    assert b.id == a.id and Shop.said[1:] == [("join", "Ada", True)]
    b.connection.lose(1000)
    harness.run(200)
    assert Shop.said[2:] == [("leave", "Ada", True)]


def test_one_node_can_tell_the_whole_world_and_nonsense_is_refused():
    harness = Harness(play=Game, nodes=2, ready=True)
    a, b = (harness.place(name, (9 * n, 0), host=harness.hosts[n]) for n, name in enumerate("ab"))
    game, other = harness.game_of(), harness.hosts[1]
    game.broadcast("storm", 3, ["from", "the", None])
    harness.settle()
    assert a.model.messages["storm"] == b.model.messages["storm"] == [3, ["from", "the", None]]
    # A node that cannot reach the others tells its own.
    harness.broker.fail()
    game.broadcast("calm")
    harness.settle()
    assert a.model.messages["calm"] == [] and "calm" not in b.model.messages
    for name, said in (("storm", 1.5), ("storm", {}), ("", 1), ("s" * 21, 1)):
        with pytest.raises(ValueError, match="can be sent only|must have 1 to"):
            game.broadcast(name, said)
    before = other.loop.stats["malformed"]
    for fields, around in ([1.5], []), ([{}], []), ([], [1, 2]), ([], [0, 0, -1]), ([], [0, "", 1]):
        message = peer_protocol.pack(
            peer_protocol.Broadcast(harness.node.id, "storm", fields, around)
        )
        other.node.receive(Message(harness.node.channels.nodes, message))
    assert other.loop.stats["malformed"] == before + 5


def test_players_near_a_tile_are_told_whichever_node_they_are_at():
    harness = Harness(play=Game, nodes=2, ready=True)
    game, (one, other) = harness.game_of(), harness.hosts
    places = {"a": (one, 10, -7), "b": (other, -3, 7), "c": (one, 11, 0), "d": (other, 0, -8)}
    for name, (host, x, y) in places.items():
        harness.stand(name, (x * UNIT, y * UNIT), (40, 25), host)
    game.broadcast("bell", "ding", near=((3, 0), 7))
    harness.settle()
    told = [client.model.messages.get("bell") for client in harness.clients]
    assert told == [["ding"], ["ding"], None, None]
    for tile, reach in ((0.5, 0), 7), ((0, 0), -1), ((0, 0), 1001), ((0, 0), 1.5):
        with pytest.raises(ValueError, match="tile"):
            game.broadcast("bell", near=(tile, reach))


def test_hooks_about_a_player_run_one_after_the_other_and_may_wait(shop):
    harness, client = shop
    harness.hosts[0].spawn = gevent.spawn
    for _ in range(3):
        client.send(DO, "wait", [])
    client.send(DO, "buy", ["tea", 1, True])
    gevent.sleep(0)
    assert not Shop.said and harness.node.play.hook_queues.holds_migration(client.id)
    harness.run(2001)
    assert not harness.node.play.hook_queues.holds_migration(client.id), (
        "no longer than it may take"
    )
    for _ in range(CALLS_WAITING):
        client.send(DO, "wait", [])
    assert client.model.errors == ["crowded"] * 3 and client.connection.open
    other = harness.place("Bo", (0, 0))
    other.send(DO, "buy", ["tea", 1, True])
    gevent.sleep(0)
    assert [said[0].name for said in Shop.said if isinstance(said[0], Me)] == ["Bo"]
    Shop.door.set()
    until(lambda: Shop.said.count("waited") == CALLS_WAITING)
    ada = Me(harness.node, harness.node.residents.by_id[client.id])
    assert Shop.said[2:] == [
        *["waited"] * 3,
        (ada, "tea", 1, True),
        *["waited"] * (CALLS_WAITING - 3),
    ]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (("haggle", [0]), None),
        (("haggle", [1]), "price"),
        (("haggle", [2]), "price"),
        (("haggle", [3]), "fields"),
        (("haggle", []), "fields"),
        (("buy", ["a long, long word", 1, True]), "say"),
        (("fail", []), "failed"),
        (("steal", []), "game"),
    ],
)
def test_a_page_that_asks_for_an_answer_hears_whether_an_action_was_done(shop, asked, code):
    _, client = shop
    for number_of_action in (7, 8):
        client.send(ASK, number_of_action, *asked)
    done = code is None
    assert client.model.answers == [(7, done), (8, done)]
    assert client.model.errors == ([] if done else [code] * 2)
    # Whoever does not ask hears as much as before.
    client.send(DO, *asked)
    assert len(client.model.answers) == 2


def test_an_action_is_answered_once_its_method_has_ended(shop):
    harness, client = shop
    harness.hosts[0].spawn = gevent.spawn
    for number_of_action in range(1, CALLS_WAITING + 3):
        client.send(ASK, number_of_action, "wait", [])
        gevent.sleep(0)
    # One runs, and as many as may wait do.
    assert client.model.answers == [(CALLS_WAITING + 2, False)]
    assert client.model.errors == ["crowded"]
    Shop.door.set()
    until(lambda: len(client.model.answers) == CALLS_WAITING + 2)
    assert client.model.answers[1:] == [(n, True) for n in range(1, CALLS_WAITING + 2)]


def test_an_action_of_a_player_who_has_left_is_not_answered(shop):
    harness, client = shop
    harness.hosts[0].spawn = gevent.spawn
    client.send(ASK, 1, "wait", [])
    gevent.sleep(0)
    client.connection.lose(1000)
    harness.settle()
    Shop.door.set()
    until(lambda: "waited" in Shop.said)
    gevent.sleep(0)
    assert client.model.answers == []


@pytest.mark.parametrize("killed", [True, False])
def test_what_was_asked_of_one_node_is_not_answered_by_another(killed):
    Shop.door.clear()
    harness = Harness(play=Shop, nodes=2, ready=True)
    first, second = harness.hosts
    first.spawn = gevent.spawn
    client = harness.place("Ada", (0, 0), host=first)
    client.send(ASK, 1, "wait", [])
    gevent.sleep(0)
    if killed:
        harness.kill(first)
    else:
        client.connection.lose()
    back = harness.client(second).hello("Ada", token=client.model.token)
    harness.run(1000)
    assert back.id == client.id
    Shop.door.set()
    gevent.sleep(0)
    harness.run(100)
    assert back.model.answers == []
    back.send(ASK, 1, "haggle", [0])
    assert back.model.answers == [(1, True)]


def test_whoever_asks_too_often_is_answered_too(shop):
    _, client = shop
    for number_of_action in range(1, 5):
        client.send(ASK, number_of_action, "buy", ["tea", 1, True])
    assert client.model.answers == [(1, True), (2, True), (3, True), (4, False)]
    assert client.model.errors == ["flood"] and len(Shop.said) == 3


def test_a_hook_that_ran_out_of_time_leaves_the_queue_to_those_that_wait(shop):
    harness, client = shop
    queues, called = HookQueues(harness.loop, lambda call, *a: call(*a)), []

    def late(*_):
        raise gevent.Timeout(1)

    ada = Me(harness.node, harness.node.residents.by_id[client.id])
    for call in (late, called.append):
        queues.put(1, Hook(harness.node, "on_join", call, waits=True), ada)
    assert called == [ada] and client.model.errors == ["failed"]
    assert not queues._queues and harness.loop.stats["hooks_failed"] == 1


def test_a_player_that_goes_to_and_fro_over_a_border_makes_no_hook_fall_behind(shop):
    harness, client = shop
    harness.hosts[0].spawn = gevent.spawn
    client.send(DO, "wait", [])
    gevent.sleep(0)
    resident = harness.node.residents.by_id[client.id]
    for _ in range(3 * CALLS_WAITING):
        harness.node.play._entered(resident, (0, 0))
    assert harness.loop.stats["hooks_left_out"] == 2 * CALLS_WAITING
    Shop.door.set()
    until(lambda: len(Shop.said) == 1 + CALLS_WAITING)
    assert [said[0] for said in Shop.said[1:]] == ["enter"] * CALLS_WAITING


class Trail(Part):
    """Players that walk leave a trail, in any game."""

    steps = Cells()

    def on_step(self, me, tiles):
        self.steps[tiles] = 9
        self.game.passed.append(tiles.pop())

    @action()
    def wipe(self, me):
        self.steps[me.tile] = 0

    def _on_stop(self):
        raise RuntimeError("it does not end")


class Fair(Shop):
    floor = Cells()
    parts = (Trail,)
    passed = []

    def on_step(self, me, tiles):
        self.floor[tiles] = 1


def test_a_part_is_added_to_any_game_by_one_line():
    Fair.passed.clear()
    harness = Harness(play=Fair, nodes=2, ready=True)
    client = harness.place("Ada", (0, 0))
    client.walk(1, 0)
    harness.run(2000)
    client.walk(0, 0)
    client.send(DO, "wipe", [])
    harness.run(100)
    passed, painted = harness.node.game.passed, [0, 0]
    for (*_, layer), cells in client.model.cells.items():
        painted[layer] += sum(cells)
    assert painted[0] >= len(passed) > 8 and painted[1] == 9 * (painted[0] - 1)
    harness.loop.forgiving = True
    harness.node.play.stop()
    assert harness.loop.stats["errors"] == 1 and harness.node.play.has_stopped
    names = [layer.name for layer in harness.node.play.layers]
    assert names == ["test_actions.floor", "test_actions.Trail.steps"]
    kinds = [row for row in harness.node.play.kinds() if row[0] == "cells"]
    assert kinds == [["cells", 0, "floor", []], ["cells", 1, "Trail.steps", []]]


KEPT = number(0, 9, persist=True)


def declare(method, name="buy"):
    return type("Wrong", (Game,), {name: action()(method)})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: declare(lambda self, me, what: 0),
            r"the action buy must say what 'what' may be: number\(low, high\)",
        ),
        (lambda: declare(lambda self, me, n=KEPT: 0), "'n' of the action buy cannot persist"),
        (lambda: declare(lambda self: 0), "the action buy must take me"),
        (lambda: declare(lambda self, me: None, "blocked"), "cannot be called blocked"),
        (
            lambda: Harness(play=type("Double", (Game,), {"parts": (Trail, Trail)})),
            "two parts of the game have an action called wipe",
        ),
        *(
            (lambda wrong=wrong: action(rate=1, burst=1, address=wrong), "are numbers above 0")
            for wrong in ((0, 1), (1, 0), (1, 1.5), ("a", 1))
        ),
    ],
)
def test_an_invalid_action_is_refused_where_it_is_declared(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


class Street(Game):
    """Tells, cheers and fails as it is asked to."""

    events = [type("Cheer", (Event,), {"loud": number(1, 3)})]

    @action(rate=100, burst=100)
    def say(self, me, what: int = number(0, 9)):
        me.send("said", [None, True, 2**53 - 1, "a"][: what + 1], UNREADABLE[what])

    @action(rate=100, burst=1000)
    def cheer(self, me, loud: int = number(0, 9)):
        me.emit(self.events[0](loud=loud))

    @action(rate=100, burst=100)
    def fail(self, me, how: int = number(0, 9)):
        if how:
            raise LookupError("the first line")
        raise LookupError("the second line")

    @action(rate=100, burst=100, address=(1, 10))
    def knock(self, me, free: bool = flag()):
        if free:
            me.refund()
        else:
            raise Refused("closed", "nobody is in")


#: Values that pages cannot read, except the first.
UNREADABLE = [0, 1.5, {"a": 1}, b"a", 2**53, [[object()]], {1}, -(2**53), (1, 2.0), Game]


@pytest.fixture
def street():
    harness = Harness(play=Street)
    return harness, harness.place("Ada", (0, 0))


def test_a_game_can_tell_only_what_a_page_can_read(street):
    harness, client = street
    assert client.model.welcome[14] == [["event", 5, "Cheer", ["loud"]]]
    for what in range(10):
        client.send(DO, "say", [what])
    assert client.model.messages == {"said": [[None], 0]} and client.model.errors == ["failed"] * 9


def test_an_error_of_another_line_is_logged_beside_one_that_comes_again(street, caplog):
    harness, client = street
    for how in (0, 1, 0, 1, 0):
        client.send(DO, "fail", [how])
    for line in ("first", "second"):
        assert caplog.text.count(f"LookupError: the {line} line") == 1
    assert harness.loop.stats["hooks_failed"] == 5 and client.model.errors == ["failed"] * 5


def test_an_event_is_told_to_all_who_see_the_square_at_a_limited_rate(street, monkeypatch):
    monkeypatch.setattr("flatlands.server.game.me.GAME_EVENTS_EACH", Rate("happenings", 1, 10))
    harness, client = street
    other = harness.place("Bo", (0, 0))
    client.connection.address = "192.0.2.7"
    for _ in range(12):
        client.send(DO, "cheer", [2])
    harness.run(500)
    for one in (client, other):
        seen = [event for event in events(one.connection.messages) if event[0] == 5]
        assert seen == [[5, client.id, 2]] * 10
    assert client.model.errors == ["crowded"] * 2 and client.connection.closed is None
    harness.run(2000)
    client.send(DO, "cheer", [9])
    assert client.model.errors[-1] == "failed"


def test_an_event_that_the_game_does_not_have_is_an_error(street):
    harness, client = street
    with pytest.raises(ValueError, match="do not list this class"):
        harness.node.play.emit((0, 0), client.id, type("Boo", (Event,), {})())


def test_the_actions_of_an_address_are_limited_and_a_refused_one_is_not_counted(street):
    harness, client = street
    others = [harness.place("Bo", (0, 0)) for _ in range(2)]
    for one in (client, *others):
        one.connection.address = "192.0.2.7"
    for free in (False, True) * 7:
        client.send(DO, "knock", [free])
    assert client.model.errors == ["closed"] * 7
    # Accepted actions count for all players of the address.
    harness.node.play._action_hooks["knock"]._call = lambda me, free: None
    for one in (*others * 5, client):
        one.send(DO, "knock", [True])
    assert client.model.errors == ["closed"] * 7 + ["crowded"] and client.connection.closed is None


def test_an_action_that_finds_the_line_full_is_not_counted_for_the_address(street, monkeypatch):
    harness, client = street
    client.connection.address = "192.0.2.8"
    with monkeypatch.context() as patch:
        patch.setattr(harness.node.play.hook_queues, "full", lambda player: True)
        for _ in range(12):
            client.send(DO, "knock", [True])
    client.send(DO, "knock", [True])
    assert client.model.errors == ["crowded"] * 12 and client.connection.closed is None
    assert harness.loop.stats["limited_do_knock"] == 0


def test_a_player_that_appears_under_the_same_name_is_not_renamed(street):
    harness, client = street
    renamed = []
    harness.node.game._on_renamed = lambda *told: renamed.append(told[1])
    for name in ("Ada", "Bea"):
        client.send(33, name, 5)
    assert renamed == ["Bea"]
