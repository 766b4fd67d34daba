"""Measures one row of the comparison: one server with one number of players."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flatlands.loadtest.kit.machine import shared_out
from flatlands.loadtest.kit.processes import Trouble, on_cores
from flatlands.loadtest.studies.peers import programs
from flatlands.loadtest.studies.peers.client import Client, Cost, block
from flatlands.loadtest.studies.peers.dialect import Dialect, Refused, load
from flatlands.loadtest.studies.peers.programs import Peer
from flatlands.loadtest.swarm.result_files import run_apart
from flatlands.loadtest.swarm.target import Target

FLATLANDS = "flatlands"

#: Players in each square, as in the swarm's scenario "mill".
SHARE = 20

#: The client was too slow to be believed if it sent one move in a hundred later.
LATE_MS = 50.0
#: The client was too slow to be believed if it used a larger share of its core.
BUSY_SHARE = 0.95

#: Seconds that a run of the swarm may take in addition to measuring.
SWARM_EXTRA = 180


@dataclass
class Row:
    """The figures of a server; those that are not known are None.

    `share` is the delivered share of all expected deliveries. `per_second` and `per_cpu_second` are
    deliveries in a second, and in a CPU second of the server. `core` is the server's share of a
    core, and `mb` its memory. Latencies are in ms. `notes` are sentences.
    """

    name: str
    title: str
    players: int
    share: float | None = None
    per_second: float | None = None
    per_cpu_second: float | None = None
    core: float | None = None
    mb: float | None = None
    latency: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)


def measure_peer(peer: Peer, players: int, seconds: float) -> Row:
    """Start a peer, measure it for `seconds`, and stop it. Raises Trouble and Interrupted."""
    row = Row(peer.name, peer.title, players)
    server_cpus, client_cpus = shared_out()
    with programs.started(programs.command(peer), server_cpus) as server:
        with on_cores(client_cpus):
            target = Target(server.address, "/")
            _measure(row, target, load(peer.dialect), seconds, server.cost, server.death)
        if death := server.death():
            row.notes.append(death)
    return row


def measure_target(target: Target, dialect: Dialect, players: int, seconds: float) -> Row:
    """Measure a server that runs already, whose CPU and memory are not known. Raises Trouble and
    Interrupted."""
    title = f"{target.name}:{target.address[1]}"
    row = Row(title, title, players)
    _measure(row, target, dialect, seconds, lambda: (None, None), str)
    return row


def _measure(
    row: Row,
    target: Target,
    dialect: Dialect,
    seconds: float,
    cost: Callable[[], Cost],
    death: Callable[[], str],
) -> None:
    with contextlib.closing(Client(target, dialect)) as client:
        try:
            client.join(block(row.players, SHARE))
            found = row.raw = client.measure(seconds, cost)
        except (Trouble, Refused) as error:
            raise Trouble(death() or str(error)) from error
    arrived, cpu = found["arrived"], found["cpu"]
    row.share = found["delivered"] / found["expected"] if found["expected"] else 0.0
    row.per_second, row.mb, row.latency = arrived / found["seconds"], found["mb"], found["latency"]
    if cpu is not None:
        row.per_cpu_second, row.core = arrived / cpu if cpu else None, cpu / found["seconds"]
    if found["lost"]:
        row.notes.append(f"{found['lost']} players lost their connection")
    if found["late_p99"] > LATE_MS:
        others = "" if found["client"] > BUSY_SHARE else ", as others used its core"
        late = f"{found['late_p99']:.0f} ms late{others}"
        row.notes.append(f"the client itself sent one move in a hundred {late}")
    if found["client"] > BUSY_SHARE:
        row.notes.append(f"the client itself used {found['client']:.0%} of a core")


def measure_flatlands(players: int, seconds: float) -> Row:
    """Measure Flatlands with its own swarm. Raises Trouble and Interrupted."""
    row = Row(FLATLANDS, "Flatlands", players)
    options = (
        *("--scenario", "mill", "--viewport", "24x24"),
        *("--bots", str(players), "--seconds", str(seconds)),
    )
    [run] = run_apart(options, seconds + SWARM_EXTRA)
    figures, verdict = run["figures"], run["verdict"]
    row.notes = [f"the swarm's oracle found {fault}" for fault in run["faults"]] + run["invalid"]
    row.raw = {"figures": figures, "verdict": verdict, "totals": run["totals"]}
    if verdict and verdict["expected"]:
        row.share = verdict["delivered"] / verdict["expected"]
    row.per_second, row.per_cpu_second = figures["deliveries/s"], figures["per CPU s"]
    row.core, row.mb, row.latency = figures["server"], figures["MB"], run["latency"]
    return row
