"""What a game sends to one player, to a person and to the nodes, wherever these are."""

import time

import pytest

from flatlands import Game, action, plain, text
from flatlands.brokers.base import Message
from flatlands.server.game.delivery import DELIVERY_MS, REMEMBERED_MS, TRY_AGAIN_MS
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.protocol import DO
from flatlands.server.players.residents import DIMMED_FOR_MS
from flatlands.testkit import World
from tests.inside import inside
from tests.server.harness import Harness
from tests.socket_client import SocketClient


class Letters(Game):
    """People whisper, and each node reads the news."""

    ground, presence = plain(), True

    def __init__(self, *args):
        super().__init__(*args)
        self.news, self.delivered = [], []

    @action(rate=100)
    def whisper(self, me, to: str = text(1, 20), what: str = text(1, 20)):
        self.send(int(to), "whisper", me.name, what)

    @action(rate=100)
    def deliver_to(self, me, to: str = text(1, 20)):
        self.delivered.append(self.deliver(int(to), "letter", me.name))
        me.send("delivered", self.delivered[-1])

    @action(rate=100)
    def announce(self, me, what: str = text(1, 20)):
        self.publish("announced", what, [me.id])

    def on_news(self, name, fields):
        self.news.append((name, fields))


@pytest.fixture
def world():
    return World(Letters, nodes=2)


@pytest.fixture
def two(world):
    return world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(900, 900))


def letters(player):
    return [more for what, _, more in player.events if what == "message" and more[0] == "letter"]


def test_a_message_reaches_one_player_at_whichever_node(world, two):
    ada, bob = two
    cay = world.join("Cay", 1, at=(901, 900))
    for to in (bob, ada, cay):
        ada.do("whisper", str(to.id), f"for {to.name}")
    world.run(0.1)
    assert [one.message("whisper") for one in (ada, bob, cay)] == [
        ["Ada", f"for {name}"] for name in ("Ada", "Bob", "Cay")
    ]
    # Nobody has this id, and nobody is harmed.
    ada.do("whisper", "12345", "anybody?")
    world.run(2)
    assert world.check() is None


def test_whoever_delivers_a_message_knows_whether_it_was_written(world, two):
    ada, bob = two
    ada.do("deliver_to", str(bob.id))
    world.run(0.1)
    assert ada.message("delivered") == [True] and letters(bob) == [("letter", ["Ada"])]
    ada.do("deliver_to", str(ada.id))
    assert ada.message("delivered") == [True] and letters(ada) == [("letter", ["Ada"])]
    ada.do("deliver_to", "12345")
    world.run(DELIVERY_MS / 1000 - 0.1)
    assert world.game(0).delivered == [True, True]
    world.run(0.2)
    assert world.game(0).delivered == [True, True, False]


def test_a_player_who_comes_back_within_a_second_still_gets_it_once(world, two):
    ada, bob = two
    bob.lose()
    ada.do("deliver_to", str(bob.id))
    world.run(TRY_AGAIN_MS / 1000 / 2)
    bob.back(1)
    world.run(1)
    assert ada.message("delivered") == [True] and letters(bob) == [("letter", ["Ada"])]
    # One that stays away is not said to have got it, though it is still in the world.
    bob.lose()
    ada.do("deliver_to", str(bob.id))
    world.run(DELIVERY_MS / 1000 + 0.1)
    assert ada.message("delivered") == [False] and DELIVERY_MS < DIMMED_FOR_MS


def test_a_letter_to_a_player_of_a_dead_node_is_not_delivered(world, two):
    ada, bob = two
    world.kill(1)
    ada.do("deliver_to", str(bob.id))
    world.run(DELIVERY_MS / 1000 + 0.1)
    assert ada.message("delivered") == [False]


def test_it_is_asked_for_again_if_an_answer_is_lost_and_shown_once(world, two):
    ada, bob = two
    world.cut(0, 1)
    ada.do("deliver_to", str(bob.id))
    world.run(TRY_AGAIN_MS / 1000 / 2)
    world.heal()
    world.run(1)
    assert ada.message("delivered") == [True] and letters(bob) == [("letter", ["Ada"])]
    # The node has shown it, and the sender asks again since the answer has got lost.
    host = world._harness.hosts[1]
    sent = peer_protocol.Send(7, bob.id, 9, "letter", ["twice"])
    for _ in range(2):
        host.node.receive(Message(host.node.channels.player(bob.id), peer_protocol.pack(sent)))
    world.run(0.1)
    assert letters(bob)[1:] == [("letter", ["twice"])]
    world.run(REMEMBERED_MS / 1000 + 1)
    assert not len(host.node.delivery._delivered) and not host.node.delivery._requests


def test_a_person_gets_it_in_each_window(world):
    one, bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(5, 5))
    two = world.join("Ada", 1, at=(2, 2), person=one)
    owner = world.game(0).player(one.id).owner
    assert owner == world.game(1).player(two.id).owner
    world.game(0).send_to_owner(owner, "paid", 5)
    # A guest without a key has the owner "", and nobody is meant by it.
    world.game(0).send_to_owner("", "paid", 6)
    world.run(0.1)
    assert [player.message("paid") for player in (one, two, bob)] == [[5], [5], None]
    # A node at which the person plays no more hears nothing of it.
    channel = world._harness.hosts[1].node.channels.owner(owner)
    assert channel in world._harness.hosts[1].broker.channels
    two.leave()
    world.run(0.1)
    assert channel not in world._harness.hosts[1].broker.channels
    world.game(1).send_to_owner(owner, "paid", 7)
    world.run(0.1)
    assert one.message("paid") == [7]


def test_each_node_hears_the_news_and_one_that_is_cut_off_does_not(world, two):
    ada, _bob = two
    ada.do("announce", "hello")
    world.run(0.1)
    assert world.game(0).news == world.game(1).news == [("announced", ["hello", [ada.id]])]
    world.cut(0, 1)
    ada.do("announce", "anybody?")
    world.run(0.1)
    assert len(world.game(0).news) == 2 and len(world.game(1).news) == 1


def test_a_node_that_reaches_no_broker_tells_itself():
    harness = Harness(play=Letters, nodes=2, ready=True)
    ada, bob = (
        harness.place(name, (9 * n, 0), host=harness.hosts[n]) for n, name in enumerate("ab")
    )
    game, other = harness.game_of(), harness.game_of(harness.hosts[1])
    harness.broker.fail()
    game.publish("storm", 1)
    game.send(ada.id, "hail", 2)
    game.send(bob.id, "hail", 3)
    harness.settle()
    assert game.news == [("storm", [1])] and not other.news
    assert ada.model.messages["hail"] == [2] and "hail" not in bob.model.messages


def test_in_a_server_an_action_waits_for_the_answer_and_keeps_nobody_waiting(tmp_path):
    module = "from tests.server.test_delivery import Letters\n\n\nclass Game(Letters):\n    pass\n"
    (tmp_path / "letters.py").write_text(module)
    with inside("--game", str(tmp_path / "letters.py")) as server:
        ada, bob = (SocketClient(server.port).hello(name) for name in ("Ada", "Bob"))
        ada.send(DO, "deliver_to", [str(bob.model.id)])
        ada.until(lambda: ada.model.messages.get("delivered") == [True])
        bob.until(lambda: bob.model.messages.get("letter") == ["Ada"])
        began = time.monotonic()
        ada.send(DO, "deliver_to", ["12345"])
        bob.walk(1, 0)
        bob.until(lambda: bob.model.players[bob.model.id].ack == 1)
        ada.until(lambda: ada.model.messages.get("delivered") == [False])
        assert time.monotonic() - began >= DELIVERY_MS / 1000


@pytest.mark.parametrize("call", ["send", "deliver", "send_to_owner", "publish"])
def test_what_pages_cannot_read_is_refused_at_once(world, call):
    to = [] if call == "publish" else ["o" * 32] if call == "send_to_owner" else [5]
    for name, field in ("", 1), ("n" * 21, 1), (5, 1), ("name", 1.5), ("name", {}), ("name", 2**60):
        with pytest.raises(ValueError, match="can be sent only|must have 1 to"):
            getattr(world.game(0), call)(*to, name, field)
    with pytest.raises(ValueError, match="at most 65536 bytes"):
        getattr(world.game(0), call)(*to, "name", list(range(100_000)))


def test_a_message_that_is_too_long_for_another_node_is_refused_for_a_player_here(world, two):
    ada, _bob = two
    for call in world.game(0).send, world.game(0).deliver:
        with pytest.raises(ValueError, match="at most 65536 bytes"):
            call(ada.id, "name", "x" * 65_530)


@pytest.mark.parametrize("id", [None, "5", True, -1, 2**53, 1.5, ("me",)])
def test_what_is_no_id_and_no_owner_is_refused(world, id):
    game = world.game(0)
    for call in (
        lambda: game.send(id, "n"),
        lambda: game.deliver(id, "n"),
        lambda: game.is_online(id),
    ):
        with pytest.raises(ValueError, match="name a player by its id"):
            call()
    if id != "5":
        with pytest.raises(ValueError, match="name a person by its owner"):
            game.send_to_owner(id, "n")
    with pytest.raises(ValueError, match="name a person by its owner"):
        game.send_to_owner("o" * 65, "n")


def test_only_a_hook_that_may_wait_can_wait_for_an_answer(world, two):
    with pytest.raises(RuntimeError, match="only a hook that may wait"):
        world.game(0).deliver(12345, "letter")


def test_messages_that_no_page_can_read_are_malformed(two, world):
    _ada, bob = two
    host = world._harness.hosts[1]
    before = host.loop.stats["malformed"]
    for message, channel in (
        (peer_protocol.Send(7, bob.id, 0, "letter", [1.5]), host.node.channels.player(bob.id)),
        (peer_protocol.News(7, "news", [{}]), host.node.channels.nodes),
        (peer_protocol.SendToOwner(7, "o", "paid", [1.5]), host.node.channels.owner("o")),
    ):
        host.node.receive(Message(channel, peer_protocol.pack(message)))
    assert host.loop.stats["malformed"] == before + 3
    # An answer that nobody waits for is harmless.
    answer = peer_protocol.pack(peer_protocol.Delivered(7, host.node.id, 99))
    host.node.receive(Message(host.node.channels.node(host.node.id), answer))
    world.run(1)
