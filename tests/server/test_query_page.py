"""Each line of docs/query.md, run as it is printed against three servers on a Redis and 500 bots.

What is answered must be what the bots themselves know, or what is read in Redis here, without the
game's code. Some bots have points; most stand; a player leaves a cairn; the clock of one server is
wrong.
"""

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from typing import NamedTuple

import msgpack
import pytest
import redis

from flatlands.loadtest.kit.processes import Program
from flatlands.loadtest.swarm import dues
from flatlands.loadtest.swarm.generator import main as generate
from flatlands.loadtest.swarm.plan import Plan
from flatlands.server.things.board import BOARD, Board
from flatlands.stores.base import Item, Score
from flatlands.stores.registry import open_store
from flatlands.world.grid import SIDE
from flatlands.world.track import UNIT
from tests.brokers.redis_servers import Redis
from tests.brokers.servers import run_url
from tests.processes import PATIENCE, ROOT, clean_environment, serving
from tests.server.fast_clock_server import FAST
from tests.socket_client import SocketClient

pytestmark = [pytest.mark.load, pytest.mark.alone]

PAGE = (ROOT / "docs" / "query.md").read_text()

#: How many there are, how many join in a second, and in how many squares they begin.
BOTS, JOINS, SQUARES = 500, 120, 36

#: How many bots have points; how many gems each cell has, and the seconds after which one lies
#: somewhere for which no place was found: after the test; and how many ripen far away.
HUNTERS, GEMS, PAUSE, RIPENING = 60, 20, 3600, 7

#: The queue of the gems, and how it is called in Redis.
QUEUE = "gem 2013-16"
KEY = f"{{flatlands}}/queue/{QUEUE}"

QUERY = [sys.executable, "-m", "server.query"]


def examples():
    """Return the statements of the page by the sentences above them."""
    part = PAGE.split("## Examples")[1].split("\n## ")[0]
    found = re.findall(r"^(\S.*[:?])\n\n((?:    .+\n)+)", part, re.M)
    assert len(found) == len(re.findall(r"^    SELECT", part, re.M))
    return {sentence: re.sub("^    ", "", block, flags=re.M) for sentence, block in found}


def lines():
    """Return the command lines of the page; those of some lines in one."""
    found = re.findall(r"^    (python -m server\.query (?:.*\\\n)*.*)$", PAGE, re.M)
    return [re.sub(r"\\\n +", "", line) for line in found]


class Player(NamedTuple):
    """A player as its own client knows it: `x` and `y` in units, and since when it has stood, in ms
    of the test's clock."""

    name: str
    node: int
    x: int
    y: int
    stands: float

    @property
    def square(self):
        return self.x // (SIDE * UNIT), self.y // (SIDE * UNIT)


class Bots:
    """A process of the swarm, at one server. `epoch` is when the test's clock was 0, in us, and
    `memory` that of all processes for due times."""

    def __init__(self, server, scenario, indices, epoch, memory):
        self.indices, self.node = indices, json.loads(server.get("stats"))["node"]
        plan = Plan(
            address=("127.0.0.1", server.port),
            name="127.0.0.1",
            tls="",
            path="/ws",
            scenario=scenario,
            rate=2,
            viewports=((24, 24),),
            indices=indices,
            sample=10**6,
            joins=JOINS / 3,
            epoch=epoch,
            cpus=(),
            returns=False,
            bots=BOTS,
            dues=memory,
        )
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=generate, args=(theirs, plan), daemon=True)
        self.process.start()
        theirs.close()
        #: What it reported last while bots play, and all that they did and were told.
        self.progress = self.reported = None

    def order(self, *order):
        """Give an order; what was reported before it does not count."""
        self.hear()
        self.progress, self.reported = None, None
        self._pipe.send(order)

    def hear(self):
        """Receive what has come: a process whose pipe is full stands still."""
        while self._pipe.poll():
            kind, content = self._pipe.recv()
            if kind == "progress":
                self.progress = content
            else:
                self.reported = content

    def close(self):
        self.order("end")
        self.process.join(PATIENCE)
        self._pipe.close()
        assert self.process.exitcode == 0


class World:
    """Three servers with their bots, and what these know: the players by their ids, and the points
    by the names of those who have any."""

    def __init__(self, url, stack):
        self.url, self._stack = url, stack
        self.builder = None
        self.epoch = time.monotonic_ns() // 1000 - 2**31
        self.variables = {"BROKER_URL": url, "STORE_URL": url, "SECRET_KEY": "s" * 32}
        rules = ("--spread", str(SQUARES), "--gems", str(GEMS), "--gem-pause", str(PAUSE))
        self.servers = [
            stack.enter_context(
                serving(*rules, "--max-per-address", "0", module=module, **self.variables)
            )
            for module in ("server", "server", "tests.server.fast_clock_server")
        ]
        memory = dues.room(BOTS)
        # Those of the third server never leave their squares, and move only in the end.
        self.swarm = [
            Bots(server, scenario, range(number, BOTS, 3), self.epoch, memory)
            for number, (server, scenario) in enumerate(
                zip(self.servers, ("wander", "wander", "mill"), strict=True)
            )
        ]
        for bots in self.swarm:
            stack.callback(bots.close)
        self.until(
            lambda: all(b.progress and b.progress["ready"] == len(b.indices) for b in self.swarm)
        )
        self._walk()
        self.builder = self._build()
        self.until(self._grown)
        self.players = self._known()
        self.points = self._give()

    def now(self):
        """Return the ms of the test's clock."""
        return (time.monotonic_ns() // 1000 - self.epoch) / 1000

    def until(self, condition, seconds=PATIENCE):
        """Wait until a condition is true; meanwhile everybody is listened to."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it never came"
            time.sleep(0.05)
            for bots in self.swarm:
                bots.hear()
            if self.builder is not None:
                self.builder.pump()

    def _walk(self):
        # Where it stands a bot knows from what answers its own moves.
        self.swarm[2].order("stop")
        for bots in self.swarm[:2]:
            bots.order("move")
        self.until(lambda: all(b.progress and b.progress["moves"] >= BOTS for b in self.swarm[:2]))
        for bots in self.swarm[:2]:
            bots.order("stop")
        # Once more, since what was told first may be older than the order.
        for _ in range(2):
            for bots in self.swarm:
                bots.progress = None
            self.until(lambda: all(b.progress and not b.progress["unanswered"] for b in self.swarm))

    def _build(self):
        """Let a player leave a cairn, and stay. It cannot on the plaza: then another one joins,
        who begins in another square."""
        for _ in range(SQUARES):
            client = builder(self.servers[0])
            if client is not None:
                self._stack.callback(client.close)
                return client
        raise AssertionError("no cairn can be left anywhere")

    def _grown(self):
        """Say whether all gems lie that are to lie before the test is over."""
        gems = stored(self)
        return gems and not any(not gem.place and gem.due_in < 10**6 for gem in gems)

    def _known(self):
        players = {}
        for bots in self.swarm:
            bots.order("report")
        self.until(lambda: all(bots.reported for bots in self.swarm))
        for bots in self.swarm:
            report = bots.reported
            for life in report["lives"]:
                assert not life["left"], life["why"]
                *_, x, y, dx, dy, start, duration = map(int, life["timeline"][-1])
                players[life["id"]] = Player(
                    f"bot-{life['index']}",
                    bots.node,
                    x + dx,
                    y + dy,
                    start + duration - life["offset"],
                )
        assert len(players) == BOTS
        players[self.builder.model.id] = Player(
            "Wren", self.swarm[0].node, *self.builder.at(), self.now()
        )
        return players

    def _give(self):
        """Give points to some players, and let some gems ripen where nobody is; return the
        points by the players' names."""
        store, board, points = open_store(self.url, "flatlands"), Board(None, None, None), {}
        for id, player in [*self.players.items()][:HUNTERS]:
            owner, points[player.name] = board.owner(f"key of {player.name}"), 1 + id % 30
            [(queue, item)] = board.entry(owner, id, player.name)
            store.put(queue, [item])
            store.add(Score(BOARD, owner, points[player.name]))
        gem = msgpack.packb((8,))
        store.put(QUEUE, [Item(f"9999:9999:{n}", 10**7, "", gem) for n in range(RIPENING)])
        store.close()
        return points

    def run(self, *commands):
        """Run command lines, some at a time; return (what each printed, when it began)."""
        path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
        environment = {**clean_environment(), **self.variables, "PATH": path}

        def one(command):
            began = self.now()
            ended = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                shell=isinstance(command, str),
                stdin=subprocess.DEVNULL,
            )
            assert ended.returncode == 0 and "Traceback" not in ended.stderr, ended.stderr
            return ended.stdout, began

        with ThreadPoolExecutor(3) as threads:
            running = [threads.submit(one, command) for command in commands]
            self.until(lambda: all(each.done() for each in running), len(running) * PATIENCE)
            return [each.result() for each in running]

    def check(self, sentences, **more):
        """Ask the statements under some sentences of the page, and check the answers."""
        asked = [[*QUERY, "--json", examples()[sentence]] for sentence in sentences]
        for sentence, (said, began) in zip(sentences, self.run(*asked), strict=True):
            CHECKS[sentence](self, [json.loads(line) for line in said.splitlines()], began, **more)

    def run_lines(self, *lines):
        """Run lines of the page at the addresses of this world; return what each printed."""
        here = [
            line.replace("redis://127.0.0.1", self.url).replace(
                "http://localhost:8000/", self.servers[0].url
            )
            for line in lines
        ]
        return [said for said, _ in self.run(*here)]

    def crowds(self):
        return Counter(player.square for player in self.players.values())

    def near(self):
        """Return the players in the 25 squares around the origin, by their names."""
        return {
            player.name
            for player in self.players.values()
            if all(-2 <= place <= 2 for place in player.square)
        }


def builder(server):
    """Return a player who has left a cairn, or None if none can be left where it began."""
    client = SocketClient(server.port).hello("Wren")
    client.send(10, "a-key-that-only-Wren-knows")
    client.send(12, "nothing [red]here[/], but \u00fcs")
    client.until(lambda: client.model.errors or cairns(client))
    if not client.model.errors:
        return client
    client.close()
    return None


def cairns(client):
    """Return the cairns that a client is shown: the fields of each, by its square."""
    return {
        square: fields
        for square, things in client.model.things.items()
        for kind, *fields in things
        if kind == 1
    }


# What the answers to the page's statements must be. `began` is when each was asked, and the bots of
# the nodes `walking` walk within their squares.


def served(world, rows, began):
    assert {row["node"]: row["count(*)"] for row in rows} == Counter(
        player.node for player in world.players.values()
    )


def large(world, rows, began):
    told = [json.loads(server.get("stats")) for server in world.servers]
    assert {(row["id"], row["connections"], row["heard"]) for row in rows} == {
        (one["node"], one["connections"], one["squares"]) for one in told
    }
    assert sum(row["connections"] for row in rows) == len(world.players)
    assert all(row["connections"] == row["players"] for row in rows)
    sizes = {one["node"]: one["memory_bytes"] / 1e6 for one in told}
    assert all(sizes[row["id"]] * 0.8 < row["mb"] < sizes[row["id"]] * 1.2 for row in rows)
    assert [row["mb"] for row in rows] == sorted((row["mb"] for row in rows), reverse=True)


def fullest(world, rows, began, walking=()):
    crowds = world.crowds()
    busy = {player.square for player in world.players.values() if player.node in walking}
    assert [row["players"] for row in rows] == sorted(crowds.values(), reverse=True)[:10]
    for row in rows:
        square = row["col"], row["row"]
        assert row["players"] == crowds[square]
        assert row["nodes"] == len({p.node for p in world.players.values() if p.square == square})
        assert (row["events_s"] > 0) == (square in busy)


def wrong(world, rows, began):
    fast = world.swarm[2].node
    # On a very busy machine another one may be late.
    [row] = [row for row in rows if row["age_ms"] <= 2000 or row["id"] == fast]
    assert row["id"] == fast and row["state"] == "alive"
    assert abs(row["clock_ms"] + FAST * 1000) < 1000


def hunters(world, rows, began):
    near = world.near()
    best = sorted((n for name, n in world.points.items() if name in near), reverse=True)
    assert [row["gems"] for row in rows] == best[:10] and len(best) > 10
    assert len({row["name"] for row in rows}) == 10
    for row in rows:
        assert row["name"] in near and row["gems"] == world.points[row["name"]]


def crowd(world, rows, began, walking=()):
    crowds = world.crowds()
    standing = {
        player.name: player.stands
        for player in world.players.values()
        if crowds[player.square] > 10 and player.node not in walking
    }
    longest = sorted(standing.values())[9]
    assert len({row["name"] for row in rows}) == 10
    # One that walks may have stood for long too, because its way was blocked.
    rows = [row for row in rows if row["name"] in standing]
    assert rows
    for row in rows:
        # Clocks are known to some ms, and on a busy machine less well.
        stands = standing[row["name"]]
        assert stands <= longest + 500
        assert began - 1500 < stands + row["seconds"] * 1000 < world.now() + 500


def states(world, rows, began):
    dues = {"lying": [], "ripening": []}
    for gem in stored(world):
        dues["lying" if gem.place else "ripening"].append(gem.due_in)
    assert {row["state"]: row["count(*)"] for row in rows} == {
        state: len(some) for state, some in dues.items()
    }
    for row in rows:
        assert 0 <= row["next_s"] - min(dues[row["state"]]) // 1000 < PATIENCE
    # Some others ripen, for which no place was found.
    assert len(dues["ripening"]) >= RIPENING


def nearest(world, rows, began):
    lying = [gem.place for gem in stored(world) if gem.place]
    tiles = {
        player.name: min(abs(player.x - x) + abs(player.y - y) for x, y in lying) / UNIT
        for player in world.players.values()
    }
    far = sorted((away for away in tiles.values() if away > 10), reverse=True)
    assert [row["tiles"] for row in rows] == far[:10] and 0 < len(far) < len(tiles)
    assert all(tiles[row["name"]] == row["tiles"] for row in rows)


def written(world, rows, began):
    [((column, row), fields)] = cairns(world.builder).items()
    *_, name, text, stones = fields
    assert rows == [{"col": column, "row": row, "name": name, "text": text, "stones": stones}]


def queues(world, rows, began):
    found = parts(world, "queue/", "/items")
    assert {f"queue/{row['name']}/items": row["items"] for row in rows} == {
        name: members for name, (members, _) in found.items()
    }
    assert {"name", "gem 2013-16", "cairn 2013-16"} <= {row["name"] for row in rows}


def sizes(world, rows, began):
    found = parts(world)
    assert {row["name"]: row["rows"] for row in rows} == {
        name: members for name, (members, _) in found.items()
    }
    assert [row["bytes"] for row in rows] == sorted((row["bytes"] for row in rows), reverse=True)
    for row in rows:
        _, size = found[row["name"]]
        assert size / 2 < row["bytes"] < size * 2
        assert row["each"] == row["bytes"] // row["rows"]


class Gem(NamedTuple):
    """A gem in Redis: its place in units, empty if it lies nowhere, and the ms until it is due."""

    place: tuple[int, ...]
    due_in: int


def stored(world):
    """Return all gems that Redis has."""
    with redis.Redis.from_url(world.url) as client:
        seconds, micros = client.time()
        dues = dict(client.zrange(f"{KEY}/due", 0, -1, withscores=True))
        return [
            Gem(
                tuple(msgpack.unpackb(msgpack.unpackb(packed, raw=True)[3])[1:]),
                int(dues[id]) - seconds * 1000 - micros // 1000,
            )
            for id, packed in client.hgetall(f"{KEY}/items").items()
        ]


def parts(world, kind="", end=""):
    """Return what Redis says of the store's keys of a kind: (members, bytes) by name."""
    found = {}
    with redis.Redis.from_url(world.url) as client:
        for key in client.scan_iter(match=f"{{flatlands}}/{kind}*{end}"):
            if client.type(key) == b"string":
                # The id of the world in this store.
                continue
            count = client.hlen if client.type(key) == b"hash" else client.zcard
            name = key.decode().removeprefix("{flatlands}/")
            found[name] = count(key), client.memory_usage(key, samples=0)
    return found


FULLEST = "The fullest squares, and how busy they are:"
WRONG = "Is any node silent, or its clock wrong by more than a second?"
CROWD = "Who stands still in a crowd?"

#: What checks the answer to a statement of the page, by the sentence above it.
CHECKS = {
    "Who serves how many:": served,
    "How large each server is:": large,
    FULLEST: fullest,
    WRONG: wrong,
    "The best gem hunters who are near the plaza now:": hunters,
    CROWD: crowd,
    "Gems by state, and the seconds until the next one is ripe, or is forgotten:": states,
    "The nearest gem for each player who has none within ten tiles:": nearest,
    "What is written on cairns, by those who still play:": written,
    "How much is in the store:": queues,
    "What a row takes, with its indexes:": sizes,
}


def check_lines(world):
    """Run the page's command lines, and check what they print and what objects they make."""
    first, *morphs = lines()
    to, back = morphs[:4], morphs[4:]
    assert all("--to" in line for line in to) and all("--from" in line for line in back)
    said, *_ = world.run_lines(first, *to)
    counts = Counter(player.node for player in world.players.values())
    assert dict(re.findall(r"^ *(\d+) +(\d+) *$", said, re.M)) == {
        str(node): str(count) for node, count in counts.items()
    }
    with redis.Redis.from_url(world.url, decode_responses=True) as client:
        hashes = {key: client.hgetall(key) for key in client.scan_iter(match="player:*")}
        assert hashes == {
            f"player:{id}": {
                "id": str(id),
                "name": p.name,
                "x": str(p.x / UNIT),
                "y": str(p.y / UNIT),
            }
            for id, p in world.players.items()
        }
        assert dict(client.zrange("gems", 0, -1, withscores=True)) == world.points
        found = {key: client.smembers(key) for key in client.scan_iter(match="square:*")}
        inside = {}
        for player in world.players.values():
            column, row = player.square
            inside.setdefault(f"square:{column}:{row}", set()).add(player.name)
        assert found == inside
        queue = client.lrange("queue", 0, -1)
        assert sorted(queue) == sorted(player.name for player in world.players.values())
        since = {player.name: player.stands for player in world.players.values()}
        assert all(since[one] > since[other] - 500 for one, other in pairwise(queue))
    hashes, scores = world.run_lines(*back)
    east = {(p.name, f"{p.x / UNIT:.2f}") for p in world.players.values() if p.x > 10 * UNIT}
    assert set(re.findall(r"^(\S+) +(-?\d+\.\d\d) *$", hashes, re.M)) == east
    assert dict(re.findall(r"^(bot-\d+) +(\d+)\.00 *$", scores, re.M)) == {
        name: str(n) for name, n in world.points.items()
    }


def check_silence(world):
    """A node that falls silent has a row until it counts as dead."""
    stopped = world.servers[1]
    command = [*QUERY, "--json", "--watch", "0.2", examples()[WRONG]]
    with Program(command, "the query", environment=world.variables) as asking:
        assert asking.line(PATIENCE) is not None
        stopped.process.send_signal(signal.SIGSTOP)
        try:
            while True:
                line = asking.line(PATIENCE)
                assert line is not None, asking.errors()
                row = json.loads(line)
                if row["id"] == world.swarm[1].node:
                    break
        finally:
            stopped.process.send_signal(signal.SIGCONT)
        assert row["age_ms"] > 2000 and row["state"] == "alive"


def test_each_line_of_the_page_is_answered_with_what_the_bots_know():
    assert CHECKS.keys() == examples().keys()
    with run_url(Redis) as url, ExitStack() as stack:
        world = World(url, stack)
        world.check([*CHECKS])
        check_lines(world)
        walkers = world.swarm[2]
        walkers.order("move")
        world.check([FULLEST, CROWD], walking=(walkers.node,))
        walkers.order("stop")
        check_silence(world)
