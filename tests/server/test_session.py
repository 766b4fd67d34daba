"""Sessions: what is refused and how, which clients lag, and what they are told then."""

import gc

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flatlands.server.clients import screen
from flatlands.server.clients.admission import Request
from flatlands.server.messages.protocol import CELLS
from flatlands.server.players.moderation import BAR
from flatlands.server.runtime.limits import PEOPLE
from flatlands.testkit.connection import frame_payloads
from flatlands.world.grid import Rect
from flatlands.world.terrain import GROUND
from flatlands.world.track import UNIT
from tests.server.harness import Harness, batches, events


@pytest.fixture
def harness():
    return Harness()


@pytest.fixture
def pair(harness):
    """The client under test, and a neighbour whom nothing may disturb."""
    return harness.place("A", (0, 0)), harness.place("B", (0, 0))


ADA = "ada" * 6
BOB = "bob" * 6
HELLO = [1, 3, "Wren", 40, 25, None, None, None, None]


def hello(**changed):
    names = ["version", "name", "width", "height", "token", "near", "x", "y"]
    fields = dict(zip(names, HELLO[1:], strict=True))
    return [1, *(fields | changed).values()]


def case(what, *values):
    return pytest.param(*values, id=what)


BEFORE_HELLO = [
    case("walk first", [2, 1, 0, 0, 1], "hello", 1008),
    case("another version", hello(version=1), "version", 1008),
    case("a hello of version 1", [1, 1, "X", 40, 25, None, None], "version", 1008),
    case("a hello without anything", [1], "fields", 1008),
    case("no name", hello(name=""), "name", 1008),
    case("a name with a control character", hello(name="a\x07b"), "name", 1008),
    case("a name with a line separator", hello(name="a\u2028b"), "name", 1008),
    case("a name of blank letters", hello(name="\u3164\u2800\u115f"), "name", 1008),
    case("a name of spaces of all kinds", hello(name="\u00a0\u3000\u2003"), "name", 1008),
    case("a name of a lone mark", hello(name="\u0301"), "name", 1008),
    case("a name of a note without a head", hello(name="\U0001d159"), "name", 1008),
    case("a name of spaces", hello(name="   "), "name", 1008),
    case("a name of 21 letters", hello(name="x" * 21), "name", 1008),
    case("a name that turns text around", hello(name="a\u202eb"), "name", 1008),
    case("a lone surrogate", b"\x97\x01\x01\xa3\xed\xa0\x80\x28\x19\xc0\xc0", "malformed", 1007),
    case("a name that shows nothing", hello(name="\u200d"), "name", 1008),
    case("a name of 1,900 marks", hello(name="a" + "\u0316\u0301" * 950), "name", 1008),
    case("a name of stacked marks", hello(name="a" + "\u0301" * 9), "name", 1008),
    case("a name of marks and joiners", hello(name="a" + "\u0301\u0316\u200d" * 3), "name", 1008),
    case("a name of many joiners", hello(name="a" + "\u200d" * 3), "name", 1008),
    case("a width of nothing", hello(width=0), "fields", 1008),
    case("a width that is true", hello(width=True), "fields", 1008),
    case("too long a token", hello(token="x" * 513), "fields", 1008),
    case("a friend who is an array", hello(near=[7]), "fields", 1008),
    case("half of a place", hello(x=5), "fields", 1008),
    case("a place beyond all bounds", hello(x=2**41 + 1, y=0), "fields", 1008),
    case("a field too many", [*HELLO, 1], "fields", 1008),
]

AFTER_HELLO = [
    case("a second hello", HELLO, "hello", 1008),
    case("an unknown kind", [99], "kind", 1008),
    case("a kind of the server", [20, 0, 0], "kind", 1008),
    case("a kind that is true", [True, 1, "Wren", 40, 25, None, None], "kind", 1008),
    case("a direction of 2", [2, 1, 0, 2, 0], "fields", 1008),
    case("a direction of NaN", [2, 1, 0, float("nan"), 0], "fields", 1008),
    case("an intent numbered 0", [2, 0, 0, 1, 0], "fields", 1008),
    case("a goal too far to be a position", [3, 1, 0, 2**41 + 1, 0], "fields", 1008),
    case("a look of 65536", [33, "A", 65536], "fields", 1008),
    case("something said that is bytes", [6, b"hi"], "malformed", 1007),
    case("a flush that was never sent", [7, 1, 10**6], "flush", 1008),
    case("a viewport of nothing", [5, 0, 0], "fields", 1008),
    case("an array of 17 items", [2] + [0] * 16, "malformed", 1007),
    case("a text frame", "hello", "text", 1003),
    case("nothing", b"", "malformed", 1007),
    case("half an array", b"\x95\x02\x01", "malformed", 1007),
    case("two messages in one", b"\x91\x63\x91\x63", "malformed", 1007),
    case("no array but a number", b"\x07", "malformed", 1007),
    case("an empty array", b"\x90", "kind", 1008),
    case("an array said to have 2^32 items", b"\xdd\xff\xff\xff\xff", "malformed", 1007),
    case("a text said to have 2^32 bytes", b"\x92\x06\xdb\xff\xff\xff\xff", "malformed", 1007),
    case("an extension", b"\xd4\x00\x00", "malformed", 1007),
    case("bad UTF-8", b"\x92\x06\xa2\xc3\x28", "malformed", 1007),
    case("a byte that MessagePack never uses", b"\xc1", "malformed", 1007),
    case("a bomb of 4,000 arrays in each other", b"\x91" * 4000 + b"\x00", "malformed", 1007),
    case("an array of 4,000 items", b"\xdc\x0f\xa0" + b"\x00" * 4000, "malformed", 1007),
]


def sends(client, message):
    """Send a message, packed unless it is bytes; a text is sent as a text frame."""
    if isinstance(message, str):
        client.raw(message.encode(), opcode=1)
    else:
        client.raw(message if isinstance(message, bytes) else msgpack.packb(message))


def paces(client, times, ms):
    """Let a player walk up and down, with `times` turns, one every `ms`."""
    for n in range(times):
        client.walk(0, 1 - 2 * (n % 2))
        client.harness.run(ms)


def spams(client, times):
    for n in range(times):
        client.send(6, f"spam {n}")


def refused(client, code, close):
    assert client.model.errors == [code]
    assert client.connection.closed[0] == close
    sentence = client.connection.messages[-1][2]
    assert client.connection.closed[1] == sentence and len(sentence.split()) >= 4


def newcomer(harness, address, token=None):
    client = harness.client()
    client.connection.address = address
    return client.hello(token=token)


@pytest.mark.parametrize(("message", "code", "close"), BEFORE_HELLO)
def test_a_bad_beginning_is_refused_and_nobody_joins(harness, message, code, close):
    client = harness.client()
    sends(client, message)
    refused(client, code, close)
    assert harness.node.residents.by_id == {}
    assert harness.loop.stats[f"refused_{code}"] == 1


@pytest.mark.parametrize(("message", "code", "close"), AFTER_HELLO)
def test_a_bad_message_is_refused_and_disturbs_nobody_else(harness, pair, message, code, close):
    client, neighbour = pair
    at, told = neighbour.at(), len(neighbour.connection.messages)
    sends(client, message)
    refused(client, code, close)
    assert harness.loop.stats[f"refused_{code}"] == 1
    harness.run(1000)
    # All that the neighbour hears is that somebody has gone.
    heard = events(neighbour.connection.messages[told:])
    assert [event[:2] for event in heard] == [[3, client.id]]
    assert neighbour.at() == at and neighbour.connection.closed is None
    harness.check()


@pytest.mark.parametrize("text", ["", "  ", "x" * 121, "ding \x07", "a" + "\u0301" * 5])
def test_a_player_that_says_something_invalid_is_told_so_and_stays(harness, pair, text):
    client, neighbour = pair
    client.send(6, text)
    assert client.model.errors == ["say"] and client.connection.open
    for said in ("\u1019\u103c\u102d\u102f\u1037", "\u092a\u0922\u093c\u0947\u0902"):
        client.send(6, said)
        harness.settle()
        assert neighbour.model.chat[-1][1] == said


def test_intents_must_be_numbered_upwards(harness, pair):
    client, _ = pair
    client.send(2, 5, harness.loop.now(), 1, 0)
    client.send(3, 5, harness.loop.now(), 0, 0)
    refused(client, "number", 1008)


def test_the_largest_value_of_every_field_is_accepted(harness):
    client = harness.client().hello("x" * 20, (65535, 65535), near=2**53 - 1)
    for message in (
        [2, 2**53 - 3, 0, -1, -1],
        [3, 2**53 - 2, 2**53 - 1, -(2**41), 2**41],
        [4, 2**53 - 1],
        [5, 65535, 1],
        [6, "x" * 120],
        [7, 2**53 - 1, client.model.flush],
    ):
        client.send(*message)
    assert client.connection.closed is None and client.model.errors == []
    harness.run(1000)
    assert client.model.players[client.id].ack == 2**53 - 1


@pytest.mark.parametrize(
    "name",
    [
        "W",
        "Zoë",
        "李小龍",
        "👩\u200d👩\u200d👧 fox",
        "x" * 20,
        "  padded   out  ",
        "🧑🏽\u200d❤\ufe0f\u200d💋\u200d🧑🏿 1\ufe0f\u20e3",
        "می\u200cخواهم",
        "क्\u200dष",
        "a\u0378",
    ],
)
def test_a_visible_name_is_accepted(harness, name):
    client = harness.client().hello(name)
    assert client.connection.closed is None
    assert client.model.players[client.id].name == " ".join(name.split())


def test_a_chatterbox_is_told_to_slow_down_then_closed(harness, pair):
    client, neighbour = pair
    spams(client, 20)
    assert client.connection.closed is None
    assert len(neighbour.model.chat) == 5
    assert client.model.errors == ["flood"] * 15
    spams(client, 40)
    assert client.connection.closed[0] == 1008
    assert len(neighbour.model.chat) == 5
    harness.run(100)
    harness.check()


def test_for_a_load_test_a_player_may_ping_at_any_rate(harness, pair):
    for any_rate, client in zip((False, True), pair, strict=True):
        harness.hosts[0].limits.any_rate = any_rate
        for _ in range(100):
            client.send(7, 1, 0)
        assert client.connection.open == any_rate == (client.model.errors == [])


def test_a_player_that_chats_at_a_decent_pace_is_heard_for_ever(harness, pair):
    client, neighbour = pair
    for _ in range(60):
        spams(client, 1)
        harness.run(1100)
    assert len(neighbour.model.chat) == 60
    assert client.model.errors == []


def test_somebody_mashing_keys_as_fast_as_anyone_can_is_obeyed(harness, pair):
    client, _ = pair
    paces(client, 300, 40)
    assert client.model.errors == []


def test_another_size_of_the_screen_is_counted_and_the_same_or_a_refused_one_is_not(harness, pair):
    client, neighbour = pair
    for size in ((30, 20), (30, 20), (20, 30), (20, 30)):
        client.send(5, *size)
    assert harness.loop.stats["viewports"] == 2
    # Sizes that are clamped to the same one are one size.
    for size in ((97, 65), (65535, 65535)):
        client.send(5, *size)
    assert harness.loop.stats["viewports"] == 3
    for number in range(30):
        neighbour.send(5, 30 + number, 20)
    assert "flood" in neighbour.model.errors
    assert harness.loop.stats["viewports"] == 3 + 30 - len(neighbour.model.errors)
    client.send(5, 0, 0)
    refused(client, "fields", 1008)
    assert harness.loop.stats["viewports"] == 3 + 30 - len(neighbour.model.errors)


def test_one_address_does_not_get_all_places(harness, monkeypatch):
    monkeypatch.setattr("flatlands.server.runtime.limits.LEAST_SEATS", 2)
    harness.hosts[0].admission.capacity = 6
    some = [newcomer(harness, "192.0.2.1") for _ in range(4)]
    assert [client.connection.open for client in some] == [True] * 3 + [False]
    assert some[3].connection.closed[0] == 1013 and some[3].model.errors == ["joins"]
    assert harness.loop.stats["limited_seats"] == 1
    assert all(newcomer(harness, other).connection.open for other in ("192.0.2.2", "127.0.0.1"))
    # A place is free again when its player leaves, or continues elsewhere.
    again = newcomer(harness, "192.0.2.9", some[0].model.token)
    assert again.connection.open and newcomer(harness, "192.0.2.1").connection.open
    assert not newcomer(harness, "192.0.2.1").connection.open
    for client in some[1:3]:
        client.connection.lose(1000)
    harness.run(100)
    assert newcomer(harness, "192.0.2.1").connection.open
    harness.check()


def owner(host, client):
    return host.node.residents.by_id[client.id].owner


def test_a_player_in_the_world_has_one_key(harness, pair):
    client, other = pair
    client.send(10, ADA)
    mine = owner(harness.hosts[0], client)
    harness.run(2000)
    client.send(10, ADA)
    assert client.model.errors == [] and owner(harness.hosts[0], client) == mine != ""
    harness.run(2000)
    other.send(10, ADA)
    assert owner(harness.hosts[0], other) == mine, "two windows may be one person"
    client.connection.lose()
    back = harness.client().hello(token=client.model.token)
    assert owner(harness.hosts[0], back) == mine
    back.send(10, BOB)
    refused(back, "key", 1008)
    assert back.id not in harness.node.residents.by_id, "it may come back, as somebody else"
    assert owner(harness.hosts[0], other) == mine and other.connection.open


def test_a_key_before_the_hello_is_that_of_the_player_from_its_first_moment(harness):
    client = harness.client()
    client.send(10, ADA)
    client.hello()
    mine = owner(harness.hosts[0], client)
    assert mine != "" and client.model.errors == []
    # The same one again, as at each connection, does no harm, and another one is refused.
    harness.run(2000)
    client.send(10, ADA)
    assert client.connection.open
    client.send(10, BOB)
    refused(client, "key", 1008)
    # The last one before the hello counts.
    other = harness.client()
    other.send(10, BOB)
    other.send(10, ADA)
    other.hello()
    assert owner(harness.hosts[0], other) == mine
    wrong = harness.client()
    wrong.send(10, "k" * 15 + " ")
    refused(wrong, "key", 1008)


def test_new_keys_from_one_address_are_limited_and_known_ones_are_not(harness):
    def children():
        return [newcomer(harness, "192.0.2.1") for _ in keys]

    most = int(PEOPLE.burst)
    keys = [f"{n:032x}" for n in range(most + 2)]
    some = children()
    for client, key in zip(some, keys, strict=True):
        client.send(10, key)
    assert [client.model.errors for client in some] == [[]] * most + [["keys"]] * 2
    assert all(client.connection.open for client in some)
    assert owner(harness.hosts[0], some[-1]) == "" and harness.loop.stats["limited_keys"] == 2
    # All of them load the page again. The last two are new to this node still.
    for client in some:
        client.connection.lose(1000)
    some = children()
    for client, key in zip(some, keys, strict=True):
        client.send(10, key)
    assert [client.model.errors for client in some] == [[]] * most + [["keys"]] * 2
    harness.run(10_000)
    some[-1].send(10, keys[-1])
    assert owner(harness.hosts[0], some[-1]) != "" == owner(harness.hosts[0], some[-2])
    # Other addresses have their own limits, and this machine has none.
    for address in ("192.0.2.2", "127.0.0.1"):
        client = newcomer(harness, address)
        client.send(10, f"{address}-{ADA}".replace(".", "-"))
        assert owner(harness.hosts[0], client) != ""


def test_a_player_that_has_left_or_is_lost_takes_nobodys_place(harness):
    def join():
        client = harness.client()
        harness.hosts[0].admission.capacity = 3
        client.hello()
        return client

    for code in (1000, 1006) * 5:
        client = join()
        client.walk(1, 0)
        client.connection.lose(code)
        harness.settle()
    assert len(harness.node.residents.by_id) == 5
    here = [join() for _ in range(3)]
    assert [client.connection.closed for client in here] == [None] * 3
    refused(join(), "full", 1013)


def test_a_player_that_never_walked_or_spoke_is_gone_soon_after_it_is_lost(harness, pair):
    client, neighbour = pair
    glancing = harness.place("G", (0, 0))
    neighbour.send(6, "hello")
    client.walk(1, 0)
    harness.run(100)
    for one in (client, neighbour, glancing):
        one.connection.lose()
    harness.run(900)
    assert set(harness.node.residents.by_id) == {client.id, neighbour.id, glancing.id}
    harness.run(200)
    assert set(harness.node.residents.by_id) == {client.id, neighbour.id}
    harness.run(9000)
    assert harness.node.residents.by_id == {}


def requests():
    """Return the hellos of this process that are not decided yet, or that something still holds."""
    gc.collect()
    return [one for one in gc.get_objects() if type(one) is Request]


def test_nothing_of_a_hello_is_left_once_it_is_decided(harness):
    of_other_tests = requests()
    ada = harness.client().hello("Ada")
    harness.client().hello("Back", token=ada.model.token)
    harness.node.moderation.apply(BAR, "192.0.2.1", 60)
    refused(newcomer(harness, "192.0.2.1"), "kicked", 1008)
    harness.run(1)
    assert not [one for one in requests() if one not in of_other_tests]


def test_players_of_one_address_join_a_few_at_a_time_and_some_wait_for_their_turn(harness):
    clients = [newcomer(harness, "192.0.2.1") for _ in range(260)]
    assert all(client.session.resident for client in clients[:240])
    assert not any(client.session.resident for client in clients[240:])
    for client in clients[250:]:
        refused(client, "joins", 1013)
    assert harness.loop.stats["limited_joins"] == 10
    assert newcomer(harness, "192.0.2.2").session.resident
    # A client that hangs up while it waits has not joined.
    clients[249].connection.lose()
    harness.run(4600)
    assert all(client.session.resident for client in clients[240:249])
    assert clients[249].session.resident is None
    assert newcomer(harness, "192.0.2.1").connection.open
    harness.run(1000)
    harness.check()
    # A client that was barred meanwhile is refused when it has its turn.
    clients = [newcomer(harness, "192.0.2.1") for _ in range(30)]
    waiting = next(client for client in clients if client.session.resident is None)
    harness.node.moderation.apply(BAR, "192.0.2.1", 60)
    harness.run(600)
    refused(waiting, "kicked", 1008)


def test_a_player_that_joins_and_drops_keeps_nobody_of_its_address_out(harness):
    """It joins as fast as it is let in, one connection after the other, until nothing is left."""
    client = newcomer(harness, "192.0.2.1")
    for _ in range(400):
        if client.session.resident is not None:
            client.connection.lose()
            client = newcomer(harness, "192.0.2.1")
        else:
            harness.run(100)
    assert client.connection.open
    late = newcomer(harness, "192.0.2.1")
    harness.run(1500)
    assert late.session.resident is not None


# Coming back refills nothing.


def back(harness, client, code=None):
    """Return a new session of the same player; the old one ends first, or else is taken over."""
    token = client.model.token
    if code is not None:
        client.connection.lose(code)
        harness.settle()
    again = harness.client()
    again.hello(token=token)
    return again


@pytest.mark.parametrize("code", [None, 1000, 1006], ids=["taken over", "left", "lost"])
def test_coming_back_neither_lets_anybody_say_more_nor_forgives_a_flood(harness, code):
    listener, talker = harness.place("L", (0, 0)), harness.place("T", (0, 0))
    for _ in range(5):
        spams(talker, 5)
        talker = back(harness, talker, code)
        harness.run(100)
    assert len(listener.model.chat) == 5
    spams(talker, 30)
    assert talker.connection.closed[0] == (1013 if "returns" in talker.model.errors else 1008)


def test_a_player_from_another_node_may_say_one_thing_at_once():
    harness = Harness(nodes=2)
    harness.run(3000)
    listener = harness.place("L", (0, 0), host=harness.hosts[1])
    talker = harness.place("T", (0, 0), host=harness.hosts[0])
    harness.run(1000)
    again = harness.client(harness.hosts[1]).hello(token=talker.model.token)
    harness.run(1000)
    spams(again, 5)
    harness.run(500)
    assert len(listener.model.chat) in (1, 2)


def test_a_player_may_come_back_only_so_often(harness, pair):
    client, _ = pair
    for _ in range(5):
        client = back(harness, client)
        assert client.connection.closed is None
    refused(back(harness, client), "returns", 1013)
    assert client.connection.closed is None
    harness.run(2100)
    assert back(harness, client).connection.closed is None


def test_chat_in_a_square_has_a_limit_that_a_school_class_does_not_reach(harness):
    crowd = [harness.place(f"C{n}", (0, 0)) for n in range(60)]
    for client in crowd:
        spams(client, 5)
    harness.run(300)
    heard = len(crowd[0].model.chat)
    assert 250 <= heard <= 265
    codes = [code for client in crowd for code in client.model.errors]
    assert codes == ["crowded"] * (300 - heard)
    # Another square has its own limit.
    elsewhere = harness.place("E", (9, 9))
    elsewhere.send(6, "hello")
    harness.run(300)
    assert elsewhere.model.chat and not elsewhere.model.errors


@pytest.mark.parametrize("message", [[6, "spam"], [35, "wave", [1]]])
def test_one_address_cannot_silence_a_square(harness, message):
    """64 players of one address say or show as much as each of them may."""
    honest = [harness.place(f"H{n}", (0, 0)) for n in range(5)]
    many = [harness.place(f"M{n}", (0, 0)) for n in range(64)]
    for n, client in enumerate([*honest, *many]):
        client.connection.address = f"192.0.2.{n}" if n < 5 else "198.51.100.7"
    for client in many:
        for _ in range(5):
            client.send(*message)
    for client in honest:
        client.send(6, "hello")
        client.send(35, "wave", [2])
    harness.run(300)
    assert [client.model.errors for client in honest] == [[]] * 5
    assert [text for name, text in honest[0].model.chat if name[0] == "H"] == ["hello"] * 5
    assert sum(len(client.model.errors) for client in many) == 64 * 5 - 120


def test_messages_that_piled_up_while_the_server_stood_still_are_nobodys_fault(harness, pair):
    client, _ = pair
    harness.run(10_000)
    # As Loop.late tells after 10 s in which a player walked on and on.
    harness.loop.stall_ms = 10_000
    paces(client, 250, 0)
    assert client.model.errors == [] and client.connection.closed is None
    # As many messages as would have come in the pause are accepted, and no more.
    paces(client, 120, 0)
    assert client.model.errors
    client.model.errors.clear()
    harness.run(1000)
    harness.loop.stall_ms = 0
    paces(client, 60, 0)
    assert client.model.errors == []
    paces(client, 200, 0)
    assert client.connection.closed[0] == 1008


# Late servers.

#: For each intent: the ms from its beginning, by the client, to its reading, and its direction.
INTENTS = st.lists(
    st.tuples(st.integers(-50, 900), st.integers(-1, 1), st.integers(-1, 1)),
    min_size=1,
    max_size=9,
)


@given(INTENTS)
@settings(max_examples=60, deadline=None)
def test_intents_that_are_read_together_lead_where_they_lead_one_by_one(intents):
    harness = Harness()
    late, prompt = harness.place("A", (0, 0)), harness.place("B", (0, 0))
    watcher = harness.place("C", (0, 0))
    harness.run(1000)
    watcher.connection.messages.clear()
    messages = [
        msgpack.packb([2, n, harness.loop.now() - age, dx, dy])
        for n, (age, dx, dy) in enumerate(intents, 1)
    ]
    late.host.freeze()
    for message in messages:
        late.raw(message)
    late.host.thaw()
    for message in messages:
        prompt.raw(message)
    tracks = [client.session.resident.track for client in (late, prompt)]
    assert tracks[0] == tracks[1]
    harness.run(300)
    harness.check()
    known = watcher.model.players
    assert known[late.id].ack == known[prompt.id].ack == len(intents)
    told = sum(event[0] == 1 for event in events(watcher.connection.messages))
    replaced = sum(batch[6] for batch in batches(watcher.connection.messages))
    assert told + replaced == 2 * len(intents)


def test_words_after_a_late_intent_are_said_where_that_intent_leads(harness):
    client = harness.stand("A", (16 * UNIT - 500, 8 * UNIT), (40, 25))
    neighbour = harness.place("B", (0, 0))
    harness.run(1000)
    client.host.freeze()
    client.walk(1, 0, age=900)
    client.send(6, "hello")
    client.walk(0, 0)
    client.host.thaw()
    harness.run(100)
    told = batches(neighbour.connection.messages)
    assert [batch[:2] for batch in told for event in batch[5] if event[0] == 4] == [[1, 0]]
    harness.check()


def test_intents_before_a_message_that_is_refused_are_obeyed(harness, pair):
    client, neighbour = pair
    client.host.freeze()
    client.walk(1, 0)
    client.raw(b"no message")
    client.host.thaw()
    assert client.connection.closed[0] == 1007
    assert client.session.resident is None or client.session.resident.ack == 1


def test_a_client_that_a_late_server_cannot_hear_does_not_lag(harness, pair):
    client, neighbour = pair
    client.silent = True
    # As Loop.late tells after turns of 1.5 s: acknowledgements wait in the sockets.
    harness.loop.stall_ms = 1500
    paces(neighbour, 30, 100)
    assert client.session.lags_since is None
    paces(neighbour, 10, 100)
    assert client.session.lags_since is not None


# Clients that do not keep up.


def test_a_client_that_only_acknowledges_does_not_lag_and_is_told_nothing(harness, pair):
    client, neighbour = pair
    client.silent = True
    harness.run(1000)
    client.connection.messages.clear()
    for _ in range(10):
        paces(neighbour, 8, 100)
        client.ack()
    assert client.session.lags_since is None
    # Apart from the ground that the neighbour wears down.
    assert {message[0] for message in client.connection.messages} - {CELLS} == {21}
    client.send(14, client.model.flush + 1)
    assert client.connection.closed[0] == 1008
    assert client.model.errors == ["flush"]


def test_a_client_that_takes_nothing_misses_events_and_is_then_told_everything(harness, pair):
    client, neighbour = pair
    client.connection.stuck = True
    neighbour.walk(1, 0)
    harness.run(50)
    paces(neighbour, 200, 50)
    assert client.session.lags_since is not None
    # Nothing piles up for it.
    waiting = frame_payloads(b"".join(client.connection.remainder))
    assert len(batches(list(map(msgpack.unpackb, waiting)))) == 1
    assert harness.loop.stats["skipped"] >= 10
    client.connection.drain()
    client.ping()
    assert client.model.resyncs == 1
    harness.run(100)
    harness.check()
    assert client.sees(neighbour)
    assert client.session.lags_since is None


def test_a_resync_waits_until_all_is_taken_and_acknowledged(harness, pair):
    client, neighbour = pair
    harness.clients.remove(client)
    paces(neighbour, 60, 50)
    assert client.session.lags_since is not None
    last = client.model.flush
    harness.run(1000)
    assert client.model.flush == last
    for number in (0, 1, last - 1):
        client.send(7, 1, number)
        assert client.model.resyncs == harness.loop.stats["resyncs"] == 0
    # Its socket takes no more, though every flush is acknowledged.
    client.connection.stuck = True
    client.send(7, 1, last)
    assert client.connection.backlogged
    client.connection.stuck = False
    client.connection.drain()
    assert client.model.resyncs == harness.loop.stats["resyncs"] == 1
    harness.clients.append(client)
    harness.check()


def test_no_resync_is_written_to_a_socket_that_takes_no_more(harness, pair):
    client, _ = pair
    harness.run(1000)
    client.connection.stuck = True
    # No flush is waiting, so there is nothing to acknowledge.
    client.send(5, 80, 60)
    client.send(5, 8, 8)
    assert client.session.lags_since is not None
    for _ in range(3):
        client.ping()
    assert harness.loop.stats["resyncs"] == 0 and harness.loop.stats["lagged"] == 1
    client.connection.drain()
    assert client.model.resyncs == 1
    harness.check()


def test_words_to_a_client_that_is_behind_are_lost_and_nothing_else(harness, pair):
    client, neighbour = pair
    client.connection.stuck = True
    neighbour.send(6, "this fits into the remainder")
    harness.run(60)
    neighbour.send(6, "this does not")
    harness.run(60)
    client.connection.drain()
    client.ping()
    neighbour.send(6, "and this is heard again")
    harness.run(60)
    texts = [text for _, text in client.model.chat]
    assert texts == ["this fits into the remainder", "and this is heard again"]


def test_a_client_that_acknowledges_late_but_steadily_is_not_behind(harness, pair):
    client, neighbour = pair
    harness.clients.remove(client)
    for _ in range(10):
        paces(neighbour, 20, 50)
        client.send(7, 1, max(client.model.flush - 10, 0))
    assert client.session.lags_since is None
    assert client.model.resyncs == 0


def test_a_client_that_leaves_too_many_bytes_unacknowledged_is_behind(harness, pair, monkeypatch):
    monkeypatch.setattr(screen, "LAGGING_BYTES", 500)
    client, neighbour = pair
    harness.clients.remove(client)
    paces(neighbour, 20, 20)
    assert client.session.lags_since is not None


@pytest.mark.parametrize("code", [1002, 1003, 1007, 1008, 1009])
def test_a_player_that_is_sent_away_for_an_error_is_gone_at_once(harness, pair, code):
    client, neighbour = pair
    client.connection.close(code, "a reason of some words")
    harness.run(10)
    assert not neighbour.sees(client) and client.id not in harness.node.residents.by_id
    harness.check()


# Flushes.


def test_a_flush_is_one_write_per_client_whatever_arrived(harness):
    crowd = [harness.place(f"P{n}", (n % 2, 0)) for n in range(30)]
    harness.run(500)
    harness.node.hub.flush_interval = lambda _screens: 90
    crowd[0].walk(0, 1)
    before = [client.connection.writes for client in crowd]
    flush = harness.node.hub.number
    for client in crowd:
        client.walk(1, 0)
    harness.run(100)
    assert harness.node.hub.number == flush + 1
    assert all(
        client.connection.writes == count + 1 for client, count in zip(crowd, before, strict=True)
    )
    harness.check()


def test_tokens_are_renewed_only_when_the_place_has_changed(harness, pair):
    client, _ = pair

    def tokens():
        return sum(message[0] == 17 for message in client.connection.messages)

    first = client.model.token
    client.session.renew_token()
    assert client.model.token == first and tokens() == 1
    client.walk(1, 0)
    harness.run(500)
    client.session.renew_token()
    assert client.model.token != first and tokens() == 2
    client.walk(0, 0)
    for _ in range(3):
        client.session.renew_token()
    assert tokens() == 2


def test_a_token_that_a_lagging_client_did_not_get_is_sent_again(harness, pair):
    client, neighbour = pair
    client.walk(1, 0)
    client.connection.stuck = True
    neighbour.walk(1, 0)
    harness.run(3000)
    assert client.session.lags_since is not None
    before = client.model.token
    client.session.renew_token()
    client.walk(0, 0)
    client.connection.drain()
    client.ping()
    harness.run(100)
    assert client.model.token == before
    client.session.renew_token()
    assert client.model.token != before


@pytest.mark.parametrize(
    ("asked", "granted"),
    [((1, 1), [8, 8]), ((65535, 65535), [96, 64]), ((96, 64), [96, 64]), ((41, 9), [41, 9])],
)
def test_a_welcome_is_followed_by_a_token_the_held_squares_and_their_snapshots(
    harness, asked, granted
):
    client = harness.client().hello("Wren", asked)
    welcome, token, held, *rest = client.connection.messages
    assert [welcome[0], token[0], held[0]] == [16, 17, 18]
    # A viewport is clamped.
    assert welcome[12:15] == [*granted, GROUND] and welcome[3] == client.now()
    assert {tuple(m[1:3]) for m in rest if m[0] == 19} == set(Rect(*held[1:]).squares())
    # Clients are not told what they assume anyway: that the clocks and the link are right.
    assert {m[0] for m in rest} <= {19, 20, 21}
    client.send(5, *asked)
    assert client.model.held == tuple(held[1:]) and client.connection.closed is None
