"""The swarm as people run it: what it measures, what it finds, and how it ends."""

import json
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.processes import ROOT, ServerProcess, serving

#: Seconds that a run of the swarm may take besides what it measures.
PATIENCE = 60


def swarm(*options):
    """Start bots.py."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "loadtest/bots.py", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(*options):
    """Run bots.py to its end; return its exit code and what it said."""
    process = swarm(*options)
    said, _ = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in said, said
    return process.returncode, said


def judged(tmp_path, *options):
    """Run bots.py; return its exit code and its only run as kept in JSON."""
    path = tmp_path / "runs.json"
    code, said = run(*options, "--json", str(path))
    [result] = json.loads(path.read_text())["runs"]
    assert code != 2, said
    return code, result


def url(server):
    return f"ws://127.0.0.1:{server.port}/ws"


@pytest.fixture(scope="module")
def crowd():
    """A server whose newcomers all begin in one square."""
    with serving("--spread", "1") as server:
        yield server


def test_a_server_that_keeps_its_word_is_all_right(tmp_path):
    code, result = judged(
        tmp_path, "--bots", "40", "--seconds", "4", "--broker", "redis://", "--scenario", "march"
    )
    verdict = result["verdict"]
    assert code == 0 and result["faults"] == [] and result["adds_up"]
    assert verdict["observers"] == 40 and verdict["expected"] > 500
    assert verdict["expected"] == verdict["delivered"] + verdict["replaced"]
    totals, figures = result["totals"], result["figures"]
    assert 250 < totals["moves"] < 350
    assert totals["deliveries"] >= verdict["delivered"]
    assert 0 < result["latency"]["p50"] <= result["latency"]["p99"] <= result["latency"]["max"]
    assert figures["server"] > 0 and figures["broker"] > 0 and figures["MB"] > 10
    assert len(result["series"]) >= 4


def test_in_a_crowd_newer_moves_take_the_place_of_older_ones_and_none_is_unaccounted_for(tmp_path):
    # More than one batch can carry, and faster than its square may publish.
    code, result = judged(
        tmp_path, "--bots", "150", "--seconds", "3", "--scenario", "crowd", "--rate", "9"
    )
    verdict = result["verdict"]
    assert code == 0 and result["faults"] == [] and result["adds_up"]
    assert verdict["replaced"] > 500 and verdict["delivered"] > verdict["replaced"]


def test_each_broken_word_is_found_and_counted(tmp_path):
    counts = {"drop": 3, "duplicate": 4, "reorder": 5, "delay": 6, "leak": 7}
    server = ServerProcess("--spread", "1", module="tests.loadtest.faulty_server",
                           before=[json.dumps(counts)])  # fmt: skip
    try:
        code, result = judged(
            tmp_path, "--url", url(server), "--bots", "12", "--seconds", "9",
            "--scenario", "crowd", "--rate", "1",
        )  # fmt: skip
    finally:
        server.close()
    found = {name: n for name, n in result["verdict"].items() if name in (
        "missing", "duplicate", "stale", "foreign", "ghosts", "unseen", "misplaced"
    )}  # fmt: skip
    assert found == {
        "missing": 3, "duplicate": 4, "stale": 6, "foreign": 7,
        "ghosts": 0, "unseen": 0, "misplaced": 0,
    }  # fmt: skip
    # What is three seconds late comes after what was later.
    assert result["verdict"]["reordered"] == 5 + 6
    assert code == 1 and not result["adds_up"]
    assert result["verdict"]["expected"] == result["verdict"]["delivered"] + 3


def test_in_lockstep_over_two_nodes_nothing_may_be_lost(tmp_path):
    code, result = judged(
        tmp_path, "--bots", "25", "--seconds", "4", "--scenario", "life", "--workers", "2"
    )
    assert code == 0 and result["verdict"]["stalled"] == 0
    # Ten steps a second at most, the first after a second of the two that do not count.
    assert result["totals"]["steps"] > 25 * 15


@pytest.mark.parametrize("scenario", ["slow", "flood"])
def test_who_never_reads_and_who_is_rude_harm_nobody(tmp_path, crowd, scenario):
    code, result = judged(
        tmp_path, "--url", url(crowd), "--bots", "60", "--seconds", "4",
        "--scenario", scenario, "--sample", "6",
    )  # fmt: skip
    assert code == 0, result["faults"]
    assert (result["totals"]["offences"] > 5) == (scenario == "flood")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--bots", "0"], "'0' is not a whole number, 1 to 100000"),
        (["--seconds", "soon"], "'soon' is not a number from 1 to 86400"),
        (["--scenario", "war"], "invalid choice: 'war'"),
        (["--ramp", "9..3"], "must rise"),
        (["--viewport", "wide"], "not like 40x25"),
        (["--url", "ws://x/ws", "--workers", "2"], "--url names a server that runs"),
        (["--bots", "99999", "--processes", "1"], "file descriptors"),
    ],
)
def test_bad_options_get_a_sentence(options, sentence):
    code, said = run(*options)
    assert code == 2 and sentence in said


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--url", "http://localhost:1/"], "is not the address of a server"),
        (["--url", "ws://127.0.0.1:1/ws"], "nothing answers at ws://127.0.0.1:1/ws"),
        (["--broker", "carrier-pigeon://coop"], "the server does not start"),
        (["--broker", "pigeon://"], "pigeon:// names no broker"),
    ],
)
def test_nothing_to_measure_gets_a_sentence(options, sentence):
    code, said = run("--bots", "5", "--seconds", "1", *options)
    assert code == 1 and sentence in said


def test_a_server_that_is_no_such_server_gets_a_sentence(crowd):
    code, said = run("--url", url(crowd) + "/nowhere", "--bots", "5", "--seconds", "1")
    assert code == 1 and "to the WebSocket handshake" in said


def measuring(process):
    """Return once a run has measured for a second or so; what it said until then."""
    said = ""
    deadline = time.monotonic() + PATIENCE
    while "measuring" not in said:
        said += process.stdout.readline()
        assert time.monotonic() < deadline and process.poll() is None, said
    time.sleep(2)
    return said


def test_a_server_that_dies_midway_leaves_a_partial_report(tmp_path):
    path = tmp_path / "runs.json"
    process = swarm("--bots", "20", "--seconds", "30", "--json", str(path))
    measuring(process)
    [server] = [
        child for child in psutil.Process(process.pid).children() if "server" in child.cmdline()
    ]
    server.kill()
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and "the server ended with code -9" in said
    assert re.search(r"moves a second +│ +\d\d", said), said
    [result] = json.loads(path.read_text())["runs"]
    assert result["totals"]["moves"] > 40 and result["verdict"] is None


def test_ctrl_c_leaves_a_partial_report_and_no_process():
    process = swarm("--bots", "20", "--seconds", "30", "--broker", "zeromq://")
    measuring(process)
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) >= 3
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and "interrupted" in said and "moves a second" in said
    assert "Traceback" not in said
    assert psutil.wait_procs(family, timeout=5)[1] == []
