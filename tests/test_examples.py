"""The bots of examples/ play on a real server, and do what their guide says."""

import importlib
import re
import sys

import pytest

from flatlands.loadtest.kit.processes import Program
from tests.processes import ROOT, serving
from tests.socket_client import SocketClient, together
from tests.test_imports import imported

EXAMPLES = ROOT / "examples"


@pytest.fixture
def server():
    with serving("--walkers", "0", "--deer", "0") as server:
        yield server


@pytest.fixture
def bot(server):
    """Start a bot; it must not have ended, nor complained, at the end."""
    programs = []

    def start(name):
        command = [sys.executable, "-W", "error", str(EXAMPLES / name), server.url]
        programs.append(Program(command, "the bot"))
        return programs[-1]

    yield start
    for program in programs:
        assert program.process.poll() is None, program.errors()
        assert "Traceback" not in program.errors()
        program.end(0)


def said_by(client, who):
    return [text for name, text in client.model.chat if name == who]


@pytest.mark.process
def test_the_greeter_greets_by_name_comes_near_and_returns_a_wave(server, bot):
    watcher = SocketClient(server.port).hello("Watcher")
    bot("greeter.py")
    watcher.until(lambda: said_by(watcher, "Greeter Bot"))
    assert "Hello, Watcher!" in said_by(watcher, "Greeter Bot")[0]
    ada = SocketClient(server.port).hello("Ada")
    both = watcher, ada
    together(both, lambda: any("Hello, Ada!" in text for text in said_by(ada, "Greeter Bot")))
    greeter = next(p for p in ada.model.players.values() if p.name == "Greeter Bot")

    def is_near():
        (x, y), (bx, by) = ada.at(), ada.at(greeter.id)
        return abs(x + 2048 - bx) < 64 and abs(y - by) < 64

    together(both, is_near)
    before = len(ada.model.emotes)
    ada.send(35, "emote", [1])
    together(both, lambda: ("Greeter Bot", 1) in ada.model.emotes[before:])


@pytest.mark.process
def test_the_follower_follows_until_it_is_told_to_stop(server, bot):
    ada = SocketClient(server.port).hello("Ada")
    bot("follower.py")
    ada.until(lambda: any(p.name == "Duckling" for p in ada.model.players.values()))
    duckling = next(id for id, p in ada.model.players.items() if p.name == "Duckling")
    ada.send(6, "Come, Duckling!")
    ada.until(lambda: said_by(ada, "Duckling"))
    ada.go(-8 * 1024, 4 * 1024)

    def is_near():
        (x, y), (bx, by) = ada.at(), ada.at(duckling)
        return (x, y) == (-8 * 1024, 4 * 1024) and max(abs(x - bx), abs(y - by)) < 3 * 1024

    ada.until(is_near)
    ada.send(6, "stop")
    ada.pump(1.5)
    ada.go(0, -6 * 1024)
    ada.until(lambda: ada.at() == (0, -6 * 1024))
    ada.pump(1.5)
    assert not is_near() and max(map(abs, ada.at(duckling))) > 3 * 1024


def test_a_bot_acknowledges_each_second_pings_each_fifth_time_and_begins_anew_after_a_resync(
    monkeypatch,
):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    client = importlib.import_module("client")
    world, sent, clock = client.World.__new__(client.World), [], [100.0]
    world.id, world.players, world._called = 7, {7: client.Player(7)}, {}
    world._flush = world._acks = world._acked = 0
    world.send = lambda *message: sent.append(message)
    told = [[21, 40, 0, []], [-1], [22], [-1], [21, 2, 0, []], [-1], [-1]]

    def messages():
        for message in told:
            clock[0] += 1.1
            world.players[7] = client.Player(7)
            yield message

    world._messages = messages
    monkeypatch.setattr(client.time, "monotonic", lambda: clock[0])
    assert {what for what, player, _ in world.events() if player.id == 7} == {""}
    assert sent == [(7, 0, 40), (14, 40), (14, 0), (14, 2), (14, 2), (7, 0, 2)]


def test_the_bots_are_short_and_the_guide_names_what_there_is():
    guide = (EXAMPLES / "README.md").read_text()
    for path in EXAMPLES.glob("*.py"):
        assert path.name in guide
        assert imported(path) - set(sys.stdlib_module_names) <= {"msgpack", "client"}
    lines = (EXAMPLES / "greeter.py").read_text().splitlines()
    assert len([line for line in lines if line]) <= 20
    world = (EXAMPLES / "client.py").read_text()
    for method in re.findall(r"world\.(\w+)\(", guide):
        assert f"def {method}(" in world
