"""What is told of runs: the page of charts, the exit code, and what is wrong with the options."""

import pytest

from flatlands.loadtest.swarm.command import _judge
from flatlands.loadtest.swarm.oracle import Verdict
from flatlands.loadtest.swarm.result import Options, Result
from tests.loadtest.test_swarm import run


def result(bots=100, broker="memory://", p99=10.0, **verdict):
    counts = {"expected": 50, "delivered": 50, **verdict}
    row = {"second": 1.0, "deliveries": 500.0, "server_cpu": 0.1, "broker_cpu": 0.0, "cpu": 0.2}
    latency = {"p50": 1.0, "p90": 2.0, "p99": p99, "p99.9": 20.0, "max": 30.0}
    return Result(
        Options(bots=bots, broker=broker),
        broker,
        None,
        Verdict(**counts),
        10.0,
        {"moves": 100, "deliveries": 5000, "server_cpu": 1.0, "broker_cpu": 0.0, "lost": 0},
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
    ("options", "sentence"),
    [
        (["--url", "http://localhost:1/"], "is not the address of a server"),
        (["--url", "ws://127.0.0.1:1/ws"], "nothing answers at ws://127.0.0.1:1/ws"),
        (["--broker", "pigeon://"], "pigeon:// names no broker"),
    ],
)
def test_nothing_to_measure_gets_a_sentence(options, sentence):
    code, said = run("--bots", "5", "--seconds", "1", *options)
    assert code == 1 and sentence in said
    # Where a server is started that is said first.
    assert said.count("\n") == 1 + ("--broker" in options)
