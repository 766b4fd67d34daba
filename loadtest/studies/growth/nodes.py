"""The series of nodes: one among more and more, all real or most of them published by one process.

The other nodes are those of others.py, and the players of a server those of
walkers.py. Each function yields the points of a series, and calls `note` with what happens.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from flatlands.loadtest.kit.machine import shared_out
from flatlands.loadtest.kit.processes import START_SECONDS, Trouble, cost
from flatlands.loadtest.studies.children import Children
from flatlands.loadtest.studies.connections.measure import Clients, Ground, ground_of
from flatlands.loadtest.studies.growth import sizes
from flatlands.loadtest.studies.growth.laws import FULL
from flatlands.loadtest.studies.growth.messages import Config, Counts, Near
from flatlands.loadtest.studies.growth.points import Nodes, Real, Walked
from flatlands.loadtest.swarm import target as targets
from flatlands.loadtest.swarm.target import Target

#: How many times its share of the players a worker has room for.
WORKER_ROOM = 1.2

#: Nodes that have come are known after this long: each of a thousand has sent a second heartbeat.
KNOWN_SECONDS = 25.0
#: Walking players have fallen into step after this long.
IN_STEP_SECONDS = 2.0

#: A run is not valid if one request in a hundred is sent later.
LATE_MS = 50.0
#: The process of the other nodes, or that of the players, measures itself if it uses a larger share
#: of a core.
BUSY_SHARE = 0.9

#: ms: a node that answers pings later than this is overloaded, or has too small a part of a core.
SLOW = 250.0

#: Seconds within which a process answers an order.
ANSWER = 60.0


@dataclass
class Counting(Ground):
    """A server of the game that says what it has counted."""

    target: Target = field(kw_only=True)

    def used(self) -> dict[str, float]:
        """Return the CPU seconds of all workers, and the messages that they have received."""
        cpu, _ = cost(self.workers())
        counted = self.target.counted(ANSWER)
        if counted is None:
            raise Trouble("the server does not say what it has counted")
        return {"cpu": cpu, "received": counted["broker_received"]}


class Players:
    """The process with the players of one server, and what they and the server make of it."""

    def __init__(self, family: Children, target: Target, cpus: Sequence[int]) -> None:
        ground = ground_of(target, "the server", cpus)
        self._ground = Counting(**vars(ground), target=target)
        self._clients = Clients(family, self._ground, module="growth.walkers")
        self._number = 0

    def join(self, number: int) -> None:
        """Make `number` players join."""
        self._number = number
        self._clients.join(number)

    def walk(self) -> Walked:
        """Make all players walk for some seconds; return what was measured.

        `cpu` is the share of a core that each process of the server used, on average, `received`
        the messages a second that each received, `p99` the ms until a ping was answered, and
        `invalid` why the figures are not to be believed.
        """
        rate = self._number * sizes.MOVES_A_SECOND
        found, grown = self._clients.loop(
            "open", "walk", rate, IN_STEP_SECONDS, sizes.SECONDS, LATE_MS
        )
        invalid, p99 = list(found["invalid"]), found["latency"]["p99"]
        if found["lost"]:
            invalid.append(f"players lost their connection: {next(iter(found['lost']))}")
        if p99 > SLOW:
            invalid.append("the machine was too busy: pings were answered late")
        if found["unanswered"]:
            invalid.append(f"{found['unanswered']} pings were not answered")
        number = len(self._ground.workers())
        return {
            "cpu": grown["cpu"] / number,
            "received": grown["received"] / number,
            "p99": p99,
            "invalid": invalid,
        }


def _spread(nodes: int) -> int:
    """Return the number of squares of a world with this many nodes."""
    return math.ceil(nodes * sizes.PLAYERS / sizes.PLAYERS_A_SQUARE)


def nodes(note: Callable[[str], None]) -> Iterator[Nodes]:
    """Yield a point for each number of nodes, of which one is real. Raises Trouble and Interrupted.

    `cpu` is the share of a core that the real node uses. `heartbeats` is how much more it uses when
    the others have come, and their players stand, than when it is alone; `rest` is all but that, so
    all of it for one node alone. `received` are the messages a second that it receives, `beats` the
    heartbeats among them and `beats_bytes` their bytes. `near` nodes have players that it hears.
    """
    for number in sizes.NODES:
        yield _one_of(number, note)


def _one_of(number: int, note: Callable[[str], None]) -> Nodes:
    server_cpus, other_cpus = shared_out()
    with Children() as family:
        note(f"one node of {number:,}: starting")
        url, _ = family.broker(sizes.BROKER, other_cpus)
        with targets.started(url, 1, _spread(number), server_cpus) as target:
            return _among(number, family, target, other_cpus, url, note)


def _among(
    number: int,
    family: Children,
    target: Target,
    cpus: Sequence[int],
    url: str,
    note: Callable[[str], None],
) -> Nodes:
    others = None
    if number > 1:
        config: Config = {
            "broker": url,
            "nodes": number - 1,
            "players": sizes.PLAYERS,
            "squares": _spread(number),
            "moves": sizes.MOVES_A_SECOND,
        }
        others = family.module("the process of the other nodes", "growth.others", config, cpus)
        family.answers([others], START_SECONDS)
    players = Players(family, target, cpus)
    note(f"one node of {number:,}: players join")
    players.join(sizes.PLAYERS)
    family.sleep(IN_STEP_SECONDS)
    note(f"one node of {number:,}: alone")
    found = players.walk()
    point: Nodes = {
        "series": "nodes",
        "size": number,
        "heartbeats": None,
        "rest": found["cpu"],
        "near": 0,
        "beats": 0.0,
        "beats_bytes": 0.0,
        "faults": [],
        "cpu": found["cpu"],
        "received": found["received"],
        "p99": found["p99"],
        "invalid": found["invalid"],
    }
    if others is None:
        return point
    others.send({"begin": True})
    near: Near
    [near] = family.answers([others], ANSWER)
    family.sleep(KNOWN_SECONDS)
    note(f"one node of {number:,}: among others who stand")
    standing = players.walk()
    others.send({"walk": True})
    family.sleep(IN_STEP_SECONDS)
    note(f"one node of {number:,}: among others who walk")
    others.send({"count": True})
    before: Counts
    [before] = family.answers([others], ANSWER)
    began = time.monotonic()
    walking = players.walk()
    others.send({"count": True})
    after: Counts
    [after] = family.answers([others], ANSWER)
    seconds = time.monotonic() - began

    def grown(name: Literal["cpu", "heartbeats", "heartbeat_bytes"]) -> float:
        """Return by how much a count of the other nodes grew in a second."""
        return (after[name] - before[name]) / seconds

    invalid = [*found["invalid"], *standing["invalid"], *walking["invalid"]]
    if grown("cpu") > BUSY_SHARE:
        invalid.append(f"the process of the other nodes used {grown('cpu'):.0%} of a core")
    if after["late_ms"] > LATE_MS:
        invalid.append(
            f"one player of the other nodes in a hundred was {after['late_ms']:.0f} ms late"
        )
    if after["lost"] or after["failed"]:
        invalid.append("messages of the other nodes were lost")
    heartbeats = standing["cpu"] - found["cpu"]
    return {
        **point,
        **walking,
        "heartbeats": heartbeats,
        "rest": walking["cpu"] - heartbeats,
        "near": near["near"],
        "beats": grown("heartbeats"),
        "beats_bytes": grown("heartbeat_bytes"),
        "others_cpu": grown("cpu"),
        "invalid": invalid,
    }


def real(note: Callable[[str], None]) -> Iterator[Real]:
    """Yield a point for each number of nodes that are all real. Raises Trouble and Interrupted.

    `cpu`, `received` and `p99` are like those of `nodes`, means over all nodes; `made_cpu` and
    `made_received` are those of one real node among as many of which one process publishes.
    """
    for number in sizes.REAL:
        made = _one_of(number, note)
        name = f"{number} real nodes"
        with Children() as family:
            note(f"{name}: starting")
            url, _ = family.broker(sizes.BROKER)
            # Without a limit, some workers would get many more players than others. With one that
            # leaves no choice, the last would be refused again and again.
            most = ("--max-players", str(math.ceil(sizes.PLAYERS * WORKER_ROOM)), "--gather", "0")
            with targets.started(url, number, _spread(number), options=most) as target:
                players = Players(family, target, ())
                note(f"{name}: players join")
                players.join(number * sizes.PLAYERS)
                family.sleep(KNOWN_SECONDS)
                note(f"{name}: players walk")
                found = players.walk()
                if found["cpu"] * number > FULL * (os.cpu_count() or 1):
                    found["invalid"].append("the nodes together used all cores")
                found["invalid"] += made["invalid"]
                yield {
                    "series": "real",
                    "size": number,
                    "faults": [],
                    **found,
                    "made_cpu": made["cpu"],
                    "made_received": made["received"],
                }
