"""The command line of the comparison: chooses the servers, prints the results and writes files."""

import argparse
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from typing import Any

from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.compilers import find_cargo, find_go
from flatlands.loadtest.kit.machine import machine, output_of
from flatlands.loadtest.kit.options import Parser, amount, whole
from flatlands.loadtest.kit.page import write_json
from flatlands.loadtest.kit.processes import SPARE_DESCRIPTORS, Trouble, raise_descriptor_limit
from flatlands.loadtest.kit.signals import Interrupted
from flatlands.loadtest.kit.terminal import Terminal
from flatlands.loadtest.peers import report
from flatlands.loadtest.peers.dialect import Dialect, load
from flatlands.loadtest.peers.programs import PEERS, PYTHON, SERVERS, Peer, absent, build
from flatlands.loadtest.peers.rows import (
    FLATLANDS,
    Row,
    measure_flatlands,
    measure_peer,
    measure_target,
)
from flatlands.loadtest.swarm.target import there

EPILOG = """names: flatlands, {}

The exit code is 0 if every server that takes part was measured, 1 if one was not, 2 for bad
options, 130 after Ctrl-C, which still tells what was measured until then."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; return the exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    terminal = Terminal()
    if bool(given.url) != bool(given.dialect):
        parser.error("--url names a server, and --dialect what is said to it: give both, or none")
    if given.url and (given.only or given.report):
        parser.error(
            "--url names a server that runs, of which no CPU is known: --only and --report "
            "are for those that are started"
        )
    limit = raise_descriptor_limit()
    if max(given.players) + SPARE_DESCRIPTORS > limit:
        terminal.say(
            f"peers: {max(given.players)} players need more file descriptors than the "
            f"{limit} that a process may have here: raise it (ulimit -n)"
        )
        return 2
    names = [] if given.url else given.only or [FLATLANDS, *(peer.name for peer in PEERS)]
    wanted = [peer for peer in PEERS if peer.name in names]
    left_out = absent(wanted)
    rows: list[Row] = []
    code = 0
    with signals.remembered():
        here = machine()
        try:
            if given.url:
                target = there(given.url, given.insecure)
                for players in given.players * given.repeat:
                    row = measure_target(target, given.dialect, players, given.seconds)
                    _keep(rows, row, terminal)
            left_out |= _build([peer for peer in wanted if peer.name not in left_out], terminal)
            for why in dict.fromkeys(left_out.values()):
                which = [peer.name for peer in wanted if left_out.get(peer.name) == why]
                terminal.say(f"left out: {', '.join(which)}: {why}")
            for players in given.players:
                for _ in range(given.repeat):
                    if FLATLANDS in names:
                        _keep(rows, measure_flatlands(players, given.seconds), terminal)
                    for peer in wanted:
                        if peer.name not in left_out:
                            _keep(rows, measure_peer(peer, players, given.seconds), terminal)
        except Trouble as trouble:
            terminal.say(f"peers: {trouble}")
            return 1
        except Interrupted:
            terminal.say("peers: interrupted")
            code = 130
    if rows:
        for table in report.tables(rows):
            terminal.print(table)
            terminal.say("")
        for note in report.notes(rows):
            terminal.say(note)
        if given.json is not None:
            write_json(given.json, _kept(given, here, rows, left_out))
        if given.report is not None:
            report.draw(rows, given.report)
    return code or int(any(row.trouble for row in rows))


def _build(peers: Sequence[Peer], terminal: Terminal) -> dict[str, str]:
    """Build the peers that have to be built; return name -> reason, for each that cannot be.

    Raises Interrupted.
    """
    why = {}
    for peer in peers:
        if peer.compiled:
            terminal.say(f"building {peer.name} (the first time, this may take a minute) ...")
            try:
                build(peer)
            except Trouble as trouble:
                why[peer.name] = str(trouble)
    return why


def _keep(rows: list[Row], row: Row, terminal: Terminal) -> None:
    rows.append(row)
    terminal.say(report.line(row))


def _kept(
    given: argparse.Namespace, here: dict[str, Any], rows: list[Row], left_out: dict[str, str]
) -> dict[str, Any]:
    return {
        "options": {"players": given.players, "seconds": given.seconds, "repeat": given.repeat},
        "machine": {**here, **_versions()},
        "left_out": left_out,
        "rows": [vars(row) for row in rows],
    }


def _versions() -> dict[str, str]:
    """Return the versions of the packages that the peers use."""
    found = json.loads((SERVERS / "package.json").read_text())["dependencies"]
    module = (SERVERS / "go" / "go.mod").read_text()
    found |= dict(re.findall(r"^require (\S+) (\S+)$", module, re.MULTILINE))
    lock = tomllib.loads((SERVERS / "rust" / "Cargo.lock").read_text())
    found |= {
        package["name"]: package["version"]
        for package in lock["package"]
        if package["name"] in ("tokio", "tokio-tungstenite")
    }
    found |= {"go": output_of(find_go(), "version"), "cargo": output_of(find_cargo(), "--version")}
    if shutil.which("node"):
        found["node"] = output_of("node", "--version")
    if PYTHON.exists():
        listed = [str(PYTHON), "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]
        for package in json.loads(subprocess.run(listed, capture_output=True).stdout):
            if package["name"].lower() in ("flask-socketio", "websockets", "gevent"):
                found[f"{package['name'].lower()} (python)"] = package["version"]
    return dict(found)


def _dialect(text: str) -> Dialect:
    try:
        return load(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parser() -> Parser:
    names = [peer.name for peer in PEERS]
    about = "Measure the same work on Flatlands and on other realtime servers, in turn."
    parser = Parser("python -m loadtest.peers", about, EPILOG.format(", ".join(names)))
    add = parser.add_argument
    add(
        "--players",
        type=whole(1, 100_000),
        nargs="+",
        default=[400, 2000],
        metavar="N",
        help="how many players, 20 a square (400 2000)",
    )
    add("--seconds", type=amount(1, 3600), default=8.0, help="how long to measure each (8)")
    add(
        "--repeat",
        type=whole(1, 100_000),
        default=1,
        help="how often each (1); the table shows medians",
    )
    add("--only", nargs="+", choices=[FLATLANDS, *names], metavar="NAME", help="only these")
    add("--url", help="instead measure this server, ws://HOST:PORT/PATH or wss://, by a --dialect")
    add(
        "--dialect",
        type=_dialect,
        metavar="FILE",
        help="what is said to it: a file of one's own (docs/peers.md), or a name of those in "
        "loadtest/peers/dialects/",
    )
    add("--insecure", action="store_true", help="accept any certificate of a wss:// server")
    parser.add_files()
    return parser
