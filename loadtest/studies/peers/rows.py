"""Measures one row of the comparison: one server with one number of players."""

import contextlib
from collections.abc import Callable, Mapping
from typing import TypedDict

from flatlands.loadtest.kit.machine import shared_out
from flatlands.loadtest.kit.processes import Trouble, on_cores
from flatlands.loadtest.studies.peers import programs
from flatlands.loadtest.studies.peers.client import Client, Cost, Figures, block
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


class Row(TypedDict):
    """The figures of a server; those that are not known are None.

    `share` is the delivered share of all expected deliveries, and `per_second` how many of them
    were delivered for each second of the window. `per_cpu_second` counts all deliveries in the
    window, also late ones from before, for each CPU second that the server used in it. `core` is
    the server's share of a core, and `mb` its memory. Latencies are in ms. `notes` are sentences,
    and `raw` is all that was measured.
    """

    name: str
    title: str
    players: int
    share: float | None
    per_second: float | None
    per_cpu_second: float | None
    core: float | None
    mb: float | None
    latency: Mapping[str, float | None]
    notes: list[str]
    raw: Mapping[str, object]


def measure_peer(peer: Peer, players: int, seconds: float) -> Row:
    """Start a peer, measure it for `seconds`, and stop it. Raises Trouble and Interrupted."""
    server_cpus, client_cpus = shared_out()
    with programs.started(programs.command(peer), server_cpus) as server:
        with on_cores(client_cpus):
            target = Target(server.address, "/")
            dialect = load(peer.dialect)
            found = _measured(target, dialect, players, seconds, server.cost, server.death)
            row = _row(peer.name, peer.title, players, found)
        if death := server.death():
            row["notes"].append(death)
    return row


def measure_target(target: Target, dialect: Dialect, players: int, seconds: float) -> Row:
    """Measure a server that runs already, whose CPU and memory are not known. Raises Trouble and
    Interrupted."""
    title = f"{target.name}:{target.address[1]}"
    found = _measured(target, dialect, players, seconds, lambda: (None, None), str)
    return _row(title, title, players, found)


def _measured(
    target: Target,
    dialect: Dialect,
    players: int,
    seconds: float,
    cost: Callable[[], Cost],
    death: Callable[[], str],
) -> Figures:
    with contextlib.closing(Client(target, dialect)) as client:
        try:
            client.join(block(players, SHARE))
            return client.measure(seconds, cost)
        except (Trouble, Refused) as error:
            raise Trouble(death() or str(error)) from error


def _row(name: str, title: str, players: int, found: Figures) -> Row:
    """Return the row of a server from what was measured."""
    notes = []
    if found["lost"]:
        notes.append(f"{found['lost']} players lost their connection")
    if found["late_p99"] > LATE_MS:
        others = "" if found["client"] > BUSY_SHARE else ", as others used its core"
        late = f"{found['late_p99']:.0f} ms late{others}"
        notes.append(f"the client itself sent one move in a hundred {late}")
    if found["client"] > BUSY_SHARE:
        notes.append(f"the client itself used {found['client']:.0%} of a core")
    arrived, cpu = found["arrived"], found["cpu"]
    return {
        "name": name,
        "title": title,
        "players": players,
        "share": found["delivered"] / found["expected"] if found["expected"] else 0.0,
        "per_second": found["delivered"] / found["seconds"],
        "per_cpu_second": arrived / cpu if cpu else None,
        "core": None if cpu is None else cpu / found["seconds"],
        "mb": found["mb"],
        "latency": found["latency"],
        "notes": notes,
        "raw": found,
    }


def measure_flatlands(players: int, seconds: float) -> Row:
    """Measure Flatlands with its own swarm. Raises Trouble and Interrupted."""
    options = (
        *("--scenario", "mill", "--viewport", "24x24"),
        *("--bots", str(players), "--seconds", str(seconds)),
    )
    [run] = run_apart(options, seconds + SWARM_EXTRA)
    figures, verdict = run["figures"], run["verdict"]
    share = None
    if verdict and verdict["expected"]:
        share = verdict["delivered"] / verdict["expected"]
    return {
        "name": FLATLANDS,
        "title": "Flatlands",
        "players": players,
        "share": share,
        "per_second": figures["deliveries/s"],
        "per_cpu_second": figures["per CPU s"],
        "core": figures["server"],
        "mb": figures["MB"],
        "latency": run["latency"],
        "notes": [f"the swarm's oracle found {fault}" for fault in run["faults"]] + run["invalid"],
        "raw": {"figures": figures, "verdict": verdict, "totals": run["totals"]},
    }
