import msgpack
from hypothesis import given
from hypothesis import strategies as st

from loadtest.swarm import wire


def frame(payload, first=0x82):
    size = len(payload)
    head = bytes((first, size)) if size < 126 else bytes((first, 126)) + size.to_bytes(2, "big")
    return head + payload


def batch(number, events):
    told = [[wire.TRACK, 7, 1, wire.FIRST_NUMBER + n, 0, 0, 5, 0, 0, 9] for n in range(events)]
    return [wire.BATCH, 0, 0, 1, number - 1, number, 1000, 0, told]


messages = st.one_of(
    st.builds(lambda n, events: ("batch", n, events), st.integers(1, 300), st.integers(0, 9)),
    # A number may be any bytes, also those that a flush's frame begins with.
    st.builds(lambda n: ("flush", n), st.integers(1, 2**40) | st.just(0x82039215)),
    st.builds(lambda n: ("pong", n), st.integers(0, 2**40) | st.just(0x82039215)),
    st.just(("ping",)),
)


def encoded(message):
    kind, *values = message
    if kind == "batch":
        return frame(msgpack.packb(batch(*values)))
    if kind == "flush":
        return frame(msgpack.packb([wire.FLUSH, *values]))
    if kind == "pong":
        return frame(msgpack.packb([wire.PONG, *values, 5]))
    return frame(b"?", 0x89)


def contents(parts):
    """Return the contents of parts, in their order."""
    found = []
    for part in parts:
        if isinstance(part, wire.Chunk):
            found += [("batch", b.number, len(b.events)) for b in part.batches]
            if part.flush:
                found.append(("flush", part.flush))
        elif part[0] == wire.WS_PING:
            found.append(("ping",))
        else:
            found.append(("pong", msgpack.unpackb(part)[1]))
    return found


@given(st.lists(messages, max_size=12), st.lists(st.lists(st.integers(0, 400)), min_size=2))
def test_whatever_way_bytes_are_cut_every_bot_reads_the_same(sent, cuts_of_bots):
    data = b"".join(map(encoded, sent))
    reader = wire.Reader(lambda batch: None)
    for cuts in cuts_of_bots:
        found, rest, begin = [], b"", 0
        for end in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
            parts, rest = reader.split(rest + data[begin:end])
            found += parts
            begin = end
        assert rest == b"" and contents(found) == sent


def test_a_flush_is_decoded_once_whatever_stands_around_it():
    learned = []
    reader = wire.Reader(learned.append)
    flushes = [
        encoded(("batch", n, 3)) + encoded(("batch", n + 50, 1)) + encoded(("flush", n))
        for n in (1, 2)
    ]
    pong = encoded(("pong", 4))
    [first] = reader.split(flushes[0])[0]
    [second] = reader.split(flushes[1])[0]
    assert reader.split(flushes[0] + flushes[1])[0] == [first, second]
    assert reader.split(pong + flushes[0])[0][1] is first
    assert reader.split(flushes[1] + pong)[0][0] is second
    assert [b.number for b in learned] == [1, 51, 2, 52]
    assert first.events == 4 and first.size == len(flushes[0])
