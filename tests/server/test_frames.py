"""The frame layer alone: bytes in, messages out."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatlands.server.net.frames import FrameReader, close_frame, frame, parse_close
from tests.server.client_frames import client_close, client_frame
from tests.server.violations import LIMIT, VIOLATIONS

SENTENCE = re.compile(r"[A-Z].* .*\.")

payloads = st.binary(max_size=140) | st.integers(60_000, 70_000).map(bytes)
keys = st.binary(min_size=4, max_size=4)


@st.composite
def fragmented(draw, opcode, payload):
    """The frames of one message, with control frames in between, and what must come out of them."""
    cuts = draw(st.lists(st.integers(0, len(payload)), max_size=4).map(sorted))
    pieces = [payload[a:b] for a, b in zip([0, *cuts], [*cuts, len(payload)], strict=True)]
    stream, expected = b"", []
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        stream += client_frame(opcode if number == 0 else 0, piece, fin=last, key=draw(keys))
        if not last and draw(st.booleans()):
            control = draw(st.sampled_from([9, 10])), draw(st.binary(max_size=125))
            stream += client_frame(*control, key=draw(keys))
            expected.append(control)
    return stream, [*expected, (opcode, payload)]


messages = st.one_of(
    payloads.flatmap(lambda payload: fragmented(2, payload)),
    st.text(max_size=60).flatmap(lambda text: fragmented(1, text.encode())),
)


def cut(stream: bytes, seed: int) -> list[bytes]:
    """The stream in pieces of random lengths, most of them short."""
    chance = random.Random(seed)
    pieces = []
    while stream:
        size = chance.choice([1, 1, 2, 3, 7, 40, 5000])
        pieces.append(stream[:size])
        stream = stream[size:]
    return pieces


def read(pieces, limit=LIMIT):
    reader = FrameReader(limit)
    found = [message for piece in pieces for message in reader.feed(piece)]
    return found, reader.error and reader.error.code


@given(st.lists(messages, max_size=5), st.booleans(), st.integers())
def test_a_valid_stream_gives_its_messages_however_it_is_cut(parts, closing, seed):
    stream = b"".join(part for part, _ in parts)
    expected = [message for _, found in parts for message in found]
    if closing:
        stream += client_close(4001, "adé".encode())
        expected.append((8, b"\x0f\xa1" + "adé".encode()))
    assert read([stream], 100_000) == (expected, None)
    assert read(cut(stream, seed), 100_000) == (expected, None)


@pytest.mark.parametrize(
    "stream, code", [row[1:] for row in VIOLATIONS], ids=[row[0] for row in VIOLATIONS]
)
def test_a_violation_is_seen_at_its_last_byte_with_the_right_code(stream, code):
    for pieces in ([stream], [stream[at : at + 1] for at in range(len(stream))]):
        reader = FrameReader(LIMIT)
        for piece in pieces:
            reader.feed(piece)
        assert reader.error is not None and reader.error.code == code
        assert SENTENCE.fullmatch(reader.error.reason)
        assert len(reader.error.reason.encode()) <= 123


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 125, 126, 127, 4095, 4096])
@pytest.mark.parametrize("opcode", [1, 2])
def test_a_message_of_every_length_form_arrives_up_to_the_limit(size, opcode):
    payload = bytes(byte & 127 for byte in range(256)) * 16
    assert read([client_frame(opcode, payload[:size])]) == ([(opcode, payload[:size])], None)


def test_a_limit_below_125_holds_for_short_frames_too():
    assert read([client_frame(2, b"a" * 10)], 10) == ([(2, b"a" * 10)], None)
    assert read([client_frame(2, b"a" * 11)], 10) == ([], 1009)


def test_each_fragment_counts_one_byte_more_than_it_carries():
    parts = client_frame(2, b"a" * 2000, fin=False), client_frame(0, b"b" * 2094)
    assert read(parts) == ([(2, b"a" * 2000 + b"b" * 2094)], None)
    parts = client_frame(2, b"a" * 2000, fin=False), client_frame(0, b"b" * 2095)
    assert read(parts) == ([], 1009)


def test_the_count_starts_again_with_each_message():
    stream = (client_frame(2, b"a" * 2000, fin=False) + client_frame(0, b"b" * 2000)) * 3
    assert read([stream]) == ([(2, b"a" * 2000 + b"b" * 2000)] * 3, None)


def test_a_short_frame_inside_a_fragmented_message_does_not_take_the_fast_path():
    reader = FrameReader(LIMIT)
    reader.feed(client_frame(2, b"a", fin=False))
    assert reader.feed(client_frame(2, b"b")) == []
    assert reader.error.code == 1002


@pytest.mark.parametrize(
    "size, head",
    [
        (0, "8200"),
        (125, "827d"),
        (126, "827e007e"),
        (65535, "827effff"),
        (65536, "827f0000000000010000"),
    ],
)
def test_a_server_frame_has_the_shortest_length_and_no_mask(size, head):
    assert frame(bytes(size)) == bytes.fromhex(head) + bytes(size)


def test_a_close_frame_carries_code_and_reason():
    assert close_frame(4001, "away") == b"\x88\x06\x0f\xa1away"
    assert close_frame() == close_frame(1005, "unsaid") == b"\x88\x00"


@given(st.text(max_size=150))
def test_a_close_reason_is_cut_between_characters(reason):
    code, kept = parse_close(close_frame(1000, reason)[2:])
    assert code == 1000 and reason.startswith(kept)
    assert len(kept.encode()) <= 123
    assert kept == reason or len((kept + reason[len(kept)]).encode()) > 123


def test_empty_frames_count_as_light_however_they_are_read():
    for pieces in ([client_frame(2)] * 3, [client_frame(2) * 3]):
        reader = FrameReader(LIMIT)
        assert [message for piece in pieces for message in reader.feed(piece)] == [(2, b"")] * 3
        assert reader.light == 3
