"""The peers themselves, those in JSON: who hears what.

The one in Go is always tried, since Go is here wherever tests are. The others are as soon as
`make bench-peers` has installed or built them.
"""

import contextlib
import json
import socket
from pathlib import Path

import pytest

from flatlands.loadtest.peers import client
from flatlands.loadtest.peers.dialects import PlainJson
from flatlands.loadtest.peers.marker import marker
from flatlands.loadtest.peers.programs import PEERS, absent, build, command, started
from flatlands.loadtest.peers.rows import measure_peer
from flatlands.loadtest.swarm.wire import CLOSE, TEXT, WS_PING, WS_PONG, client_frame, handshake

pytestmark = pytest.mark.load

#: Seconds that anything here may take on a busy machine.
PATIENCE = 30


def is_here(peer):
    if peer.name == "go":
        return True
    return not absent([peer]) and Path(command(peer)[0]).exists()


HERE = [peer for peer in PEERS if peer.dialect is PlainJson and is_here(peer)]


@pytest.fixture(params=HERE, ids=lambda peer: peer.name)
def peer(request):
    if request.param.compiled:
        build(request.param)
    return request.param


@pytest.fixture
def join(peer):
    """Joins a player in a square of the running peer."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(started(command(peer)))
        yield lambda *square: stack.enter_context(
            contextlib.closing(Player(server.address, square))
        )


class Player:
    """A player on a socket of its own, whose frames are read one by one."""

    def __init__(self, address, square):
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        self.stream = self.socket.makefile("rb")
        self.socket.sendall(handshake("localhost", "/"))
        assert self.stream.readline().startswith(b"HTTP/1.1 101")
        while self.stream.readline() != b"\r\n":
            pass
        [(_, request), _] = PlainJson().lines(square)
        self.send(request)
        assert self.messages() == [{"type": "joined"}]

    def close(self):
        self.stream.close()
        self.socket.close()

    def send(self, payload, opcode=TEXT):
        self.socket.sendall(client_frame(payload, opcode))

    def move(self, x, y, due):
        self.send(PlainJson().move(x, y, marker(due)))

    def frame(self):
        """Return the opcode and the payload of the next frame."""
        first, size = self.stream.read(2)
        if size == 126:
            size = int.from_bytes(self.stream.read(2), "big")
        return first & 15, self.stream.read(size)

    def messages(self):
        """Return the messages in the next frame, which may be one or an array."""
        opcode, payload = self.frame()
        assert opcode == TEXT
        found = json.loads(payload)
        return found if isinstance(found, list) else [found]

    def told_until(self, due):
        """Return the times of all moves that it is told until this one, and their messages."""
        told = []
        while marker(due) not in [each["marker"] for each in told]:
            told += self.messages()
        return [int(each["marker"][1:-1]) for each in told], told


def test_a_move_is_told_to_those_whose_screens_touch_its_square_and_to_nobody_else(join):
    one, beside, far, here = join(0, 0), join(1, -1), join(2, 0), join(0, 0)
    one.send(b"sure?", WS_PING)
    assert one.frame() == (WS_PONG, b"sure?")
    one.move(7, 8, 1)
    far.move(9, 10, 2)
    assert one.told_until(1)[0] == here.told_until(1)[0] == [1]
    assert far.told_until(2)[0] == [2]
    # Those who heard what they should not would have heard it before this.
    one.move(11, 12, 3)
    far.move(13, 14, 4)
    assert one.told_until(3)[0] == here.told_until(3)[0] == [3]
    assert far.told_until(4)[0] == [4]
    # These were sent on two connections, so either may have come first.
    due, told = beside.told_until(3)
    if 4 not in due:
        told += beside.told_until(4)[1]
    told.sort(key=lambda message: message["marker"])
    assert [(each["type"], each["x"], each["y"]) for each in told] == [
        ("move", 7, 8),
        ("move", 9, 10),
        ("move", 11, 12),
        ("move", 13, 14),
    ]
    ids = [each["id"] for each in told]
    assert ids[0] == ids[2] != ids[1] == ids[3]


@pytest.mark.parametrize("politely", [True, False])
def test_who_leaves_takes_nobody_along(join, politely):
    one, other, third = join(0, 0), join(0, 0), join(1, 1)
    one.move(1, 1, 1)
    assert third.told_until(1)[0] == other.told_until(1)[0] == [1]
    if politely:
        one.send((1000).to_bytes(2, "big"), CLOSE)
        while one.frame()[0] != CLOSE:
            pass
    one.close()
    for due in (2, 3):
        other.move(due, due, due)
        assert third.told_until(due)[0] == other.told_until(due)[0] == [due]


def test_all_deliveries_come(peer, monkeypatch):
    monkeypatch.setattr(client, "WARM_UP", 0.2)
    # Nobody waits longer than for the last, which may take its time on a busy machine.
    monkeypatch.setattr(client, "DRAIN", PATIENCE)
    row = measure_peer(peer, 60, 1.0)
    assert (row.trouble, row.share, row.raw["lost"]) == (None, 1.0, 0)


def test_what_a_server_withholds_is_missing(peer, monkeypatch):
    monkeypatch.setattr(client, "WARM_UP", 0.2)
    monkeypatch.setattr(client, "DRAIN", 0.5)
    # All of these players hear each other, and it is believed that a third more are there.
    monkeypatch.setattr(
        client, "audiences", lambda squares: [len(squares) * 4 // 3 for _ in squares]
    )
    row = measure_peer(peer, 60, 1.0)
    assert row.trouble is None and row.share == pytest.approx(0.75, abs=0.02)
