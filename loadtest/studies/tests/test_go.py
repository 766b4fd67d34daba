"""Programs are built, or it is said why not; and the workers in Go and in Python agree on channels,
framing, stamps and reports."""

import shutil
import subprocess

import pytest

from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.studies import compilers
from flatlands.loadtest.studies.children import Children
from flatlands.loadtest.studies.compilers import build_cpp, build_go, build_rust
from flatlands.loadtest.studies.peers.programs import SERVERS
from flatlands.loadtest.studies.two_queues import measure
from flatlands.loadtest.studies.two_queues.measure import PYTHON, Job, jobs_of, open_brokers, run
from flatlands.loadtest.studies.two_queues.series import SERIES
from flatlands.loadtest.studies.two_queues.study import Options

pytestmark = pytest.mark.load

RATE = 500


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    return measure.build_worker(tmp_path_factory.mktemp("go"))


@pytest.fixture(params=["go-redis", "go-zeromq", "go-zeromq-2013"])
def broker(request, worker):
    """The processes of a test, among them the broker of a series, and the broker's URL."""
    with Children() as children:
        url, [program] = open_brokers(SERIES[request.param], Options(), children, worker)
        yield children, url, program


def test_a_program_that_cannot_be_built_says_why(tmp_path, monkeypatch):
    (tmp_path / "go.mod").write_text("module wrong\n\ngo 1.19\n")
    (tmp_path / "main.go").write_text("package main\n\nfunc main() { nobody() }\n")
    with pytest.raises(Trouble, match="the thing cannot be built: .*undefined: nobody"):
        build_go(tmp_path, tmp_path / "thing", "the thing")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(compilers, "USUAL_CARGO", "/nowhere/cargo")
    with pytest.raises(Trouble, match="Rust is not installed"):
        build_rust(tmp_path, tmp_path, "the thing")


def test_a_program_in_cpp_is_built_once_and_again_when_it_has_changed(tmp_path, monkeypatch):
    source, program = tmp_path / "cpp", tmp_path / "built" / "thing"
    shutil.copytree(SERVERS / "cpp", source)
    for status in (3, 4):
        (source / "main.cpp").write_text(f"int main() {{ return {status}; }}\n")
        build_cpp(source, program, "the thing")
        with monkeypatch.context() as bare:
            bare.setenv("PATH", "/nowhere")
            build_cpp(source, program, "the thing")
        assert subprocess.run([program]).returncode == status
    assert list(program.parent.iterdir()) == [program]
    (source / "main.cpp").write_text("int main() { nobody(); }\n")
    with pytest.raises(Trouble, match="the thing cannot be built: .*nobody"):
        build_cpp(source, program, "the thing")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(compilers, "find_cargo", lambda: shutil.which("true", path="/bin:/usr/bin"))
    with pytest.raises(Trouble, match=r"GCC is not installed \(Debian: apt-get install g\+\+\)"):
        build_cpp(source, program, "the thing")


def carried(jobs, broker):
    children, url, program = broker
    options = Options(seconds=3, rate=RATE, warm_up=0.5)
    return run(jobs, url, options, children, [program])


def test_each_language_hears_both(worker, broker):
    jobs = [
        Job((worker,), "go", [0], []),
        Job(PYTHON, "broker", [1], []),
        Job((worker,), "go", [], [0]),
        Job(PYTHON, "broker", [], [1]),
    ]
    point, _ = carried(jobs, broker)
    account = point["account"]
    due = 2 * 3.5 * RATE
    # On a busy machine a publisher may miss its last messages, but none sends more than is due.
    assert 0 < account["sent"] <= due
    assert account["delivered"] == account["due"] == 2 * account["sent"]
    assert account["adds_up"] and not account["foreign"] and not account["duplicates"]
    # Stamps in another clock or unit would be off by more than the whole run.
    assert 0 < point["latency_ms"]["p50"] < 3500


def test_a_configuration_that_makes_no_sense_is_refused(worker):
    jobs = jobs_of(SERIES["go-redis"], 2, worker)
    assert [job.command for job in jobs] == [(worker,)] * 4
    for argument in ("", "{}", '{"publishers": [0], "size": 19}'):
        answer = subprocess.run([worker, argument], capture_output=True, text=True, timeout=60)
        assert answer.returncode == 2 and "one argument is needed" in answer.stderr
