"""The command line of the comparison: what to measure, and where the results go."""

import argparse
import json
import resource
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from loadtest.machine import machine, said
from loadtest.peers import report
from loadtest.peers.programs import PEERS, PYTHON, SERVERS, absent
from loadtest.peers.rows import FLATLANDS, Row, measure_flatlands, measure_peer
from loadtest.signals import like_ctrl_c

#: Descriptors of the client that are no players' sockets.
SPARE_DESCRIPTORS = 64

#: Characters of a line, off a terminal: the table takes so many.
WIDTH = 120

EPILOG = """names: flatlands, {}

The exit code is 0 if every server that takes part was measured, 1 if one was not, 2 for bad
options, 130 after Ctrl-C, which still tells what was measured until then."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line says; return the exit code."""
    like_ctrl_c()
    given = _parser().parse_args(arguments)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDTH)
    limit = _raise_limit()
    if max(given.players) + SPARE_DESCRIPTORS > limit:
        console.print(f"peers: {max(given.players)} players need more file descriptors than the "
                      f"{limit} that a process may have here: raise it (ulimit -n)")  # fmt: skip
        return 2
    names = given.only or [FLATLANDS, *(peer.name for peer in PEERS)]
    wanted = [peer for peer in PEERS if peer.name in names]
    left_out = absent(wanted)
    for why in dict.fromkeys(left_out.values()):
        which = [peer.name for peer in wanted if left_out.get(peer.name) == why]
        console.print(f"left out: {', '.join(which)}: {why}", soft_wrap=True)
    here = machine()
    rows: list[Row] = []
    code = 0
    try:
        for players in given.players:
            for _ in range(given.repeat):
                if FLATLANDS in names:
                    _keep(rows, measure_flatlands(players, given.seconds), console)
                for peer in wanted:
                    if peer.name not in left_out:
                        _keep(rows, measure_peer(peer, players, given.seconds), console)
    except KeyboardInterrupt:
        console.print("peers: interrupted")
        code = 130
    if rows:
        for table in report.tables(rows):
            console.print(table)
            console.print()
        for note in report.notes(rows):
            console.print(note, soft_wrap=True)
        if given.json is not None:
            given.json.parent.mkdir(parents=True, exist_ok=True)
            given.json.write_text(_as_json(given, here, rows, left_out))
        if given.report is not None:
            report.draw(rows, given.report)
    return code or int(any(row.trouble for row in rows))


def _keep(rows: list[Row], row: Row, console: Console) -> None:
    rows.append(row)
    console.print(report.line(row), soft_wrap=True)


def _raise_limit() -> int:
    """Allow as many descriptors as may be, also to the servers; return the number."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def _as_json(
    given: argparse.Namespace, here: dict[str, Any], rows: list[Row], left_out: dict[str, str]
) -> str:
    whole = {
        "options": {"players": given.players, "seconds": given.seconds, "repeat": given.repeat},
        "machine": {**here, **_versions()},
        "left_out": left_out,
        "rows": [vars(row) for row in rows],
    }
    return json.dumps(whole, indent=1) + "\n"


def _versions() -> dict[str, str]:
    """Return the versions of what the peers are made of."""
    found = json.loads((SERVERS / "package.json").read_text())["dependencies"]
    if shutil.which("node"):
        found["node"] = said("node", "--version")
    if PYTHON.exists():
        listed = [str(PYTHON), "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]
        for package in json.loads(subprocess.run(listed, capture_output=True).stdout):
            if package["name"].lower() in ("flask-socketio", "websockets", "gevent"):
                found[f"{package['name'].lower()} (python)"] = package["version"]
    return dict(found)


def _parser() -> argparse.ArgumentParser:
    names = [peer.name for peer in PEERS]
    parser = argparse.ArgumentParser(
        prog="python -m loadtest.peers",
        description="Measure the same work on Flatlands and on other realtime servers, in turn.",
        epilog=EPILOG.format(", ".join(names)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--players", type=_count, nargs="+", default=[400, 2000], metavar="N",
        help="how many players, 20 a square (400 2000)")  # fmt: skip
    add("--seconds", type=_seconds, default=8.0, help="how long to measure each (8)")
    add("--repeat", type=_count, default=1, help="how often each (1); the table shows medians")
    add("--only", nargs="+", choices=[FLATLANDS, *names], metavar="NAME", help="only these")
    add("--json", type=Path, metavar="FILE", help="write all figures there")
    add("--report", type=Path, metavar="DIR", help="write a chart for each number of players there")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 1 to 100000")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, 1 to 3600")
    return seconds
