"""Which game a server plays, and what remains of a server without one."""

import pydoc
import re
import sys
from contextlib import closing

import pytest

import flatlands
from flatlands.server import settings
from flatlands.server.game import loader
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import Channels
from flatlands.server.query.tables import tables
from flatlands.server.runtime.limits import Rates
from flatlands.testkit import World
from tests.inside import Inside, inside
from tests.processes import BARE, ROOT, ServerProcess
from tests.server.harness import Harness
from tests.server.servers import until
from tests.socket_client import SocketClient


def test_in_the_quiet_game_players_meet_and_nothing_else_is_there():
    with inside("--game", "quiet", STORE_URL="memory://") as server:
        one, other = (SocketClient(server.port).hello(name) for name in ("One", "Other"))
        one.until(lambda: one.sees(other))
        one.walk(1, 0)
        one.send(6, "is anybody here?")
        other.until(lambda: other.model.chat == [("One", "is anybody here?")])
        for action, fields in (("spill", [1]), ("wave", [1])):
            one.send(35, action, fields)
            one.until(lambda: one.model.errors)
            assert one.model.errors.pop() == "game"
        assert one.closed is None and not one.model.things


def test_a_game_has_its_own_options():
    read = settings.read(["--apples", "2"], {"GAME": BARE, "PAUSE": "7"}).of_game
    assert (read.apples, read.pause) == (2, 7)
    assert settings.read(["--game", "quiet"], {"PAUSE": "7"}).of_game is None
    with pytest.raises(SystemExit):
        settings.read(["--game", "quiet", "--apples", "2"], {})
    assert {"paint", "quiet", "snake"} <= {*loader.shipped()}


OWN = """
from dataclasses import dataclass

from flatlands import Cells, Thing, action, chunks, every, number, plain
from flatlands import Game as Engine
from flatlands.server.query.tables import Table
from flatlands.server.settings import option, whole


@dataclass
class Options:
    colours: int = option("number of colours", whole(1, 8), 4)


class Game(Engine):
    def __init__(self, node, options, alone):
        super().__init__(node, options, alone)
        node.stats["colours"] = options.colours


TABLES = {"colour": Table("id", "every colour", lambda source: [])}
"""


@pytest.mark.parametrize("form", ["file", "folder"])
def test_a_game_of_ones_own_is_a_file_or_a_folder(tmp_path, form):
    if form == "file":
        path = given = str(tmp_path / "random.py")
        (tmp_path / "random.py").write_text(OWN)
    else:
        path, given = str(tmp_path), f"{tmp_path}/"
        (tmp_path / "game.py").write_text(f"from .options import Options{OWN}")
        (tmp_path / "options.py").write_text(OWN)
    read = settings.read(["--game", given], {"COLOURS": "3"})
    assert read.of_game.colours == 3 and "COLOURS" in settings.variables(read.game)
    harness = Harness()
    loader.GameMaker(read.game, read.of_game, alone=True)(harness.node)
    assert harness.node.stats["colours"] == 3
    assert ("colour" in tables(path)) == (form == "file")


def has(line):
    """Return the source of a game that has one more line."""
    return OWN.replace("(Engine):", f"(Engine):\n    {line}")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = 1\ny = z\n", "paint.py, line 2: NameError: name 'z' is not defined"),
        ("def f(:\n", "paint.py, line 1: invalid syntax"),
        ("import no_such_module\n", "paint.py, line 1: ModuleNotFoundError: No module named"),
        ("class Game: pass\n", "has no class Game that inherits from flatlands.Game"),
        ("", "has no class Game that inherits from flatlands.Game"),
        (
            "from flatlands import Game\nclass Mine(Game): pass\n",
            "has no class Game that inherits from flatlands.Game",
        ),
        (None, "there is no game at "),
        (OWN.replace("__init__", "on_step"), "options, alone) must be on_step(self, me, tiles)"),
        (f"{OWN}\n\nclass Late(Engine):\n    floor = Cells('late')\n", "paint.py, line"),
        (has("ground = plain"), "must be plain(), terrain() or chunks(function), with"),
        (
            has("ground = chunks(lambda seed, x, y: seed / x)"),
            "paint.py, line 16: ZeroDivisionError",
        ),
        (has("parts = Cells()"), "cannot be called parts"),
        (has("@every(0)\n    def f(self): 0"), "write @every("),
        (has("@every(1, each=True)\n    def f(self): 0"), "f(self) must be f(self, players)"),
        (has("@every(1, each=True, once=True)\n    def f(): 0"), "takes once or each, not both"),
        (has("@action\n    def f(self): 0"), "write @action("),
        (has("x = number(3, 1)"), "from 3 to 1 is not a range"),
        (has("async def on_leave(self, me): 0"), "not async"),
        (has("page = 'bare'"), "must contain <!-- base --> once"),
        (
            OWN.replace("__init__", "on_steps"),
            "no hook is called on_steps: there are on_adopt, on_",
        ),
        (has("thing = [Thing]"), "a game has no list thing: it can"),
        (OWN.replace("node.stats", "node.nothing"), "paint.py, line 18: AttributeError: "),
        (OWN.replace("colours: int", "port: int"), "every server has an option 'port'"),
        ("class Options: pass\n", "the class Options of the game"),
        (has("page = 'no'"), "has no page: there is no "),
    ],
)
def test_a_game_that_cannot_be_loaded_ends_the_start_with_one_sentence(
    tmp_path, capsys, source, said
):
    # A process plays only one game, but this one has loaded others before.
    sys.modules.pop("flatlands_game_paint", None)
    path = tmp_path / "paint.py"
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "index.html").write_text("<!-- base --><!-- joined -->")
    if source is not None:
        path.write_text(source)
    try:
        read = settings.read(["--game", str(path)], {})
        make = loader.GameMaker(read.game, read.of_game, alone=True)
        make.ground(7)
        make(Harness().node)
        told = ""
    except SystemExit as ended:
        assert ended.code == 2
        told = capsys.readouterr().err.splitlines()[-1]
    except loader.InvalidGame as error:
        told = str(error)
    assert said in told


PLAZA = """
from flatlands import Game as Engine, Part, every, plain


class Guests(Part):
    def __init__(self, *args):
        super().__init__(*args)
        self.names = []

    def on_join(self, me, back):
        self.names.append(me.name)
        self.game.guests = self.names


class Game(Engine):
    ground, parts = plain(), [Guests]

    def __init__(self, *args):
        super().__init__(*args)
        self.rounds = 0

    @every(0.05)
    def count(self):
        self.rounds += 1
"""


def test_the_attributes_of_a_game_and_of_a_part_begin_with_its_object(tmp_path):
    (tmp_path / "plaza.py").write_text(PLAZA)
    make = loader.GameMaker(str(tmp_path / "plaza.py"), None, alone=True)
    harness = Harness(play=lambda node, *_: make(node), nodes=2)
    for name, host in zip(("Ada", "Bob"), harness.hosts, strict=True):
        harness.client(host).hello(name)
    harness.run(1000)
    made = [harness.game_of(host) for host in harness.hosts]
    assert [game.guests for game in made] == [["Ada"], ["Bob"]]
    assert all(game.rounds for game in made)


@pytest.mark.parametrize("base", [flatlands.Game, flatlands.Part])
def test_a_game_or_part_that_does_not_begin_its_object_is_told_so(base):
    class Bad(base):
        def __init__(self, *args):
            self.names = []

    class Plaza(flatlands.Game):
        parts = [Bad]

    with pytest.raises(ValueError, match=r"Bad.__init__ must call super\(\).__init__\(\*args\)"):
        World(Bad if base is flatlands.Game else Plaza)


def test_nodes_that_play_different_games_do_not_hear_each_other():
    names = loader.shipped()
    assert (
        len({loader.GameMaker(name, None, alone=True).fingerprint for name in names})
        == len(names)
        > 2
    )
    harness = Harness()
    one, other = (Channels("w", 2013, 16, name) for name in ("a", "b"))
    assert one.square((0, 0)) != other.square((0, 0)) and one.ground_id == other.ground_id
    now, ring = harness.loop.now(), harness.broker.identity
    beat = peer_protocol.pack(
        peer_protocol.Heartbeat(77, now, ring, one.rules, 0, 1000, 0, False, 0, 0, 0, [])
    )
    harness.broker.publish(harness.node.channels.nodes, beat)
    harness.settle()
    assert harness.loop.stats["incompatible"] == 1 and not harness.node.peers.peers


def test_the_package_has_all_that_games_import():
    names = ("Cells", "Game", "Me", "every", "plain", "terrain")
    found = {name: getattr(flatlands, name) for name in names}
    assert found["Game"].ground is found["terrain"]() is not found["plain"]()
    with pytest.raises(AttributeError, match="no attribute 'Node'"):
        assert flatlands.Node


def test_what_an_author_finds_in_the_package_is_what_games_import():
    assert dir(flatlands) == flatlands.__all__
    told = pydoc.render_doc(flatlands, renderer=pydoc.plaintext)
    assert "__getattr__" not in told and "_PUBLIC" not in told
    for name in flatlands.__all__:
        assert re.search(rf"^ +(class )?{name}\(|^ +{name} = ", told, re.M), name


@pytest.mark.parametrize(
    "kind", [kind for name in dir(flatlands) if isinstance(kind := getattr(flatlands, name), type)]
)
def test_a_class_shows_authors_only_what_the_docs_explain(kind):
    pages = (ROOT / "docs" / "games").glob("*.md")
    told = str([re.findall("```.*?```|`[^`]+`", page.read_text(), re.S) for page in pages])
    names = {name for name in dir(kind) if name[0] != "_"} - {*dir(Exception), *dir(tuple)}
    assert {name for name in names if not re.search(rf"\b{name}\b", told)} == set()


HANGS = """
from flatlands import Game as Engine, every
from gevent.monkey import get_original


class Game(Engine):
    @every(0.5)
    def hang(self):
        get_original("time", "sleep")(3600)
"""


@pytest.mark.process
def test_a_hook_that_does_not_return_is_named_with_its_line(tmp_path):
    (tmp_path / "hangs.py").write_text(HANGS)
    with closing(ServerProcess("--game", str(tmp_path / "hangs.py"))) as server:
        until(lambda: 'hangs.py", line 9 in hang' in server.errors())


WAITS = """
import gevent
from flatlands import Game as Engine


class Game(Engine):
    def on_step(self, me, tiles):
        gevent.sleep(0.1)
"""


def test_a_hook_that_waits_where_it_may_not_fails_and_harms_nobody(tmp_path):
    (tmp_path / "waits.py").write_text(WAITS)
    server = Inside("--game", str(tmp_path / "waits.py"))
    with closing(server):
        one = SocketClient(server.port).hello("One")
        one.walk(1, 0)
        one.until(lambda: server.counted().get("hooks_failed"))
        one.send(6, "I walk on")
        one.until(lambda: one.model.chat)
        assert "on_step of the game failed" in server.errors() and "waits.py" in server.errors()
        server.terminate()


def test_what_fails_in_any_module_of_the_engine_is_told_by_the_line_of_the_game():
    try:
        Rates().spend("walk", None, 0)
    except (AttributeError, TypeError) as error:  # the latter if it is compiled
        assert loader.where(error).startswith(f"{__file__}, line ")
