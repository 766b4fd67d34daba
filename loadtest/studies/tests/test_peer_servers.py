"""The peers that speak JSON: who hears what.

Those in Go, in Rust and in C++ are always built and tested. The others are tested once
`make bench-peers` has installed them.
"""

import contextlib
import json
import socket
from pathlib import Path

import pytest

from flatlands.loadtest.studies.peers import client
from flatlands.loadtest.studies.peers.dialect import FOLDER, as_bytes, load
from flatlands.loadtest.studies.peers.marker import marker
from flatlands.loadtest.studies.peers.programs import PEERS, absent, build, command, started
from flatlands.loadtest.studies.peers.rows import measure_peer
from flatlands.loadtest.studies.peers.study import main
from flatlands.wire import CLOSE, TEXT, WS_PING, WS_PONG, client_frame, upgrade_request

pytestmark = pytest.mark.load

#: Seconds that anything here may take on a busy machine.
PATIENCE = 30


def is_here(peer):
    return peer.compiled or (not absent([peer]) and Path(command(peer)[0]).exists())


PLAIN = load("plain_json")
HERE = [peer for peer in PEERS if peer.dialect == "plain_json" and is_here(peer)]


@pytest.fixture(params=HERE, ids=lambda peer: peer.name)
def peer(request):
    if request.param.compiled:
        build(request.param)
    return request.param


@pytest.fixture
def join(peer):
    """A function that joins a player in a square of the running peer."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(started(command(peer)))
        yield lambda *square: stack.enter_context(
            contextlib.closing(Player(server.address, square))
        )


class Player:
    """A player on its own socket, whose frames are read one by one."""

    def __init__(self, address, square):
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        self.stream = self.socket.makefile("rb")
        self.socket.sendall(upgrade_request("localhost", "/"))
        assert self.stream.readline().startswith(b"HTTP/1.1 101")
        while self.stream.readline() != b"\r\n":
            pass
        [(_, request), _] = PLAIN.lines(square)
        self.send(request)
        assert self.messages() == [{"type": "joined"}]

    def close(self):
        self.stream.close()
        self.socket.close()

    def send(self, payload, opcode=TEXT):
        self.socket.sendall(client_frame(as_bytes(payload), opcode))

    def move(self, x, y, due):
        self.send(PLAIN.move(x, y, marker(due)))

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


@pytest.mark.parametrize("politely", [True, False])
def test_a_move_is_told_around_its_square_alone_also_when_somebody_has_left(join, politely):
    one, other, third, far = join(0, 0), join(0, 0), join(1, -1), join(2, 0)
    one.send(b"sure?", WS_PING)
    assert one.frame() == (WS_PONG, b"sure?")
    one.move(7, 8, 1)
    for who in (one, other, third):
        due, [told] = who.told_until(1)
        assert due == [1] and (told["type"], told["x"], told["y"]) == ("move", 7, 8)
    # The player would have heard the first move before its own.
    far.move(9, 10, 4)
    assert far.told_until(4)[0] == third.told_until(4)[0] == [4]
    if politely:
        one.send((1000).to_bytes(2, "big"), CLOSE)
        while one.frame()[0] != CLOSE:
            pass
    one.close()
    for due in (2, 3):
        other.move(due, due, due)
        assert third.told_until(due)[0] == other.told_until(due)[0] == [due]


@pytest.mark.parametrize("withheld", [False, True])
def test_all_deliveries_come_and_what_a_server_withholds_is_missing(
    peer, monkeypatch, withheld, tmp_path, capsys
):
    monkeypatch.setattr(client, "WARM_UP_SECONDS", 0.2)
    # The run ends with the last delivery, which may be slow on a busy machine.
    monkeypatch.setattr(client, "DRAIN_SECONDS", 6.0 if withheld else PATIENCE)
    if withheld:
        # All of these players hear each other, and the count believes in a third more.
        monkeypatch.setattr(
            client, "audiences", lambda squares: [len(squares) * 4 // 3 for _ in squares]
        )
    row = measure_peer(peer, 60, 1.0)
    assert row["share"] == pytest.approx(0.75 if withheld else 1, abs=0.02)
    assert withheld or (row["share"], row["raw"]["lost"]) == (1.0, 0)
    if withheld:
        return
    # The same holds for a peer that runs already, with a user's dialect.
    mine, out = tmp_path / "mine.py", tmp_path / "run.json"
    mine.write_text((FOLDER / "plain_json.py").read_text())
    with started(command(peer)) as server:
        url = f"ws://me:secret@127.0.0.1:{server.address[1]}/"
        options = ["--players", "60", "--seconds", "1", "--json", str(out)]
        assert main(["--url", url, "--dialect", str(mine), *options]) == 0
    [found] = json.loads(out.read_text())["rows"]
    assert (found["share"], found["core"], found["mb"]) == (1.0, None, None)
    said = capsys.readouterr().out
    assert "CPU and memory of a server that was not started for the run are not known" in said
    assert "secret" not in said + out.read_text()
