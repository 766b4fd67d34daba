"""`flatlands types`: writes page/game.d.ts, which says what the page of a game can use.

A page imports the library as `./game.js`. TypeScript, and so an editor, finds game.d.ts beside the
page's modules, and then knows the actions, fields and messages of that game.
"""

import argparse
import inspect
import json
import logging
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import flatlands
from flatlands.server.game import loader
from flatlands.server.game.chunks import Chunks
from flatlands.server.game.game import AnyGame, AnyPart, declared_cells, known_parts, store_name
from flatlands.server.game.page_messages import in_typescript
from flatlands.server.messages.table import NUMBER, Field
from flatlands.server.storage.kinds import Mover
from flatlands.world.terrain import Terrain

log = logging.getLogger("flatlands")

#: The file that is written.
TYPES = "game.d.ts"

#: The file by which an editor checks the page's modules.
CHECKS = "jsconfig.json"

#: Types that are the same for every game.
LIBRARY_TYPES = Path(__file__).with_name("library.d.ts")

HEADER = """\
// Written by `flatlands types`: do not edit. This is what the page of the game can use, so that
// editors complete and check it. `flatlands play` writes it again whenever the game changes.
"""

#: No parameter of a function, or field of a message, can have these names in TypeScript.
RESERVED = frozenset(
    "arguments await break case catch class const continue debugger default delete do else enum "
    "eval export extends false finally for function if implements import in instanceof interface "
    "let new null package private protected public return static super switch this throw true try "
    "typeof var void while with yield".split()
)

_PLAIN = {int: "number", str: "string", bool: "boolean"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the types of a game, and have editors check its page; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="flatlands types",
        description="Write game.d.ts into the folder of a game's page, and jsconfig.json if it has "
        "none: editors then complete and check the page's modules by what the game declares. "
        "In a page with jsconfig.json, flatlands play does so too, whenever the game changes.",
    )
    where = "a folder with a game.py, or a Python file (default: the current folder)"
    parser.add_argument("game", metavar="GAME", nargs="?", default=".", help=where)
    kept = "write to FILE, as JSON, which folder the page has: null if the game has no page"
    parser.add_argument("--json", type=Path, metavar="FILE", help=kept)
    given = parser.parse_args(arguments)
    name = given.game
    try:
        kind = loader.kind_of(name)
        page = loader.page_of(name, kind)
        if given.json is not None:
            given.json.write_text(json.dumps({"page": page and str(page)}))
        if page is None:
            raise ValueError(f"the game {name} has no page of its own: it needs no types")
        if not (page / CHECKS).exists():
            shutil.copyfile(
                Path(flatlands.__file__).parent / "template" / "page" / CHECKS, page / CHECKS
            )
        write(kind, page)
    except ValueError as error:
        print(f"flatlands: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"flatlands: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{page / TYPES} says what {name} declares")
    return 0


def keep(name: str) -> None:
    """Write the types of a game again, if editors check its page. Raises InvalidGame."""
    kind = loader.kind_of(name)
    page = loader.page_of(name, kind)
    if page is None or not (page / CHECKS).exists():
        return
    try:
        write(kind, page)
    except (OSError, ValueError) as error:
        log.warning("the types of the page are not up to date: %s", error)


def write(kind: type[AnyGame], page: Path) -> None:
    """Write the types of a game into the folder of its page, unless they are there. Raises OSError,
    and ValueError if the page has a module in place of the library's."""
    if (page / "game.js").exists():
        raise ValueError(f"{page / 'game.js'} takes the place of the library: rename it")
    file, text = page / TYPES, types_of(kind).encode()
    if not file.exists() or file.read_bytes() != text:
        file.write_bytes(text)


def types_of(kind: type[AnyGame]) -> str:
    """Return the types of a game, in TypeScript."""
    parts = known_parts(kind)
    messages = {name: fields for part in parts for name, fields in part.messages.items()}
    listed = [_message(name, fields) for name, fields in messages.items()]
    if not kind.messages:
        # It may send others.
        listed.append("[name: string]: Sent[];")
    layers = [
        json.dumps(f"{store_name(part)}.{name}".partition(".")[2])
        for part in parts
        for name, _ in declared_cells(part)
    ]
    values, ground = _members(kind.me.fields), "null"
    if issubclass(kind.ground, Chunks):
        ground = "{ value(x: number, y: number): number | null } | null"
    elif issubclass(kind.ground, Terrain):
        ground = "{ kind(x: number, y: number): number } | null"
    kinds = [one for part in parts for one in part.things]
    things = [_kind(one, one._shown) for one in kinds if not issubclass(one, Mover)]
    movers = [_kind(one, one._shown) for one in kinds if issubclass(one, Mover)]
    events = [_kind(one, one._shown) for part in parts for one in part.events]
    return "\n".join(
        [
            HEADER,
            _interface("Actions", "What the page can ask for.", _actions(parts)),
            _interface("PlayerValues", "What everybody sees of a player.", values),
            _interface("Things", "The kinds of things, and what is shown of each.", things),
            _interface("Movers", "The kinds of movers, and what is shown of each.", movers),
            _interface("Events", "The kinds of events, and what is told of each.", events),
            _interface("Messages", "The messages to the page, and the fields of each.", listed),
            f"/** The layers of cells. */\nexport type Layers = {' | '.join(layers) or 'never'};\n",
            f"export type Ground = {ground};\n",
            LIBRARY_TYPES.read_text(),
        ]
    )


def _actions(parts: Iterable[type[AnyPart]]) -> list[str]:
    found = []
    for part in parts:
        for name, action in part._declared_actions.items():
            said, given = [_cleaned(getattr(part, name).__doc__)], []
            for field in action.row.fields:
                parameter = _parameter(field.name)
                given.append(f"{parameter}: {_PLAIN[field.type]}")
                if limits := _limits(field):
                    said.append(f"@param {parameter} {limits}")
            given.append("$shown?: Shown")
            found.append(f"{_comment(*said)}{_key(name)}({', '.join(given)}): boolean;")
    return found


def _kind(kind: type, fields: Iterable[Field]) -> str:
    return f"{_comment(_cleaned(kind.__doc__))}{kind.__name__}: {_braces(_members(fields))};"


def _members(fields: Iterable[Field]) -> list[str]:
    return [f"{_comment(_limits(one))}{one.name}: {_PLAIN[one.type]};" for one in fields]


def _message(name: str, fields: Mapping[str, object]) -> str:
    each = [f"{_parameter(field)}: {in_typescript(kind)}" for field, kind in fields.items()]
    return f"{_key(name)}: [{', '.join(each)}];"


def _parameter(name: str) -> str:
    return f"{name}_" if name in RESERVED else name


def _key(name: str) -> str:
    # A method `new` without quotes would be a constructor.
    return name if name.isidentifier() and name != "new" else json.dumps(name)


def _limits(field: Field) -> str:
    """Return what is said of the values of a field."""
    if field.type is bool:
        return ""
    high = "2^53 - 1" if field.high == NUMBER else field.high
    return f"{field.low} to {high}{' characters' if field.type is str else ''}"


def _cleaned(docstring: str | None) -> str:
    return inspect.cleandoc(docstring or "")


def _interface(name: str, about: str, members: list[str]) -> str:
    return f"/** {about} */\nexport interface {name} {_braces(members)}\n"


def _braces(members: Iterable[str]) -> str:
    lines = [f"  {line}".rstrip() for member in members for line in member.splitlines()]
    return "\n".join(["{", *lines, "}"]) if lines else "{}"


def _comment(*paragraphs: str) -> str:
    lines = [line for one in paragraphs if one for line in one.splitlines()]
    if not lines:
        return ""
    safe = [line.replace("*/", "* /") for line in lines]
    if len(safe) == 1:
        return f"/** {safe[0]} */\n"
    return "\n".join(["/**", *(f" * {line}".rstrip() for line in safe), " */\n"])


if __name__ == "__main__":
    sys.exit(main())
