"""All that games, their tests, bots and pages may use, as one text in Markdown: names, parameters,
what they do, and what is guaranteed.

It is read from the docstrings of what is installed, the types of the page, and the bold sentences
of docs/games/.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import flatlands
from flatlands import bot, testkit
from flatlands.needs import ROOT
from flatlands.server.game.game_store import GameStore
from flatlands.server.game.part_hooks import PlayerView
from flatlands.server.web.page_types import LIBRARY_TYPES

#: Where the docs are: linked in the package, or beside it in a copy that has lost its links.
DOCS = next(it for it in (Path(__file__).with_name("docs"), ROOT / "docs") if it.is_dir())

#: What is described below each title.
CHAPTERS: dict[str, list[object]] = {
    "from flatlands import …": [
        found
        for name in flatlands.__all__
        if inspect.getmodule(found := getattr(flatlands, name)) is not bot
    ],
    "What games are given": [GameStore, PlayerView],
    "from flatlands.bot import …": [
        bot.Bot,
        bot.Player,
        bot.Thing,
        bot.Refused,
        bot.turns,
        bot.play,
    ],
    "from flatlands.testkit import …": [testkit.World, testkit.Player],
}

#: The classes whose objects the engine makes, so that nobody calls them.
MADE = {GameStore, PlayerView, bot.Player, bot.Refused, bot.Thing, testkit.Player} | {
    getattr(flatlands, name)
    for name in ("Game", "Guest", "Me", "Part", "PlayerGone", "Present", "StoreUnavailable")
}

#: A comment `#:` of an attribute, and the line below it, in the source of a class.
ATTRIBUTE = re.compile(r"((?:^ +#: .*\n)+) +(?:self\.)?(\w+)((?: = |: ).*)$", re.M)


def markdown() -> str:
    """Return the text."""
    parts = [
        f"# All names and guarantees of Flatlands {flatlands.__version__}",
        "## Guarantees",
        *[f"From docs/games/{page}:\n\n{kept}" for page, kept in guarantees()],
    ]
    for title, things in CHAPTERS.items():
        parts += [f"## {title}", *[part for thing in things for part in described(thing)]]
    types = LIBRARY_TYPES.read_text()
    return "\n\n".join([*parts, "## In a page: ./game.js", f"```ts\n{types}```\n"])


def guarantees() -> Iterator[tuple[str, str]]:
    """Yield the pages of docs/games/ that guarantee something, and what: their bold sentences, with
    the row of a table that has them."""
    for path in sorted((DOCS / "games").glob("*.md")):
        text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.S | re.M)
        found = []
        for block in re.findall(r"^\|.*|(?:^[^|\n].*\n)+", text, re.M):
            _, *cells = re.split(r" ?(?<!\\)\| ?", block) if block[0] == "|" else ("", "", block)
            for bold in re.findall(r"\*\*(.+?)\*\*", " ".join(cells[1:]), re.S):
                said = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", " ".join(bold.split())).rstrip(".:")
                found.append(
                    f"- {cells[0]}: {said}." if cells[0] else f"- {said[0].upper()}{said[1:]}."
                )
        if found:
            yield path.name, "\n".join(found)


def described(thing: object) -> Iterator[str]:
    """Yield what a class or function is, and then each attribute and method of a class."""
    name = getattr(thing, "__name__", "")
    if not isinstance(thing, type):
        yield f"### {name}\n\n`{name}{signature(thing)}`\n\n{told(thing)}"
        return
    public = {one for things in CHAPTERS.values() for one in things if isinstance(one, type)}
    bases = [base for base in thing.__mro__[1:] if base in public]
    of = f"({', '.join(base.__name__ for base in bases)})" if bases else ""
    made = "" if thing in MADE else f"\n\n`{name}{signature(thing)}`"
    yield f"### class {name}{of}{made}\n\n{told(thing)}"
    yield from members(thing, bases)


def members(kind: type, bases: list[type]) -> Iterator[str]:
    """Yield the attributes and methods of a class, but not those of its `bases`."""
    seen = {name for base in bases for name in dir(base)}
    pages = "".join(path.read_text() for path in (DOCS / "games").glob("*.md"))
    for one in kind.__mro__:
        if not one.__module__.startswith("flatlands.") or one in bases:
            continue
        for comment, name, rest in ATTRIBUTE.findall(inspect.getsource(one)):
            # Others are of use to the engine only.
            if name not in seen and re.search(rf"[`.]{name}\b", pages):
                seen.add(name)
                what = " ".join(re.sub(r"^ +#: ", "", comment, flags=re.M).split())
                shown = name + rest.partition("  #")[0]
                yield f"#### {kind.__name__}.{name}\n\n`{shown}`\n\n{what}"
        for name, value in vars(one).items():
            if name[0] == "_" or name in seen or not inspect.getdoc(value):
                continue
            value = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            if isinstance(value, property):
                shown = f"{name}: {signature(value.fget).partition(' -> ')[2]}"
            elif callable(value) and not isinstance(value, type):
                shown = f"{name}{signature(value)}"
            else:
                continue
            seen.add(name)
            yield f"#### {kind.__name__}.{name}\n\n`{shown}`\n\n{told(value)}"


def signature(call: object) -> str:
    """Return the parameters of something that is called, and what it returns, without the modules
    of types."""
    assert callable(call)
    found = str(inspect.signature(call))
    found = re.sub(r"(?<!= )'(\w+(?:\[\w+\])?)'", r"\1", found)
    found = re.sub(r"\b(?:[a-z]\w*\.)+(?=[A-Z_])|~|(?<=[(])(?:self|cls)(?:, )?", "", found)
    return found.removesuffix(" -> None")


def told(thing: object) -> str:
    """Return what the docstring of something says."""
    return inspect.getdoc(thing) or ""
