"""Small faults are made where they should be, in a copy, and what tests find of them is told."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.mutants import STAGES, Copy, Finder, Nearness, Outcome, Trial, find, follow
from tests.processes import PATIENCE, ROOT, clean_environment

CODE = '''
"""Steps, of which 3 < 4 are known."""
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    MOST = 1

log = logging.getLogger("steps")


class Steps:
    def __init__(self, at: "list[1]") -> None:
        super().__init__()
        self.at: tuple[1, 2] = tuple(at)

    def __repr__(self):
        return repr(self.at[1])

    def go(self, x, y, é="é"):
        if x is not (y):
            log.warning("%d", x + 1)
        if not x and é:
            self.turn(x, x, *y, timeout=2)
        while 0 <= x < 5000:
            x += max(x, y) - 2**3
        return f"{x + 1}" + "é" if x else self.at[-1]
'''


def test_faults_are_made_where_they_may_be_and_nowhere_else():
    found = Finder("world/steps.py", CODE.encode()).found
    assert {(fault.kind, fault.where, fault.old, fault.new) for fault in found} == {
        ("call", "Steps.__init__", "super().__init__()", "pass"),
        ("condition", "Steps.go", "not x and é", "not (not x and é)"),
        ("call", "Steps.go", "self.turn(x, x, *y, timeout=2)", "pass"),
        ("condition", "Steps.go", "0 <= x < 5000", "not (0 <= x < 5000)"),
        ("comparison", "Steps.go", "<=", "<"),
        ("comparison", "Steps.go", "<", "<="),
        ("number", "Steps.go", "0", "1"),
        ("number", "Steps.go", "+=", "-="),
        ("number", "Steps.go", "-", "+"),
        ("condition", "Steps.go", "x", "not (x)"),
        ("number", "Steps.go", "1", "2"),
    }
    lines = CODE.splitlines()
    for fault in found:
        before, after = fault.diff(CODE.encode()).splitlines()[-2:]
        assert before == f"-{lines[fault.line - 1]}" and after != f"+{lines[fault.line - 1]}"
        compile(fault.made_in(CODE.encode()), fault.file, "exec")


def test_a_swapped_argument_and_a_comparison_over_two_lines_stay_what_they_are():
    code = b"turn((a), b + 1)\nx = (a\n    not  in b)\n"
    made = {fault.made_in(code) for fault in Finder("x.py", code).found if fault.kind != "call"}
    assert made >= {
        b"turn((b + 1), a)\nx = (a\n    not  in b)\n",
        b"turn((a), b + 1)\nx = (a\n    in b)\n",
    }


def tree(folder: Path, files: dict[str, str]) -> Path:
    """Write files into a folder; return it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def shown(folder: Path, seed: int) -> list[str]:
    return [f"{fault.where} {fault.old} {fault.new}" for fault in find(folder, seed)]


def test_a_seed_has_the_same_faults_after_code_was_added_and_moved(tmp_path):
    whole = shown(tree(tmp_path / "a", {"world/steps.py": CODE}), 1)
    assert whole == shown(tmp_path / "a", 1) != shown(tmp_path / "a", 2)
    assert sorted(whole) == sorted(shown(tmp_path / "a", 2))
    more = "def more(x):\n    return x < 7\n\n\n"
    after = shown(tree(tmp_path / "b", {"world/feet/steps.py": more + CODE}), 1)
    assert len(after) == len(whole) + 2
    for kind in ("pass", "not (", " -", " +", " <"):
        of_kind = [fault for fault in after if kind in fault and not fault.startswith("more ")]
        assert of_kind == [fault for fault in whole if kind in fault]


def test_the_nearest_tests_are_those_named_like_a_module_or_importing_it(tmp_path):
    tree(
        tmp_path,
        {
            "world/steps.py": "",
            "world/feet.py": "from flatlands.world import steps",
            "tests/test_steps.py": "",
            "tests/test_feet.py": "import flatlands.world.feet",
            "tests/test_all.py": "from flatlands.world.steps import go",
            "tests/test_other.py": "import world.others",
            "games/test_a.py": "from flatlands.world.steps import go",
        },
    )
    files = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.py")]
    near = Nearness(tmp_path, files).near
    assert near("world/steps.py") == [
        "tests/test_steps.py",
        "tests/test_all.py",
        "games/test_a.py",
    ]
    (tmp_path / "tests/test_all.py").write_text("")
    (tmp_path / "games/test_a.py").write_text("")
    near = Nearness(tmp_path, files).near
    assert near("world/steps.py") == ["tests/test_steps.py", "tests/test_feet.py"]


def told(*events: tuple[str, str, str], closed: bool = True, most: float = 1e9) -> Outcome:
    """Return what is made of these events."""
    reading, writing = os.pipe()
    os.write(writing, b"".join(json.dumps(event).encode() + b"\n" for event in events))
    if closed:
        os.close(writing)
    try:
        return follow(reading, 0.05, most)
    finally:
        os.close(reading)
        if not closed:
            os.close(writing)


def test_a_test_that_hangs_or_ends_pytest_has_failed():
    begun = [("begins", "a.py::a", ""), ("ends", "a.py::a", ""), ("begins", "b.py::b[x]", "")]
    failed = [("begins", "c.py::c", ""), ("fails", "c.py::c", "c"), ("ends", "c.py::c", "")]
    hung = told(*begun, *failed, closed=False).failed
    assert list(hung.items()) == [("b.py::b[x]", "timed out"), ("c.py::c", "c")]
    crashed = told(*begun)
    assert crashed.failed == {"b.py::b[x]": "pytest has crashed"}
    assert crashed.files == {"a.py", "b.py"}
    assert told(*begun[:2], closed=False, most=0).failed == {"": "timed out"}
    assert told(*begun, ("ends", "b.py::b[x]", ""), ("exits", "", "")).failed == {}
    unloaded = told(("exits", "", "pytest ended with exit code 4"))
    assert unloaded.failed == {"": "pytest ended with exit code 4"}


STEPS = "def is_near(at):\n    return at // 8 < 4\n"
TESTS = """
import subprocess
import sys

import pytest

from world.steps import is_near


def test_near():
    assert is_near(3) and not is_near(36)


@pytest.mark.process
def test_far():
    code = "from world.steps import is_near; print(is_near(99))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).stdout == b"False\\n"
"""
FILE = "tests/test_steps.py"

#: Fails once.
CHANCE = """
from pathlib import Path


def test_chance():
    if not Path({0!r}).exists():
        Path({0!r}).touch()
        raise AssertionError
"""
HANGS = """
import os
import time
from pathlib import Path


def test_hangs():
    Path({0!r}).write_text(str(os.getpid()))
    time.sleep(999)
"""


def repository(folder: Path, tests: str) -> Path:
    """Make a tree with a module and its tests, of which git knows the module."""
    tree(folder, {"world/__init__.py": "", "world/steps.py": STEPS})
    for command in ("init --quiet", "add .", "commit --quiet --message one"):
        own = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *command.split()]
        subprocess.run(own, cwd=folder, check=True)
    return tree(folder, {FILE: tests})


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def start(folder: Path, *options: str) -> "subprocess.Popen[str]":
    """Start the command on a tree; its temporary files are in the folder beside it."""
    temporary = folder.with_name("temporary")
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "tests.mutants", "--tree", str(folder), *options],
        cwd=ROOT,
        env={**clean_environment(), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: "subprocess.Popen[str]", code: int) -> str:
    """Wait for the end of the command; return what it printed."""
    try:
        printed, _ = process.communicate(timeout=5 * PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == code, printed
    return printed


@pytest.mark.outside
@pytest.mark.process
def test_what_is_found_and_what_survives_is_told_and_the_tree_stays_as_it_is(tmp_path):
    folder, results = repository(tmp_path / "tree", TESTS), tmp_path / "results.json"
    before = contents(folder)
    printed = finish(start(folder, "--json", str(results)), 0)
    assert "3 mutants: 2 found, 0 timed out, 1 survived, 0 unclear" in printed
    number = "-    return at // 8 < 4\n+    return at // 9 < 4\n"
    assert printed.endswith(number)
    kept = json.loads(results.read_text())
    assert {(each["old"], each["outcome"], each["stage"]) for each in kept["mutants"]} == {
        ("<", "found", "in-process"),
        ("4", "found", "in-process"),
        ("8", "survived", "programs"),
    }
    found = [each["by"] for each in kept["mutants"] if "by" in each]
    assert found == [f"{FILE}::test_near"] * 2
    assert contents(folder) == before and not list((tmp_path / "temporary").iterdir())
    # They are not tried again, and results of two trees are not mixed.
    again = finish(start(folder, "--json", str(results)), 0)
    assert again.endswith(number) and "without a fault" not in again
    tree(folder, {FILE: "def test_near():\n    assert 0 == 1\n"})
    assert "name another file" in finish(start(folder, "--json", str(results)), 1)
    assert "fails without a fault" in finish(start(folder), 1)


@pytest.mark.process
def test_a_failure_by_chance_is_no_find(tmp_path):
    folder = repository(tmp_path / "tree", CHANCE.format(str(tmp_path / "failed")))
    (tmp_path / "own").mkdir()
    copy = Copy(folder, tmp_path / "own")
    trial = Trial(copy, {"in-process": {"seconds": 1, "files": [FILE]}})
    found = trial.judge({}, STAGES[0], [FILE])
    assert (found["outcome"], found["chances"]) == ("survived", [f"{FILE}::test_chance"])
    # Python would take two contents of one size and second for the same.
    seconds = set()
    for number in "898":
        copy.write("world/steps.py", STEPS.replace("8", number).encode())
        seconds.add(int((copy.folder / "world/steps.py").stat().st_mtime))
    assert len(seconds) == 3


@pytest.mark.process
def test_who_ends_it_ends_the_tests_too(tmp_path):
    pid = tmp_path / "pid"
    process = start(repository(tmp_path / "tree", HANGS.format(str(pid))), "--count", "1")
    until = time.monotonic() + PATIENCE
    while not (pid.exists() and pid.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    running = psutil.Process(int(pid.read_text()))
    process.terminate()
    finish(process, 130)
    assert psutil.wait_procs([running], timeout=PATIENCE)[1] == []
    assert not list((tmp_path / "temporary").iterdir())
