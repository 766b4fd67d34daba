"""Two readers of docs/protocol.md that share nothing: that of clients, and the judging model."""

import base64
import struct
from urllib.parse import urlsplit

import msgpack
import pytest

from flatlands import wire
from flatlands.bot import BaseBot
from tests.loadtest.test_reader import enter, record, wide
from tests.server.client_frames import client_frame
from tests.vectors import load


class Client(BaseBot):
    """A client that is told what a test tells it, at the node times that it gives."""

    time = 0

    def now(self):
        return self.time

    def players_after(self, messages):
        """Return what it knows of players after messages, as the vectors have it."""
        self._begin([wire.WELCOME, 3, 0, 0, 2013, 0, 0, 16, 5120, 3620, 0, 0, 40, 25, 0, []])
        for self.time, message in messages:
            self._take(message)
        return [
            [
                *(p.id, p.seq, p.ack, p.name, p.dimmed, list(p.track), list(p.square)),
                *(p.look, p.pace, list(p.values)),
            ]
            for _, p in sorted(self.players.items())
        ]


def test_a_client_knows_what_the_vectors_of_the_replica_say():
    vectors = load("replica")
    assert sum(len(vector["players"]) for vector in vectors) > 60
    for vector in vectors:
        told = [(now, msgpack.unpackb(bytes.fromhex(text))) for now, text in vector["messages"]]
        assert Client("Ada").players_after(told) == vector["players"]


def test_a_player_that_crosses_a_border_neither_goes_nor_comes():
    client = Client("Ada")
    client.players_after([(0, [wire.HELD, 0, 0, 1, 0])])

    def told(now, square, *events):
        """Return what has happened by one batch of a square."""
        client.time = now
        flush = [wire.FLUSH, 1, now, [[*square, 0, 0, b"", events]]]
        return [(what, player.id) for what, player, _ in client._take(flush)]

    assert told(0, (0, 0), enter(50, 1, 3), enter(51, 1, 4)) == [("came", 50), ("came", 51)]
    leaves = [[wire.LEAVE, id, 2, 1, 0] for id in (50, 51)]
    assert told(100, (0, 0), *leaves, [wire.SAY_EVENT, 51, "Bye"]) == [("said", 51)]
    assert told(200, (1, 0), enter(50, 3, 3)) == []
    # The enter of the other is lost, and one that comes too late brings nobody back.
    assert told(2099, (1, 0)) == []
    assert told(2100, (1, 0)) == [("went", 51)]
    assert told(2200, (1, 0), [wire.GONE, 50, 4]) == [("went", 50)]
    assert told(2300, (0, 0), enter(50, 2, 3)) == []


@pytest.mark.parametrize(
    ("fields", "records", "others", "replaced"),
    [
        ((3, -4, 2, 7), 0, 0, 0),
        ((3, -4, 2, 7, record(9)), 1, 0, 0),
        ((3, -4, 2, 7, b"", ((3, 5, 6),)), 0, 1, 0),
        ((3, -4, 2, 7, record(), (), 4), 1, 0, 4),
        ((3, -4, 2, 7, record(), ((3, 5, 6),), 0, wide(300) * 2), 3, 1, 0),
        # Later versions may append items.
        ((3, -4, 2, 7, record(), (), 1, b"", "more"), 1, 0, 1),
    ],
)
def test_an_item_that_is_left_out_at_the_end_of_a_batch_is_empty(fields, records, others, replaced):
    batch = wire.BatchMessage(fields, 1000)
    assert (batch.square, batch.source, batch.sent) == ((3, -4), 2, 993)
    assert (len(batch.records), len(batch.others), batch.replaced) == (records, others, replaced)
    assert batch.events == records + others


def test_a_record_is_read_as_it_was_packed():
    values = (255, 254, 253, -32768, 32767, -32767, 5, -6)
    [found] = wire.BatchMessage((0, 0, 0, 0, struct.pack("<BBBhhhhh", *values)), 0).records
    assert found == values
    values = (65535, *values[1:])
    found = wire.BatchMessage(
        (0, 0, 0, 0, b"", (), 0, struct.pack("<HBBhhhhh", *values)), 0
    ).records
    assert found == [values]


@pytest.mark.parametrize(
    ("by", "ms"),
    [
        # 5120 units a second, and 3620 along each axis of an exact diagonal.
        ((0, 0), 0),
        ((5120, 0), 1000),
        ((0, -5121), 1001),
        ((1, 0), 1),
        ((3620, -3620), 1000),
        ((-3621, 3621), 1001),
        ((3000, 4000), 977),
        ((32767, 0), 6400),
        ((32767, 32766), 9051),
    ],
)
def test_the_duration_of_a_track_follows_from_its_length(by, ms):
    rules = wire.TrackReader()
    rules.set(16, 5120, 3620)
    assert rules.duration(*by) == ms


def test_a_record_counts_from_the_centre_of_its_square_and_an_enter_from_its_corner():
    rules = wire.TrackReader()
    rules.set(16, 5120, 3620)
    [found] = wire.BatchMessage((-1, 2, 0, 0, record(x=-5, y=6, dx=5120, age=30)), 0).records
    assert rules.track_of_record((-1, 2), 1000, found, 100) == (-8197, 40966, 5120, 0, 970, 1000)
    event = wire.Enter.read(enter(1, 1, 1, x=8187, y=8198, dx=5120, age=30))
    assert rules.track_of_enter((-1, 2), 1000, event) == (-8197, 40966, 5120, 0, 970, 1000)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 300, 65_535])
@pytest.mark.parametrize("opcode", [wire.TEXT, wire.BINARY, wire.WS_PONG])
def test_a_frame_is_masked_by_the_present_key(size, opcode):
    payload, keys = bytes(range(256)) * 256, set()
    for _ in range(3):
        wire.renew_key()
        keys.add(wire._masks.key)
        for _ in range(2):
            expected = client_frame(opcode, payload[:size], key=wire._masks.key)
            assert wire.client_frame(payload[:size], opcode) == expected
    assert len(keys) > 1


@pytest.mark.parametrize("number", [0, 1, 127, 128, 255, 256, 65535, 65536, 2**32, 2**53 - 1])
def test_a_packed_number_is_found_without_decoding_the_rest(number):
    assert wire.number_at(msgpack.packb([wire.FLUSH, number, "rest"]), 2) == number


def test_the_user_in_a_url_logs_in_at_a_proxy_as_http_has_it():
    assert wire.basic_auth(urlsplit("wss://my.site/ws")) == ""
    login = wire.basic_auth(urlsplit("wss://me:a%40b@my.site/ws"))
    assert base64.b64decode(login.removeprefix("Basic ")) == b"me:a@b"
    lines = wire.upgrade_request("my.site", "/ws", login=login).decode().split("\r\n")
    assert f"Authorization: {login}" in lines and "Sec-WebSocket-Protocol: flatlands" in lines
    plain = wire.upgrade_request("my.site", "/ws", "")
    assert b"Authorization" not in plain and b"Protocol" not in plain
