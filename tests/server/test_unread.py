"""A server's output that nobody reads: it never stops the game, nor the end of the server."""

import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import termios
import time
import urllib.request
from contextlib import contextmanager, suppress

import pytest

from tests.brokers.servers import free_port
from tests.processes import BARE, PATIENCE, ROOT, clean_environment
from tests.server.servers import until
from tests.server.test_workers import children, none_lives
from tests.socket_client import SocketClient

pytestmark = pytest.mark.process


@contextmanager
def two_ends(kind):
    """Yield, as files, the end of an output that a test reads, and the one that a server writes."""
    if kind == "socket":
        near, far = (end.detach() for end in socket.socketpair())
    else:
        near, far = pty.openpty() if kind == "terminal" else os.pipe()
    with open(near, "rb", buffering=0) as reader, open(far, "wb", buffering=0) as output:
        yield reader, output


def stuff(kind, output):
    """Let whoever writes to an output wait, as if its reader had stopped."""
    if kind == "terminal":
        termios.tcflow(output, termios.TCOOFF)
        return
    os.set_blocking(output.fileno(), False)
    while output.write(b"." * 4095 + b"\n"):
        pass
    os.set_blocking(output.fileno(), True)


def read(reader, told=b"", server=None):
    """Return what comes next after `told`, or nothing at the end.

    If nothing comes from a `server`, the failure says where it is.
    """
    if not select.select([reader], [], [], PATIENCE)[0]:
        where = b""
        if server is not None:
            # faulthandler dumps its stack as it aborts.
            server.process.send_signal(signal.SIGABRT)
            server.process.wait(PATIENCE)
            where = os.read(reader.fileno(), 1 << 16)
        pytest.fail(f"nothing came after {told!r}: {where.decode()}")
    return reader.read(1 << 16)


class Unread:
    """`python -m server`, or another `module`, with an output that is the test's to read."""

    def __init__(self, output, *options, module=("server",), **environment):
        self.port = free_port()
        self.process = subprocess.Popen(
            [sys.executable, "-m", *module, "--port", str(self.port), *options],
            cwd=ROOT,
            env={**clean_environment(), "GAME": BARE, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def serves(self):
        try:
            url = f"http://127.0.0.1:{self.port}/readyz"
            with urllib.request.urlopen(url, timeout=1) as answer:
                return answer.status == 200
        except OSError:
            return False

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0


@contextmanager
def unread(output, *options, **environment):
    """Run a server while the block runs."""
    server = Unread(output, *options, **environment)
    try:
        until(server.serves)
        yield server
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.process.pid, signal.SIGKILL)
        server.process.wait()


def walks(port):
    """Let a player come, walk a step and go."""
    client = SocketClient(port).hello("Ada")
    client.walk(1, 0)
    client.until(lambda: client.model.players[client.model.id].ack == 1)
    client.close()


@pytest.mark.parametrize("kind", ["pipe", "terminal"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_players_play_on_and_the_server_ends_while_nobody_reads_its_output(kind, workers):
    with two_ends(kind) as (_, output):
        stuff(kind, output)
        with unread(output, "--workers", workers) as server:
            walks(server.port)
            server.stop()


TALKS = """
import sys
from pathlib import Path
from flatlands import Game as Engine, every
from gevent.monkey import get_original

start_thread = get_original("_thread", "start_new_thread")


class Game(Engine):
    line = 0

    @every(0.05)
    def talk(self):
        for _ in range(400):
            self.line += 1
            print(f"line {self.line} {'x' * 100}", file=sys.stderr if self.line % 2 else sys.stdout)
        start_thread(print, ("from a thread",))
        if self.line > 20_000:
            Path(__file__).with_name("full").touch()
"""


def test_lines_that_do_not_fit_are_counted(tmp_path):
    (tmp_path / "talks.py").write_text(TALKS)
    options = "--game", str(tmp_path / "talks.py")
    with (
        two_ends("pipe") as (reader, output),
        unread(output, *options, LOG_FORMAT="json", LOG_LEVEL="ERROR") as server,
    ):
        output.close()
        # Two megabytes, which is more than may wait in all.
        until((tmp_path / "full").exists)
        walks(server.port)
        told = bytearray()
        while not re.search(rb"(?s)lines dropped here.*\nline ", told):
            told += read(reader)
            assert len(told) < 10**7, told[-1000:]
        server.stop()
    lines = told.decode().split("\n")
    assert "from a thread" in lines
    at = next(n for n, line in enumerate(lines) if "lines dropped here" in line)
    note = json.loads(lines[at])
    assert note["level"] == "WARNING"
    count = int(note["message"].rpartition(" ")[2])
    before = [line for line in lines[:at] if line.startswith("line ")][-1]
    after = next(line for line in lines[at:] if line.startswith("line "))
    gone = int(after.split()[1]) - int(before.split()[1]) - 1
    # The lines from threads are the others that were left out: one after 400 of the game's, and
    # threads that had to wait may all write at once.
    assert gone <= count <= gone + int(after.split()[1]) // 400 + 1


def test_the_last_lines_are_written_if_the_reader_is_only_slow():
    # A second may be too short for a reader on a busy machine.
    script = (
        f"from flatlands import output\noutput.FLUSH_SECONDS = {PATIENCE}\noutput.install()\n"
        "for _ in range(500):\n    print('x' * 1000)\nprint('the last words', end='')"
    )
    with two_ends("pipe") as (reader, output):
        process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=output)
        try:
            output.close()
            told = bytearray(read(reader))
            time.sleep(1)
            while data := read(reader):
                told += data
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
            process.wait()
    assert told == b"x" * 1000 + (b"\n" + b"x" * 1000) * 499 + b"\nthe last words"


HANGS = """
import os
from pathlib import Path
from flatlands import Game as Engine, every
from gevent.monkey import get_original


class Game(Engine):
    @every(0.5)
    def hang(self):
        if not (done := Path(__file__).with_name("done")).exists():
            done.write_text(str(os.getpid()))
            get_original("time", "sleep")({seconds})
"""


def test_a_hang_that_ends_by_itself_does_not_wait_for_the_dump_of_its_stack(tmp_path):
    (tmp_path / "hangs.py").write_text(HANGS.format(seconds=9.5))
    with two_ends("pipe") as (_, output):
        stuff("pipe", output)
        with unread(output, "--game", str(tmp_path / "hangs.py")) as server:
            until((tmp_path / "done").exists)
            walks(server.port)
            server.stop()


def test_a_worker_that_hangs_while_nobody_reads_is_replaced(tmp_path):
    (tmp_path / "hangs.py").write_text(HANGS.format(seconds=3600))
    with two_ends("pipe") as (_, output):
        stuff("pipe", output)
        options = "--game", str(tmp_path / "hangs.py"), "--workers", "2"
        with unread(output, *options) as server:
            until((tmp_path / "done").exists)
            hung = int((tmp_path / "done").read_text())
            until(lambda: len(children(server)) == 2 and hung not in children(server))
            until(server.serves)
            walks(server.port)
            both = children(server)
            server.stop()
            assert none_lives(both)


def test_a_game_that_has_changed_is_served_anew_while_nobody_reads(tmp_path):
    game = tmp_path / "game.py"
    game.write_text("from flatlands import Game as Engine\n\n\nclass Game(Engine):\n    pass\n")
    with two_ends("pipe") as (_, output):
        stuff("pipe", output)
        module = "flatlands", "play", str(tmp_path)
        with unread(output, module=module) as author:
            [first] = children(author, "--author")
            game.write_text(game.read_text() + "\n# changed\n")
            until(lambda: children(author, "--author") not in ([], [first]))
            until(author.serves)
            walks(author.port)
            author.stop()


DUMPS = """
from ctypes import PyDLL
from flatlands import Game as Engine, every
from gevent.monkey import get_original

sleep = get_original("time", "sleep")


class Game(Engine):
    @every(0.5)
    def hang(self):
        {hangs}
"""


@pytest.mark.parametrize(
    "kind, hangs",
    [
        # One in C lets no other thread of Python run, so that none could copy the dump.
        ("pipe", "PyDLL(None).sleep(3600)"),
        ("terminal", "PyDLL(None).sleep(3600)"),
        ("socket", "sleep(3600)"),
    ],
)
def test_a_hang_is_named_with_its_line_wherever_the_output_goes(kind, hangs, tmp_path):
    (tmp_path / "dumps.py").write_text(DUMPS.format(hangs=hangs))
    told = b""
    with two_ends(kind) as (reader, output):
        server = Unread(output, "--game", str(tmp_path / "dumps.py"), PYTHONFAULTHANDLER="1")
        try:
            # So the end of the server is an end of its output.
            output.close()
            while b'dumps.py", line 12 in hang' not in told:
                came = read(reader, told, server)
                assert came, f"the server has ended: {told!r}"
                told += came
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.process.pid, signal.SIGKILL)
            server.process.wait()
