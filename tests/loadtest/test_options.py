"""Wrong options of a load test or a benchmark are explained before anything starts."""

import pytest

from flatlands.loadtest.idle import command as idle
from flatlands.loadtest.queues.study import main as queues
from flatlands.loadtest.swarm.command import main as swarm
from flatlands.loadtest.work.study import main as work

IDLE = ["--scenario", "idle"]


@pytest.mark.parametrize(
    ("main", "options", "sentence"),
    [
        (swarm, ["--bots", "0"], "'0' is not a whole number, 1 to 100000"),
        (swarm, ["--ramp", "9..3"], "must rise"),
        (swarm, ["--scenario", "wonder"], "no scenario is called 'wonder': there are wander, "),
        (swarm, ["--scenario", "not/there.py"], "the scenario not/there.py fails: FileNotFound"),
        (swarm, ["--fail-if", "speed > 1"], "no figure is called 'speed': there are moves/s, "),
        (swarm, ["--fail-if", "p99 = 1"], "'p99 = 1' is not like 'p99 > 100'"),
        (swarm, ["redis://me:a/@pass@x"], "unrecognized arguments: redis://x"),
        (swarm, ["--viewport", "wide"], "not like 40x25"),
        (swarm, ["--url", "ws://x/ws", "--workers", "2"], "--url names a server that runs"),
        (swarm, ["--bots", "99999", "--processes", "1"], "file descriptors"),
        (swarm, ["--url", "ws://x/ws", "--pin"], "--pin is for one started"),
        (swarm, ["--admin-token", "a token"], "a server that is started needs none"),
        (swarm, ["--url", "ws://x/ws", "--admin-token", "é"], "only printable ASCII"),
        (
            swarm,
            ["--workers", "64", "--processes", "256", "--pin"],
            "--pin needs a core for each worker (64) and for each process of the clients (256)",
        ),
        (swarm, [*IDLE, "--workers", "64", "--pin"], "--pin needs a core for each worker"),
        (swarm, [*IDLE, "--ramp", "1..65536/17"], "give --workers 4, or raise the limit"),
        (swarm, [*IDLE, "--rate", "0"], "--rate 0 asks for nothing"),
        (swarm, [*IDLE, "--sample", "5"], "--scenario idle does not know --sample"),
        (swarm, [*IDLE, "--url", "redis://", "--workers", "2"], "--url names a server that runs"),
        (swarm, [*IDLE, "--fail-if", "MB > 1"], "has no figure 'MB': there are server, swarm, p50"),
        (queues, ["--fail-if", "MB > 1"], "no figure is called 'MB': there are per client, "),
        (queues, ["--num-clients", "two"], "'two' should look like 4, 1-4 or 1,2,8"),
        (queues, ["--series", "rabbitmq"], "no series is called 'rabbitmq': there are redis-"),
        (queues, ["--broker", "localhost"], "'localhost' names no broker that is measured"),
        (queues, ["--broker", "redis:a/s@cret@x"], "'x' names no broker that is measured"),
        (queues, ["--broker", "pigeon://me:a/s@cret@x"], "'pigeon://x' names no broker"),
        (queues, ["--json", "/dev/null/x/run.json"], "nothing can be written to /dev/null/x"),
        (
            work,
            ["--kill", "--series", "lpop,stream"],
            "--kill is for stream, store-redis, store-sqlite: lpop would not hand out again",
        ),
        (
            work,
            ["--redis", "http://me:pass@x"],
            "'http://x' does not begin with redis:// or rediss",
        ),
    ],
)
def test_options_that_make_no_sense_are_explained(main, options, sentence, capsys, monkeypatch):
    monkeypatch.setattr(idle, "raise_descriptor_limit", lambda: 20_000)
    with pytest.raises(SystemExit) as end:
        main(options)
    assert end.value.code == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
