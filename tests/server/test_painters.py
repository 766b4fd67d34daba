"""Two hundred painters, all at a server that is killed: what others were shown is kept."""

import subprocess
import sys
import time

import pytest

from flatlands.server.kept.rows import TILE
from flatlands.server.messages.channels import WORLD
from flatlands.stores.registry import open_store
from tests.brokers import redis_servers
from tests.processes import PATIENCE, ROOT, ServerProcess
from tests.socket_client import SocketClient

GAME = """
from flatlands import Cells, Game as Engine, plain


class Game(Engine):
    ground = plain()
    floor = Cells({kept})

    def on_step(self, me, tiles):
        self.floor[tiles] = me.id % 255 + 1
"""

BOTS = "loadtest/bots.py --scenario crowd --bots 200 --rate 2 --seconds 60 --url".split()


#: They walk in one square, which has 256 tiles.
MANY = 150


def painted(client):
    """Return the tiles that a client is shown, with their values."""
    side = client.model.side
    return {
        (column * side + place % side, row * side + place // side): value
        for (column, row, _layer), values in client.model.cells.items()
        for place, value in enumerate(values)
        if value
    }


def kept(store, side):
    """Return the tiles that a store has, and check that it has counted them rightly."""
    [queue] = [name for name in store.names().queues if name.startswith("tiles ")]
    found, counts = {}, {}
    for item in store.each(queue):
        column, row = (int(at) * side for at in item.group.split(":"))
        for place, value, *_ in TILE.iter_unpack(item.body):
            found[column + place % side, row + place // side] = value
            counts[str(value)] = counts.get(str(value), 0) + 1
    assert {value: n for value, n in store.top(queue, 300) if n} == counts
    return found


@pytest.mark.outside
@pytest.mark.process
@pytest.mark.parametrize("how", ["", "kept='first'"], ids=["behind", "first"])
def test_what_others_were_shown_is_kept_when_the_server_of_all_painters_is_killed(tmp_path, how):
    (tmp_path / "painted.py").write_text(GAME.format(kept=how))
    store_url = f"sqlite:///{tmp_path / 'store.db'}"
    with redis_servers.running() as redis:
        options = (
            *("--game", str(tmp_path / "painted.py"), "--store", store_url, "--spread", "1"),
            *("--broker", f"redis://127.0.0.1:{redis.port}", "--max-per-address", "0"),
        )
        killed, other = ServerProcess(*options), ServerProcess(*options)
        store = open_store(store_url, WORLD)
        bots = subprocess.Popen(
            [sys.executable, *BOTS, f"ws://127.0.0.1:{killed.port}/ws"],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            watcher = SocketClient(other.port).hello("Ada", (96, 64))
            watcher.until(lambda: len(watcher.model.players) > 200)
            watcher.until(lambda: len(painted(watcher)) > MANY)
            # They paint over each other's tiles, some thousand times a second.
            watcher.pump(3)
            killed.kill()
            there = kept(store, watcher.model.side) if how else {}
            shown = painted(watcher)
            # Nothing was told before the store had it.
            assert not how or shown.keys() <= there.keys()
            watcher.pump(12)
            assert len(watcher.model.players) == 1
            # Nobody paints any more: what was under way at the end has come by now.
            time.sleep(1)
            watcher.pump(1)
            shown, there = painted(watcher), kept(store, watcher.model.side)
            assert len(shown) > MANY
            if how:
                # What the store has had last, nobody was told of: it is read within a minute.
                watcher.until(lambda: painted(watcher) == there, 90)
            else:
                lost = {tile: value for tile, value in shown.items() if there.get(tile) != value}
                assert not lost
        finally:
            bots.terminate()
            bots.wait(PATIENCE)
            killed.close()
            other.close()
            store.close()
