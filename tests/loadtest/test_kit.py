"""What all programs of loadtest/ share: starting and ending programs, options, signals."""

import argparse
import os
import random
import signal
import subprocess
import sys
import time

import psutil
import pytest

from flatlands.loadtest.kit import brokers, machine, signals
from flatlands.loadtest.kit.options import amount, file, folder, names, whole
from flatlands.loadtest.kit.processes import ROOT, Program, Trouble, children
from flatlands.loadtest.kit.signals import Interrupted

process = pytest.mark.process

#: Seconds that anything here may take on a busy machine.
PATIENCE = 30


def test_cores_are_given_as_the_user_says_and_none_twice(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {7, 3, 4, 5})
    assert machine.pinned(True, 2, 1) == ([3, 4], [5])
    assert machine.pinned(None, 1, 9) == ([3], [4, 5, 7])
    assert machine.pinned(None, 2, 1) == machine.pinned(False, 1, 1) == ((), ())
    with pytest.raises(ValueError, match=r"each worker \(3\) .* \(2\), and there are 4: use fewer"):
        machine.pinned(True, 3, 2)


#: A program that ignores SIGTERM, as its child does.
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(99)"])
print("ready", child.pid, flush=True)
time.sleep(99)
"""


def python(code, **more):
    return Program([sys.executable, "-c", code], "the program", **more)


@process
def test_a_program_sends_and_receives_lines():
    said = "print('one', flush=True); print('listens at 42'); print('x' * 300_000); print(input())"
    with python(said, with_input=True) as program:
        assert program.ready(r"listens at (\d+)")[1] == "42"
        assert program.line(PATIENCE) == "x" * 300_000
        program.send({"number": 7})
        assert program.line(PATIENCE) == '{"number": 7}'
        assert program.wait(PATIENCE)
        # The program has ended, which does not matter.
        program.send({"number": 8})
        assert program.line(PATIENCE) is None


@process
def test_a_program_begins_on_the_cores_and_with_the_variables_that_it_is_given(monkeypatch):
    before = os.sched_getaffinity(0)
    core = max(before)
    look = ["grep", "Cpus_allowed_list", "/proc/self/status"]
    for _ in range(5):
        with Program(look, "the program", cpus=[core]) as program:
            assert program.line(PATIENCE) == f"Cpus_allowed_list:\t{core}"
    assert os.sched_getaffinity(0) == before
    monkeypatch.setenv("WORKERS", "9")
    show = "import os; print(os.environ.get('WORKERS'), os.environ['WALKERS'])"
    with python(show, environment={"WALKERS": "3"}) as program:
        assert program.line(PATIENCE) == "None 3"


@process
def test_a_program_that_does_not_start_says_why():
    with (
        python("print('so far'); raise ValueError('no port today')") as program,
        pytest.raises(Trouble, match="^the program does not start: ValueError: no port today$"),
    ):
        program.ready("ready")
    with (
        python("import time; time.sleep(99)") as program,
        pytest.raises(Trouble, match="^the program does not start: it says nothing$"),
    ):
        program.ready("ready", 0.1)
    with pytest.raises(Trouble, match="^the program cannot be started: .*No such file"):
        Program(["/nowhere/at/all"], "the program")


@process
def test_an_end_is_told_in_a_sentence():
    for code, sentence in (
        ("pass", "the program ended with exit status 0"),
        ("raise SystemExit('sorry')", "the program ended with exit status 1: sorry"),
        ("import os; os.kill(os.getpid(), 9)", "the program ended by signal 9"),
    ):
        with python(code) as program:
            assert program.wait(PATIENCE)
            assert program.death() == sentence


@process
def test_a_program_that_does_not_obey_or_stands_still_is_ended_with_its_children():
    with python("import time; print('ready', flush=True); time.sleep(99)") as program:
        program.ready("ready")
        program.process.suspend()
        program.end(PATIENCE)
    assert program.process.poll() == -signal.SIGTERM
    with python(STUBBORN) as program:
        child = psutil.Process(int(program.ready(r"ready (\d+)")[1]))
        assert program.death() == ""
        program.end(0.2)
        assert program.process.poll() == -signal.SIGKILL
    assert psutil.wait_procs([child], timeout=PATIENCE)[1] == []


@process
def test_children_that_have_ended_have_no_command_line_and_are_left_out():
    # Nobody asks how they ended, so they stay as zombies.
    with python(
        "import os, subprocess, time; one = subprocess.Popen(['true'])\n"
        "os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)\n"
        "two = subprocess.Popen(['sleep', '99'])\n"
        # A process exists before it has a command line.
        "while not open(f'/proc/{two.pid}/cmdline').read(): time.sleep(0.01)\n"
        "print('ready', flush=True); time.sleep(99)"
    ) as program:
        program.ready("ready")
        assert list(children(program.process).values()) == [["sleep", "99"]]
    assert children(program.process) == {}


@process
def test_a_program_whose_starter_is_killed_ends():
    code = (
        "import sys, time; from loadtest.kit.processes import Program\n"
        "program = Program([sys.executable, '-c', 'import time; time.sleep(99)'], 'a child')\n"
        "print(program.process.pid, flush=True); time.sleep(99)"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    with starter:
        child = psutil.Process(int(starter.stdout.readline()))
        starter.kill()
    assert psutil.wait_procs([child], timeout=PATIENCE)[1] == []


@process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_wait_ends_with_a_signal(number):
    with signals.remembered(), python("import time; time.sleep(99)") as program:
        signals.check()
        os.kill(os.getpid(), number)
        started = time.monotonic()
        for wait in (
            lambda: signals.sleep(99),
            lambda: program.wait(99),
            lambda: program.line(99),
            lambda: program.ready("ready"),
        ):
            with pytest.raises(Interrupted) as interrupted:
                wait()
            assert interrupted.value.number == number
        assert time.monotonic() - started < PATIENCE
    signals.check()


@pytest.mark.parametrize(
    ("take", "told", "texts"),
    [
        (whole(1, 10), "whole number, 1 to 10", ["0", "11", "x", "-1", "1.5", ""]),
        (amount(1, 10), "number from 1 to 10", ["0.9", "10.1", "x", "nan", ""]),
    ],
)
def test_a_text_that_is_no_number_in_range_is_refused(take, told, texts):
    for text in texts:
        with pytest.raises(argparse.ArgumentTypeError, match=f" is not a {told}$"):
            take(text)


def test_the_folder_of_what_is_to_be_written_is_made_or_refused(tmp_path):
    assert file(str(tmp_path / "a" / "run.json")).parent.is_dir()
    assert folder(str(tmp_path / "b" / "c")).is_dir()
    (tmp_path / "full").touch()
    for take, text in ((folder, "full/a"), (file, "full/run.json")):
        with pytest.raises(argparse.ArgumentTypeError, match="^cannot write to .*full"):
            take(str(tmp_path / text))
    with pytest.raises(argparse.ArgumentTypeError, match=" is a folder, not a file$"):
        file(str(tmp_path / "a"))


def test_series_are_named_one_by_one_or_all():
    convert = names(["one", "two", "three"])
    assert convert("all") == ("one", "two", "three") and convert("three,one") == ("three", "one")
    with pytest.raises(argparse.ArgumentTypeError, match="no series is called 'four': choose from"):
        convert("one,four")


#: A program that takes one of some ports, on which nobody listens, until its input ends.
TAKER = """
import sys
from flatlands.loadtest.kit import brokers
brokers.PORTS = eval(sys.argv[1])
print(*brokers.free_ports(1), flush=True)
sys.stdin.read()
"""


@process
def test_no_other_process_gets_a_port_before_the_one_that_has_it_ends(monkeypatch):
    first = random.randrange(32_000, 32_700)  # no other test gets these
    ports = [first, first + 1, first + 2]
    monkeypatch.setattr(brokers, "_reserved", set())
    monkeypatch.setattr(brokers, "PORTS", ports)
    command = [sys.executable, "-c", TAKER, repr(ports)]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as taker:
        [theirs] = map(int, taker.stdout.readline().split())
        mine = brokers.free_ports(2)
        assert {theirs, *mine} == set(ports)
        with pytest.raises(Trouble, match="of 3 ports too few are free"):
            brokers.free_ports(1)
        taker.stdin.close()
        assert taker.wait(PATIENCE) == 0
    monkeypatch.setattr(brokers, "PORTS", [theirs])
    assert brokers.free_ports(1) == [theirs]
