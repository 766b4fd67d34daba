"""Measures how the cost of a world grows: python -m bench --growth.

Four series: the same players on more and more workers; one node of more and more nodes, of which
one process publishes all others (others.py); the same beside real nodes only, as far as this
machine goes; and more and more players in one square. For each it says with which power of its size
the cost grows. It prints figures beside the targets and never judges them. docs/scale.md tells what
follows from them.
"""

import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from loadtest.idle.measure import figures
from loadtest.kit import signals
from loadtest.kit.children import Children
from loadtest.kit.machine import machine, shared_out
from loadtest.kit.points import measure_all
from loadtest.kit.processes import START, Trouble, cost, raise_descriptor_limit
from loadtest.swarm import show
from loadtest.swarm import target as targets
from loadtest.swarm.result import Options, Progress, Result
from loadtest.swarm.run import run as run_swarm
from loadtest.swarm.target import Target

SECOND = 1_000_000

#: Seconds that are measured in each run.
SECONDS = 6.0

#: The broker between workers, and between nodes.
BROKER = "redis://"

#: The same players and squares for each number of workers, and how they move.
BOTS, SQUARES = 800, 40
WORKERS = 1, 2, 4, 8
SCENARIOS = "mill", "wander"

#: Workers -> how many times the CPU of a delivery with one worker a delivery may cost.
TARGETS_WORKERS = {2: 1.15, 4: 1.25, 8: 1.4}

#: Nodes, and how many are all real processes, as a check of the others; players of each node,
#: players in each square, and moves a second of each player.
NODES = 1, 10, 100, 300, 1000
REAL = 4, 8, 16
PLAYERS, TOGETHER, MOVES = 50, 10, 1.0

#: How many times its share of the players one of several workers may get.
UNEVEN = 1.2

#: The share of a core that hearing a thousand nodes may take.
TARGET_NODES = {1000: 0.02}

#: The share of a core by which two measurements of one process differ anyway.
NOISE = 0.005

#: Seconds until others are known once they have come: until each of a thousand has sent a second
#: heartbeat; and until walking players have fallen into step.
KNOWN, IN_STEP = 25.0, 2.0

#: Players in one square, moves a second of each, and the seconds in which they join: everybody who
#: comes is shown to all who are there.
CROWDS = 625, 1250, 2500, 5000
CROWD_MOVES, CROWD_JOINS = 1.0, 40.0

#: The largest crowd's target: bytes a second to each player, and the exponent of its CPU.
TARGET_CROWD_BYTES, TARGET_CROWD_EXPONENT = 32 * 1024, 1.3

#: A share of a core from which on a process cannot use more: its growth is no law any more.
FULL = 0.95

#: ms: a run is not valid if one request in a hundred is sent later, and the share of a core from
#: which on the process of the other nodes, or that of the players, is what is measured.
LATE, BUSY = 50.0, 0.9

#: ms: a node that answers pings later is overloaded, or has too small a part of a core.
SLOW = 250.0

#: Seconds within which a process answers an order, and all players have joined.
ANSWER, JOINED = 60.0, 120.0

#: A row of a series, see the functions that yield them. `size` is its place on the x axis, and
#: `faults` and `invalid` are what was wrong with it.
Point = dict[str, Any]


# The law.


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the power of x with which y grows: the slope of the line through the logarithms of
    points (x, y), by least squares.

    What is not above 0 has no logarithm and is left out. Returns None if fewer than two different x
    are left.
    """
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len({x for x, _ in logs}) < 2:
        return None
    return statistics.linear_regression(*zip(*logs, strict=True)).slope


def laws(points: Sequence[Point]) -> dict[str, dict[str, Any]]:
    """Return name of a law -> its "points", as (x, y), and their "exponent".

    Points that are not valid are left out, and so are crowds that have a whole core, and heartbeats
    whose cost is no more than noise.
    """
    good = [point for point in points if not point["invalid"] and not point["faults"]]

    def of(series: str, figure: str, **where: Any) -> list[tuple[float, float]]:
        return [
            (point["size"], point[figure]) for point in good
            if point["series"] == series and point.get(figure) is not None
            and all(point[name] == value for name, value in where.items())
        ]  # fmt: skip

    found = {
        **{
            f"CPU of a delivery on n workers, {scenario}": of("workers", "us", scenario=scenario)
            for scenario in SCENARIOS
        },
        "CPU of one node of n": of("nodes", "cpu"),
        "the same, heartbeats": [(x, y) for x, y in of("nodes", "heartbeats") if y > NOISE],
        "the same, all else": of("nodes", "rest"),
        "CPU of one node of n, all real": of("real", "cpu"),
        "CPU of a crowd of n, below a whole core": [
            (x, y) for x, y in of("crowd", "cpu") if y < FULL
        ],
        "bytes to each of a crowd of n": of("crowd", "bytes_each"),
    }
    return {
        name: {"points": some, "exponent": exponent(some)} for name, some in found.items() if some
    }


# The same players on more and more workers.


def workers(note: Callable[[str], None]) -> Iterator[Point]:
    """Yield a point for each number of workers, in each scenario. Raises Trouble and Interrupted.

    `us` are those of CPU for each delivery, `times` what that is of one worker's; `cpu` and
    `broker` are shares of a core, latencies are in ms, and `bytes_event` is what a player gets for
    each event that it is told.
    """
    for scenario in SCENARIOS:
        alone = None
        for number in WORKERS:
            name = f"{scenario}, {BOTS} players, {number} workers"
            options = Options(
                bots=BOTS, squares=SQUARES, scenario=scenario, workers=number, broker=BROKER,
                seconds=SECONDS, pin=False,
            )  # fmt: skip
            result = _swarm(options, name, note)
            found = show.figures(result)
            us = 1e6 / found["per CPU s"] if found["per CPU s"] else None
            alone = us if number == 1 else alone
            yield {
                "series": "workers", "size": number, "scenario": scenario,
                "us": us, "times": us / alone if us and alone else None,
                "cpu": found["server"], "broker": found["broker"],
                "deliveries": found["deliveries/s"],
                "bytes_event": result.totals["bytes"] / max(result.totals["events"], 1),
                "p50": found["p50"], "p99": found["p99"],
                "faults": result.faults, "invalid": result.invalid,
            }  # fmt: skip


def _swarm(options: Options, name: str, note: Callable[[str], None]) -> Result:
    def told(progress: Progress) -> None:
        note(f"{name}: {progress.phase}, {progress.bots:,} players")

    result = run_swarm(options, told)
    # A run that was interrupted returns what it has measured.
    signals.check()
    if not result.measured:
        raise Trouble(f"{name}: nothing was measured: {result.error}")
    return result


# One node of many.


class Players:
    """The process with the players of one server, and what they and the server make of it."""

    def __init__(self, family: Children, target: Target, cpus: Sequence[int]) -> None:
        self._family, self._target = family, target
        self._epoch = time.monotonic_ns() // 1000
        config = {
            "host": f"{target.name}:{target.address[1]}", "path": target.path,
            "address": target.address, "sources": [], "number": 0, "processes": 1,
            "epoch": self._epoch,
        }  # fmt: skip
        command = [sys.executable, "-m", "bench.walkers", json.dumps(config)]
        self._process = family.worker("the process of the players", command, cpus)
        self._number = 0

    def join(self, number: int) -> None:
        """Let so many players join."""
        self._number = number
        self._process.send({"join": number})
        joined = False

        def all_there() -> bool:
            nonlocal joined
            while not joined and (line := self._process.line()):
                said = json.loads(line)
                self._family.check(self._process, said)
                joined = "joined" in said
            self._check()
            return joined

        self._family.wait(all_there, JOINED, f"not all players have joined in {JOINED:.0f} s")

    def walk(self) -> dict[str, Any]:
        """Let all walk for some seconds; return what was measured.

        "cpu" is the share of a core that each process of the server used, on average, "received"
        the messages a second that each received, "p99" the ms until a ping was answered, and
        "invalid" why the figures are not to be believed.
        """
        start = self._now() + SECOND // 2
        begin = start + round(IN_STEP * SECOND)
        end = begin + round(SECONDS * SECOND)
        self._process.send({
            "loop": "open", "request": "walk", "begin": begin, "end": end,
            "every": SECOND / (self._number * MOVES), "first": float(start),
        })  # fmt: skip
        then, now = self._look(begin), self._look(end)
        [report] = self._family.answers([self._process], SECONDS + ANSWER)
        seconds, number = now["at"] - then["at"], len(self._servers())
        share, received = (
            (now[name] - then[name]) / max(seconds, 1e-9) / number for name in ("cpu", "received")
        )
        found = figures("open", "walk", [report], SECONDS, share, LATE)
        invalid = list(found["invalid"])
        if found["lost"]:
            invalid.append(f"players lost their connection: {next(iter(found['lost']))}")
        if found["latency"]["p99"] > SLOW:
            invalid.append("the machine was too busy: pings were answered late")
        if found["unanswered"]:
            invalid.append(f"{found['unanswered']} pings were not answered")
        return {
            "cpu": share, "received": received, "p99": found["latency"]["p99"], "invalid": invalid,
        }  # fmt: skip

    def _now(self) -> int:
        return time.monotonic_ns() // 1000 - self._epoch

    def _servers(self) -> list[Any]:
        assert self._target.program is not None
        return self._target.workers() or [self._target.program.process]

    def _look(self, when: int) -> dict[str, float]:
        """Wait until a time of the run's clock; return what the server has used until then."""
        while (left := (when - self._now()) / SECOND) > 0:
            self._family.sleep(min(left, 0.5))
            self._check()
        cpu, _ = cost(self._servers())
        at = time.monotonic()
        counted = self._target.counted(ANSWER)
        if counted is None:
            raise Trouble("the server does not say what it has counted")
        return {"at": at, "cpu": cpu, "received": counted["broker_received"]}

    def _check(self) -> None:
        if died := self._target.died:
            raise Trouble(died)


def _spread(nodes: int) -> int:
    """Return the squares of a world of so many nodes."""
    return math.ceil(nodes * PLAYERS / TOGETHER)


def nodes(note: Callable[[str], None]) -> Iterator[Point]:
    """Yield a point for each number of nodes, of which one is real. Raises Trouble and Interrupted.

    `cpu` is the share of a core that the real node uses. `heartbeats` is what it uses more when the
    others have come and their players stand than when it is alone, and `rest` is all but that; of
    one node alone all is `rest`. `received` are the messages a second that it receives, `beats` the
    heartbeats among them and `beats_bytes` their bytes. `near` nodes have players that it hears.
    """
    for number in NODES:
        yield _one_of(number, note)


def _one_of(number: int, note: Callable[[str], None]) -> Point:
    server_cpus, other_cpus = shared_out()
    with Children() as family:
        note(f"one node of {number:,}: starting")
        url, brokers = family.broker(BROKER)
        if other_cpus:
            for broker in brokers:
                os.sched_setaffinity(broker.process.pid, other_cpus)
        with targets.started(url, 1, _spread(number), server_cpus) as target:
            return _among(number, family, target, other_cpus, url, note)


def _among(
    number: int, family: Children, target: Target, cpus: Sequence[int], url: str,
    note: Callable[[str], None],
) -> Point:  # fmt: skip
    others = None
    if number > 1:
        config = {
            "broker": url, "nodes": number - 1, "players": PLAYERS, "squares": _spread(number),
            "moves": MOVES,
        }  # fmt: skip
        command = [sys.executable, "-m", "bench.others", json.dumps(config)]
        others = family.worker("the process of the other nodes", command, cpus)
        family.answers([others], START)
    players = Players(family, target, cpus)
    note(f"one node of {number:,}: players join")
    players.join(PLAYERS)
    family.sleep(IN_STEP)
    note(f"one node of {number:,}: alone")
    found = players.walk()
    point = {
        "series": "nodes", "size": number, "heartbeats": None, "rest": found["cpu"],
        "near": 0, "beats": 0.0, "beats_bytes": 0.0, "faults": [], **found,
    }  # fmt: skip
    if others is None:
        return point
    others.send({"begin": True})
    [near] = family.answers([others], ANSWER)
    family.sleep(KNOWN)
    note(f"one node of {number:,}: among others who stand")
    standing = players.walk()
    others.send({"walk": True})
    family.sleep(IN_STEP)
    note(f"one node of {number:,}: among others who walk")
    others.send({"count": True})
    [before] = family.answers([others], ANSWER)
    began = time.monotonic()
    walking = players.walk()
    others.send({"count": True})
    [after] = family.answers([others], ANSWER)
    seconds = time.monotonic() - began
    grown = {name: (after[name] - before[name]) / seconds for name in before}
    invalid = [*found["invalid"], *standing["invalid"], *walking["invalid"]]
    if grown["cpu"] > BUSY:
        invalid.append(f"the process of the other nodes used {grown['cpu']:.0%} of a core")
    if after["late_ms"] > LATE:
        invalid.append(f"one player of the other nodes in a hundred was {after['late_ms']:.0f} ms "
                       "late")  # fmt: skip
    if after["lost"] or after["failed"]:
        invalid.append("messages of the other nodes were lost")
    heartbeats = standing["cpu"] - found["cpu"]
    return {
        **point, **walking, "heartbeats": heartbeats, "rest": walking["cpu"] - heartbeats,
        "near": near["near"], "beats": grown["heartbeats"], "beats_bytes": grown["heartbeat_bytes"],
        "others_cpu": grown["cpu"], "invalid": invalid,
    }  # fmt: skip


def real(note: Callable[[str], None]) -> Iterator[Point]:
    """Yield a point for each number of nodes that are all real. Raises Trouble and Interrupted.

    `cpu`, `received` and `p99` are as those of `nodes`, the mean of all nodes; `made_cpu` and
    `made_received` are those of one real node among as many of which one process publishes.
    """
    for number in REAL:
        made = _one_of(number, note)
        name = f"{number} real nodes"
        with Children() as family:
            note(f"{name}: starting")
            url, _ = family.broker(BROKER)
            # Without a limit, some workers would get many more players than others. With one that
            # leaves no choice, the last would be refused again and again.
            most = ("--max-players", str(math.ceil(PLAYERS * UNEVEN)), "--gather", "0")
            with targets.started(url, number, _spread(number), options=most) as target:
                players = Players(family, target, ())
                note(f"{name}: players join")
                players.join(number * PLAYERS)
                family.sleep(KNOWN)
                note(f"{name}: players walk")
                found = players.walk()
                if found["cpu"] * number > FULL * (os.cpu_count() or 1):
                    found["invalid"].append("the nodes together used all cores")
                found["invalid"] += made["invalid"]
                yield {
                    "series": "real", "size": number, "faults": [], **found,
                    "made_cpu": made["cpu"], "made_received": made["received"],
                }  # fmt: skip


# A crowd.


def crowds(note: Callable[[str], None]) -> Iterator[Point]:
    """Yield a point for each crowd in one square. Raises Trouble and Interrupted.

    `told` and `replaced` are events a second that the node published, and those that newer ones
    have replaced before that; `bytes_each` is what each player gets in a second. `lagging` counts
    how often a player had to be told everything anew.
    """
    for number in CROWDS:
        options = Options(
            bots=number, squares=1, scenario="crowd", rate=CROWD_MOVES, seconds=SECONDS,
            joins=number / CROWD_JOINS,
        )  # fmt: skip
        result = _swarm(options, f"a crowd of {number:,}", note)
        found = show.figures(result)
        seconds = result.measured
        told, replaced = (result.server.get(name, 0) / seconds for name in ("events", "replaced"))
        yield {
            "series": "crowd", "size": number, "cpu": found["server"],
            "p50": found["p50"], "p99": found["p99"], "told": told, "replaced": replaced,
            "bytes_each": result.totals["bytes"] / seconds / number,
            "lagging": result.totals["resyncs"],
            "faults": result.faults, "invalid": result.invalid,
        }  # fmt: skip


# What is shown.

#: Name of a series -> what yields its points.
SERIES: dict[str, Callable[[Callable[[str], None]], Iterator[Point]]] = {
    "workers": workers, "nodes": nodes, "real": real, "crowd": crowds,
}  # fmt: skip

#: Name of a series -> the sentence above its table, and the heading of the table.
HEADINGS = {
    "workers": (
        f"{BOTS} players in {SQUARES} squares on more and more workers, broker {BROKER}",
        f"{'':20}{'workers':>8}{'us a delivery':>15}{'times':>8}{'target':>9}{'CPU':>8}"
        f"{'broker':>8}{'p50':>8}{'p99, ms':>9}",
    ),
    "nodes": (
        f"one node of more and more: {PLAYERS} players each, {TOGETHER} in a square, "
        f"{MOVES:g} moves a second",
        f"{'':20}{'nodes':>8}{'CPU, %':>10}{'heartbeats':>12}{'all else':>10}{'target':>9}"
        f"{'received/s':>12}{'heartbeats':>12}{'KB/s':>8}{'p99, ms':>9}",
    ),
    "real": (
        "each of them if all are real, and one real one if all others are made as above",
        f"{'':20}{'nodes':>8}{'CPU, %':>10}{'others made':>13}{'received/s':>12}{'others made':>13}"
        f"{'p99, ms':>9}",
    ),
    "crowd": (
        f"more and more players in one square, {CROWD_MOVES:g} moves a second each",
        f"{'':20}{'players':>8}{'CPU':>8}{'p50':>8}{'p99, ms':>9}{'told/s':>10}{'replaced/s':>12}"
        f"{'KB/s to each':>14}{'anew':>7}",
    ),
}


def _or_dash(value: float | None, width: int, form: str) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:>{width}{form}}"


def line(point: Point) -> str:
    """Return the row of a point in the table of its series, and what was wrong below it."""
    size = f"{point['size']:>8,}"
    if point["series"] == "workers":
        row = (
            f"{point['scenario']:20}{size}{_or_dash(point['us'], 15, '.2f')}"
            f"{_or_dash(point['times'], 8, '.2f')}"
            f"{_or_dash(TARGETS_WORKERS.get(point['size']), 9, '.2f')}{point['cpu']:>8.0%}"
            f"{point['broker']:>8.1%}{point['p50']:>8.0f}{point['p99']:>9.0f}"
        )
    elif point["series"] == "nodes":
        beats, target = point["heartbeats"], TARGET_NODES.get(point["size"])
        row = (
            f"{'':20}{size}{point['cpu'] * 100:>10.1f}"
            f"{_or_dash(None if beats is None else beats * 100, 12, '.1f')}"
            f"{point['rest'] * 100:>10.1f}"
            f"{_or_dash(None if target is None else target * 100, 9, 'g')}"
            f"{point['received']:>12,.0f}{point['beats']:>12,.0f}"
            f"{point['beats_bytes'] / 1024:>8,.0f}{point['p99']:>9.0f}"
        )
    elif point["series"] == "real":
        row = (
            f"{'':20}{size}{point['cpu'] * 100:>10.1f}{point['made_cpu'] * 100:>13.1f}"
            f"{point['received']:>12,.0f}{point['made_received']:>13,.0f}{point['p99']:>9.0f}"
        )
    else:
        row = (
            f"{'':20}{size}{point['cpu']:>8.0%}{point['p50']:>8.0f}{point['p99']:>9.0f}"
            f"{point['told']:>10,.0f}{point['replaced']:>12,.0f}"
            f"{point['bytes_each'] / 1024:>14.1f}{point['lagging']:>7,.0f}"
        )
    wrong = [f"    failed: {why}" for why in point["faults"]]
    return "\n".join([row, *wrong, *(f"    not valid: {why}" for why in point["invalid"])])


def told(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return the lines that say which laws were found."""
    lines = ["", f"{'grows with the power of n':45}{'exponent':>10}  points"]
    for name, law in found.items():
        points = ", ".join(f"{x:,}: {y:.3g}" for x, y in law["points"])
        lines.append(f"{name:45}{_or_dash(law['exponent'], 10, '.2f')}  {points}")
    lines.append(
        f"targets: a crowd's CPU at most {TARGET_CROWD_EXPONENT:g}, and at most "
        f"{TARGET_CROWD_BYTES / 1024:g} KB/s to each of {CROWDS[-1]:,}; heartbeats of 1,000 nodes "
        f"at most {TARGET_NODES[1000]:.0%} of a core"
    )
    return lines


def measure(say: Callable[[str], None]) -> tuple[dict[str, Any], int]:
    """Measure all series; return what was found, with the machine, and the exit code.

    `say` prints sentences. A series in trouble ends early; after Ctrl-C what was measured is
    returned.
    """
    run: dict[str, Any] = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": machine(),
        "series": list(SERIES),
    }  # fmt: skip

    def points(name: str) -> Iterator[Point]:
        sentence, heading = HEADINGS[name]
        say(f"\n{sentence}\n{heading}")
        for point in SERIES[name](_note):
            _note("")
            yield point

    # The largest crowd has more sockets than a process usually may.
    raise_descriptor_limit()
    code = measure_all(SERIES, points, line, run)
    run["laws"] = laws(run["points"])
    for text in told(run["laws"]):
        say(text)
    if code == 0 and any(point["faults"] for point in run["points"]):
        code = 1
    if code == 0 and any(point["invalid"] for point in run["points"]):
        code = 3
    return run, code


def _note(text: str) -> None:
    """Show on a terminal what goes on, in place of what was shown before."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def draw(run: dict[str, Any], folder: Path) -> None:
    """Draw the charts of a run into a folder, each as PNG and as SVG, with logarithms on both axes.

    What is not valid, or has a whole core, is drawn as an outline: the laws are without it.
    """
    # It is imported here because matplotlib takes a second to load.
    from loadtest.kit import charts
    from loadtest.kit.charts import Line, line_chart

    def curve(
        label: str, colour: str, law: str, series: str, figure: str, times: float,
        **where: Any,
    ) -> list[Line]:  # fmt: skip
        found = [
            point for point in run["points"]
            if point["series"] == series
            and (point[figure] or 0) > (NOISE if figure == "heartbeats" else 0)
            and all(point[name] == value for name, value in where.items())
        ]  # fmt: skip
        if not found:
            return []
        power = run["laws"].get(law, {"exponent": None})["exponent"]
        return [Line(
            label if power is None else f"{label}: n^{power:.2f}", colour,
            [point["size"] for point in found], [point[figure] * times for point in found],
            marker="s" if series == "real" else "o",
            hollow=[
                bool(p["faults"] or p["invalid"] or (series == "crowd" and p["cpu"] >= FULL))
                for p in found
            ],
        )]  # fmt: skip

    def target(what: str, sizes: Sequence[int], value: float) -> Line:
        return Line(f"target: {what}", grey, sizes, [value] * len(sizes), is_past=True)

    blue, red, green, grey = "#1d70a2", "#c8442f", "#2a9d8f", "#85857f"
    alone = [
        point["us"] for point in run["points"]
        if point["series"] == "workers" and point["size"] == 1 and point["us"]
    ]  # fmt: skip
    drawn = {
        "growth-workers": (
            [
                line for scenario, colour in zip(SCENARIOS, (blue, red), strict=False)
                for line in curve(
                    scenario, colour, f"CPU of a delivery on n workers, {scenario}", "workers",
                    "us", 1, scenario=scenario,
                )
            ],
            [Line(
                "target", grey, [1, *TARGETS_WORKERS],
                [alone[0] * times for times in (1, *TARGETS_WORKERS.values())], is_past=True,
            )] if alone else [],
            f"{BOTS} players on n workers", "workers", "us of CPU for each delivery", WORKERS,
        ),
        "growth-nodes": (
            [
                *curve("one node", blue, "CPU of one node of n", "nodes", "cpu", 100),
                *curve("heartbeats", red, "the same, heartbeats", "nodes", "heartbeats", 100),
                *curve("all else", green, "the same, all else", "nodes", "rest", 100),
                *curve("all real", "#7d5ba6", "CPU of one node of n, all real", "real", "cpu", 100),
            ],
            [target("heartbeats", [NODES[0], NODES[-1]], TARGET_NODES[1000] * 100)],
            f"A node of {PLAYERS} players among n nodes", "nodes", "CPU, % of a core", NODES,
        ),
        "growth-crowd": (
            [
                *curve(
                    "CPU, %", blue, "CPU of a crowd of n, below a whole core", "crowd", "cpu", 100
                ),
                *curve(
                    "KB/s to each", red, "bytes to each of a crowd of n", "crowd", "bytes_each",
                    1 / 1024,
                ),
            ],
            [target("KB/s", [CROWDS[0], CROWDS[-1]], TARGET_CROWD_BYTES / 1024)],
            "A crowd of n in one square", "players", "CPU in % of a core; KB/s to each", CROWDS,
        ),
    }  # fmt: skip
    for name, (curves, aims, title, x, y, ticks) in drawn.items():
        if curves:
            lines = [*curves, *aims]
            charts.save(
                line_chart(lines, title, x, y, ticks, doubling=True, tenfold=True), folder, name
            )
