"""The files in which servers of different games keep what lasts, when they start in one folder."""

from contextlib import ExitStack, closing

import pytest

from flatlands.server.game.cell_layer import TILES_QUEUE
from flatlands.server.game.loader import DEFAULT
from flatlands.server.storage.lease import LEASE_QUEUE
from flatlands.stores.base import NEVER_DUE_MS, Item
from flatlands.stores.registry import open_store
from tests.inside import inside
from tests.processes import python, serving

OWN = """
from flatlands import Game as Engine, plain

class Game(Engine):
    ground = plain()
"""


def keeps(path, *queues):
    """Put an item into some queues of a file."""
    with closing(open_store(f"sqlite:///{path}", "flatlands")) as store:
        for queue in queues:
            store.put(queue, [Item("id", NEVER_DUE_MS, "", b"")])


def test_games_that_are_served_from_one_folder_have_a_file_each(tmp_path):
    own = tmp_path / "mine.py"
    own.write_text(OWN)
    here = {"STATE_DIRECTORY": str(tmp_path), "STORE_URL": ""}
    with ExitStack() as stack:
        for game in ("quiet", "paint", str(own)):
            stack.enter_context(inside("--game", game, **here))
    names = {"quiet.db", "paint.db", "mine.db"}
    assert {path.name for path in tmp_path.glob("*.db")} == names


@pytest.mark.process
def test_a_game_does_not_begin_anew_beside_what_it_kept_in_the_file_of_all_games(tmp_path):
    shared, own = tmp_path / "flatlands.db", tmp_path / "paint.db"
    keeps(shared, f"{LEASE_QUEUE} once paint 2013-16", "things flatlands 2013-16")
    here = {"STATE_DIRECTORY": str(tmp_path), "STORE_URL": ""}
    with serving("--game", "paint", **here):
        assert own.exists()
    for path in tmp_path.glob("paint.db*"):
        path.unlink()
    keeps(shared, f"{TILES_QUEUE} paint.floor 2013-16")
    asked = "-m", "server", "--port", "0", "--game", "paint"
    ended = python(*asked, env=here)
    assert ended.returncode == 1 and not own.exists()
    assert f"{shared} has data of this game, from before" in ended.stderr
    assert f"give --store sqlite:///{shared} (STORE_URL) to keep" in ended.stderr
    with serving("--game", "paint", "--store", f"sqlite:///{shared}"):
        assert not own.exists()
    # Flatlands, whose name the file has, goes on with its own.
    with serving("--game", DEFAULT, **here):
        assert not own.exists()
