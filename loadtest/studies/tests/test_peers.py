"""The comparison with other servers: what is counted, and what is said if it cannot be."""

import json
import re
import sys
from types import SimpleNamespace

import pytest

from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.studies.peers import programs, rows
from flatlands.loadtest.studies.peers import study as peers_study
from flatlands.loadtest.studies.peers.client import Client, audiences, block, whole_frames
from flatlands.loadtest.studies.peers.dialect import FOLDER, as_bytes, load
from flatlands.loadtest.studies.peers.marker import SIZE, Tally, find, marker
from flatlands.loadtest.studies.peers.programs import PEERS, absent
from flatlands.loadtest.studies.peers.rows import measure_peer
from flatlands.loadtest.swarm import result_files
from flatlands.loadtest.swarm.target import Target
from flatlands.server.net.frames import frame
from flatlands.wire import TEXT

SECOND = 1_000_000


def batches(*due, padding=b""):
    return b"".join(frame(b'{"marker":"%s"}' % marker(at).encode() + padding, TEXT) for at in due)


def test_markers_are_found_among_any_bytes():
    one, other = marker(5).encode(), marker(123_456_789_012).encode()
    noise = bytes(range(256)) + b"~~" + one[:-1] + b"x~00000000001a~" + b"~" * 20
    starts, due = find(noise + one + other + b"\x00~0")
    assert due.tolist() == [5, 123_456_789_012]
    assert starts.tolist() == [len(noise), len(noise) + SIZE]


@pytest.mark.parametrize("padding", [b"", b"." * 150], ids=["short", "long"])
def test_a_marker_split_over_two_reads_is_counted_once(padding):
    stream = batches(11, 12, 13, padding=padding)
    for cut in range(len(stream) + 1):
        tally = Tally(0, SECOND)
        first, found = stream[:cut], []
        end = whole_frames(first, found)
        tally.add(first[:end], 20)
        rest = first[end:] + stream[cut:]
        end = whole_frames(rest, found)
        tally.add(rest[:end], 30)
        tally.count()
        assert (tally.delivered, end, found) == (3, len(rest), [])


def test_halves_of_two_connections_make_no_marker():
    half = SIZE // 2 + 14
    tally = Tally(0, SECOND)
    for stream in (batches(11)[:half], batches(12)[half:]):
        tally.add(stream[: whole_frames(stream, [])], 20)
    tally.count()
    assert tally.delivered == 0


def test_control_frames_and_heartbeats_are_found():
    found = []
    stream = batches(1) + frame(b"abcd", 9) + frame(b"2", TEXT) + batches(2) + frame(b"", 8)
    assert whole_frames(stream, found) == len(stream)
    assert found == [(9, b"abcd"), (TEXT, b"2"), (8, b"")]


def test_latency_counts_from_when_a_move_was_due():
    tally = Tally(0, SECOND)
    tally.add(batches(1000, 5000), 9000)
    tally.add(batches(2000), 12_000)
    tally.count()
    assert tally.latency.percentile(50) == pytest.approx(8.0, rel=0.01)
    assert tally.latency.most == pytest.approx(10.0, rel=0.01)


def test_moves_due_in_the_window_count_and_those_that_came_in_it_are_told_apart():
    tally = Tally(SECOND, 2 * SECOND)
    tally.add(batches(SECOND - 1, SECOND), SECOND + 1)
    tally.add(batches(2 * SECOND - 1, 2 * SECOND), 2 * SECOND + 1)
    tally.count()
    assert (tally.delivered, tally.arrived) == (2, 2)


def test_what_was_late_from_the_warm_up_is_no_delivery_of_the_window():
    tally = Tally(2 * SECOND, 4 * SECOND)
    tally.add(batches(*[SECOND] * 30, *[3 * SECOND] * 64), 3 * SECOND + 1)
    tally.count()
    found = {"delivered": tally.delivered, "arrived": tally.arrived, "expected": 64, "cpu": 0.5}
    found |= {"seconds": 2.0, "lost": 0, "late_p99": 1.0, "client": 0.1, "mb": 1.0, "latency": {}}
    row = rows._row("a", "A", 4, found)
    assert (row["share"], row["per_second"], row["per_cpu_second"]) == (1.0, 32.0, 188.0)


def test_the_audience_is_everybody_in_the_surrounding_squares():
    squares = block(9 * 20, 20)
    heard = dict(zip(squares, audiences(squares), strict=True))
    assert (heard[0, 0], heard[1, 0], heard[1, 1]) == (80, 120, 180)


@pytest.mark.parametrize("name", [path.stem for path in FOLDER.glob("*.py")])
def test_every_dialect_passes_the_marker_on_unchanged(name):
    assert find(as_bytes(load(name).move(1, 16_383, marker(42))))[1].tolist() == [42]


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("def lines(square): return ()", "has no function move"),
        ("1 / 0", "fails: ZeroDivisionError: division by zero"),
        (
            "def lines(s): return ()\ndef move(x, y, m): return str(x)",
            "pass its marker on as it is",
        ),
    ],
)
def test_a_fault_in_a_dialect_of_ones_own_is_reported(code, sentence, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(code)
    with pytest.raises(SystemExit):
        peers_study.main(["--url", "ws://x/", "--dialect", str(tmp_path / "mine.py")])
    assert sentence in capsys.readouterr().err


@pytest.mark.load
def test_the_password_of_a_missing_server_is_not_revealed(tmp_path, capsys):
    options = ["--dialect", "plain_json", "--json", str(tmp_path / "run.json")]
    assert peers_study.main(["--url", "ws://me:secret@127.0.0.1:1/", *options]) == 1
    told = capsys.readouterr().err + (tmp_path / "run.json").read_text()
    assert "nothing answers at ws://127.0.0.1:1/" in told and "secret" not in told


@pytest.mark.load
def test_a_server_that_does_not_start_leaves_a_sentence(monkeypatch):
    failing = [sys.executable, "-c", "raise SystemExit('no port today')"]
    monkeypatch.setattr(programs, "command", lambda peer: failing)
    with pytest.raises(Trouble, match="^the server does not start: no port today$"):
        measure_peer(PEERS[0], 20, 1.0)
    # Not sys.executable itself, which also starts the process that ends programs.
    monkeypatch.setattr(result_files, "sys", SimpleNamespace(executable="/bin/false"))
    with pytest.raises(Trouble, match="^the swarm has measured nothing: .* exit status 1$"):
        rows.measure_flatlands(20, 1.0)


@pytest.mark.load
def test_a_server_that_speaks_no_websocket_is_refused_and_gone_afterwards():
    page = "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler)"
    script = f"{page}; print(s.server_port, flush=True); s.serve_forever()"
    with programs.started([sys.executable, "-c", script]) as server:
        assert server.cost()[1] > 1
        players = Client(Target(server.address, "/"), load("socketio"))
        with pytest.raises(Trouble, match="404"):
            players.join([(0, 0)])
        players.close()
    assert server.program.process.poll() is not None


@pytest.mark.parametrize(
    ("suffix", "here", "names", "what"),
    [
        (".mjs", "", {"socket.io", "ws", "colyseus", "colyseus-shared"}, "install Node 20"),
        (".go", "", {"go"}, "install Go 1.19"),
        (".rs", "", {"rust"}, "install Rust 1.63"),
        (".cpp", "", {"uwebsockets"}, "install GCC 10"),
        (".cpp", "g++", {"uwebsockets"}, "install Rust 1.63"),
    ],
)
def test_peers_without_what_runs_them_are_left_out_and_the_reason_is_given(
    suffix, here, names, what, monkeypatch
):
    monkeypatch.setattr(programs.shutil, "which", lambda name: name if name == here else None)
    why = absent([peer for peer in PEERS if peer.suffix == suffix])
    assert set(why) == names
    assert all(what in sentence for sentence in why.values())


@pytest.mark.load
def test_a_peer_that_cannot_be_built_is_left_out_and_the_reason_is_given(monkeypatch, capsys):
    def fail(peer):
        raise Trouble(f"the peer {peer.name} cannot be built: no network")

    monkeypatch.setattr(peers_study, "absent", lambda peers: {})
    monkeypatch.setattr(peers_study, "build", fail)
    names = "go", "rust", "uwebsockets"
    assert peers_study.main(["--only", *names]) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [
        f"left out: {name}: the peer {name} cannot be built: no network" for name in names
    ]


@pytest.mark.load
def test_the_versions_of_what_the_peers_are_built_from_are_told():
    packages = "ws", "github.com/gobwas/ws", "tokio-tungstenite", "libuwebsockets-sys"
    versions = peers_study._versions()
    assert all(re.match(r"v?\d+\.\d+\.\d+$", versions[name]) for name in packages)
    assert {"go", "cargo", "g++"} <= set(versions)


def test_the_lock_names_no_registry_but_the_usual_one():
    lock = json.loads((programs.SERVERS / "package-lock.json").read_text())
    for name, package in lock["packages"].items():
        resolved = package.get("resolved", "https://registry.npmjs.org/")
        assert resolved.startswith("https://registry.npmjs.org/"), name
