"""The bots of examples/ play on a real server, and do what their guide says."""

import ast
import math
import re
import shutil
import socket
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import msgpack
import pytest

from flatlands.bot import BaseBot, Bot, Player, Refused, play
from flatlands.loadtest.kit.processes import Program
from tests.brokers.servers import free_port
from tests.inside import inside
from tests.processes import ROOT
from tests.socket_client import SocketClient

EXAMPLES = ROOT / "examples"

#: What it says of bots is their guide.
GUIDE = ROOT / "docs" / "games" / "tests.md"

BUSY = b"HTTP/1.1 429 Too Many Requests\r\n\r\n"


@pytest.fixture
def server():
    with inside() as server:
        yield server


@pytest.fixture
def bot(server):
    """A function that starts a bot, which at the end must not have stopped or complained."""
    with bots() as start:
        yield lambda name: start(f"examples.{name}", server)


@contextmanager
def bots():
    programs = []

    def start(module, server):
        command = [sys.executable, "-W", "error", "-m", module, server.url]
        programs.append(Program(command, "the bot"))
        return programs[-1]

    try:
        yield start
        for program in programs:
            assert program.process.poll() is None, program.errors()
            assert "Traceback" not in program.errors()
    finally:
        for program in programs:
            program.end(0)


def said_by(client, who):
    return [text for name, text in client.model.chat if name == who]


@pytest.mark.process
@pytest.mark.parametrize("game", ["snake", "paint", "quiet", "defence"])
def test_each_game_has_a_bot_that_plays_it(game):
    with inside("--game", game, "--store", "memory://") as server, bots() as start:
        ada = SocketClient(server.port).hello("Ada")
        start(f"flatlands.games.{game}.bot", server)
        name = f"{game.title()} Bot"

        def values():
            return [player.values for player in ada.model.players.values() if player.name == name]

        ada.until(values)
        if game == "snake":
            ada.until(lambda: [eaten for eaten, _fallen in values() if eaten])
        elif game == "paint":
            ada.until(lambda: ada.model.messages.get("board", [[]])[0] and ada.model.cells)
        elif game == "defence":
            ada.until(lambda: ada.model.things)
        else:
            ada.send(6, "Who is here?")
            ada.until(lambda: said_by(ada, name))
            assert said_by(ada, name) == ["Ada"]


@pytest.mark.process
def test_a_bot_plays_from_copies_of_the_files_that_its_guide_names(server, tmp_path):
    guide = " ".join(GUIDE.read_text().split())
    [copied] = re.findall(r"copy (\S+) and (\S+) into a folder `flatlands`", guide)
    (tmp_path / "flatlands").mkdir()
    for link in copied:
        shutil.copy(GUIDE.parent / re.search(r"\((.*)\)", link)[1], tmp_path / "flatlands")
    shutil.copy(EXAMPLES / "greeter.py", tmp_path)
    # Beside them there is only msgpack: -S leaves out all other packages.
    (tmp_path / "msgpack").symlink_to(Path(msgpack.__file__).parent)
    ada = SocketClient(server.port).hello("Ada")
    command = [sys.executable, "-SE", "-W", "error", "greeter.py", server.url]
    program = Program(command, "the bot", folder=tmp_path)
    try:
        ada.until(lambda: said_by(ada, "Greeter Bot"))
    finally:
        program.end(0)


@pytest.mark.process
def test_the_follower_follows_until_it_is_told_to_stop(server, bot):
    ada = SocketClient(server.port).hello("Ada")
    bot("follower")
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

    def is_left_alone():
        return max(abs(a - b) for a, b in zip(ada.at(), ada.at(duckling), strict=True)) > 3 * 1024

    # A bot that has little CPU time may hear it late, and follow once more.
    for there in ((0, -6 * 1024), (-8 * 1024, 4 * 1024)) * 5:
        ada.pump(1.5)
        ada.go(*there)
        ada.until(lambda there=there: ada.at() == there)
        ada.pump(1.5)
        if is_left_alone():
            break
    assert is_left_alone()


def test_a_bot_acknowledges_each_second_pings_each_fifth_time_and_starts_over_after_a_resync(
    monkeypatch,
):
    bot, sent, clock = Bot.__new__(Bot), [], [100.0]
    BaseBot.__init__(bot, "Ada")
    bot.id, bot._waiting, bot._left = 7, [], False
    bot._flush = bot._acks = bot._acked = 0
    bot.send = lambda *message: sent.append(message)
    told = [[21, 40, 0, []], [-1], [22], [-1], [21, 2, 0, []], [-1], [-1]]

    def messages():
        for message in told:
            clock[0] += 1.1
            bot.players[7] = Player(7)
            yield message
        raise Refused("it is over")

    bot._messages = messages
    monkeypatch.setattr("flatlands.bot.time.monotonic", lambda: clock[0])
    with pytest.raises(Refused, match="it is over"):
        for what, player, _ in bot.events():
            assert (what, player.id) == ("", 7)
    pings = [message for message in sent if message[0] == 7]
    assert [message[-1] for message in pings] == [40, 2] and pings[0][1] == 101_100
    acks = [message for message in sent if message[0] == 14]
    assert acks == [(14, flush) for flush in (40, 0, 2, 2)]


def test_a_bot_sends_a_key_again_that_was_one_too_many_from_its_address(monkeypatch):
    bot, sent, clock = Bot.__new__(Bot), [], [100.0]
    BaseBot.__init__(bot, "Ada")
    bot.id, bot.players[7], bot._waiting, bot._key = 7, Player(7), [], "a key"
    bot._left = False
    bot._flush = bot._acks = bot._acked = 0
    bot.send = lambda *message: sent.append((clock[0], *message))

    def messages():
        yield [24, "keys", "many new players came from your address"]
        for _ in range(60):
            clock[0] += 0.5
            yield [-1]
        raise Refused("it is over")

    bot._messages = messages
    monkeypatch.setattr("flatlands.bot.time.monotonic", lambda: clock[0])
    with pytest.raises(Refused, match="it is over"):
        list(bot.events())
    [(at, _, key)] = [message for message in sent if message[1] == 10]
    assert 110 <= at <= 120.5 and key == "a key"


ORCHARD = """
from flatlands import Cells, Game as Engine, Me, Thing, action, number, plain


class Apple(Thing, reach=1):
    colour = number(0, 7)


class Picker(Me):
    apples = number(0, 99)


class Game(Engine):
    ground, things, me = plain(), [Apple], Picker
    floor = Cells()

    def begin(self):
        return (0, 0)

    def plant(self, plot):
        return [Apple((3, 0), colour=5)] if plot == (0, 0) else []

    def on_step(self, me, tiles):
        self.floor[tiles] = 4

    def on_touch(self, me, apple):
        if me.take(apple):
            me.apples += 1

    @action(rate=9, burst=9)
    def count(self, me, more: int = number(0, 9)):
        me.send("counted", me.apples, [more])
"""


def test_a_bot_knows_what_a_game_has_and_comes_back_by_itself(tmp_path, monkeypatch):
    (tmp_path / "orchard.py").write_text(ORCHARD)
    options = ("--game", str(tmp_path / "orchard.py"), "--store", f"sqlite:///{tmp_path / 'db'}")
    with inside(*options, "--port", str(free_port()), SECRET_KEY="a secret") as server:
        bot, watcher = Bot(server.url, "Ada"), Bot(server.url, "Bob")
        assert bot.wait(lambda: bot.things("Apple"))
        [apple] = bot.things()
        assert (apple.x, apple.y, apple.values) == (3.5, 0.5, {"colour": 5})
        bot.walk(1, 0)
        assert bot.wait(lambda: bot.me and bot.me.values["apples"] == 1 and not bot.things())
        seen = watcher.players
        assert watcher.wait(lambda: bot.id in seen and seen[bot.id].values == {"apples": 1})
        assert watcher.wait(lambda: watcher.cell("floor", 3, 0) == 4)
        assert watcher.cell("floor", 3, 9) == 0 == watcher.cell("none", 3, 0)
        bot.walk(0, 0)
        bot.do("count", 7)
        told = next(event for event in bot.events() if event[0] == "message")
        assert told[1].id == bot.id and told[2] == ("counted", [1, [7]])
        bot.do("dance")
        error = next(event for event in bot.events() if event[0] == "error")
        assert error[2][0] == "game"
        port, id = server.port, bot.id
    bot.say("Is nobody there?")
    bot.say("It seems so.")
    with inside(*options, "--port", str(port), SECRET_KEY="a secret"):
        back = next(event for event in bot.events() if event[0] == "back")
        assert back[1].id == bot.id == id
        assert bot.wait(lambda: bot.me is not None)
        assert next(event for event in watcher.events() if event[0] == "back")
        assert watcher.wait(lambda: bot.id in seen), "what a bot knows is still in the same dict"
        bot.leave()
        assert not list(bot.events()), "it has left for good"
        assert watcher.wait(lambda: bot.id not in seen)
        # The bot's clock is set by its pings, whatever it showed before: here each second.
        monkeypatch.setattr("flatlands.bot.ACK_EVERY_SECONDS", 0.2)
        assert watcher.wait(lambda: watcher._trip < math.inf)
        drift, watcher._trip = watcher._offset, math.inf
        watcher._offset += 500
        assert watcher.wait(lambda: abs(watcher._offset - drift) < 250, 30)
    watcher.leave()


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://example.org"])
def test_a_bot_says_where_it_can_play(url):
    with pytest.raises(
        ValueError, match="a bot plays at http://HOST:PORT or https://HOST, and not at"
    ):
        Bot(url, "Ada")


def refuse(server):
    """Refuse everybody that connects to a server."""
    with server.accept()[0] as connection:
        connection.sendall(BUSY)


def test_a_bot_that_cannot_play_ends_with_a_sentence(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["bot", "http://127.0.0.1:1"])
    with pytest.raises(SystemExit, match="Nobody answers at .*: start the server first"):
        play("Ada", lambda bot: None)
    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=refuse, args=(server,)).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setattr(sys, "argv", ["bot", url])
        with pytest.raises(SystemExit, match="Ada cannot play at .*: HTTP/1.1 429 Too"):
            play("Ada", lambda bot: None)
    monkeypatch.setattr(sys, "argv", ["bot", "gopher://old"])
    with pytest.raises(SystemExit, match="Ada cannot play at gopher://old: a bot plays at"):
        play("Ada", lambda bot: None)


def imported(path):
    """Return the packages that a file imports, and the modules of flatlands without its name."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{each.name}" for each in node.names}
    return {name.removeprefix("flatlands.").split(".")[0] for name in names}


def test_the_bots_are_short_and_the_guide_names_what_there_is():
    guide = GUIDE.read_text()
    for path in EXAMPLES.glob("*.py"):
        assert path.name in (EXAMPLES / "README.md").read_text()
        assert imported(path) - set(sys.stdlib_module_names) <= {"bot"}
    lines = (EXAMPLES / "greeter.py").read_text().splitlines()
    assert len([line for line in lines if line]) <= 20
    for path in (ROOT / "games").glob("*/bot.py"):
        assert imported(path) - set(sys.stdlib_module_names) <= {"bot"}
    code = (ROOT / "flatlands" / "bot.py").read_text()
    for method in re.findall(r"bot\.(\w+)\(", guide):
        assert f"def {method}(" in code
