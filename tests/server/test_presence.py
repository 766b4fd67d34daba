"""Who plays in the world, and who has gone, even if its node has died."""

import pytest

from flatlands import Game, Part, StoreUnavailable, plain
from flatlands.server.game import play
from flatlands.server.players.presence import (
    ABSENT_MS,
    ANSWERS_MS,
    CALLS_MOST,
    CLAIM_MS,
    NODE_LEASE_MS,
    TURN_MS,
)
from flatlands.server.players.residents import DIMMED_FOR_MS
from flatlands.testkit import World


class Club(Game):
    """It notes who has gone, at whichever node."""

    ground, presence = plain(), True

    def __init__(self, *args):
        super().__init__(*args)
        self.gone = []

    def on_player_gone(self, player, owner):
        self.gone.append((player, owner))


@pytest.fixture
def world():
    return World(Club, nodes=3)


def gone(world):
    """Who has gone, as the games of all living nodes were told."""
    living = [host.node.game for host in world._harness.hosts]
    return sorted(player for game in living for player, _ in game.gone)


def rows(world):
    host = world._harness.hosts[0]
    store = host.node.store_client.store
    return {int(row.id): int(row.group) for row in store.each(host.node.presence._rows)}


def online(world, node=0):
    return world.game(node).online()


def test_all_nodes_know_how_many_play_in_the_world_and_who(world):
    ada, bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(900, 900))
    world.run(2)
    assert [online(world, node) for node in range(3)] == [2, 2, 2]
    assert world.game(2).is_online(ada.id) and world.game(0).is_online(bob.id)
    assert not world.game(0).is_online(12345)
    owner = world.game(0).player(ada.id).owner
    ada.leave()
    world.run(3)
    assert online(world, 1) == 1 and not world.game(1).is_online(ada.id)
    [call] = [one for host in world._harness.hosts for one in host.node.game.gone]
    assert call == (ada.id, owner) and owner


@pytest.mark.parametrize("away", [False, True])
def test_a_player_who_comes_and_leaves_within_a_moment_is_called_gone(world, away):
    world.join("Bob", 1, at=(30, 1))
    world.run(2)
    if away:
        world.lose_store()
    brief = [world.join(f"P{n}", n % 3, at=(n, 5)) for n in range(6)]
    owners = [world.game(n % 3).player(one.id).owner for n, one in enumerate(brief)]
    for one in brief:
        one.leave()
    if away:
        # Longer than a node remembers who has left.
        world.run(90)
        assert not gone(world)
        world.heal()
        world.run(CLAIM_MS / 1000)
    world.run(3)
    calls = [call for host in world._harness.hosts for call in host.node.game.gone]
    assert sorted(calls) == sorted(zip([one.id for one in brief], owners, strict=True))
    assert all(owners) and len(rows(world)) == 1


@pytest.mark.parametrize("known", [False, True])
def test_a_player_who_leaves_while_answers_of_the_store_get_lost_is_called_gone(
    world, known, monkeypatch
):
    bob = world.join("Bob", 1, at=(30, 1))
    ada = world.join("Ada", 0, at=(1, 1)) if known else None
    world.run(2)
    client = world._harness.hosts[0].node.store_client
    ask = client.ask
    with monkeypatch.context() as lost:
        # What is asked is done.
        lost.setattr(client, "ask", lambda q, _ok, failed=print: ask(q, lambda _: failed(), failed))
        world.run(2 * NODE_LEASE_MS / 1000)
        ada = ada or world.join("Ada", 0, at=(1, 1))
        world.run(3)
        ada.leave()
        world.run(3)
    world.run(CLAIM_MS / 1000 + 5)
    assert set(rows(world)) == {bob.id} and set(gone(world)) == {ada.id}


def test_a_player_is_called_gone_whose_next_node_dies_before_it_has_written_a_row(
    world, monkeypatch
):
    bob = world.join("Bob", 2, at=(30, 1))
    world.run(2)
    client = world._harness.hosts[0].node.store_client
    ask = client.ask
    with monkeypatch.context() as lost:
        # The first node has written one, and does not know.
        lost.setattr(client, "ask", lambda q, _ok, failed=print: ask(q, lambda _: failed(), failed))
        ada = world.join("Ada", 0, at=(1, 1))
        world.run(3)
        next_client = world._harness.hosts[1].node.store_client
        lost.setattr(next_client, "ask", lambda _operation, _answered, failed=print: failed())
        ada.back(1)
        world.run(2)
        world.kill(1)
    world.run(CLAIM_MS / 1000 + 5)
    assert set(rows(world)) == {bob.id} and set(gone(world)) == {ada.id}


def test_a_player_who_leaves_at_once_and_comes_back_elsewhere_is_not_called_gone(world):
    world.join("Bob", 2, at=(30, 1))
    world.run(2)
    ada = world.join("Ada", 0, at=(1, 1))
    ada.leave()
    ada.back(1)
    world.run(5)
    assert not gone(world) and world.game(2).is_online(ada.id)
    assert rows(world)[ada.id] == world._harness.hosts[1].node.id


def test_a_player_whose_connection_is_lost_counts_until_it_has_left(world):
    ada = world.join("Ada", 0, at=(1, 1))
    ada.walk(1, 0)
    world.run(2)
    ada.lose()
    world.run(DIMMED_FOR_MS / 1000 - 2)
    assert world.game(1).is_online(ada.id) and not gone(world)
    world.run(4)
    assert not world.game(1).is_online(ada.id) and gone(world) == [ada.id]


@pytest.mark.parametrize("stopped", [False, True])
def test_who_does_not_come_back_from_a_dead_node_is_gone_ten_seconds_later(world, stopped):
    ada, bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 0, at=(4, 4))
    cay = world.join("Cay", 1, at=(9, 9))
    world.run(2)
    (world.stop if stopped else world.kill)(0)
    world.run(2)
    bob.back(1)
    world.run(ABSENT_MS / 1000 - 2.5)
    # Nobody is called gone too early, and whoever is back never.
    assert not gone(world) and rows(world).keys() == {ada.id, bob.id, cay.id}
    world.run(7)
    assert gone(world) == [ada.id] and rows(world).keys() == {bob.id, cay.id}
    world.run(60)
    assert gone(world) == [ada.id] and world.game(2).is_online(bob.id)
    assert ABSENT_MS + ANSWERS_MS + 2 * TURN_MS < 15_000 and NODE_LEASE_MS < ABSENT_MS


def test_a_player_who_is_taken_over_stays_online_and_is_not_called_gone(world):
    ada = world.join("Ada", 0, at=(1, 1))
    world.run(2)
    for node in (1, 2, 0):
        ada.lose()
        ada.back(node)
        world.run(3)
        host = world._harness.hosts[node]
        assert rows(world) == {ada.id: host.node.id}
    world.run(30)
    assert not gone(world) and online(world) == 1


def test_a_player_who_is_back_before_its_row_is_written_is_not_called_gone(world):
    ada = world.join("Ada", 0, at=(1, 1))
    world.join("Bob", 2, at=(4, 4))
    world.run(2)
    # Its new node writes nothing for a while.
    world._harness.hosts[1].node.presence._turning = True
    ada.leave()
    world.run(0.1)
    ada.back(1)
    world.run(5)
    assert not gone(world) and not world.game(2).is_online(ada.id)
    world._harness.hosts[1].node.presence._turning = False
    world.run(2)
    assert not gone(world) and world.game(2).is_online(ada.id)


def test_a_node_that_stands_still_for_long_keeps_its_players(world):
    ada = world.join("Ada", 0, at=(1, 1))
    world.run(2)
    # Only the store misses it: its lease ends, and other nodes ask it for its players.
    presence = world._harness.hosts[0].node.presence
    presence._turning = True
    world.run(30)
    assert not gone(world) and rows(world).keys() == {ada.id}
    presence._turning = False
    world.run(CLAIM_MS / 1000 + 15)
    assert not gone(world) and world.game(1).is_online(ada.id)


@pytest.mark.parametrize("seconds", [3, 9, 10.6, 10.9, 11.2, 14, 40])
def test_players_of_a_node_that_stood_still_have_their_rows_again(world, seconds):
    ada, bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(30, 1))
    world.run(2)
    host = world._harness.hosts[0]
    host.freeze()
    world.run(seconds)
    host.thaw()
    world.run(CLAIM_MS / 1000 + 5)
    # Others may have called them gone meanwhile, but they play.
    assert ada.playing and rows(world).keys() == {ada.id, bob.id}
    assert world.game(1).is_online(ada.id) and online(world, 2) == 2
    before = gone(world).count(ada.id)
    assert before == 0 or seconds > 10
    ada.leave()
    world.run(3)
    assert gone(world).count(ada.id) == before + 1 and rows(world).keys() == {bob.id}


def test_two_halves_of_a_split_world_call_nobody_gone(world):
    ada, bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(4, 4))
    world.run(2)
    world.cut(0, 1)
    world.cut(0, 2)
    world.run(60)
    assert not gone(world) and rows(world).keys() == {ada.id, bob.id}
    world.heal()
    world.run(20)
    assert not gone(world)


def test_a_call_whose_node_dies_is_made_by_another_one(world, monkeypatch):
    ada, _bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(4, 4))
    world.run(2)
    real, deaths = play.Play.player_gone, []

    def dies(self, *arguments):
        if not deaths:
            deaths.append(self)
            world.kill(next(n for n in range(3) if world._hosts[n].node.play is self))
            return None
        return real(self, *arguments)

    for host in world._harness.hosts:
        host.node.presence.set_gone_listener(lambda *some, host=host: dies(host.node.play, *some))
    ada.leave()
    world.run(5)
    assert deaths and not gone(world)
    world.run(CLAIM_MS / 1000 + 5)
    assert gone(world) == [ada.id]


def test_a_call_that_fails_is_made_again_five_times_at_most(world, monkeypatch):
    ada = world.join("Ada", 0, at=(1, 1))
    world.join("Bob", 1, at=(4, 4))
    world.run(2)
    calls = []

    def fails(_self, player, _owner):
        calls.append(player)
        raise StoreUnavailable("not now")

    monkeypatch.setattr(Club, "on_player_gone", fails)
    ada.leave()
    world.run(3)
    assert calls == [ada.id]
    world.run(CLAIM_MS / 1000 + 2)
    assert calls == [ada.id] * 2
    world.run(10 * CLAIM_MS / 1000)
    assert calls == [ada.id] * CALLS_MOST


def test_while_the_store_is_away_nobody_is_gone_and_afterwards_all_are(world):
    ada, bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(4, 4))
    world.run(2)
    world.lose_store()
    ada.leave()
    world.run(70)
    with pytest.raises(StoreUnavailable):
        online(world)
    assert not gone(world)
    world.heal()
    world.run(40)
    assert gone(world) == [ada.id] and rows(world).keys() == {bob.id}


def test_without_a_store_a_node_knows_only_its_own_players():
    world = World(Club, nodes=2, store=False)
    ada, bob = world.join("Ada", 0, at=(1, 1)), world.join("Bob", 1, at=(4, 4))
    assert online(world) == 1 and online(world, 1) == 1
    assert world.game(0).is_online(ada.id) and not world.game(0).is_online(bob.id)
    ada.leave()
    world.run(2)
    assert gone(world) == [ada.id] and online(world) == 0


def test_only_a_game_that_says_so_knows_who_is_online():
    class Deaf(Game):
        ground = plain()

    class Notes(Part):
        def on_player_gone(self, player, owner):
            pass

    with pytest.raises(ValueError, match="presence = True"):
        World(type("Forgot", (Deaf,), {"parts": [Notes]}))
    world = World(Deaf)
    for ask in (world.game(0).online, lambda: world.game(0).is_online(5)):
        with pytest.raises(RuntimeError, match="presence = True"):
            ask()
    world.join("Ada", 0, at=(1, 1))
    world.run(5)
    # It costs nothing then.
    store = world._harness.hosts[0].node.store_client.store
    assert not [queue for queue in store.names().queues if "online" in queue]
