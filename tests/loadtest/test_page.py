"""What is told of runs: the page of charts, the exit code, and wrong options."""

import csv
import json
from dataclasses import replace

import pytest

from flatlands.loadtest.kit.thresholds import threshold
from flatlands.loadtest.swarm import result_files, terminal_output
from flatlands.loadtest.swarm.command import _judge, main
from flatlands.loadtest.swarm.compare import verdict
from flatlands.loadtest.swarm.oracle import Verdict
from flatlands.loadtest.swarm.result import Options, Progress, Result
from tests.loadtest.test_swarm import run


def result(bots=100, broker="memory://", p99=10.0, fail_if=(), **verdict):
    counts = {"expected": 50, "delivered": 50, **verdict}
    row = {"second": 1.0, "deliveries": 500.0, "server_cpu": 0.1, "broker_cpu": None, "cpu": 0.2}
    latency = {"p50": 1.0, "p90": 2.0, "p99": p99, "p99.9": 20.0, "max": 30.0}
    return Result(
        Options(
            bots=bots, broker=broker, fail_if=tuple(map(threshold(terminal_output.VALUES), fail_if))
        ),
        broker,
        None,
        Verdict(**counts),
        10.0,
        {"moves": 100, "deliveries": 5000, "server_cpu": 1.0, "broker_cpu": None, "lost": 0},
        latency,
        series=[{**row, **latency}, {**row, **latency, "second": 2.0}],
    )


class Said:
    def __init__(self):
        self.lines = []

    def say(self, text):
        self.lines.append(text)


@pytest.mark.parametrize(
    ("changed", "code", "word"),
    [
        ({}, 0, "all right: 50 of 50"),
        ({"delivered": 49, "missing": 1}, 1, "1 missing"),
        ({"ghosts": 2}, 1, "2 ghosts"),
    ],
)
def test_the_exit_code_is_the_oracles(changed, code, word):
    said = Said()
    assert _judge([result(**changed)], said) == code
    assert any(word in line for line in said.lines)


def test_a_swarm_that_was_too_slow_is_not_believed():
    run, said = result(), Said()
    run.invalid.append("the swarm itself used 95% of its cores")
    assert _judge([run], said) == 3
    assert any(line.startswith("not valid") for line in said.lines)


@pytest.mark.parametrize(
    ("p99s", "limit", "code", "word"),
    [
        ([10, 30, 12], "p99 > 11.9", 99, "crossed: wander, 100 bots, memory://: p99 > 11.9: 12"),
        ([10, 30, 12], "p99 >= 12.1", 0, "all right"),
        ([10], "server >= 10%", 99, "server >= 0.1: 0.1"),
        # An unknown figure must not look as if it had been checked.
        ([10], "broker > 1", 99, "broker > 1: broker is not known"),
    ],
)
def test_a_threshold_is_for_the_median_and_an_unknown_figure_crosses_it(p99s, limit, code, word):
    said, runs = Said(), [result(p99=float(p99), fail_if=[limit]) for p99 in p99s]
    assert _judge(runs, said) == code
    assert any(word in line for line in said.lines), said.lines
    # A fault counts more than slowness, and a run that cannot be believed is not judged.
    runs[0].invalid.append("the swarm itself used 95% of its cores")
    assert _judge(runs, Said()) == 3
    assert _judge([result(fail_if=[limit], ghosts=1)], Said()) == 1


def test_runs_are_kept_for_spreadsheets_and_for_prometheus(tmp_path):
    runs = [result(), result(bots=200)]
    result_files.write_csv(tmp_path / "runs.csv", runs)
    first, second = csv.DictReader((tmp_path / "runs.csv").read_text().splitlines())
    figures = [first["bots"], second["bots"], first["p99"], first["broker"]]
    assert figures == ["100", "200", "10.0", ""]
    result_files.write_prometheus(tmp_path / "runs.prom", runs)
    said = (tmp_path / "runs.prom").read_text()
    labels = 'bots="200",quantile="0.99",scenario="wander",target="memory://",workers="1"'
    assert f"flatlands_swarm_latency_seconds{{{labels}}} 0.01\n" in said
    assert "broker_cpu_cores{" not in said and "flatlands_swarm_deliveries_expected{" in said


def test_a_report_marks_medians_of_runs_that_are_not_valid_and_small_brokers(tmp_path, monkeypatch):
    monkeypatch.setattr(result_files, "machine", lambda: {"cores": 2})
    runs = [result(broker=broker) for broker in ("redis://", "redis://", "nats://")]
    for one, cpu in zip(runs, (0.043, 0.051, 0.009), strict=True):
        one.totals["broker_cpu"] = cpu
    runs[0].invalid.append("the swarm itself used 95% of its cores")
    result_files.write_report(tmp_path, runs)
    page = (tmp_path / "index.html").read_text()
    assert "<th>wander<br>100 bots<br>redis://<br>median of 2<br>1 not valid</th>" in page
    assert "<th>wander<br>100 bots<br>nats://</th>" in page
    assert "0.0047  (0.0043 to 0.0051)" in page and ">0.0009<" in page
    alone = terminal_output.heading(runs[:1])
    assert alone.splitlines()[-1] == "not valid"


@pytest.mark.parametrize(
    ("phase", "changed", "verdict"),
    [
        ("measuring", {}, "all right so far"),
        ("measuring", {"fail_if": ["p99 > 9"]}, "crossed: p99 > 9: 10"),
        # Until the end, what is not yet known is not a fault.
        ("measuring", {"fail_if": ["late > 0", "broker > 1"]}, "all right so far"),
        ("joining", {"fail_if": ["p99 > 9"]}, "all right so far"),
    ],
)
def test_a_verdict_so_far_is_shown_and_written_while_a_run_goes_on(
    phase, changed, verdict, tmp_path, capsys
):
    until_now = replace(result(**changed), verdict=None)
    progress = Progress(phase, 3.0, 90, until_now.figures, until_now)
    display = terminal_output.Display()
    with display.following("a run", until_now.options) as following:
        display.console.print(terminal_output._board(progress))
        result_files.telling(tmp_path / "now.prom", following)(progress)
    said = capsys.readouterr().out
    assert f"{verdict}\n" in said and "90 of 100" in said and "10.0" in said, said
    assert "flatlands_swarm_right{" in (tmp_path / "now.prom").read_text()
    until_now.totals["lost"] = 2
    assert terminal_output.so_far(progress).startswith("failed: 2 times a bot lost its connection")


@pytest.mark.parametrize(
    ("key", "before", "after", "word"),
    [
        ("p99", [10, 11, 12, 12, 12], [20, 21, 19, 20, 20], "worse"),
        ("p99", [20, 21, 19, 20, 20], [10, 11, 12, 12, 12], "better"),
        ("per CPU s", [20, 21, 19, 20, 20], [10, 11, 12, 12, 12], "worse"),
        ("moves/s", [20, 21, 19, 20, 20], [10, 11, 12, 12, 12], "differs"),
        ("p99", [10, 11, 12, 11, 11], [12, 21, 22, 21, 21], ""),
        ("p99", [10, 15, 19, 14, 16], [20, 21, 22, 21, 21], ""),
        ("MB", [100.0, 100.1, 100.2, 100.1, 100.1], [100.4, 100.5, 100.6, 100.5, 100.5], ""),
        ("p99", [10, 11, 12, 12], [20, 21, 19, 20], ""),
    ],
)
def test_only_what_differs_beyond_the_spread_is_said_to_differ(key, before, after, word):
    assert verdict(key, before, after) == word


def test_two_files_are_compared(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(result_files, "machine", lambda: {"cores": 2})
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file, p99 in zip(files, (10.0, 50.0), strict=True):
        file.write_text(json.dumps(result_files.as_json([result(p99=p99 + n) for n in range(5)])))
    assert main(["compare", *map(str, files)]) == 99
    said = capsys.readouterr().out
    assert "12.0 (10.0 to 14.0)" in said and "+333.3%" in said and said.count("worse") == 1, said
    assert main(["compare", *map(str, files[:1] * 2)]) == 0
    assert "show no spread" not in capsys.readouterr().out
    fewer = [result(p99=99.0 + n) for n in range(5)]
    fewer[0].invalid.append("the swarm itself used 95% of its cores")
    files[1].write_text(json.dumps(result_files.as_json(fewer)))
    assert main(["compare", *map(str, files)]) == 0
    assert "Fewer than 5 valid runs show no spread" in capsys.readouterr().out
    files[0].write_text("[]")
    with pytest.raises(SystemExit):
        main(["compare", *map(str, files)])
    assert "has no runs that bots.py has kept" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--url", "http://localhost:1/"], "is not the address of a server"),
        (["--url", "ws://[::1:8000/ws"], "is not the address of a server"),
        (["--url", "ws://a..b/ws"], "is not the address of a server"),
        (["--url", "ws://127.0.0.1:1/ws"], "nothing answers at ws://127.0.0.1:1/ws"),
    ],
)
def test_nothing_to_measure_gets_a_sentence(options, sentence):
    code, said = run("--bots", "5", "--seconds", "1", *options)
    assert code == 1 and sentence in said
    assert said.count("\n") == 1
