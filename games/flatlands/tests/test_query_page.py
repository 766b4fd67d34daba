"""Each line of docs/query.md, against three nodes on a Redis, of which one has a wrong clock.

The answers must be what the nodes know of their own players, or what the swarm's own code reads
in the store.
"""

import os
import re
import sys
from collections import Counter
from contextlib import closing
from itertools import pairwise
from types import SimpleNamespace

import gevent
import msgpack
import pytest
import redis
from gevent import subprocess

from flatlands import Me
from flatlands.games.flatlands.cairns.cairns import Cairns
from flatlands.games.flatlands.options import Options
from flatlands.games.flatlands.treasure import BOARD
from flatlands.server.squares.peers import NodeLoad
from flatlands.world.grid import SIDE
from flatlands.world.track import UNIT, Heading
from tests.brokers.redis_servers import Redis
from tests.brokers.servers import run_url
from tests.processes import PATIENCE, ROOT, clean_environment
from tests.server.servers import until
from tests.server.test_query import World

pytestmark = pytest.mark.process

PAGE = (ROOT / "docs" / "query.md").read_text()

#: ms by which the clock of the third node is fast.
FAST = 5000

#: The clocks of the nodes, and what they play.
OF = (0, 0, FAST), "flatlands", Options(walkers=0, deer=0)


def examples():
    """Return the statements of the page by the sentences above them."""
    part = PAGE.split("## Examples")[1].split("\n## ")[0]
    found = re.findall(r"^(\S.*[:?])\n\n((?:    .+\n)+)", part, re.M)
    assert len(found) == len(re.findall(r"^    SELECT", part, re.M))
    return {sentence: re.sub("^    ", "", block, flags=re.M) for sentence, block in found}


def lines():
    """Return the command lines of the page, each joined to one line."""
    found = re.findall(r"^    (python -m server\.query (?:.*\\\n)*.*)$", PAGE, re.M)
    return [re.sub(r"\\\n +", "", line) for line in found]


class Page:
    """The world that is asked: `players` has what the nodes know of their players; all stand."""

    def __init__(self, world, url):
        self.world, self.url, self.asker = world, url, world.asker()
        self.players = [
            SimpleNamespace(
                id=resident.id,
                name=resident.name,
                node=node.id,
                square=resident.square,
                x=resident.track.at(node.loop.now())[0] / UNIT,
                y=resident.track.at(node.loop.now())[1] / UNIT,
                since=node.loop.now() - resident.track.end,
            )
            for node in world.nodes
            for resident in node.residents.by_id.values()
        ]
        self.crowds = Counter(player.square for player in self.players)
        self.gems = gems(url)

    def ask(self, sentence):
        """Return the answer to the statement below a sentence, a dict for each row."""
        answer = self.asker.ask(examples()[sentence])
        return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]

    def run(self, line):
        """Run a line of the page at the addresses of this world; return what it printed."""
        path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
        environment = {"PATH": path, "BROKER_URL": self.url, "STORE_URL": self.url}
        ended = subprocess.run(
            line.replace("redis://127.0.0.1", self.url),
            cwd=ROOT,
            env={**clean_environment(), **environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            shell=True,
            stdin=subprocess.DEVNULL,
        )
        assert ended.returncode == 0 and "Traceback" not in ended.stderr, ended.stderr
        return ended.stdout

    def near(self):
        """Return the names of the players in the 25 squares around the origin."""
        return {p.name for p in self.players if all(-2 <= place <= 2 for place in p.square)}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with (
        run_url(Redis) as url,
        closing(World(tmp_path_factory.mktemp("page"), url, url, *OF)) as world,
    ):
        populate(world)
        world.watcher.start()
        # By now the players that walked a little have been heard, and stand.
        gevent.sleep(5)
        page = Page(world, url)
        known = "SELECT count(*), sum(walking) FROM player"
        until(lambda: page.asker.ask(known).rows == [(len(page.players), 0)])
        yield page


def stop(node, resident):
    node.movement.act(resident, 2, node.loop.now(), Heading(0, 0))


def populate(world):
    """Let players join on all nodes, some in a crowd; most have points, and one a cairn."""
    for n, node in enumerate(world.nodes):
        node.peers.set_load(NodeLoad(50_000_000 + 1_000_000 * n, n, 10 * n))
    for n in range(150):
        node = world.nodes[n % 3]
        column, row = (7, 7) if n < 40 else (n % 10 - 4, n // 10 % 6 - 3)
        place = (column * SIDE + n % 13) * UNIT, (row * SIDE + n % 11) * UNIT
        resident = node.residents.join(f"bot-{n}", place)
        if n % 3:
            world.store.add(node.play.boards.score(BOARD, f"{n}", n))
            queue, item = node.play.boards.entry(f"{n}", resident.id, resident.name)
            world.store.put(queue, [item])
        if n % 5 == 0:
            node.movement.act(resident, 1, node.loop.now(), Heading(0, 1))
            gevent.spawn_later(n / 60, stop, node, resident)
    node = world.nodes[0]
    wren = node.residents.join("Wren", (9 * SIDE * UNIT, -9 * SIDE * UNIT))
    wren.owner = "a key"
    Cairns(node.game).build(Me(node, wren), "[red]here[/], \u00fcs")


# What the answers to the statements of the page must be.


def wrong(page, rows):
    [row] = rows
    assert row["id"] == page.world.nodes[2].id and row["state"] == "alive"
    assert abs(row["clock_ms"] + FAST) < 500


def hunters(page, rows):
    best = [(p.name, int(p.name[4:])) for p in page.players if p.name in page.near()]
    best = sorted((n for _, n in best if n % 3), reverse=True)
    assert [row["gems"] for row in rows] == best[:10] and len(best) > 10
    assert all(row["name"] == f"bot-{row['gems']}" for row in rows)


def states(page, rows):
    dues = {"lying": [], "ripening": []}
    for place, due_in in page.gems:
        dues["lying" if place else "ripening"].append(due_in)
    assert {row["state"]: row["count(*)"] for row in rows} == {
        state: len(some) for state, some in dues.items() if some
    }
    for row in rows:
        assert 0 <= min(dues[row["state"]]) // 1000 - row["next_s"] < PATIENCE


def nearest(page, rows):
    lying = [place for place, _ in page.gems if place]
    tiles = {
        p.name: min(abs(p.x - x / UNIT) + abs(p.y - y / UNIT) for x, y in lying)
        for p in page.players
    }
    far = sorted((away for away in tiles.values() if away > 10), reverse=True)
    assert [row["tiles"] for row in rows] == far[:10] and 0 < len(far) < len(tiles)
    assert all(tiles[row["name"]] == row["tiles"] for row in rows)


def written(page, rows):
    expected = {"col": 9, "row": -9, "name": "Wren", "text": "[red]here[/], \u00fcs", "stones": 1}
    assert rows == [expected]


def queues(page, rows):
    found = parts(page, "queue/", "/items")
    assert {f"queue/{row['name']}/items": row["items"] for row in rows} == {
        name: members for name, (members, _) in found.items()
    }
    assert {"name", "things flatlands 2013-16"} <= {row["name"] for row in rows}


def sizes(page, rows):
    found = parts(page)
    assert {row["name"]: row["rows"] for row in rows} == {
        name: members for name, (members, _) in found.items()
    }
    assert [row["bytes"] for row in rows] == sorted((row["bytes"] for row in rows), reverse=True)
    for row in rows:
        _, size = found[row["name"]]
        assert size / 2 < row["bytes"] < size * 2
        assert row["each"] == row["bytes"] // row["rows"]


def gems(url):
    """Return the gems in Redis: the place of each in units, empty if it lies nowhere, and the ms
    until it is due."""
    key = "{flatlands}/queue/things flatlands 2013-16"
    with redis.Redis.from_url(url) as client:
        seconds, micros = client.time()
        dues = dict(client.zrange(f"{key}/due", 0, -1, withscores=True))
        bodies = {
            id: msgpack.unpackb(msgpack.unpackb(packed, raw=True)[3])
            for id, packed in client.hgetall(f"{key}/items").items()
            if id.startswith(b"Gem:")
        }
    now = seconds * 1000 + micros // 1000
    found = []
    for id, (_version, column, row, waits, _values) in bodies.items():
        middle = column * UNIT + UNIT // 2, row * UNIT + UNIT // 2
        found.append((() if waits else middle, int(dues[id]) - now))
    return found


def parts(page, kind="", end=""):
    """Return what Redis says about the store's keys of a kind: (members, bytes) by name."""
    found = {}
    with redis.Redis.from_url(page.url) as client:
        for key in client.scan_iter(match=f"{{flatlands}}/{kind}*{end}"):
            if client.type(key) == b"string":
                # This is the id of the world in this store.
                continue
            count = client.hlen if client.type(key) == b"hash" else client.zcard
            name = key.decode().removeprefix("{flatlands}/")
            found[name] = count(key), client.memory_usage(key, samples=0)
    return found


#: The check of the answer to a statement of the page, by the sentence above it. The tables of
#: players, nodes and squares are checked in test_query.py: other statements need only answer.
CHECKS = {
    "Is any node silent, or its clock wrong by more than a second?": wrong,
    "The best gem hunters who are near the plaza now:": hunters,
    "Gems by state, and the seconds until the next one is ripe, or is forgotten:": states,
    "The nearest gem for each player who has none within ten tiles:": nearest,
    "What is written on cairns, by those who still play:": written,
    "How much is in the store:": queues,
    "What a row takes, with its indexes:": sizes,
}


@pytest.mark.parametrize("sentence", examples())
def test_each_statement_is_answered_with_what_the_nodes_know(page, sentence):
    rows = page.ask(sentence)
    assert rows
    CHECKS.get(sentence, lambda *_: None)(page, rows)


def test_each_line_prints_or_makes_what_the_nodes_know(page):
    first, *morphs = lines()
    to, back = morphs[:4], morphs[4:]
    assert all("--to" in line for line in to) and all("--from" in line for line in back)
    counts = Counter(player.node for player in page.players)
    assert dict(re.findall(r"^ *(\d+) +(\d+) *$", page.run(first), re.M)) == {
        str(node): str(count) for node, count in counts.items()
    }
    for line in to:
        page.run(line)
    inside = {}
    for player in page.players:
        column, row = player.square
        inside.setdefault(f"square:{column}:{row}", set()).add(player.name)
    with redis.Redis.from_url(page.url, decode_responses=True) as client:
        hashes = {key: client.hgetall(key) for key in client.scan_iter(match="player:*")}
        assert hashes == {
            f"player:{p.id}": {"id": str(p.id), "name": p.name, "x": str(p.x), "y": str(p.y)}
            for p in page.players
        }
        points = {f"bot-{n}": n for n in range(150) if n % 3}
        assert dict(client.zrange("gems", 0, -1, withscores=True)) == points and len(points) == 100
        assert inside == {key: client.smembers(key) for key in client.scan_iter(match="square:*")}
        queue = client.lrange("queue", 0, -1)
    since = {player.name: player.since for player in page.players}
    assert sorted(queue) == sorted(since)
    assert all(since[one] < since[other] + 500 for one, other in pairwise(queue))
    hashes, scores = map(page.run, back)
    east = {(p.name, f"{p.x:.2f}") for p in page.players if p.x > 10}
    assert set(re.findall(r"^(\S+) +(-?\d+\.\d\d) *$", hashes, re.M)) == east
    assert dict(re.findall(r"^(bot-\d+) +(\d+)\.00 *$", scores, re.M)) == {
        name: str(n) for name, n in points.items()
    }


def test_a_node_that_falls_silent_has_a_row_until_it_counts_as_dead(page):
    sentence = "Is any node silent, or its clock wrong by more than a second?"
    one = page.world.nodes[1]
    one.loop.end()
    one.bus.broker.close()

    def silent():
        return [row for row in page.ask(sentence) if row["id"] == one.id]

    found = []
    until(lambda: found.extend(silent()) or found)
    assert found[0]["age_ms"] > 2000 and found[0]["state"] == "alive"
    until(lambda: not page.asker.ask(f"SELECT id FROM node WHERE id = {one.id}").rows)
    assert not page.asker.ask(f"SELECT id FROM player WHERE node = {one.id}").rows
