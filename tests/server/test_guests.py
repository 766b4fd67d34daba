"""The game decides who may play, and as whom."""

import gevent
import pytest
from itsdangerous import BadData, URLSafeSerializer

from flatlands import Game as Engine
from flatlands import Part, PlayerGone, Refused, action
from flatlands.server.clients import admission
from flatlands.server.cluster.districts import COLUMNS
from flatlands.server.messages import protocol
from flatlands.server.players.moderation import KICK
from flatlands.server.storage.client import StoreUnavailable
from flatlands.testkit.clock import Clock
from flatlands.testkit.store import shared_stores
from tests.server.harness import Harness
from tests.server.machine import Machine
from tests.server.servers import until

TICKETS = URLSafeSerializer("a secret")
SAY = 6
KEY = 10
APPEAR = 33
DO = 35
TICKET = 36


class Doors(Part):
    """A part that is asked too."""

    def on_hello(self, guest, ticket):
        if guest.name == "Ghost":
            raise Refused("ghost", "no ghosts")


class Club(Engine):
    """Lets guests with a ticket play, under the name in it."""

    parts = (Doors,)
    asked = []

    def on_hello(self, guest, ticket):
        self.asked.append((guest.name, ticket))
        try:
            name, way = TICKETS.loads(ticket)
        except BadData:
            raise Refused("login", "please log in first") from None
        if way == "slow":
            gevent.sleep(0.2)
        guest.name = name
        if way != "nobody":
            guest.owner = name.lower()

    @action(rate=5, burst=9)
    def who(self, me):
        me.send("who", me.name, me.owner)


@pytest.fixture
def club():
    """Two nodes."""
    Club.asked.clear()
    clock = Clock()
    return Harness(nodes=2, play=Club, clock=clock, stores=shared_stores(clock))


def come(harness, name, way="", host=None, token=None, asked="Somebody"):
    """Return a client that came with a ticket for a name."""
    client = harness.client(host)
    client.send(TICKET, TICKETS.dumps((name, way)))
    return client.hello(asked, token=token)


def who(harness, client):
    client.send(DO, "who", [])
    harness.run(200)
    return client.model.messages["who"]


def test_a_player_without_a_ticket_is_told_why_and_nobody_sees_it(club):
    ada = come(club, "Ada")
    club.run(300)
    for ticket in (None, "forged", TICKETS.dumps(("Eve", ""))[:-1]):
        eve = club.client()
        if ticket is not None:
            eve.send(TICKET, ticket)
        eve.hello("Eve")
        club.run(300)
        assert eve.model.errors == ["login"] and eve.model.welcome == []
        assert eve.connection.closed == (protocol.POLICY, "please log in first")
    assert list(ada.model.players) == [ada.id] and len(club.node.residents.by_id) == 1
    assert club.node.stats["hooks_failed"] == 0


def test_a_player_has_the_name_and_the_owner_that_the_game_gives_it(club):
    ada = come(club, "Ada")
    name, owner = who(club, ada)
    assert (name, len(owner)) == ("Ada", 32) and Club.asked[0][0] == "Somebody"
    # The player can change neither, but it can change its look.
    ada.send(KEY, "k" * 32)
    ada.send(APPEAR, "Bob", 5)
    club.run(300)
    assert ada.model.errors == [] and ada.model.players[ada.id].look == 5
    assert who(club, ada) == ["Ada", owner]
    # The same person elsewhere has the same owner, which nobody gets by a key.
    assert who(club, come(club, "Ada", host=club.hosts[1])) == ["Ada", owner]
    other = come(club, "Bob", "nobody")
    other.send(KEY, "ada" * 6)
    keyed = who(club, other)[1]
    assert len(keyed) == 32 and keyed != owner
    other.send(KEY, "k" * 32)
    assert who(club, other)[1] == keyed
    # Nor does the player keep the owner when it comes back as nobody.
    ada.connection.lose()
    guest = come(club, "Guest", "nobody", token=ada.model.token)
    assert guest.id == ada.id and who(club, guest) == ["Guest", ""]


def test_a_player_that_comes_back_is_asked_again_and_may_be_somebody_else(club):
    client = ada = come(club, "Ada")
    for name, host, ms in (("Bea", club.hosts[0], 300), ("Cleo", club.hosts[1], 1500)):
        club.run(300)
        client.connection.lose()
        club.run(200 if host is club.hosts[1] else 0)
        client = come(club, name, host=host, token=client.model.token)
        club.run(ms)
        assert client.id == ada.id and who(club, client)[0] == name
    eve = club.client().hello("Eve", token=client.model.token)
    assert eve.connection.closed[0] == protocol.POLICY
    assert who(club, client)[0] == "Cleo"


def test_a_hook_may_wait_and_a_message_that_comes_meanwhile_is_obeyed_afterwards(club):
    club.hosts[0].spawn = gevent.spawn
    ada = come(club, "Ada", "slow")
    ada.send(SAY, "hello")
    assert ada.model.welcome == []
    gone = come(club, "Gone", "slow")
    gone.connection.lose()
    until(lambda: club.node.residents.by_id)
    gevent.sleep(0.2)
    club.run(300)
    assert [text for _, text in ada.model.chat] == ["hello"]
    assert [one.name for one in club.node.residents.by_id.values()] == ["Ada"]


def test_a_ticket_must_come_before_hello(club):
    ada = come(club, "Ada")
    ada.send(TICKET, "another")
    assert ada.model.errors == ["hello"]
    assert ada.connection.closed == (protocol.POLICY, "a ticket must come before hello")
    long = club.client()
    long.send(TICKET, "x" * (protocol.TICKET_LIMIT + 1))
    assert long.connection.closed[0] == protocol.POLICY


def test_all_parts_are_asked_until_one_refuses(club):
    ghost = come(club, "Ghost")
    assert ghost.model.errors == ["ghost"] and not club.node.residents.by_id


def raising(error):
    """Return what a hook does that raises an error."""

    def act(_guest):
        raise error

    return act


def named(name):
    return lambda guest: setattr(guest, "name", name)


@pytest.mark.parametrize(
    ("act", "code", "close"),
    [
        *((named(name), "name", protocol.POLICY) for name in ("\u202e", "x" * 21, "")),
        (named(7), "failed", protocol.TRY_LATER),
        (raising(PlayerGone("Ada has left")), "failed", protocol.TRY_LATER),
        (raising(RuntimeError("it broke")), "failed", protocol.TRY_LATER),
        (raising(StoreUnavailable("it is far")), "store", protocol.TRY_LATER),
        *(
            (lambda guest, wrong=wrong: Refused(*wrong), "failed", protocol.TRY_LATER)
            for wrong in ((7, "x"), ("login", None), ("not a word", "x"), ("x" * 21, "x"))
        ),
    ],
)
def test_a_hook_that_fails_lets_nobody_in(act, code, close):
    harness = Harness(play=type("Odd", (Engine,), {"on_hello": lambda self, guest, _: act(guest)}))
    client = harness.client().hello("Ada")
    assert client.model.errors == [code] and not harness.node.residents.by_id
    assert client.connection.closed[0] == close


def test_a_person_that_was_sent_away_does_not_come_back_as_a_newcomer(club):
    ada = come(club, "Ada")
    club.node.moderation.apply(KICK, str(ada.id), 600)
    club.run(5000)
    again = come(club, "Ada")
    assert again.model.errors == ["kicked"] and not again.model.welcome
    assert come(club, "Bob").model.welcome


def test_of_two_clients_with_one_token_the_later_one_plays_however_long_the_game_takes(club):
    ada = come(club, "Ada")
    club.run(300)
    ada.connection.lose()
    club.hosts[0].spawn = gevent.spawn
    first = come(club, "Ada", "slow", token=ada.model.token)
    second = come(club, "Ada", token=ada.model.token)
    until(lambda: not first.connection.open)
    club.run(300)
    assert second.connection.open and second.session.playing.name == "Ada"
    assert first.connection.closed[0] == protocol.CLOSE_TAKEN_OVER


def test_a_game_that_fails_when_told_of_a_name_or_an_order_holds_up_nobody():
    class Proud(Engine):
        def _on_renamed(self, player, name, owner):
            raise RuntimeError("who?")

        def _on_silenced(self, player):
            raise RuntimeError("who?")

    class Guarded(Proud):
        def on_hello(self, guest, ticket):
            guest.owner = "Ada"

    for play, key in ((Guarded, []), (Proud, [KEY, "a-key-of-Adas-own"])):
        harness = Harness(play=play)
        harness.loop.forgiving = True
        client = harness.client().hello("Ada")
        if key:
            client.send(*key)
        assert client.model.welcome and harness.loop.stats["errors"] == 1
        harness.node.moderation.apply(KICK, str(client.id), 600)
        assert client.connection.closed[0] == protocol.POLICY


def test_a_game_is_asked_about_a_limited_number_of_guests_at_once(club, monkeypatch):
    monkeypatch.setattr(admission, "ASKED_AT_ONCE", 2)
    club.hosts[0].spawn = gevent.spawn
    some = [come(club, f"P{n}", "slow") for n in range(3)]
    gevent.sleep(0)
    assert [one.model.errors for one in some] == [[], [], []]
    late = come(club, "Late", "slow")
    assert late.model.errors == ["full"]
    gevent.sleep(0.5)
    assert all(one.model.welcome for one in some[:2])


def test_a_game_that_never_answers_keeps_nobody_else_out(monkeypatch):
    monkeypatch.setattr(admission, "ASKED_AT_ONCE", 1)
    monkeypatch.setattr(admission, "ANSWER_WITHIN_S", 0.05)
    waits = [1000]
    harness = Harness(
        play=type("Slow", (Engine,), {"on_hello": lambda *_: gevent.sleep(sum(waits))})
    )
    harness.hosts[0].spawn = gevent.spawn
    first = harness.client().hello("Ada")
    gevent.sleep(0)
    assert harness.client().hello("Ben").model.errors == ["full"]
    gevent.sleep(0.2)
    harness.settle()
    assert first.model.errors == ["failed"] and first.connection.closed[0] == protocol.TRY_LATER
    assert harness.node.stats["hooks_failed"] == 1
    waits.clear()
    later = harness.client().hello("Ben")
    gevent.sleep(0.1)
    harness.settle()
    assert later.model.welcome


def test_a_player_that_is_passed_to_another_worker_is_asked_once():
    Club.asked.clear()
    machine = Machine(nodes=2, play=Club)
    machine.run(2000)
    machine.tell((COLUMNS, 0, 0, 1))
    west, east = machine.hosts
    for host in machine.hosts:
        host.node.residents.choose_spot = lambda near=None: (2 * 16 * 1024 + 500, 500)
    ada = come(machine, "Ada", host=west)
    machine.arrive()
    machine.run(500)
    [resident] = east.node.residents.by_id.values()
    assert (resident.name, len(resident.owner)) == ("Ada", 32) and len(Club.asked) == 1
    assert who(machine, ada) == ["Ada", resident.owner]


def test_a_ticket_that_no_game_looks_at_is_not_kept():
    harness = Harness(play=Engine)
    client = harness.client()
    client.send(TICKET, "x" * 2000)
    assert client.session.ticket == "" and client.hello("Ada").model.welcome
