"""A part of a game that does not return is off after the third time."""

from functools import partial

import pytest

from flatlands import Game as Engine
from flatlands import Part, action
from flatlands.server import hangs
from tests.browser.pages import eventually
from tests.processes import ServerProcess
from tests.server.harness import Harness
from tests.socket_client import SocketClient


class Slow(Part):
    seen = []

    def on_join(self, me, back):
        self.seen.append(bytes(hangs.running.memory).rstrip(b"\0"))

    def on_step(self, me, tiles):
        self.seen.append("step")
        raise RuntimeError("not today")

    @action()
    def knock(self, me):
        self.seen.append("knock")


class House(Engine):
    parts = (Slow,)
    joined = []

    def on_join(self, me, back):
        self.joined.append(bytes(hangs.running.memory).rstrip(b"\0"))


@pytest.fixture
def fresh(monkeypatch):
    monkeypatch.setattr(hangs, "off", set())
    Slow.seen.clear()
    House.joined.clear()


def act(harness):
    client = harness.place("Ada", (0, 0))
    client.walk(1, 0)
    client.send(35, "knock", [])
    harness.run(1000)
    return client


def test_a_process_says_which_part_it_calls(fresh):
    act(Harness(play=House))
    assert (House.joined, Slow.seen[0]) == ([b"House"], b"Slow") and "step" in Slow.seen
    assert hangs.running.memory[0] == 0, "none, once it has returned, whatever happened"


def test_a_part_that_is_off_is_not_called_and_harms_nobody_else(fresh):
    hangs.off.add("Slow")
    harness = Harness(play=House)
    client = act(harness)
    assert Slow.seen == [] and House.joined == [b"House"]
    assert client.model.errors == ["failed"] and client.connection.open
    assert harness.node.stats["hooks_failed"] == 0


def test_three_times_within_a_minute_are_too_many():
    found = hangs.Hangs()
    assert [found.note("A", at) for at in (0, 31, 62, 93, 124)] == [False] * 4 + [False]
    assert [found.note("B", at) for at in (200, 210, 220, 230)] == [False, False, True, False]
    assert found.off == ["B"]


def test_a_part_is_named_in_a_file_that_outlives_its_process(tmp_path, monkeypatch):
    monkeypatch.setattr(hangs, "running", hangs.Running())
    hangs.running.share(str(tmp_path))
    path = hangs.file_of(str(tmp_path), None)
    for name in ("Slow", "Übermut", "x" * 99):
        hangs.running.memory[:] = hangs.mark(name)
        assert path.read_bytes() == hangs.mark(name)
    process = int(path.name.partition("-")[2])
    assert hangs.take(str(tmp_path), process) == "x" * 64
    assert hangs.take(str(tmp_path), process) == ""


GAME = """
from flatlands import Game as Engine, Part, plain


class Trap(Part):
    def on_step(self, me, tiles):
        while True:
            pass


class Game(Engine):
    ground, parts = plain(), [Trap]
"""


@pytest.mark.outside
@pytest.mark.process
def test_a_server_goes_on_without_a_part_that_does_not_return(tmp_path):
    (tmp_path / "trap.py").write_text(GAME)
    options = ("--game", str(tmp_path / "trap.py"), "--workers", "2", "--store", "none")
    server = ServerProcess(*options)
    said = "said nothing for 10 s"

    def said_often(times):
        return server.errors().count(said) >= times

    try:
        for turn in range(1, 4):
            client = SocketClient(server.port).hello("Ada")
            client.walk(1, 0)
            eventually(partial(said_often, turn), "it is ended", 40)
            client.close(None)
        eventually(lambda: "the part Trap of the game is off" in server.errors(), "it is off")
        eventually(lambda: server.reasons() == [], "it is ready")
        # Each worker answers some of these requests; it may learn of the part a moment later.
        off = b"Trap of the game is off"
        eventually(lambda: all(off in server.get("readyz") for _ in range(20)), "it is off in all")
        client = SocketClient(server.port).hello("Ada")
        begun = client.at()[0]
        client.walk(1, 0)
        client.pump(12)
        assert client.closed is None and client.at()[0] > begun + 30 * 1024
        assert server.errors().count(said) == 3
        client.close()
    finally:
        server.close()
