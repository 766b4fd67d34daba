"""`flatlands types`: what it says of a game, and what TypeScript then finds in a page."""

import re
import shutil

import pytest

from flatlands import (
    Cells,
    Event,
    Me,
    Mover,
    Part,
    Record,
    Records,
    Thing,
    action,
    chunks,
    flag,
    number,
    plain,
    terrain,
    text,
)
from flatlands import Game as Engine
from flatlands.__main__ import TEMPLATE
from flatlands.server.game import loader
from flatlands.server.web.page_types import CHECKS, LIBRARY_TYPES, TYPES, keep, types_of
from flatlands.testkit import World
from tests.processes import ROOT, clean_environment, python
from tests.typescript import CHECK, TSC, ran


class Painter(Me):
    """A player."""

    colour, motto, ready = number(0, 7), text(0, 20), flag()


class Coin(Thing, reach=1):
    """Lies around: /* not */ for ever."""

    worth, _from, default = number(1, 3), text(0, 9), number(0, 2**53 - 1)


class Ghost(Mover):
    pale, _why = flag(), text(0, 9)


class Cheer(Event):
    loud = flag()


class Run(Record):
    ms = number(0, 9)


class Bells(Part):
    things, events = (Coin, Ghost), (Cheer,)
    rung = Cells()
    messages = {"bell rings": {"loud": bool, "this": int}}

    @action()
    def new(self, me, new: int = number(1, 5), delete: bool = flag()):
        """Ring the bell."""


class Game(Engine[Painter]):
    ground, me, parts = plain(), Painter, (Bells,)
    floor, runs = Cells(), Records(Run)
    messages = {"board": {"rows": list[tuple[str, int]], "of": int}, "over": {}}

    @action()
    def spill(self, me, word: str = text(1, 20)):
        """Spill paint.

        All of it.
        """


def of_game(kind):
    """Return the types of a game without those that are the same for all."""
    return types_of(kind).removesuffix(LIBRARY_TYPES.read_text())


def test_all_that_a_game_and_its_parts_declare_is_written():
    _header, *blocks = of_game(Game).split("\n\n")
    assert blocks == [
        """/** What the page can ask for. */
export interface Actions {
  /**
   * Spill paint.
   *
   * All of it.
   * @param word 1 to 20 characters
   */
  spill(word: string, $shown?: Shown): boolean;
  /**
   * Ring the bell.
   * @param new_ 1 to 5
   */
  "new"(new_: number, delete_: boolean, $shown?: Shown): boolean;
}""",
        """/** What everybody sees of a player. */
export interface PlayerValues {
  /** 0 to 7 */
  colour: number;
  /** 0 to 20 characters */
  motto: string;
  ready: boolean;
}""",
        """/** The kinds of things, and what is shown of each. */
export interface Things {
  /** Lies around: /* not * / for ever. */
  Coin: {
    /** 1 to 3 */
    worth: number;
    /** 0 to 2^53 - 1 */
    default: number;
  };
}""",
        """/** The kinds of movers, and what is shown of each. */
export interface Movers {
  Ghost: {
    pale: boolean;
  };
}""",
        """/** The kinds of events, and what is told of each. */
export interface Events {
  Cheer: {
    loud: boolean;
  };
}""",
        """/** The messages to the page, and the fields of each. */
export interface Messages {
  board: [rows: [string, number][], of: number];
  over: [];
  "bell rings": [loud: boolean, this_: number];
}""",
        """/** The layers of cells. */
export type Layers = "floor" | "Bells.rung";""",
        "export type Ground = null;",
        "",
    ]


def test_a_game_that_declares_nothing_may_send_anything():
    class Bare(Engine):
        ground = plain()

    assert "Messages {\n  [name: string]: Sent[];\n}" in of_game(Bare)
    assert "export interface Actions {}" in of_game(Bare)
    assert "export type Layers = never;" in of_game(Bare)


def test_the_names_are_those_of_which_pages_are_told():
    world = World(Game)
    world.join("Ada")
    known = [tuple(kind) for kind in world.game(0).node.play.kinds()]
    written = of_game(Game)
    for what, _, name, fields in known:
        if what == "cells":
            assert f'"{name}"' in written
        elif what in ("thing", "mover", "event"):
            [block] = re.findall(rf"^  {name}: {{(.*?)^  }};", written, re.M | re.S)
            assert re.findall(r"^    (\w+):", block, re.M) == fields
        elif what == "player":
            [block] = re.findall(r"PlayerValues {(.*?)^}", written, re.M | re.S)
            assert re.findall(r"^  (\w+):", block, re.M) == fields
    assert {what for what, *_ in known} == {"thing", "mover", "event", "cells", "player"}


def copied(name, to):
    """Copy a game of this project, by its name, or the template of new games; return its folder."""
    source, folder = TEMPLATE if name == "template" else ROOT / "games" / name, to / name
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    return folder


def written(folder):
    """Write the types of a game's page; return the folder of the page."""
    ended = python("-m", "flatlands", "types", folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"{folder / 'page' / TYPES} says what {folder} declares\n"
    return folder / "page"


@pytest.mark.process
@pytest.mark.parametrize("name", ["template", "paint", "snake"])
def test_a_page_passes_with_the_types_of_its_game_and_nothing_in_it_is_any(tmp_path, name):
    page = written(copied(name, tmp_path))
    assert ran("node", CHECK, page / CHECKS) == ""


#: Games, what is renamed in their game.py, and what TypeScript says of their pages then.
RENAMED = [
    (
        "paint",
        {
            "    colour = number(0": "    hue = number(0",
            "def spill(": "def pour(",
            '"board": {': '"table": {',
            "    floor = Cells(": "    room = Cells(",
        },
        [
            "Property 'colour' does not exist on type 'PlayerValues'",
            "Property 'spill' does not exist on type 'Actions'",
            "Argument of type '\"board\"' is not assignable to parameter of type '\"table\"'",
            "Argument of type '\"floor\"' is not assignable to parameter of type '\"room\"'",
        ],
    ),
    (
        "snake",
        {
            "class Crumb": "class Piece",
            "things = (Food, Crumb)": "things = (Food, Piece)",
            "    colour = number": "    hue = number",
            "list[tuple[str, int]]": "int",
            "def restart(self, me: Snake)": "def restart(self, me: Snake, at: int = number(0, 9))",
        },
        [
            "Argument of type '\"Crumb\"' is not assignable to parameter of type 'keyof Things'",
            "Property 'colour' does not exist on type '{ hue: number; }'",
            "Property 'map' does not exist on type 'number'",
            "is not assignable to parameter of type 'number'",
        ],
    ),
]


@pytest.mark.process
@pytest.mark.parametrize(("name", "changes", "said"), RENAMED, ids=lambda it: str(it)[:8])
def test_what_is_renamed_in_a_game_is_an_error_in_its_page(tmp_path, name, changes, said):
    folder = copied(name, tmp_path)
    source = (folder / "game.py").read_text()
    for old, new in changes.items():
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    (folder / "game.py").write_text(source)
    found = ran(TSC, "-p", written(folder) / CHECKS)
    assert [sentence for sentence in said if sentence not in found] == [], found


#: A game that declares anything, by the names and types that the library uses.
ANY_GAME = """\
export type Actions = Record<string, (...fields: any[]) => boolean>;
export type PlayerValues = Record<string, any>;
export type Things = Record<string, Record<string, any>>;
export type Movers = Record<string, Record<string, any>>;
export type Events = Record<string, Record<string, any>>;
export type Messages = Record<string, any[]>;
export type Layers = string;
export type Ground = {ground};
"""

#: What is written of the library is what the library has.
SAME = """\
import * as written from './game.js';
import * as library from '{static}/game.js';

export const game: written.Game = library.join();
export const join: typeof written.join = library.join;
export const hint: typeof written.HINT = library.HINT;
export const how = (options: written.Options): Parameters<typeof library.join>[0] => options;
"""


@pytest.mark.process
def test_the_types_of_the_library_are_those_of_its_modules(tmp_path):
    grounds = []
    for ground in (plain(), terrain(), chunks(lambda seed, column, row: bytes(4096))):
        kind = type("Game", (Engine,), {"ground": ground})
        grounds += re.findall(r"type Ground = (.*);", types_of(kind))
    assert len({*grounds}) == 3
    types = ANY_GAME.replace("{ground}", " | ".join(grounds)) + LIBRARY_TYPES.read_text()
    (tmp_path / TYPES).write_text(types)
    (tmp_path / "same.ts").write_text(SAME.replace("{static}", str(ROOT / "static")))
    shutil.copy(TEMPLATE / "page" / CHECKS, tmp_path)
    (tmp_path / "own.d.ts").write_text(types_of(Game))
    own = "--skipLibCheck", "false", "--skipDefaultLibCheck", "true"
    assert ran(TSC, "-p", tmp_path / CHECKS, "--checkJs", "false", *own) == ""


def refusal(*arguments, cwd):
    """Return the sentence with which `flatlands types` ends."""
    ended = python("-m", "flatlands", "types", *arguments, cwd=cwd, env=HERE)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    return ended.stderr


HERE = {**clean_environment(), "PYTHONPATH": str(ROOT)}


@pytest.mark.process
def test_types_that_cannot_be_written_are_said_in_one_sentence(tmp_path):
    folder = copied("template", tmp_path)
    game, page = folder / "game.py", folder / "page"
    source = game.read_text()
    assert "there is no game.py in " in refusal(cwd=tmp_path)
    assert "nowhere: flatlands new creates one" in refusal("nowhere", cwd=tmp_path)
    game.write_text(f"{source}\nx = y\n")
    lines = len(source.splitlines()) + 2
    assert refusal(cwd=folder) == (
        f"flatlands: the game does not load: {game}, line {lines}: NameError: name 'y' is not "
        "defined\n"
    )
    game.write_text(source.replace('"rows": list[tuple[int, int]]', '"rows": float'))
    assert "rows of the message board cannot be float: pages can be sent" in refusal(cwd=folder)
    game.write_text(source.replace('page = "page"', ""))
    assert "has no page of its own: it needs no types" in refusal(cwd=folder)
    game.write_text(source)
    (page / TYPES).mkdir()
    assert refusal(cwd=folder) == f"flatlands: cannot write {page / TYPES}: Is a directory\n"
    (page / TYPES).rmdir()
    (page / "game.js").touch()
    assert "game.js takes the place of the library: rename it" in refusal(cwd=folder)
    shutil.rmtree(page)
    assert f"has no page: there is no {page / 'index.html'}" in refusal(cwd=folder)


def test_a_page_of_which_an_editor_knows_nothing_gets_no_types_from_play(tmp_path, caplog):
    folder = copied("template", tmp_path)
    page = folder / "page"
    (page / CHECKS).unlink()
    keep(str(folder))
    assert not (page / TYPES).exists()
    shutil.copy(TEMPLATE / "page" / CHECKS, page)
    keep(str(folder))
    before = (page / TYPES).stat().st_mtime_ns
    assert (page / TYPES).read_text() == types_of(loader.kind_of(str(folder)))
    keep(str(folder))
    # It was not written again: an editor would read it again.
    assert (page / TYPES).stat().st_mtime_ns == before
    (page / TYPES).unlink()
    (page / TYPES).mkdir()
    keep(str(folder))
    assert "the types of the page are not up to date" in caplog.text
