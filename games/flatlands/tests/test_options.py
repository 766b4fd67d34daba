"""What a server of Flatlands has besides what every server has: options, tables, a page."""

import sqlite3
from contextlib import closing
from dataclasses import fields

import pytest

from flatlands.games.flatlands.options import Options
from flatlands.server import settings
from flatlands.server.game import loader
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT
from flatlands.server.query.tables import tables
from flatlands.server.runtime.histogram import MEASURED
from flatlands.server.web.metrics import GAUGES
from tests.processes import ROOT
from tests.server.test_operations_page import counters, explained, without
from tests.server.test_query import World, columns, columns_of_the_page


def test_without_any_option_flatlands_is_played_and_the_first_player_is_not_alone():
    read = settings.read([], {})
    assert read.game == "flatlands" == loader.DEFAULT and loader.DEFAULT in loader.shipped()
    assert (read.of_game.walkers, read.of_game.deer) == (20, 8)
    assert read.store == "sqlite:///flatlands.db"


def test_its_options_are_given_as_those_of_every_server():
    read = settings.read(["--gems", "2"], {"DEER": "1", "WALKERS": " 3 "}).of_game
    assert (read.gems, read.twins, read.deer, read.walkers) == (2, 1, 1, 3)


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        ([], {"GEMS": "61"}, "environment variable GEMS: '61' is not a whole number from 0 to 60"),
        (["--twins", "41"], {}, "'41' is not a whole number from 0 to 40"),
        (["--walkers", "nan"], {}, "'nan' is not a whole number"),
        (["--gem-pause", "nan"], {}, "'nan' is not a number of seconds from 0.1 to 1e6"),
    ],
)
def test_a_wrong_option_is_refused_with_a_sentence(capsys, arguments, environment, said):
    with pytest.raises(SystemExit):
        settings.read(arguments, environment)
    assert said in capsys.readouterr().err


def test_each_of_its_options_is_in_the_help(capsys):
    with pytest.raises(SystemExit):
        settings.read(["--help"], {})
    shown = capsys.readouterr().out
    assert all(f"${one.name.upper()}]" in shown for one in fields(Options))


def test_no_number_is_explained_that_does_not_exist():
    """Those of Flatlands are on the page of all."""
    about = "version commit game node worker compiled workers each build_info cpu_ms times"
    there = counters() | {*about.split(), *MEASURED, *GAUGES}
    assert not without(explained(), there)


def test_its_tables_are_those_of_the_page_and_are_written_into_a_file(tmp_path):
    there = tables("flatlands")
    assert there.keys() - tables("quiet").keys() == {"gem", "cairn", "landmark", "note", "score"}
    assert columns(there) == columns_of_the_page()
    file = tmp_path / "world.db"
    with closing(World(tmp_path, game="flatlands", options=Options(walkers=0, deer=0))) as world:
        world.watcher.start()
        world.asker().copy(str(file))
    with closing(sqlite3.connect(file)) as database:
        counts = {
            name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in there
        }
    assert counts["landmark"] > 0 < counts["node"] and counts["gem"] == 0


def test_the_field_takes_names_as_long_as_the_server_does():
    assert (
        f'maxlength="{PLAYER_NAME_LIMIT}"' in (ROOT / "games/flatlands/page/index.html").read_text()
    )
