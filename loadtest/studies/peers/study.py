"""The comparison with other servers: which take part, its table of medians, and its charts."""

import argparse
import json
import re
import shutil
import statistics
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from flatlands.loadtest.kit.charts import Bar, Figure, bar_chart, short
from flatlands.loadtest.kit.machine import machine, output_of
from flatlands.loadtest.kit.options import amount, bare, option, whole
from flatlands.loadtest.kit.processes import (
    SPARE_DESCRIPTORS,
    Trouble,
    raise_descriptor_limit,
)
from flatlands.loadtest.studies.compilers import find_cargo, find_go
from flatlands.loadtest.studies.peers.dialect import load
from flatlands.loadtest.studies.peers.programs import PEERS, SERVERS, Peer, absent, build
from flatlands.loadtest.studies.peers.rows import (
    FLATLANDS,
    Row,
    measure_flatlands,
    measure_peer,
    measure_target,
)
from flatlands.loadtest.studies.study import Column, Measure, PlainStudy
from flatlands.loadtest.swarm.target import there

NAMES = FLATLANDS, *(peer.name for peer in PEERS)

#: The latencies that are shown.
SHOWN = "p50", "p90", "p99", "max"

#: The colour of Flatlands' bars.
OUR_COLOUR = "#5c8a3c"
#: The colour of the bars of all peers.
THEIR_COLOUR = "#85857f"


def _dialect(text: str) -> str:
    try:
        load(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


@dataclass(frozen=True)
class Options:
    """What the user chose: players of each run, seconds that are measured, how often; and which
    servers, or the URL of one that runs, by a dialect, with any certificate if `insecure`."""

    players: tuple[int, ...] = option(
        "--players",
        whole(1, 100_000),
        (400, 2000),
        "N",
        "how many, 20 a square (400 2000)",
        nargs="+",
    )
    seconds: float = option("--seconds", amount(1, 3600), 8.0, "N", "how long to measure each")
    repeat: int = option(
        "--repeat", whole(1, 100_000), 1, "N", "how often each (1); the table shows medians"
    )
    only: tuple[str, ...] = option(
        "--only", str, (), "NAME", "only these", nargs="+", choices=NAMES
    )
    url: str = option(
        *("--url", str, "", "URL"),
        "instead measure this server, ws://HOST:PORT/PATH or wss://, by a --dialect",
    )
    dialect: str = option(
        *("--dialect", _dialect, "", "FILE"),
        "what is said to it: a file of one's own (docs/peers.md), or a name of those in "
        "loadtest/studies/peers/dialects/",
    )
    insecure: bool = option(
        "--insecure", None, False, "", "accept any certificate of a wss:// server"
    )


class Medians(Row):
    """The medians of several rows. `ratio` is that of Flatlands' deliveries in a CPU second to
    theirs."""

    kind: Literal["medians"]
    ratio: float | None


_FIGURES = (
    Column[Row]("server", "title", width=-26),
    Column("players", "players", ",", 7),
    Column[Row]("delivered", lambda row: percent(row["share"]), width=9),
    Column("deliveries/s", "per_second", ",.0f", 12),
    Column("per CPU s", "per_cpu_second", ",.0f", 9),
    *(Column(name, f"latency/{name}", ",.1f", 7) for name in SHOWN),
    Column[Row]("core", lambda row: percent(row["core"]), width=6),
    Column("MB", "mb", ",.0f", 4),
)


class Peers(PlainStudy[Row, Options]):
    """The same work on this server and on others."""

    program = "-m loadtest.studies peers"
    about = "Measure the same work on Flatlands and on other realtime servers, in turn."
    epilog = f"""names: {", ".join(NAMES)}

The exit code is 0 if every server that takes part was measured, 1 if one was not, 2 for bad
options, 130 after Ctrl-C, which still tells what was measured until then."""
    title = "Beside other servers"
    note = """<p class=note>Medians. Latencies in ms, from the moment a move was due; core: of one,
by the server; ratio: deliveries that Flatlands makes in the CPU time of one. Outlined: there are
notes about these figures.</p>"""
    options = Options
    columns = {"": _FIGURES, "medians": (*_FIGURES, Column("ratio", "ratio", ".1f", 5))}
    key = "rows"
    failures = (OSError,)

    def lacking(self) -> str:
        chosen, limit = self.chosen, raise_descriptor_limit()
        if bool(chosen.url) != bool(chosen.dialect):
            return "--url names a server, and --dialect what is said to it: give both, or none"
        if chosen.url and (chosen.only or self.given.report):
            return (
                "--url names a running server, whose CPU time is unknown: --only and --report "
                "are for those that are started"
            )
        if max(chosen.players) + SPARE_DESCRIPTORS > limit:
            return (
                f"{max(chosen.players)} players need more file descriptors than the {limit} that a "
                "process may have here: raise it (ulimit -n)"
            )
        return ""

    def facts(self) -> dict[str, object]:
        self._left_out: dict[str, str] = {}
        return {**super().facts(), "left_out": self._left_out}

    def machine(self) -> Mapping[str, object]:
        return {**machine(), **_versions()}

    def jobs(self) -> Iterator[tuple[str, Measure[Row]]]:
        """Yield the runs: all servers take turns, with each number of players."""
        chosen = self.chosen
        if chosen.url:
            for players in chosen.players * chosen.repeat:
                yield f"{bare(chosen.url)}, {players:,} players", partial(self._target, players)
            return
        names = chosen.only or NAMES
        wanted = self._here([peer for peer in PEERS if peer.name in names])
        for players in chosen.players:
            for _ in range(chosen.repeat):
                jobs: dict[str, Callable[[int, float], Row]]
                jobs = {FLATLANDS: measure_flatlands} if FLATLANDS in names else {}
                jobs |= {peer.name: partial(measure_peer, peer) for peer in wanted}
                for name, job in jobs.items():
                    yield (
                        f"{name}, {players:,} players",
                        partial(_alone, job, players, chosen.seconds),
                    )

    def _target(self, players: int) -> list[Row]:
        target = there(self.chosen.url, self.chosen.insecure)
        dialect = load(self.chosen.dialect)
        return [measure_target(target, dialect, players, self.chosen.seconds)]

    def _here(self, wanted: list[Peer]) -> list[Peer]:
        """Build peers that have to be built; return those that can take part, and say why others
        cannot. Raises Interrupted."""
        why = self._left_out
        why |= absent(wanted)
        for peer in wanted:
            if peer.compiled and peer.name not in why:
                print(f"building {peer.name} (the first time, this may take a minute) ...")
                try:
                    build(peer)
                except Trouble as trouble:
                    why[peer.name] = str(trouble)
        for reason in dict.fromkeys(why.values()):
            print(f"left out: {', '.join(name for name in why if why[name] == reason)}: {reason}")
        return [peer for peer in wanted if peer.name not in why]

    def name(self, row: Row) -> str:
        return f"{row['title']}, {row['players']:,} players"

    def shown(self) -> Sequence[Medians]:
        """Return the medians of all runs."""
        groups: dict[tuple[int, str], list[Row]] = {}
        for point in self.points:
            groups.setdefault((point["players"], point["name"]), []).append(point)
        found = {key: median(rows) for key, rows in sorted(groups.items(), key=lambda g: g[0][0])}
        for (players, _), row in found.items():
            beside, theirs = found.get((players, FLATLANDS)), row["per_cpu_second"]
            ours = beside["per_cpu_second"] if beside else None
            row["ratio"] = ours / theirs if ours and theirs else None
        return list(found.values())

    def end(self, code: int) -> int:
        """Print the medians, and sentences about them: how to read them, and what went wrong."""
        rows = self.points
        if not rows:
            return code
        print()
        for medians in self.shown():
            self.show(medians)
        print(
            "latencies in ms, from the moment a move was due; core: of one, by the server; ratio: "
            "deliveries that Flatlands makes in the CPU time of one"
        )
        if any(row["name"] == FLATLANDS for row in rows):
            print("Flatlands is measured by its own swarm (loadtest/bots.py --scenario mill)")
        if any(row["per_second"] is not None and row["core"] is None for row in rows):
            print("CPU and memory of a server that was not started for the run are not known")
        for row in rows:
            for sentence in row["notes"]:
                print(f"{self.name(row)}: {sentence}")
        return code

    def draw(self) -> Mapping[str, Figure]:
        """Return a chart for each number of players."""
        bars: dict[int, list[Bar]] = {}
        for row in self.shown():
            if row["per_cpu_second"]:
                text = short(row["per_cpu_second"])
                # A server that delivers nearly everything needs no remark.
                if row["share"] is not None and row["share"] < 0.99:
                    text += f", {percent(row['share'])} delivered"
                colour = OUR_COLOUR if row["name"] == FLATLANDS else THEIR_COLOUR
                # The figures of a row with notes are not to be believed without these.
                bar = Bar(row["title"], colour, row["per_cpu_second"], text, bool(row["notes"]))
                bars.setdefault(row["players"], []).append(bar)
        x = "deliveries per CPU second of the server"
        return {
            f"peers-{players}": bar_chart(found, f"{players:,} players, 20 a square", x)
            for players, found in bars.items()
        }


def _alone(measure: Callable[[int, float], Row], players: int, seconds: float) -> list[Row]:
    return [measure(players, seconds)]


def median(rows: Iterable[Row]) -> Medians:
    """Return a row with the medians of several rows, whose ratio is not known yet."""
    *_, last = rows

    def middle(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return statistics.median(known) if known else None

    return {
        **last,
        "share": middle(row["share"] for row in rows),
        "per_second": middle(row["per_second"] for row in rows),
        "per_cpu_second": middle(row["per_cpu_second"] for row in rows),
        "core": middle(row["core"] for row in rows),
        "mb": middle(row["mb"] for row in rows),
        "latency": {name: middle(row["latency"].get(name) for row in rows) for name in SHOWN},
        "notes": [sentence for row in rows for sentence in row["notes"]],
        "kind": "medians",
        "ratio": None,
    }


def percent(share: float | None) -> str | None:
    """Return a share as text, None for None."""
    return None if share is None else f"{share:.1%}" if share < 0.9995 else "100%"


def _versions() -> dict[str, str]:
    """Return the versions of the packages that the peers use."""
    found = json.loads((SERVERS / "package.json").read_text())["dependencies"]
    module = (SERVERS / "go" / "go.mod").read_text()
    found |= dict(re.findall(r"^require (\S+) (\S+)$", module, re.MULTILINE))
    for language in ("rust", "cpp"):
        lock = tomllib.loads((SERVERS / language / "Cargo.lock").read_text())
        found |= {
            package["name"]: package["version"]
            for package in lock["package"]
            if package["name"] in ("tokio", "tokio-tungstenite", "libuwebsockets-sys")
        }
    found |= {"go": output_of(find_go(), "version"), "cargo": output_of(find_cargo(), "--version")}
    found["g++"] = output_of("g++", "-dumpfullversion")
    if shutil.which("node"):
        found["node"] = output_of("node", "--version")
    pins = (SERVERS.parent / "requirements.txt").read_text()
    names = "flask-socketio|websockets|gevent"
    for name, pin in re.findall(rf"^({names})==(\S+)$", pins, re.MULTILINE):
        found[f"{name} (python)"] = pin
    return dict(found)


main = Peers.main
