"""`flatlands play` as a program: one game is played once at a time, over a slow link if that is
asked for."""

import json
import os
import re
import signal
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing

import pytest

from flatlands.__main__ import main
from flatlands.loadtest.kit.processes import Program
from flatlands.proxy import Proxy
from tests.brokers.redis_servers import eventually
from tests.processes import PATIENCE, ROOT, python

pytestmark = pytest.mark.process

PLAY = "-m", "flatlands", "play"
HERE = {"PYTHONPATH": str(ROOT)}


def playing(folder, *options, game="."):
    """Return `flatlands play` in a folder, and where its server is."""
    command = [sys.executable, *PLAY, game, "--port", "0", *options]
    program = Program(command, "play", folder=folder, environment=HERE)
    return program, program.ready(r"http://localhost:\d+", PATIENCE)[0]


def refused(folder, *options, game="."):
    """Play a game that is played; return by which process and where, as the sentence says."""
    ended = python(*PLAY, game, "--port", "0", *options, cwd=folder, env={**os.environ, **HERE})
    assert ended.returncode == 2 and ended.stdout == ""
    said = re.fullmatch(
        r"flatlands: \S+ is already being played, by process (\d+) at (\S+): go there, or stop it "
        r"first\n",
        ended.stderr,
    )
    assert said, ended.stderr
    return int(said[1]), said[2]


@pytest.fixture
def game(tmp_path):
    """The folder of a new game."""
    folder = tmp_path / "mygame"
    assert main(["new", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_game_is_played_once_at_a_time_whatever_the_options(game, workers):
    first, url = playing(game, "--workers", workers)
    with first:
        [server] = first.process.children()
        assert refused(game, "--broker", "null://") == (server.pid, url)
        # It starts anew, and still has the game to itself.
        (game / "more.py").touch()
        again = first.ready(r"http://localhost:\d+", PATIENCE)[0]
        [server] = first.process.children()
        assert refused(game, "--store", "none") == (server.pid, again)
    second, _ = playing(game, "--workers", workers)
    second.end()


def test_a_game_can_be_played_again_once_whoever_played_it_was_killed(game):
    first, url = playing(game)
    with first:
        [server] = first.process.children()
        first.process.kill()
        first.process.wait(PATIENCE)
        # Its server goes on, and has the game until it ends too, however that happens.
        assert refused(game) == (server.pid, url)
        server.send_signal(signal.SIGKILL)
        eventually(lambda: not server.is_running(), "it was not killed")
        second, _ = playing(game)
        second.end()


def test_workers_do_not_care_which_number_the_lock_has(game):
    # Whoever plays it has many files open, as an editor may have.
    crowded = (
        "import os, sys; from flatlands.__main__ import main; "
        "[os.open(os.devnull, os.O_RDONLY) for _ in range(60)]; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", crowded, "play", ".", "--port", "0", "--workers", "2"]
    with Program(command, "play", folder=game, environment=HERE) as program:
        program.ready(r"http://localhost:\d+", PATIENCE)


def test_what_a_game_has_started_does_not_play_it(game):
    pids = game.parent / "pids"
    start = f"""import subprocess
daemon = subprocess.Popen(
    ["sleep", "300"], start_new_session=True, close_fds=False, stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
)
print(daemon.pid, file=open({str(pids)!r}, "a"))
"""
    (game / "game.py").write_text(start + (game / "game.py").read_text())
    try:
        for _ in range(2):
            playing(game)[0].end()
    finally:
        for pid in pids.read_text().split():
            os.kill(int(pid), signal.SIGKILL)


def test_two_games_of_one_folder_are_played_side_by_side(game):
    (game / "other.py").write_text((game / "game.py").read_text())
    with playing(game)[0], playing(game, game="other.py")[0]:
        refused(game)
        refused(game, game="other.py")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_modules_of_the_author_take_no_librarys_place(game, workers):
    for name in ("select", "queue", "flask", "gevent", "world"):
        (game / f"{name}.py").write_text("raise ImportError('the author has this name, too')")
    command = [sys.executable, "-P", *PLAY, ".", "--port", "0", "--workers", workers]
    with Program(command, "play", folder=game, environment=HERE) as program:
        program.ready(r"http://localhost:\d+", PATIENCE)
    ended = python("-P", "-m", "flatlands", "test", cwd=game, env={**os.environ, **HERE})
    assert ended.returncode == 0, ended.stdout


def test_a_clone_that_is_not_installed_plays_from_its_folder(game):
    nowhere = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, *PLAY, str(game), "--port", "0"]
    with Program(command, "play", folder=ROOT, environment=nowhere) as program:
        program.ready(r"http://localhost:\d+", PATIENCE)


def seconds_to_load(url):
    """Return how many seconds it takes until the page has come."""
    began = time.monotonic()
    with urllib.request.urlopen(url, timeout=PATIENCE) as page:
        assert b"<canvas" in page.read()
    return time.monotonic() - began


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_slow_link_stays_where_it_is_when_the_game_changes(game, workers):
    program, url = playing(game, "--workers", workers, "--lag", "300", "--jitter", "20")
    with program:
        # One round trip to connect, and one for the page.
        assert seconds_to_load(url) >= 0.6
        assert "round trips take 300 to 320 ms longer, and 0 % of packets" in program.errors()
        if workers == "1":
            with urllib.request.urlopen(f"{url}/inspect/state") as answer:
                assert json.load(answer)["about"]["game"] == game.name
        [server] = program.process.children()
        assert refused(game) == (server.pid, url)
        (game / "more.py").touch()
        assert program.ready(r"http://localhost:\d+", PATIENCE)[0] == url
        assert seconds_to_load(url) >= 0.6
    with pytest.raises(urllib.error.URLError):
        seconds_to_load(url)


def test_without_a_slow_link_there_is_no_proxy(game):
    program, url = playing(game, "--lag", "0")
    with program:
        assert seconds_to_load(url) > 0
        [server] = program.process.children()
        assert f":{url.rpartition(':')[2]} " in " ".join(
            f":{one.laddr.port} " for one in server.net_connections() if one.status == "LISTEN"
        )
        assert "slow link" not in program.errors()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--lag", "-5"], "argument --lag: '-5' is not a number from 0 to 2000"),
        (["--jitter", "much"], "argument --jitter: 'much' is not a number from 0 to 2000"),
        (["--jitter", "nan"], "argument --jitter: 'nan' is not a number from 0 to 2000"),
        (["--loss", "101"], "argument --loss: '101' is not a number from 0 to 100"),
        (["--loss"], "argument --loss: expected one argument"),
        (["--lag", "9", "--port", "x"], "argument --port: 'x' is not a whole number"),
        (["--lag", "9", "--host", "0.0.0.0"], "a slow link is for this machine only, and 0.0.0.0"),
        (["--lag", "9", "--host", "no.invalid"], "cannot listen on no.invalid port 0: "),
        (["--lag", "9", "--workers", "none"], "argument --workers: 'none' is not a whole number"),
    ],
    ids=lambda it: "".join(it)[:20],
)
def test_a_link_that_cannot_be_is_refused_with_a_sentence(game, options, sentence):
    ended = python(*PLAY, ".", "--port", "0", *options, cwd=game, env={**os.environ, **HERE})
    assert ended.returncode == 2 and ended.stdout == ""
    assert sentence in ended.stderr and "Traceback" not in ended.stderr


def test_a_slow_link_needs_a_port_that_is_free(game):
    with closing(Proxy(0)) as other:
        port = str(other.port)
        ended = python(
            *PLAY, ".", "--lag", "9", "--port", port, cwd=game, env={**os.environ, **HERE}
        )
    assert ended.returncode == 2
    assert f"flatlands: port {port} is taken: stop what uses it, or choose" in ended.stderr


def test_help_has_the_options_of_a_slow_link_and_those_of_the_server():
    helped = python(*PLAY, "--help")
    told = helped.stdout
    assert helped.returncode == 0 and helped.stderr == ""
    assert all(f"\n  {option} " in told for option in ("--lag", "--jitter", "--loss", "--port"))
    assert told.index("--loss") < told.index("--port") and "ping" in told


def test_the_types_of_the_page_follow_the_game_and_restart_nothing(game):
    types, source = game / "page" / "game.d.ts", game / "game.py"
    first, _ = playing(game)
    with first:
        assert "  spill(reach: number, $shown?: Shown): boolean;" in types.read_text()
        source.write_text(source.read_text().replace("def spill(", "def pour("))
        url = first.ready(r"http://localhost:\d+", PATIENCE)[0]
        assert "  pour(reach: number, $shown?: Shown): boolean;" in types.read_text()
        for name in ("game.d.ts", "jsconfig.json"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"{url}/{name}")
        # The next change that it sees is this one.
        (game / "more.py").touch()
        first.ready(r"http://localhost:\d+", PATIENCE)
        changed = re.findall(r"flatlands: (\S+) has changed", first.errors())
    assert changed == ["game.py", "more.py"]
