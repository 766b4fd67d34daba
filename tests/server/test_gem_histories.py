"""Random histories of gems: nodes take and plant them, while messages are lost, stores do not
answer, and nodes die. No gem is lost or doubled, and no screen is wrong for long."""

import random
from collections import Counter
from types import SimpleNamespace

import msgpack
import pytest

from flatlands.server.kept.keeper import FAILS_FOR
from flatlands.server.kept.reader import AFTER_FAILURE, AGAIN
from flatlands.server.messages.protocol import Refused
from flatlands.server.scores.board import BOARD
from flatlands.server.things import garden
from flatlands.server.things.garden import GROW_EVERY, QUEUE, Rules
from flatlands.stores.base import StoreError
from flatlands.stores.sqlite import SqliteStore
from flatlands.world.track import Track
from tests.server.things import worlds

GROUND = f"{QUEUE} 2013-16"

#: The longest that a question waits, or its answer, in ms.
SLOW = 3000

#: ms of a history.
LONG = 240_000


class Questions:
    """What a harness's nodes ask their stores: each question waits, and then its answer does."""

    def __init__(self, harness, chance):
        self.harness = harness
        self.chance = chance
        self.waiting = []
        #: Nodes whose store does not answer.
        self.away = set()

    def serve(self, host):
        """Let a node's questions wait from now on."""
        keeper = host.node.keeper

        def spawn(ask, store, question, answered, failed):
            def later():
                if host not in self.harness.hosts:
                    return
                result, error = None, None
                lost = host in self.away
                try:
                    # A question that is not answered may have taken effect.
                    if not lost or self.chance.random() < 0.5:
                        result = question(store)
                except StoreError as failure:
                    error = failure
                if lost:
                    error = StoreError("it is away")

                def answer(_store):
                    if error is not None:
                        raise error
                    return result

                def deliver():
                    if host in self.harness.hosts:
                        ask(store, answer, answered, failed)

                self._wait(deliver)

            self._wait(later)

        keeper._spawn = spawn

    def _wait(self, do):
        wait = self.chance.choice((0, 0, 10, 200, SLOW))
        self.waiting.append((self.harness.clock.time + wait, len(self.waiting), do))

    def turn(self):
        """Do what is due."""
        due = [entry for entry in self.waiting if entry[0] <= self.harness.clock.time]
        self.waiting = [entry for entry in self.waiting if entry not in due]
        for _, _, do in sorted(due, key=lambda entry: entry[:2]):
            do()


def shown(client):
    return {
        (id, version): square
        for square, things in client.model.things.items()
        for _, id, version, *_ in things
    }


@pytest.mark.parametrize("seed", range(3))
def test_no_gem_is_lost_or_doubled_and_no_screen_is_wrong_for_long(seed, tmp_path, monkeypatch):
    chance = random.Random(seed)
    random.seed(seed)
    with worlds(f"sqlite:///{tmp_path / 'store.db'}") as start:
        harness = start(nodes=3, rules=Rules(per_cell=3, pause=20_000), seed=seed)
        monkeypatch.setattr(SqliteStore, "_now", lambda _store: harness.clock.time)
        if moved := seed % 2 == 1:
            # Gems that nobody takes are moved too.
            monkeypatch.setattr(garden, "LIES_FOR", 150_000)
        play(harness, chance, moved)


def play(harness, chance, moved):
    questions = Questions(harness, chance)
    clients = [harness.stand("stands", (0, 0), (96, 64), host) for host in harness.hosts]
    for host in harness.hosts:
        questions.serve(host)
    walker = harness.stand("walker", (0, 0), (96, 64), harness.hosts[0])
    clients.append(walker)
    spare = harness.hosts[0]
    store = spare.node.keeper.store
    span = spare.node.grid.span
    owners = [spare.node.board.owner(f"key {n}") for n in range(3)]
    taken, answers = Counter(), Counter()
    #: (client, gem) -> since when it is shown and does not lie there, or the other way round.
    wrong = {}
    healthy_since = harness.clock.time
    until = harness.clock.time + LONG
    while harness.clock.time < until:
        deed = chance.random()
        link = chance.choice(harness.hosts).broker
        host = chance.choice(harness.hosts)
        if deed < 0.5:
            reach(host, chance, span, owners, taken, answers)
        elif deed < 0.51:
            walker.walk(chance.randint(-1, 1), chance.randint(-1, 1))
        elif deed < 0.52:
            link.losing = chance.choice((0, 0, 0.5, 1))
        elif deed < 0.54:
            harness.network.delay = chance.choice((0, 0, 500, 5000))
        elif deed < 0.56:
            harness.network.heal()
        elif deed < 0.57:
            links = [each.broker for each in harness.hosts]
            harness.network.cuts.add((chance.choice(links), chance.choice(links)))
        elif deed < 0.58 and not link.down:
            link.fail()
        elif deed < 0.60:
            for each in harness.hosts:
                if each.broker.down:
                    each.broker.restore(each.node)
        elif deed < 0.61:
            questions.away.add(host)
        elif deed < 0.64:
            questions.away.clear()
        elif deed < 0.642 and host is not spare and len(harness.hosts) > 2:
            harness.kill(host)
            questions.away.discard(host)
            new = harness.host()
            questions.serve(new)
            clients = [each for each in clients if each.host is not host]
            clients.append(harness.stand("new", (0, 0), (96, 64), new))
        for _ in range(chance.randint(1, 5)):
            harness.run(100)
            questions.turn()
        harness.settle()
        now = harness.clock.time
        if questions.away:
            healthy_since = now
        watch(store, clients, wrong, now, healthy_since)
    # No gem was given twice, and each is there still, but for those that are about to be moved.
    assert taken.total() > 20 and max(taken.values()) == 1, (taken, answers)
    assert moved or store.count(GROUND) >= 27 and store.count(GROUND) % 3 == 0
    # Nothing fails any more: soon every screen shows what lies there.
    harness.network.heal()
    questions.away.clear()
    for each in harness.hosts:
        each.broker.losing = 0
        if each.broker.down:
            each.broker.restore(each.node)
    for _ in range((AGAIN + AFTER_FAILURE + FAILS_FOR + GROW_EVERY + 8 * SLOW) // 100):
        harness.run(100)
        questions.turn()
        watch(store, clients, wrong, harness.clock.time, healthy_since)
    # A point was given for each gem that was taken. Who was not answered may have one too.
    points = [n for _, n in store.top(BOARD, 10)]
    unknown = answers["asked"] - answers["missed"] - taken.total()
    assert taken.total() <= sum(points) <= taken.total() + unknown
    # Who comes to a node that starts when all others are dead is shown the same board.
    for each in list(harness.hosts):
        harness.kill(each)
    reader = harness.stand("reader", (0, 0), (96, 64), harness.host())
    reader.send(11)
    assert [n for _, n, _ in reader.model.board[3]] == points


def reach(host, chance, span, owners, taken, answers):
    """Let a player of a node reach for a gem that the node knows."""
    known = [
        (square, thing)
        for square, heard in sorted(host.node.replicas.squares.items())
        for thing in heard.things.all()
    ]
    if not known:
        return
    square, thing = chance.choice(known)
    x, y = thing.x + square[0] * span, thing.y + square[1] * span
    player = SimpleNamespace(track=Track(x, y, 0, 0, 0, 0), id=1, name="Wren")

    def has(version):
        taken[thing.id, version] += 1

    answers["asked"] += 1
    try:
        host.node.garden.take(
            square,
            thing.id,
            player,
            chance.choice(owners),
            has,
            lambda refused: answers.update([refused.code]),
        )
    except Refused as refused:
        answers[refused.code] += 1


def watch(store, clients, wrong, now, healthy_since):
    """Check that no screen has been wrong about a gem for longer than it may be."""
    lying = {}
    for client in clients:
        c0, r0, c1, r1 = client.model.held
        for column in range(c0, c1 + 1):
            for row in range(r0, r1 + 1):
                lying.setdefault((column, row), None)
    for item in store.group(GROUND, *(f"{column}:{row}" for column, row in lying)):
        version = msgpack.unpackb(item.body)[0]
        column, row = map(int, item.group.split(":"))
        lying[column, row] = (lying[column, row] or set()) | {(item.id, version)}
    for n, client in enumerate(clients):
        seen = shown(client)
        c0, r0, c1, r1 = client.model.held
        truth = {
            gem: square
            for square, gems in lying.items()
            if c0 <= square[0] <= c1 and r0 <= square[1] <= r1
            for gem in gems or ()
        }
        differ = {(id(client), *entry) for entry in set(seen.items()) ^ set(truth.items())}
        for key in [key for key in wrong if key[0] == id(client) and key not in differ]:
            del wrong[key]
        for key in differ:
            since = max(wrong.setdefault(key, now), healthy_since)
            most = AGAIN + AFTER_FAILURE + FAILS_FOR + 4 * SLOW
            assert now - since <= most, (n, key, key[1:] in seen.items(), now - since)
