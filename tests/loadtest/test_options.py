"""Wrong options of the swarm are explained before anything starts."""

import pytest

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
        (
            ["--workers", "64", "--processes", "256", "--pin"],
            "--pin needs a core for each worker (64) and for each process of the clients (256)",
        ),
    ],
)
def test_options_that_make_no_sense_are_explained(options, sentence, capsys):
    assert sentence in refused(main, options, capsys)


def refused(main, options, capsys):
    """Return what a command with wrong options says, on one line."""
    with pytest.raises(SystemExit) as end:
        main(options)
    assert end.value.code == 2
    return " ".join(capsys.readouterr().err.split())
