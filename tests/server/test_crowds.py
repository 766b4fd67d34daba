"""Crowds: what is told roughly or exactly, and that all clients still believe the truth."""

import random

import msgpack
import pytest

from flatlands.bot import BaseBot
from flatlands.model import SKETCH, sketches
from flatlands.server.squares import crowds
from flatlands.server.squares.crowds import CROWD_FROM, SKETCH_RATE
from flatlands.world.track import UNIT, Heading
from tests.server.harness import Harness, batches, events

SQUARE = (0, 0)


def crowd(number=4, nodes=1, crowd_from=3, **options):
    """Return a harness with `number` players in one square, a crowd from `crowd_from` players on,
    and their clients."""
    harness = Harness(nodes=nodes, crowd_from=crowd_from, **options, ready=True)
    clients = [harness.place(f"P{n}", SQUARE, host=harness.hosts[n % nodes]) for n in range(number)]
    harness.run(500)
    for client in clients:
        client.connection.messages.clear()
    return harness, clients


def crowds_of(client):
    """Return what a client was told of crowds, as (replaced, [source, sketches ...])."""
    return [
        (replaced, rest)
        for message in client.connection.messages
        if message[0] == 21
        for _column, _row, replaced, *rest in (message[4] if len(message) > 4 else [])
    ]


def told(client):
    """Return the sketches that a client was told, as (slot, fields)."""
    return [
        sketch for _, rest in crowds_of(client) for data in rest[1::2] for sketch in sketches(data)
    ]


def records(client):
    return [event for event in events(client.connection.messages) if event[0] == 1]


def test_in_a_crowd_a_move_is_told_to_others_by_a_sketch_and_to_its_player_exactly():
    harness, (a, b, *_) = crowd()
    a.walk(1, 1)
    harness.run(700)
    harness.check()
    assert [len(told(client)) for client in (a, b)] == [1, 1] and not records(b)
    assert len(records(a)) == 1 and not a.model.players[a.id].rough
    assert b.model.players[a.id].rough and b.model.players[a.id].ack == 1
    assert abs(b.at(a)[0] - a.at()[0]) <= 33 and b.at(a) != (8192, 8192)
    # The walk goes on to another square, and there it is told exactly.
    harness.run(3000)
    assert b.model.players[a.id].square != SQUARE
    a.walk(0, 0)
    harness.run(500)
    harness.check()
    assert not b.model.players[a.id].rough


def test_an_event_other_than_a_move_is_told_as_in_any_square():
    harness, (a, b, *_) = crowd()
    a.walk(1, 0)
    a.send(6, "hello")
    a.send(35, "wave", [2])
    a.send(33, "Other", 7)
    harness.run(500)
    assert b.model.chat == [("P0", "hello")] and b.model.game_events == [("P0", 2)]
    assert (b.model.players[a.id].name, b.model.players[a.id].look) == ("Other", 7)
    harness.check()
    a.connection.lose()
    harness.run(200)
    assert b.model.players[a.id].dimmed
    harness.run(20_000)
    assert not b.sees(a)
    harness.check()


def test_a_square_is_a_crowd_until_clearly_fewer_are_there():
    harness, clients = crowd(12, crowd_from=10)

    def is_crowd():
        # The first round tells what is due when a crowd begins or ends.
        for _ in range(2):
            mover = next(client for client in clients if client.connection.open)
            for client in clients:
                client.connection.messages.clear()
            mover.walk(random.choice((1, -1)), 0)
            mover.walk(0, 0)
            harness.run(500)
            harness.check()
        return bool(told(mover))

    assert is_crowd()
    expected = {11: True, 9: True, 8: True, 7: False}
    for n in (11, 10, 9, 8, 7):
        clients[n].connection.lose(1000)
        harness.run(300)
        assert n not in expected or is_crowd() == expected[n], n
    for number, again in ((2, False), (1, True)):
        for _ in range(number):
            harness.place("Back", SQUARE)
        harness.run(500)
        assert is_crowd() == again


def test_a_move_that_fits_no_sketch_is_told_to_everybody_exactly():
    harness, (a, b, *_) = crowd()
    for n in range(9):
        # These are more moves before one flush than a sketch's seq can express.
        a.number += 1
        a.host.deliver(a.connection, msgpack.packb([2, a.number, a.now(), n % 2, 1]), 2)
    harness.run(300)
    assert len(records(b)) == 1 and records(b)[0][3] == 9
    assert not b.model.players[a.id].rough
    harness.check()


def test_a_replaced_event_is_counted_once():
    """By these counts a client can tell what it has missed: docs/swarm.md."""
    harness, clients = crowd(5)
    watcher = clients[0]

    def seqs():
        return sum(watcher.model.players[client.id].seq for client in clients)

    before = seqs()
    for turn in range(60):
        for client in clients[1:]:
            if harness.chance.random() < 0.7:
                client.go(*(harness.chance.randint(500, 15_000) for _ in range(2)))
            if harness.chance.random() < 0.1:
                client.send(33, f"N{turn}", turn)
        harness.run(harness.chance.choice((0, 0, 30, 400)))
    harness.run(1000)
    said = batches(watcher.connection.messages)
    counted = sum(replaced for replaced, _ in crowds_of(watcher)) + sum(batch[6] for batch in said)
    came = len(told(watcher)) + len(records(watcher))
    came += sum(event[0] in (0, 2, 3) for batch in said for event in batch[5])
    assert {watcher.model.players[client.id].square for client in clients} == {SQUARE}
    assert seqs() - before == came + counted
    harness.check()


def test_a_newcomer_and_a_client_that_lagged_know_all_exactly_and_then_hear_sketches():
    harness, (a, b, *_) = crowd()
    a.walk(1, 0)
    harness.run(200)
    late = harness.place("Late", SQUARE)
    for _ in range(2):
        assert not late.model.players[a.id].rough
        harness.run(300)
    b.connection.stuck = True
    for way in (1, 0):
        a.walk(0, way)
        harness.run(300)
    assert late.model.players[a.id].rough
    b.connection.drain()
    b.ack()
    harness.run(500)
    harness.check()
    assert b.model.resyncs == 1 and not b.model.players[a.id].rough


@pytest.mark.interpreted
def test_sketches_take_no_more_than_their_share_however_many_move(monkeypatch):
    rate = SKETCH_RATE // 10
    monkeypatch.setattr(crowds, "SKETCH_RATE", rate)
    harness = Harness()
    watcher = harness.place("Watcher", SQUARE)
    node = harness.node
    moving = [node.residents.join(f"R{n}", (8 * UNIT, 8 * UNIT + n)) for n in range(CROWD_FROM)]
    harness.run(1000)
    watcher.connection.messages.clear()
    began = harness.clock.time
    for turn in range(16):
        for one in moving:
            now = node.loop.now()
            node.movement.act(one, one.ack + 1, now, Heading(turn % 2 * 2 - 1, 0))
        harness.run(250)
    sent = [len(data) for _, rest in crowds_of(watcher) for data in rest[1::2]]
    share = (harness.clock.time - began) * rate / 1000
    assert 0.9 * share < sum(sent) <= share + rate
    # One flush for each waiting walker would mean as many writes to everybody.
    assert len(sent) < 150
    # Those that waited are told of in the end.
    for one in moving:
        node.movement.stop(one)
    harness.run(2000)
    harness.check()


def test_slots_are_told_by_their_differences_up_to_any_number():
    harness, _ = crowd(3)
    for n in range(600):
        harness.node.residents.join(f"R{n}", (100, 100))
    late = harness.place("Late", SQUARE)
    harness.run(200)
    other = harness.place("Other", SQUARE)
    other.connection.messages.clear()
    late.walk(1, 0)
    harness.run(300)
    [(slot, fields)] = told(other)
    assert slot == late.session.resident.slot > 510 and len(fields) == len(SKETCH.format[1:])
    harness.check()


def test_a_bot_follows_a_crowd():
    harness, clients = crowd(5)
    watcher = harness.place("Watcher", SQUARE)
    bot = BaseBot("Bot")
    bot._begin([16, *watcher.model.welcome])
    for client in clients:
        client.go(*(harness.chance.randint(500, 15_000) for _ in range(2)))
        harness.run(100)
    assert told(watcher)
    for message in watcher.connection.messages:
        bot._apply(message)
    harness.run(300)
    for client in clients:
        drawn = bot.players[client.id].at(watcher.now())
        for is_at, should in zip(drawn, watcher.at(client), strict=True):
            assert abs(is_at - should / 1024) < 0.01
