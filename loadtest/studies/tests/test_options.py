"""Wrong options of a study are explained before anything starts."""

import pytest

from flatlands.loadtest.studies.connections import command as idle
from flatlands.loadtest.studies.two_queues.study import main as queues
from flatlands.loadtest.studies.work_queues.study import main as work
from flatlands.loadtest.swarm.command import main as swarm
from tests.loadtest.test_options import refused

IDLE = ["--scenario", "idle"]


@pytest.mark.parametrize(
    ("main", "options", "sentence"),
    [
        (swarm, [*IDLE, "--workers", "64", "--pin"], "--pin needs a core for each worker"),
        (swarm, [*IDLE, "--ramp", "1..65536/17"], "give --workers 4, or raise the limit"),
        (swarm, [*IDLE, "--rate", "0"], "--rate 0 asks for nothing"),
        (swarm, [*IDLE, "--sample", "5"], "--scenario idle does not know --sample"),
        (swarm, [*IDLE, "--url", "redis://", "--workers", "2"], "--url names a running server"),
        (swarm, [*IDLE, "--fail-if", "MB > 1"], "has no figure 'MB': there are server, swarm, p50"),
        (queues, ["--fail-if", "MB > 1"], "no figure is called 'MB': there are per client, "),
        (queues, ["--num-clients", "two"], "'two' should look like 4, 1-4 or 1,2,8"),
        (queues, ["--series", "rabbitmq"], "no series is called 'rabbitmq': choose from redis-"),
        (queues, ["--broker", "localhost"], "'localhost' names no broker that is measured"),
        (queues, ["--broker", "redis:a/s@cret@x"], "'x' names no broker that is measured"),
        (queues, ["--broker", "pigeon://me:a/s@cret@x"], "'pigeon://x' names no broker"),
        (queues, ["--broker", "nats://a", "redis://x:99999"], "'x:99999' is not a host:port"),
        (queues, ["--broker", "zeromq://a", "zeromq://b?sub=1"], "should look like zeromq://host"),
        (work, ["--redis", "redis://me:pass@x:port"], "'x:port' is not a host:port for redis://"),
        (swarm, [*IDLE, "--url", "rediss://x:port"], "'x:port' is not a host:port for rediss://"),
        (queues, ["--json", "/dev/null/x/run.json"], "cannot write to /dev/null/x"),
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
    assert sentence in refused(main, options, capsys)
