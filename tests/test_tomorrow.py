"""What a later version of the server may send: docs/protocol.md says to ignore it, and every
reader in this project does. Those of pages are tested in JavaScript."""

import multiprocessing
from dataclasses import replace

import msgpack
import pytest

from flatlands import wire
from flatlands.loadtest.swarm.blocking_client import BlockingClient
from flatlands.loadtest.swarm.connection import SHAKING
from flatlands.loadtest.swarm.generator import Generator
from flatlands.model import Model
from flatlands.server.net.frames import frame
from tests.loadtest.test_generator import PLAN
from tests.server.test_protocol_page import table
from tests.test_wire import Client
from tests.vectors.make import sequences

#: Items that are appended: so many that each array gets a longer head.
MORE = ["more", 7, None, [1, 2], b"bytes", *range(11)]

#: Messages, events and things of kinds that do not exist, the first ones as short as can be. They
#: have items that today's have elsewhere, such as the id and the seq of a player.
OTHERS = [
    [99],
    [6, 1, 2**40, 30, 2],
    [100, 1, 99],
    [2**20, 1, 2**40, 0, 0],
    [33, 1, 2**40, "x", False, 10, *[0] * 6],
]


def of_tomorrow(message):
    """Return a message as a later version might send it."""
    kind, *fields = message
    if kind == 19:
        fields[3] = [[*entry, *MORE] for entry in fields[3]]
    elif kind == 21:
        # Beside a crowd the swarm reads batches without events last.
        crowded = len(fields) == 4
        fields[2] = [_batch(batch, crowded and batch[5:6] in ([], [[]])) for batch in fields[2]]
        fields += [[]] * (4 - len(fields))
    elif kind == 28:
        fields[2] = [*OTHERS, *([*thing, *MORE] for thing in fields[2])]
    elif kind == 40:
        fields[2] = [[*patch, *MORE] for patch in fields[2]]
    return [kind, *fields, *MORE]


def _batch(batch, bare):
    whole = [*batch, *[b"", [], 0, b""][len(batch) - 4 :]]
    if not bare:
        whole[5] = [*OTHERS, *([*event, *MORE] for event in whole[5]), *OTHERS]
    return [*whole, *MORE]


def stream(messages):
    """Return times and messages, as they are today and as they may be: the former alone, and
    the latter with messages of other kinds in between."""
    today = [(now, [message]) for now, message in messages]
    later = [(now, [*OTHERS, of_tomorrow(message)]) for now, message in messages]
    return today, later


KINDS = [["cells", 0, "floor", []], ["thing", 0, "Gem", []]]

#: Messages to a client that no random sequence has; they come before it.
FIRST = [
    [16, 3, 7, 10_000, 2013, 1, 1, 16, 5120, 3620, 4096, 8192, 40, 25, 3, KINDS],
    [17, "a token"],
    [18, 0, 0, 1, 1],
    [28, 0, 0, [[0, "gem", 1, 5, 6], [1, "cairn", 1, 0, 0, 7, "P7", "text", 1]]],
    [31, 1, 2, 3, 1, "memory", 2013, 16],
    [40, 0, True, [[0, 0, [0, 3, 1, 0, 0]]]],
    [45, "found", ["gem", 1, 1, 1, 1]],
    [26, False],
    [27, "an invitation"],
    [44, "P1", True],
    [45, "board", [1, 1, 1, [["P7", 1, True]], [None, None]]],
    [46, 0, 0, 0, True, bytes(256)],
    [23, 10_000, 10_000],
    [24, "far", "It is too far away."],
    [45, "finders", [0, 0, 1, 1]],
    [49, 3, True],
]


def whole(sequence):
    return [*((10_000, message) for message in FIRST), *sequence]


def model(told):
    known = Model()
    for now, messages in told:
        known.expire(now)
        for message in messages:
            if message[0] != 19 or known.holds((message[1], message[2])):
                known.apply(message, now)
    raw = {"welcome": known.welcome[:14], "totals": known.totals[:7]}
    lying = {
        square: [thing[: 5 + 4 * thing[0]] for thing in things if thing[0] in (0, 1)]
        for square, things in known.things.items()
    }
    return replace(known, **raw, things=lying)


def swarm(told):
    """Return what an observing bot of the swarm knows and has noted."""
    ours, theirs = multiprocessing.Pipe()
    with ours, theirs:
        generator = Generator(theirs, replace(PLAN, indices=range(1), sample=1))
        player, sent = generator.play.bots[0], []
        player.dial, player.write = lambda _buffer: None, sent.append
        player.connect(1)
        player.opened()
        player.state = SHAKING
        player.received(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", 1)
        for now, messages in told:
            frames = b"".join(frame(msgpack.packb(message)) for message in messages)
            player.received(frames, now * 1000)
        player.look()
        generator.sockets.epoll.close()
        life = player.life(0)
        seen = life.pop("observed")
        # The number of events in a batch counts those of any kind.
        seen["rows"] = seen["rows"][:, [0, 1, 2, 4]]
        counters = generator.counters
        return (
            {name: getattr(value, "tolist", lambda v=value: v)() for name, value in seen.items()},
            {name: value for name, value in life.items() if name != "node"},
            vars(player.intent_log),
            (
                player._token,
                player.flush,
                counters.snapshots,
                counters.resyncs,
                counters.reader.lacking,
            ),
            dict(counters.complaints),
        )


def bot(told):
    """Return what a flatlands.Bot knows."""
    it, news = Client("Ada"), []
    for it.time, messages in told:
        for message in messages:
            if message[0] == wire.WELCOME:
                it._begin(message)
            news += [(what, player.id, more) for what, player, more in it._take(message)]
    return news, {id: vars(player) for id, player in it.players.items()}


def visitor(told):
    guest = BlockingClient.__new__(BlockingClient)
    guest.rest = b"".join(frame(msgpack.packb(m)) for _, messages in told for m in messages)
    return guest.token(), guest._await(wire.LINK)[1:2]


@pytest.mark.parametrize("reader", [model, swarm, bot, visitor])
def test_items_and_kinds_of_later_versions_change_nothing(reader, capsys):
    check(reader)
    capsys.readouterr()


def check(reader):
    """Check that a reader of messages knows the same after today's and after tomorrow's."""
    for sequence in sequences(10):
        today, later = stream(whole(sequence))
        assert reader(today) == reader(later)


def test_the_readers_are_told_all_that_there_is():
    told = {message[0] for sequence in sequences(3) for _, message in whole(sequence)}
    # All but the one that sends clients elsewhere: see server/test_machines.py.
    assert told | {48} == {int(kind) for kind, *_ in table(3)}
