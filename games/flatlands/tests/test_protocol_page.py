"""Tables and numbers of protocol.md, the page of what Flatlands adds, agree with the source."""

import re

import pytest

from flatlands import Mover
from flatlands.games.flatlands.cairns.cairns import STONES_MOST, Cairn
from flatlands.games.flatlands.game import Game
from flatlands.games.flatlands.gems.gems import Gem
from flatlands.games.flatlands.twins import twins
from flatlands.server.storage import reach
from flatlands.server.storage.kinds import declare
from tests.processes import ROOT
from tests.server.test_protocol_page import names, often, refusals, seconds

FOLDER = ROOT / "games" / "flatlands"
PAGE = (FOLDER / "protocol.md").read_text()


def section(name):
    """Return the text of a section of the page."""
    return PAGE.split(f"## {name}\n")[1].split("\n## ")[0]


def test_the_table_of_what_a_client_asks():
    rows = re.findall(
        r"^\| (\w+) \| ([\w, ]*?) ?\| ([^|]*) \|", section("What a client asks"), re.M
    )
    actions = {
        name: action for part in Game.parts for name, action in part._declared_actions.items()
    }
    assert {name: (fields, rate) for name, fields, rate in rows if name in actions} == {
        name: (names(action.row), often(action.rate)) for name, action in actions.items()
    }


@pytest.mark.parametrize("which", ["events", "things"])
def test_the_tables_of_what_flatlands_adds(which):
    """By their names: a page learns their numbers when it is welcomed."""
    rows = dict(re.findall(r"^\| (\w+) \| ([\w, ]+) \|$", section(which.title()), re.M))
    classes = [kind for part in Game.parts for kind in getattr(part, which)]
    kinds = [declare(kind) for kind in classes if not issubclass(kind, Mover)]
    assert len(kinds) > 1
    assert {name: fields for name, fields in rows.items() if name != "name"} == {
        kind.make.__name__.lower(): ", ".join(kind.make._fields[1:]) for kind in kinds
    }


def test_the_table_of_movers():
    rows = dict(re.findall(r"^\| (\w+) \| ([\w, ]+) \|$", section("Movers"), re.M))
    kinds = [kind for part in Game.parts for kind in part.things if issubclass(kind, Mover)]
    assert len(kinds) == 2
    assert {name: fields for name, fields in rows.items() if name != "kind"} == {
        kind.__name__.lower(): ", ".join(field.name for field in kind.fields) for kind in kinds
    }


@pytest.mark.parametrize(
    "sentence",
    [
        f"comes within {Gem.reach:g} tiles of it",
        f"each within {twins.ON_STONE_TILES} tiles of the middle of another stone",
        f"gets it from within {twins.Half.reach} tiles",
        f"within {twins.NOTIFY_WITHIN_TILES} tiles of the gem",
        f"said again every {seconds(twins.NOTIFY_EVERY_MS)} as long",
        f"a moment of the last {reach.AGO_MS} ms",
        f"within {Cairn.reach:g} tiles, and a cairn has at most {STONES_MOST}.",
    ],
)
def test_numbers_on_the_page_are_those_of_the_source(sentence):
    assert sentence in " ".join(PAGE.split())


def test_the_error_codes_of_the_page_are_those_of_the_source():
    found = list(refusals(FOLDER, None))
    assert {codes == {None} for _, codes in found} == {True}, "a game never closes a connection"
    rows = "\n".join(re.findall(r"^\|.*\|$", section("What a client asks"), re.M))
    named = set(re.findall(r"`(\w+)`", rows))
    expected = set("missed far cairn landmark twin ember race garden".split())
    assert expected <= {code for code, _ in found} & named
    assert {code for code, _ in found} - expected <= {"crowded", "key", "muted", "store"}
