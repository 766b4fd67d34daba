"""Wrong options of the swarm are explained before anything starts."""

import pytest

from flatlands.loadtest.kit import processes
from flatlands.loadtest.swarm import command
from flatlands.loadtest.swarm.command import main


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--bots", "0"], "'0' is not a whole number, 1 to 100000"),
        (["--ramp", "9..3"], "must increase"),
        (["--scenario", "wonder"], "no scenario is called 'wonder': choose from wander, "),
        (["--scenario", "not/there.py"], "the scenario not/there.py fails: FileNotFound"),
        (["--fail-if", "speed > 1"], "no figure is called 'speed': there are moves/s, "),
        (["--fail-if", "p99 = 1"], "'p99 = 1' is not like 'p99 > 100'"),
        (["redis://me:a/@pass@x"], "unrecognized arguments: redis://x"),
        (["--viewport", "wide"], "not like 40x25"),
        (["--url", "ws://x/ws", "--workers", "2"], "--url names a running server"),
        (["--bots", "99999", "--processes", "1"], "file descriptors"),
        (["--url", "ws://x/ws", "--pin"], "--pin is for one that is started"),
        (["--admin-token", "a token"], "a server that is started needs none"),
        (["--url", "ws://x/ws", "--admin-token", "é"], "only printable ASCII"),
        # What is wrong with any of the brokers is found before the first one is measured.
        (["--compare", "memory://", "redsi://"], "no broker is called 'redsi://': a broker's URL"),
        (["--compare", "memory://", "redis://me:pass@x:99999"], "'x:99999' is not a host:port"),
        (["--compare", "memory://", "redis://x?retry=1"], "redis:// has two options"),
        (["--compare", "memory://", "rediss://"], "name a server, such as rediss://127.0.0.1"),
        (["--compare", "memory://", "redis://,nats://x"], "of one kind: redis://,nats://x"),
        (["--broker", "pigeon://"], "no broker is called 'pigeon://'"),
        (["--broker", "memory"], "no broker is called 'memory'"),
        (["--compare", "nats://", "memory://", "--workers", "2"], "memory:// is for one worker"),
        (
            ["--workers", "64", "--processes", "256", "--pin"],
            "--pin needs a core for each worker (64) and for each process of the clients (256)",
        ),
    ],
)
def test_options_that_make_no_sense_are_explained(options, sentence, capsys):
    assert sentence in refused(main, options, capsys)


@pytest.mark.parametrize(
    ("url", "program"),
    [("rediscluster://", "redis-cli"), ("redis://x,redis://", "redis-server")],
)
def test_a_missing_program_is_noticed_before_anything_is_measured(
    url, program, capsys, monkeypatch
):
    find = processes.shutil.which
    monkeypatch.setattr(
        processes.shutil, "which", lambda name, **more: None if name == program else find(name)
    )
    monkeypatch.setattr(command, "run", pytest.fail)
    assert main(["--compare", "memory://", url]) == 1
    said = " ".join("".join(capsys.readouterr()).split())
    assert f"{program} is not installed" in said


def refused(main, options, capsys):
    """Return what a command with wrong options says, on one line."""
    with pytest.raises(SystemExit) as end:
        main(options)
    assert end.value.code == 2
    return " ".join(capsys.readouterr().err.split())
