"""One row of the comparison: a server, measured with so many players."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from loadtest.peers import programs
from loadtest.peers.client import Client, Measured, block
from loadtest.peers.dialects import Refused
from loadtest.peers.programs import Peer, Trouble

FLATLANDS = "flatlands"

#: Players a square, as in the swarm's scenario "mill".
SHARE = 20

#: The client was too slow to be believed with moves so late (ms, of one in a hundred), or with so
#: much of its core used.
LATE, BUSY = 50.0, 0.95

#: What may happen to a run of the swarm besides measuring, in seconds.
SWARM_EXTRA = 180


@dataclass
class Row:
    """Figures are None where nothing was measured, and then `trouble` says why. `share` is what
    was delivered of what was expected; `per_cpu_second` deliveries for each CPU second of the
    server; `core` its share of a core; latencies are ms; `notes` are sentences."""

    name: str
    title: str
    players: int
    share: float | None = None
    per_second: float | None = None
    per_cpu_second: float | None = None
    core: float | None = None
    mb: float | None = None
    latency: dict[str, float] = field(default_factory=dict)
    trouble: str | None = None
    notes: list[str] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)


def measure_peer(peer: Peer, players: int, seconds: float) -> Row:
    """Start a peer, measure it, stop it."""
    row = Row(peer.name, peer.title, players)
    server_cpus, client_cpus = cores()
    try:
        with programs.started(programs.command(peer), server_cpus) as server:
            with _on(client_cpus), contextlib.closing(Client(server.address, peer.dialect())) as c:
                try:
                    c.join(block(players, SHARE))
                    found = c.measure(seconds, server.cost)
                except Refused as error:
                    raise Trouble(server.died or str(error)) from error
                if server.died:
                    row.notes.append(server.died)
        _fill(row, found)
    except (Trouble, OSError) as error:
        row.trouble = str(error)
    return row


def _fill(row: Row, found: Measured) -> None:
    row.raw = asdict(found)
    row.share = found.delivered / found.expected if found.expected else 0.0
    row.per_second = found.arrived / found.seconds
    row.per_cpu_second = found.arrived / found.cpu if found.cpu else 0.0
    row.core, row.mb, row.latency = found.cpu / found.seconds, found.mb, found.latency
    if found.lost:
        row.notes.append(f"{found.lost} players lost their connection")
    if found.late_p99 > LATE:
        late = f"{found.late_p99:.0f} ms late"
        others = "" if found.client > BUSY else ", as others used its core"
        row.notes.append(f"the client itself sent one move in a hundred {late}{others}")
    if found.client > BUSY:
        row.notes.append(f"the client itself used {found.client:.0%} of a core")


def measure_flatlands(players: int, seconds: float) -> Row:
    """Measure Flatlands by its own swarm."""
    row = Row(FLATLANDS, "Flatlands", players)
    with tempfile.TemporaryDirectory(prefix="flatlands-peers-") as folder:
        path = Path(folder) / "run.json"
        command = [
            *(sys.executable, "loadtest/bots.py", "--scenario", "mill", "--viewport", "24x24"),
            *("--bots", str(players), "--seconds", str(seconds), "--json", str(path)),
        ]
        process = subprocess.Popen(
            command,
            cwd=programs.ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=seconds + SWARM_EXTRA)
        except subprocess.TimeoutExpired:
            row.trouble = "its swarm has not ended in time"
            return row
        finally:
            _end_swarm(process)
        if not path.exists():
            lines = said.strip().splitlines()
            row.trouble = lines[-1] if lines else f"its swarm ended with {process.returncode}"
            return row
        run = json.loads(path.read_text())["runs"][0]
    figures, verdict = run["figures"], run["verdict"]
    row.notes = [f"the swarm's oracle found {fault}" for fault in run["faults"]] + run["invalid"]
    row.raw = {"figures": figures, "verdict": verdict, "totals": run["totals"]}
    if verdict and verdict["expected"]:
        row.share = verdict["delivered"] / verdict["expected"]
    row.per_second, row.per_cpu_second = figures["deliveries/s"], figures["per CPU s"]
    row.core, row.mb, row.latency = figures["server"], figures["MB"], run["latency"]
    return row


def _end_swarm(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        # It ends its own server when it is told to; nobody else can.
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(programs.PATIENCE * 2)
    programs.end(process)


def cores() -> tuple[Sequence[int], Sequence[int]]:
    """Return the server's cores and the client's: none where there is nothing to share out."""
    all = sorted(os.sched_getaffinity(0))
    return (all[:1], all[1:]) if len(all) > 1 else ((), ())


@contextlib.contextmanager
def _on(cpus: Sequence[int]) -> Iterator[None]:
    """This process is on these cores meanwhile."""
    before = os.sched_getaffinity(0)
    if cpus:
        os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
