"""What the bots of a process read once for all of them."""

import struct

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatlands import wire
from flatlands.loadtest.swarm.intent_times import IntentTimes, room
from flatlands.loadtest.swarm.reader import Flush, Reader
from flatlands.loadtest.swarm.slot_tables import SlotTable
from flatlands.server.net.frames import frame


def record(slot=1, seq=1, ack=0, x=0, y=0, dx=0, dy=0, age=0):
    return struct.pack("<BBBhhhhh", slot, seq, ack, x, y, dx, dy, age)


def wide(slot, seq=1, ack=0, x=0, y=0, dx=0, dy=0, age=0):
    return struct.pack("<HBBhhhhh", slot, seq, ack, x, y, dx, dy, age)


def enter(id, seq, slot, ack=0, x=0, y=0, dx=0, dy=0, age=0):
    return [wire.ENTER, id, seq, ack, "a name", False, slot, x, y, dx, dy, age, 0, 100, []]


def snapshot(square, *entries, sent=0, source=0):
    return msgpack.packb([wire.SNAPSHOT, *square, sent, [[source, *entry] for entry in entries]])


def flush(number, *batches, now=1000, crowds=()):
    return frame(msgpack.packb([wire.FLUSH, number, now, batches, *[crowds] * bool(crowds)]))


def nobody():
    """A view that knows no players."""
    return SlotTable(wire.TrackReader(), IntentTimes(room(1), 1), {})


messages = st.one_of(
    st.builds(lambda n, events: ("flush", n, events), st.integers(1, 2**40), st.integers(0, 20)),
    # A number may be any bytes, even those that a flush begins with.
    st.builds(lambda n: ("pong", n), st.integers(0, 2**40) | st.just(0x94159415)),
    st.just(("ping",)),
)


def encoded(message):
    kind, *values = message
    if kind == "flush":
        number, records = values
        return flush(number, [0, 0, 0, 3, record() * records])
    if kind == "pong":
        return frame(msgpack.packb([wire.PONG, *values, 5]))
    return frame(b"?", wire.WS_PING)


def split(reader, data, view):
    """Return the parts of the whole frames, and the bytes after them."""
    found = list(reader.parts(data, view, 0))
    return [part for part, _ in found], data[found[-1][1] if found else 0 :]


def contents(parts):
    """Return the contents of parts, in order."""
    found = []
    for part in parts:
        if isinstance(part, Flush):
            found.append(("flush", part.number, part.events))
        elif part[0] == wire.WS_PING:
            found.append(("ping",))
        else:
            found.append(("pong", msgpack.unpackb(part)[1]))
    return found


@given(st.lists(messages, max_size=12), st.lists(st.lists(st.integers(0, 400)), min_size=2))
def test_every_bot_reads_the_same_however_bytes_are_cut(sent, cuts_of_bots):
    data = b"".join(map(encoded, sent))
    reader, view = Reader(), nobody()
    for cuts in cuts_of_bots:
        found, rest, begin = [], b"", 0
        for end in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
            parts, rest = split(reader, rest + data[begin:end], view)
            found += parts
            begin = end
        assert rest == b"" and contents(found) == sent


def test_a_flush_is_decoded_once_whatever_surrounds_it():
    reader, view = Reader(), nobody()
    flushes = [flush(n, [0, 0, 0, 3, record() * 3], [1, 0, 0, 3, record()]) for n in (1, 2)]
    pong = encoded(("pong", 4))
    [first] = split(reader, flushes[0], view)[0]
    [second] = split(reader, flushes[1], view)[0]
    assert split(reader, flushes[0] + flushes[1], view)[0] == [first, second]
    assert split(reader, pong + flushes[0], view)[0][1] is first
    assert split(reader, flushes[1] + pong, view)[0][0] is second
    assert first.events == 4 and first.size == len(flushes[0])
    # A batch is the same in all flushes with one number.
    [other] = split(reader, flush(1, [1, 0, 0, 3, record()]), view)[0]
    assert other is not first and other.batches == first.batches[1:]


@pytest.mark.parametrize(
    "data",
    [
        flush(1, [0, 0, 0, 0, b"12345"]),
        flush(1, [0, 0]),
        flush(1, 7),
        frame(msgpack.packb([wire.FLUSH, 1])),
        frame(b"\x94\x15\x01"),
        b"\x83\x00",
        b"\xc2\x02ab",
    ],
)
def test_bytes_that_are_not_a_server_message_break_the_connection(data):
    with pytest.raises(wire.BrokenFrame):
        split(Reader(), data, nobody())
