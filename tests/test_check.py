"""`flatlands check`: what it finds in a game, what it says of one that is right, how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
from zlib import crc32

import psutil
import pytest

from flatlands.__main__ import main
from flatlands.check import FAILED, Check
from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.processes import children
from flatlands.testkit.simulate import plan, rules_of, search
from tests.brokers.servers import eventually
from tests.processes import PATIENCE, ROOT
from tests.quiet import tries
from tests.typescript import TSC

GAME = '''"""Coins lie around, and can be saved."""

from flatlands import Cells, Me, Record, Records, Thing, Transaction, action, number, plain, text
from flatlands import Game as Engine


class Rich(Me):
    coins = number(0, 999)


class Coin(Thing, reach=1):
    worth = number(1, 3)


class Gift(Record):  # by the owner's name: it has got the gift
    pass


class Pot(Record):
    coins = number(0, 10**6)


class Game(Engine[Rich]):
    ground, page, me, things = plain(), "page", Rich, [Coin]
    floor, gifts, pots = Cells(), Records(Gift), Records(Pot)
    messages = {"cheered": {"word": str}, "saved": {"coins": int}}

    def plant(self, plot: tuple[int, int]) -> list[Thing]:
        tiles = [self.somewhere(plot) for _ in range(40)]
        return [Coin(tile, worth=1 + n % 3) for n, tile in enumerate(tiles) if tile]

    def on_touch(self, me: Rich, coin: Coin) -> None:
        again = coin.again(self.somewhere(coin.plot), after=20)
        if me.take(coin, then=[again], scores=[("coins", coin.worth)]):
            me.coins = min(me.coins + coin.worth, 999)

    def on_step(self, me: Rich, tiles: list[tuple[int, int]]) -> None:
        me.write(self.floor, tiles, me.id % 8 + 1)

    @action(rate=2, burst=5)
    def cheer(self, me: Rich, word: str = text(0, 12)) -> None:
        me.send("cheered", word[:1].upper() + word[1:])

    @action(rate=2, burst=5)
    def ask_for_gift(self, me: Rich) -> None:
        if me.owner:
            self.store.transact([Gift.key(me.owner)], lambda gift: None if gift else Transaction(
                put=[Gift(me.owner)], scores=[(me.owner, "gifts", 1)]))

    @action(rate=2, burst=5)
    def save(self, me: Rich, coins: int = number(1, 9)) -> None:
        pot = self.pots.change("pot", lambda pot: pot.again(coins=pot.coins + coins) if pot
                               else Pot("pot", coins=coins))
        assert pot
        me.send("saved", coins)
'''

BOT = '''"""A bot that looks for coins."""

import random


def turn(bot):
    coins = bot.things("Coin")
    if coins and random.random() < 0.3:
        coin = random.choice(coins)
        bot.go(coin.x, coin.y)
    if random.random() < 0.1:
        bot.do("cheer", "hey")
    if random.random() < 0.1:
        bot.do("ask_for_gift")
    if random.random() < 0.2:
        bot.do("save", random.randint(1, 9))
'''

RULES = '''"""What must hold whenever a world is quiet."""


def check(world):
    if not world.has_store:
        return
    game = world.game(next(player.node for player in world.players if player.playing))
    assert all(one.points == 1 for one in game.top("gifts", 100)), "somebody got two gifts"
    messages = [more for one in world.players for what, _, more in one.events if what == "message"]
    saved = sum(fields[0] for name, fields in messages if name == "saved")
    pot = game.pots.read("pot")
    assert saved <= (pot.coins if pot else 0), "coins got lost"
'''

TEST = """from pathlib import Path

from flatlands.testkit import World


def test_a_coin_is_found() -> None:
    world = World(Path(__file__).parent.parent)
    ada = world.join("Ada", at=(0, 0))
    world.run(1)
    coin = ada.things("Coin")[0]
    ada.go(coin.x, coin.y)
    world.run(20)
    assert ada.me.values["coins"] >= coin.values["worth"]
"""

PAGE = """import { join } from './game.js';

const [canvas] = document.querySelectorAll('canvas');
const game = join({ canvas, keys: { Space: () => game.do.cheer('hey') } });

game.draw.thing('Coin', (ctx, { values }) => {
  game.draw.disc(0.15 + 0.1 * values.worth, '#ffd84d', '#8a6d00');
});
game.draw.player((ctx, { name, own, values }) => {
  game.draw.disc(0.4, '#4fb3c6', own ? '#fff' : '#000');
  game.draw.label(`${name} ${values.coins}`, 0, -0.6);
});

// For again.js.
document.documentElement.dataset.begun = '';
"""


#: What goes wrong in a game -> the step that finds it, the file, what is written there, what an
#: author writes instead, and what is said of it.
BUGS = {
    "a field has another name in the page": (
        "types",
        "page/main.js",
        "values.worth",
        "values.value",
        "main.js.*Property 'value' does not exist",
    ),
    "a module of the page does not parse": (
        "types",
        "page/main.js",
        "game.draw.player((ctx,",
        "game.draw.player(ctx,",
        "main.js.*error",
    ),
    "an attribute that no player has": (
        "types",
        "game.py",
        "me.coins = min(me.coins",
        "me.coins = min(me.coin",
        """game.py:\\d+: error: "Rich" has no attribute "coin""",
    ),
    "a test expects what is wrong": (
        "tests",
        "tests/test_game.py",
        """>= coin.values["worth"]""",
        """== 100 * coin.values["worth"]""",
        "test_a_coin_is_found failed: assert \\d+ == ",
    ),
    "a hook fails": (
        "simulate",
        "game.py",
        "me.write(self.floor, tiles, me.id % 8 + 1)",
        "me.write(self.floor, [tiles[0], tiles[1]], me.id % 8 + 1)",
        "IndexError: list index out of range",
    ),
    "a hook blocks": (
        "simulate",
        "game.py",
        "        me.write(self.floor",
        "        __import__('time').sleep(0.01)\n        me.write(self.floor",
        "a hook that may not wait calls time.sleep",
    ),
    "an action fails with a value that is allowed": (
        "simulate",
        "game.py",
        "word[:1].upper()",
        "word[0].upper()",
        "IndexError: string index out of range",
    ),
    "a thing is planted in another plot": (
        "simulate",
        "game.py",
        "Coin(tile, worth",
        "Coin((tile[0] + 40, tile[1]), worth",
        "was planted for plot .*, but lies in another",
    ),
    "a gift is noted in an attribute, so each node gives it once": (
        "simulate",
        "game.py",
        """self.store.transact([Gift.key(me.owner)], lambda gift: None if gift else Transaction(
                put=[Gift(me.owner)], scores=[(me.owner, "gifts", 1)]))""",
        """given = self.__dict__.setdefault("given", set())
            if me.owner not in given:
                given.add(me.owner)
                self.store.score(me.owner, "gifts", 1)""",
        "somebody got two gifts",
    ),
    "an update gets lost between reading and writing": (
        "simulate",
        "game.py",
        """pot = self.pots.change("pot", lambda pot: pot.again(coins=pot.coins + coins) if pot
                               else Pot("pot", coins=coins))""",
        """old = self.pots.read("pot")
        had = old.coins if old else 0
        pot = self.pots.change("pot", lambda _: Pot("pot", coins=had + coins))""",
        "coins got lost",
    ),
    "the bot fails": (
        "simulate",
        "bot.py",
        "if coins and random",
        "if coins[0] and random",
        "IndexError: list index out of range",
    ),
}

#: Seeds soon after which a random world shows what is rare.
FIRST = {
    "a gift is noted in an attribute, so each node gives it once": 7000,
    "an update gets lost between reading and writing": 8000,
}


def made(folder, bug=None):
    """Write a game into a folder, with a bug or without one."""
    assert main(["new", str(folder)]) == 0
    files = {
        "game.py": GAME,
        "bot.py": BOT,
        "tests/rules.py": RULES,
        "tests/test_game.py": TEST,
        "page/main.js": PAGE,
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    if bug is not None:
        _step, name, right, wrong, _said = BUGS[bug]
        text = files[name]
        assert text.count(right) >= 1
        (folder / name).write_text(text.replace(right, wrong))
    return folder


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """The programs that an author has: TypeScript is one of them."""
    assert TSC.exists(), "TypeScript is not on this machine: make test installs it"
    monkeypatch.setenv("PATH", f"{TSC.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # What it knows of Flatlands is the same for all games.
    monkeypatch.setenv("MYPY_CACHE_DIR", str(ROOT / "tests" / "output" / "mypy"))


@pytest.fixture
def folder(tmp_path, request):
    """The folder of a game: each has another name, since Python loads a module once."""
    return tmp_path / f"game_{crc32(request.node.name.encode())}"


def checking(folder, *options, **more):
    """Return `flatlands check` while it runs."""
    command = [sys.executable, "-m", "flatlands", "check", str(folder), *options]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, text=True, **output, **more)


def told(folder, *options, busy=False):
    """Check a game; return the exit code, and the object and the lines that are printed. `busy`:
    the machine may be too busy for the swarm."""
    for _ in tries():
        with checking(folder, "--json", *options) as program:
            output, lines = program.communicate(timeout=20 * PATIENCE)
        found = json.loads(output)
        if busy or "too busy" not in str(found["steps"]["swarm"]["says"]):
            return program.returncode, found, lines
    pytest.fail("the machine was too busy for a swarm each time")


OF_WORLDS = [bug for bug, (step, *_) in BUGS.items() if step == "simulate"]


@pytest.mark.parametrize("bug", OF_WORLDS)
def test_random_worlds_show_a_bug(folder, bug):
    made(folder, bug)
    said, first = BUGS[bug][-1], FIRST.get(bug, 0)
    worlds = search(folder, rules_of(folder))
    assert any(re.search(said, worlds.fails(plan(seed))) for seed in range(first, first + 100))


@pytest.mark.process
@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug not in OF_WORLDS])
def test_types_and_tests_show_a_bug(folder, bug):
    name, *_, said = BUGS[bug]
    check = Check(made(folder, bug), folder.parent)
    with signals.remembered():
        step = check.types() if name == "types" else check.tests()
    assert step.result == FAILED and re.search(said, "\n".join(step.says)), step


@pytest.mark.process
def test_a_game_without_a_bug_is_right(folder):
    code, found, lines = told(made(folder), "--simulate", "3", "--swarm", "1")
    assert code == 0 and found["right"]
    steps = found["steps"]
    assert all(step["result"] == "all right" and step["seconds"] > 0 for step in steps.values())
    assert all(step["output"] == "" for step in steps.values())
    # A hook that no world called would have been tried by nothing.
    worlds, calls = steps["simulate"]["says"]
    assert re.fullmatch(r"[1-9]\d* worlds, [\d.]+ player-hours, seeds up to \d+", worlds)
    called = re.fullmatch("calls of hooks: (.*)", calls)[1].split(", ")
    names = "ask_for_gift", "cheer", "on_step", "on_touch", "plant", "save"
    assert [line.split()[0] for line in called] == [*names]
    assert all(step["says"] == [] for name, step in steps.items() if name != "simulate")
    assert re.fullmatch(
        r"types \.\.\. all right \(.* s\)\ntests \.\.\. all right \(.* s\)\n"
        r"simulate, 3 s \.\.\. all right \(.* s\)\n"
        rf"  {re.escape(worlds)}\n  {re.escape(calls)}\n"
        r"swarm, 1 s \.\.\. all right \(.* s\)\n"
        r"all right: types, tests, simulate, swarm\n",
        lines,
    )


@pytest.mark.process
def test_what_a_game_does_not_have_is_said_and_no_failure(folder, monkeypatch):
    made(folder)
    for name in ("tests/rules.py", "tests/test_game.py", "bot.py"):
        (folder / name).unlink()
    (folder / "tests").rmdir()
    (folder / "game.py").write_text(GAME.replace('"page", Rich', "None, Rich"))
    code, found, _lines = told(folder, "--simulate", "1", "--swarm", "1")
    assert code == 0 and found["right"]
    steps = found["steps"]
    assert steps["types"]["says"] == ["the game has no page whose types could be checked"]
    assert (steps["tests"]["result"], steps["tests"]["says"]) == (
        "not done",
        ["there is no folder tests: flatlands new creates one to start from"],
    )
    assert steps["swarm"]["says"] == ["there is no bot.py with turn(bot), so the bots only walked"]


@pytest.mark.process
def test_what_is_not_installed_is_said_and_no_failure(folder, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("flatlands.check.find_spec", lambda name: None)
    with signals.remembered():
        step = Check(made(folder, "a field has another name in the page"), folder.parent).types()
    assert step.result == "all right"
    assert [why.partition(":")[0] for why in step.says] == [
        "TypeScript did not check the page",
        "mypy did not check game.py",
    ]


@pytest.mark.process
def test_a_failure_is_told_with_the_command_that_plays_it_again(folder):
    code, found, lines = told(made(folder, "a hook fails"), "--simulate", "60", "--swarm", "1")
    error, step = "IndexError: list index out of range", found["steps"]["simulate"]
    assert code == 1 and not found["right"] and step["result"] == FAILED
    story = step["story"]
    assert story["error"] == error and len(story["steps"]) < 10
    assert story["steps"][0]["what"] == "join"
    assert f"  play it again: {story['again']}\n" in lines
    assert story["again"].startswith("flatlands simulate --seed ")
    again = [sys.executable, "-m", *story["again"].split()]
    ended = subprocess.run(again, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 1 and error in ended.stdout
    assert f"on_step of the game failed: {error}" in found["steps"]["swarm"]["says"]
    assert lines.endswith("failed: tests, simulate, swarm; all right: types\n")


@pytest.mark.process
def test_a_game_that_does_not_load_is_told_once(folder):
    made(folder)
    (folder / "game.py").write_text(f"{GAME}\nx = y\n")
    code, found, lines = told(folder)
    assert code == 1 and lines.count("NameError") == 2  # as printed, and as the step says it
    line = GAME.count("\n") + 2
    assert f"game.py, line {line}: NameError" in found["steps"]["types"]["says"][0]
    assert lines.endswith("failed: types; not done: tests, simulate, swarm\n")


@pytest.mark.parametrize(
    "options, why",
    [
        (["--swarm", "0"], "'0' is not a number from 1 to 86400"),
        (["--simulate", "long"], "'long' is not a number"),
        (["--port", "9"], "unrecognized arguments: --port"),
    ],
)
def test_options_that_make_no_sense_are_refused(folder, capsys, options, why):
    made(folder)
    with pytest.raises(SystemExit) as ended:
        main(["check", str(folder), *options])
    assert ended.value.code == 2 and why in capsys.readouterr().err


@pytest.mark.parametrize("name", ["rich", "psutil"])
def test_a_package_that_is_missing_is_named_before_anything_begins(
    folder, capsys, monkeypatch, name
):
    made(folder)
    capsys.readouterr()
    if name == "psutil":
        # flatlands.check itself imports it.
        monkeypatch.delitem(sys.modules, "flatlands.check")
        monkeypatch.delitem(sys.modules, "flatlands.loadtest.kit.processes")
        monkeypatch.setitem(sys.modules, "psutil", None)
    else:
        monkeypatch.setattr("flatlands.check.find_spec", lambda it: None if it == name else it)
    assert main(["check", str(folder)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(f"flatlands: the package {name} is not installed")


@pytest.mark.process
@pytest.mark.parametrize("step", ["tests", "simulate", "swarm"])
def test_ctrl_c_ends_all_that_it_has_started(folder, step):
    made(folder)
    test = folder / "tests" / "test_game.py"
    if step == "tests":
        test.write_text("import time\n\n\ndef test_long() -> None:\n    time.sleep(1000)\n")
    else:
        test.unlink()
    seconds = ("--simulate", "1") if step == "swarm" else ("--simulate", "1000")
    module = {"tests": "pytest", "simulate": "testkit.simulate", "swarm": "flatlands.server"}[step]
    with checking(folder, *seconds, "--swarm", "1000") as program:
        here, found = psutil.Process(program.pid), []

        def begun():
            found[:] = here.children(recursive=True)
            commands = children(here).values()
            return any(module in " ".join(command) for command in commands)

        eventually(begun, f"{step} has not begun")
        program.send_signal(signal.SIGINT)
        _output, errors = program.communicate(timeout=PATIENCE)
    assert program.returncode == 130 and errors == "\nflatlands: the check was interrupted\n"
    eventually(lambda: not any(child.is_running() for child in found), "some are left")


#: A bug for each step: each other one is found by its step, as tests above see.
OF_EACH_STEP = {step: bug for bug, (step, *_) in BUGS.items()}


@pytest.mark.process
@pytest.mark.outside
@pytest.mark.parametrize("bug", OF_EACH_STEP.values())
def test_the_command_fails_and_names_a_bug(folder, bug):
    *_, said = BUGS[bug]
    seconds = "600" if bug in OF_WORLDS else "1"
    code, found, lines = told(made(folder, bug), "--simulate", seconds, "--swarm", "1", busy=True)
    assert code == 1 and re.search(said, "\n".join(found["steps"][BUGS[bug][0]]["says"]))
    assert "failed: " in lines.splitlines()[-1]
