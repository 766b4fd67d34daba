"""`python -m tests.mutants`: make small faults in the server, and look which ones the tests find.

Each fault (a mutant) is made in a copy of the tree, in a temporary folder: the tree is only read.
The seed gives each possible fault a rank, which changes only with the line and the name of the
function that have it. So two trees are compared with mostly the same faults, wherever these moved,
and the first mutants of a seed are also the first if more are asked for.

A mutant must pass the tests whose files are nearest to its module, then all others that run in one
process, then those that start programs. A test that fails or hangs is run again, without the fault
and with it, since a failure by chance is no find. Without any fault all tests must pass; this is
tried before, as is whether they run what is in the copy.

With --json, a run of the same tree and seed goes on where the last one ended. The exit code is 0
even if mutants survive: people must say whether a test is missing, or whether the fault does
nothing that anybody could notice.
"""

import argparse
import ast
import contextlib
import dataclasses
import difflib
import hashlib
import inspect
import itertools
import json
import math
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

#: The folders in whose modules faults are made.
FOLDERS = ("server", "world", "brokers", "stores")

#: The kinds of faults, by what is wrong.
KINDS = ("comparison", "call", "number", "arguments", "condition")

#: The largest number that is made wrong by one: larger ones are sizes and times, and few care.
LARGEST = 256

#: Bytes of memory that a process may write to, so that a fault does not take all there is. Each
#: thread counts with 8 MB for its stack, and tests leave hundreds of threads behind.
MEMORY = 8 * 2**30

#: CPU seconds of a process: what hangs ends some time, even if this program was killed.
CPU = 1800

#: Seconds that pytest may take until the first test begins.
COLLECTING = 240.0

#: A stage may take so many times what it took without a fault.
SLOWER = 5
#: It may take so many seconds more.
LATER = 300

#: So many files of tests are worth it to start several processes.
MANY = 10

#: So many failures end a run. If none of them happens again, nobody knows what the others do.
CHANCES = 3

TIMED_OUT = "timed out"

COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}

#: Functions that return the same if two arguments are swapped.
SYMMETRIC = {"max", "min", "gcd", "lcm", "hypot", "isclose"}

LOGGERS = {"log", "_log", "logger", "logging"}
LOGGING = {"debug", "info", "warning", "error", "exception", "critical", "log"}

#: What shows that + joins texts or lists.
JOINED = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)


class Unfit(Exception):
    """Nothing can be tried on this tree. The text says why, in a sentence."""


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A fault: the bytes of `file` from `start` to `end` are `old`, and become `new`.

    `where` is the function or class that has it, `line` the number of its first line.
    """

    kind: str
    file: str
    where: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def made_in(self, source: bytes) -> bytes:
        """Return the file's bytes with the fault."""
        return source[: self.start] + self.new.encode() + source[self.end :]

    def diff(self, source: bytes) -> str:
        """Return the changed lines as a diff."""
        before, after = source.decode(), self.made_in(source).decode()
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), self.file, self.file, n=0, lineterm=""
        )
        return "\n".join(lines)


class Finder(ast.NodeVisitor):
    """Finds the faults that can be made in a file.

    None is in annotations, in what only a type checker reads, in log lines, or in how objects are
    shown.
    """

    def __init__(self, file: str, source: bytes) -> None:
        self.found: list[Mutant] = []
        self._file, self._source = file, source
        lengths = (len(line) for line in source.splitlines(keepends=True))
        #: Where each line begins.
        self._lines = [0, *itertools.accumulate(lengths)]
        self._scope: list[str] = []
        self.visit(ast.parse(source))

    def _span(self, node: ast.AST) -> tuple[int, int]:
        each: Any = node
        start = self._lines[each.lineno - 1] + each.col_offset
        return start, self._lines[each.end_lineno - 1] + each.end_col_offset

    def _text(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self._source[start:end].decode()

    def _add(self, kind: str, start: int, end: int, new: str) -> None:
        old = self._source[start:end].decode()
        line = self._source.count(b"\n", 0, start) + 1
        where = ".".join(self._scope)
        self.found.append(Mutant(kind, self._file, where, line, start, end, old, new))

    def _change_between(self, kind: str, left: ast.AST, right: ast.AST, old: str, new: str) -> None:
        """Change the operator that stands between two operands, which may have parentheses."""
        start, end = self._span(left)[1], self._span(right)[0]
        operator = re.escape(old).replace(r"\ ", r"\s+")
        gap = re.fullmatch(rf"([\s)\\]*)({operator})[\s(\\]*", self._source[start:end].decode())
        if gap is not None:
            self._add(kind, start + gap.start(2), start + gap.end(2), new)

    def _negate(self, test: ast.expr) -> None:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self._add("condition", *self._span(test), self._text(test.operand))
        elif not (
            # A wrong comparison does the same.
            isinstance(test, ast.Compare)
            and len(test.ops) == 1
            and not isinstance(test.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        ):
            self._add("condition", *self._span(test), f"not ({self._text(test)})")

    def _visit_all(self, nodes: Sequence[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in ("__repr__", "__str__"):
            return
        self._scope.append(node.name)
        self._visit_all([*node.args.defaults, *node.args.kw_defaults, *node.body])
        self._scope.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._scope.append(node.name)
        self._visit_all(node.body)
        self._scope.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._visit_all([node.value])

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Before Python 3.12 nothing tells where its expressions are."""

    def visit_If(self, node: ast.If) -> None:
        test = ast.unparse(node.test)
        if test.endswith("TYPE_CHECKING") or test.startswith("__name__"):
            self._visit_all(node.orelse)
        elif node.orelse or not all(_is_log_line(each) for each in node.body):
            self._negate(node.test)
            self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        # There is no end of what is true for ever, and no test would pass.
        if not isinstance(node.test, ast.Constant):
            self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and not _is_log_line(node):
            self._add("call", *self._span(node), "pass")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if _logs(node):
            return
        name = _name(node.func)
        if name not in SYMMETRIC:
            for one, other in itertools.pairwise(node.args):
                texts = self._text(one), self._text(other)
                starred = isinstance(one, ast.Starred) or isinstance(other, ast.Starred)
                if not starred and texts[0] != texts[1]:
                    between = self._source[self._span(one)[1] : self._span(other)[0]].decode()
                    start, end = self._span(one)[0], self._span(other)[1]
                    self._add("arguments", start, end, f"{texts[1]}{between}{texts[0]}")
        self.visit(node.func)
        # How long something waits matters little.
        if name != "sleep":
            self._visit_all(node.args)
        self._visit_all([each.value for each in node.keywords if each.arg != "timeout"])

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = itertools.pairwise([node.left, *node.comparators])
        for operator, (left, right) in zip(node.ops, operands, strict=True):
            self._change_between("comparison", left, right, *COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.Pow):
            # Few care for another power of two.
            return
        if isinstance(node.op, ast.Add | ast.Sub) and not _joins(node):
            signs = ("+", "-") if isinstance(node.op, ast.Add) else ("-", "+")
            self._change_between("number", node.left, node.right, *signs)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.op, ast.Add | ast.Sub) and not _joins(node.value):
            signs = ("+=", "-=") if isinstance(node.op, ast.Add) else ("-=", "+=")
            self._change_between("number", node.target, node.value, *signs)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if type(node.value) is int and node.value <= LARGEST:
            self._add("number", *self._span(node), str(node.value + 1))


def _name(function: ast.expr) -> str:
    """Return the last part of a function's name; nothing if it has none."""
    return getattr(function, "attr", getattr(function, "id", ""))


def _logs(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    of = getattr(node.func, "value", None)
    by_logger = of is not None and _name(of) in LOGGERS and _name(node.func) in LOGGING
    return by_logger or _name(node.func) == "log_line"


def _is_log_line(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and _logs(node.value)


def _joins(node: ast.expr) -> bool:
    """Return whether a sum is of texts or lists, as far as one sees."""
    if isinstance(node, ast.BinOp):
        return _joins(node.left) or _joins(node.right)
    text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return text or isinstance(node, JOINED)


def find(tree: Path, seed: int) -> list[Mutant]:
    """Return all mutants of a tree, in the order of a seed, in which the kinds take turns.

    Two that only differ in where they are in a file are the same in two trees.
    """
    ranks: dict[str, list[tuple[bytes, Mutant]]] = {kind: [] for kind in KINDS}
    twins: Counter[str] = Counter()
    for path in itertools.chain(*(sources(tree, folder) for folder in FOLDERS)):
        file = path.relative_to(tree).as_posix()
        source = path.read_bytes()
        lines = source.decode().split("\n")
        for mutant in Finder(file, source).found:
            line = lines[mutant.line - 1].strip()
            name = "\n".join([mutant.kind, mutant.where, line, mutant.old, mutant.new])
            twins[name] += 1
            rank = hashlib.sha256(f"{seed}\n{twins[name]}\n{name}".encode()).digest()
            ranks[mutant.kind].append((rank, mutant))
    turns = [
        [mutant for _, mutant in sorted(each, key=lambda pair: pair[0])] for each in ranks.values()
    ]
    return [mutant for turn in itertools.zip_longest(*turns) for mutant in turn if mutant]


def sources(tree: Path, folder: str) -> list[Path]:
    """Return the files of a folder in which faults are made, which may be a link."""
    return sorted((tree / folder).resolve().rglob("*.py"))


class Nearness:
    """Which files of tests are near to a module: those that are named like it or import it."""

    def __init__(self, tree: Path, files: Sequence[str]) -> None:
        #: Module -> the files that import it, or something in it. Modules have no package before
        #: their names, since the folders of the package are also reached without it.
        self._importers: dict[str, set[str]] = defaultdict(set)
        self._tests = [file for file in files if re.fullmatch(r"test_.*\.py", Path(file).name)]
        for file in files:
            if file.endswith(".py") and not (tree / file).is_symlink():
                for name in _imports((tree / file).read_bytes()):
                    self._importers[name].add(file)

    def near(self, file: str) -> list[str]:
        """Return the tests near to a file, those that are named like it first.

        If none imports it, then those that import what imports it, and so on.
        """
        module = _module(file)
        stem = module.rpartition(".")[2]
        named = [
            test for test in self._tests if Path(test).stem in (f"test_{stem}", f"test_{stem}s")
        ]
        seen, now = {file}, {file}
        importing: set[str] = set()
        while now and not importing:
            now = set().union(*(self._importers[_module(each)] for each in now)) - seen
            seen |= now
            importing = now & {*self._tests}
        # Those of games are of what is built upon it.
        return [*named, *sorted(importing - {*named}, key=lambda test: (test[:5] == "games", test))]


def _module(file: str) -> str:
    """Return the name of a file's module, without the package."""
    parts = file.removesuffix(".py").removesuffix("/__init__").split("/")
    return ".".join(parts[1:] if parts[0] == "flatlands" and len(parts) > 1 else parts)


def _imports(source: bytes) -> set[str]:
    """Return what a file imports: names of modules, and names in modules."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name.removeprefix("flatlands.") for name in found}


@dataclasses.dataclass(frozen=True)
class Stage:
    """The tests with some markers, which run in so many processes. One that says nothing for
    `patience` seconds hangs."""

    name: str
    markers: str
    processes: int
    patience: float


STARTING = "process or browser or load"
STAGES = (
    Stage("in-process", f"not ({STARTING})", 2, 60),
    Stage("programs", "(process or load) and not (browser or alone or outside)", 6, 300),
    Stage("browsers", "(browser or alone) and not outside", 2, 300),
)


@dataclasses.dataclass
class Outcome:
    """What became of a run of tests."""

    #: Those that failed, with why, the first one first.
    failed: dict[str, str] = dataclasses.field(default_factory=dict)
    #: The files of all.
    files: set[str] = dataclasses.field(default_factory=set)
    seconds: float = 0.0


def report() -> None:
    """Run pytest and tell what happens. Its source is given to the Python of the copy, which knows
    nothing of this module: the first argument is a descriptor to write to, the others are
    pytest's."""
    import json
    import os
    import sys
    from typing import Any

    import pytest

    to = int(sys.argv[1])
    # Programs that outlive their test must not have it.
    os.set_inheritable(to, False)

    def tell(what: str, test: str = "", why: str = "") -> None:
        os.write(to, json.dumps([what, test[:1000], why[:300]]).encode() + b"\n")

    class Reporter:
        def pytest_runtest_logstart(self, nodeid: str) -> None:
            tell("begins", nodeid)

        def pytest_runtest_logfinish(self, nodeid: str) -> None:
            tell("ends", nodeid)

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed:
                crash = getattr(report.longrepr, "reprcrash", None)
                tell(
                    "fails", report.nodeid, crash.message if crash else str(report.longrepr)[-300:]
                )

        def pytest_collectreport(self, report: Any) -> None:
            if report.failed:
                tell("fails", report.nodeid, str(report.longrepr)[-300:])

    code = int(pytest.main(sys.argv[2:], plugins=[Reporter()]))
    tell("exits", "", "" if code in (0, 5) else f"pytest ended with exit code {code}")


#: Read now, since this file may be changed meanwhile.
REPORT = f"{inspect.getsource(report)}\nreport()"


class Copy:
    """A copy of a tree's files, as a repository with the same commits, in a folder of its own.

    It shares the packages and programs that the tree has installed, and nothing else.
    """

    def __init__(self, tree: Path, folder: Path) -> None:
        self.folder, self._own = folder / "copy", folder
        git(folder, "clone", "--quiet", "--shared", "--no-checkout", str(tree), str(self.folder))
        listed = git(tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = sorted({*listed.split("\0")} - {""})
        #: Those that are not deleted in the tree, by their paths from its root.
        self.files = [name for name in names if os.path.lexists(tree / name)]
        for file in self.files:
            to = self.folder / file
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / file, to, follow_symlinks=False)
        git(self.folder, "add", "--all")
        #: A name for what the files contain.
        self.content = git(self.folder, "write-tree").strip()
        for installed, other in ((".venv", sys.prefix), ("tests/js/node_modules", None)):
            if found := (tree / installed) if (tree / installed).exists() else other:
                (self.folder / installed).symlink_to(Path(found).resolve())
        self._time = int(time.time())

    def write(self, file: str, content: bytes) -> None:
        """Change a file, in such a way that Python does not take it for what it has compiled: it
        compares only the size and the time, in seconds."""
        self._time += 1
        (self.folder / file).write_bytes(content)
        os.utime(self.folder / file, (self._time, self._time))

    @contextlib.contextmanager
    def with_faults(self, faults: dict[str, bytes]) -> Iterator[None]:
        """Let files have other contents while the block runs."""
        before = {file: (self.folder / file).read_bytes() for file in faults}
        try:
            for file, content in faults.items():
                self.write(file, content)
            yield
        finally:
            for file, content in before.items():
                self.write(file, content)

    def run(
        self,
        stage: Stage,
        *arguments: str,
        processes: int = 1,
        most: float = math.inf,
        whole: bool = False,
    ) -> Outcome:
        """Run tests of a stage until some fail, or (`whole`) to the end, for `most` seconds."""
        own = ["-p", "no:cacheprovider", "--basetemp", str(self._own / "t"), "-m", stage.markers]
        own += [] if processes == 1 else ["-n", str(processes), "--dist", "worksteal"]
        own += [] if whole else [f"--maxfail={CHANCES}"]
        temporary = self._own / "tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("SEED", "PYTHONDONTWRITEBYTECODE")
            and not name.startswith(("PYTHONPATH", "PYTEST", "GIT_", "MAKE"))
        }
        reading, writing = os.pipe()
        with open(self._own / "log", "wb") as log, open(reading, "rb", buffering=0):
            started = time.monotonic()
            child = subprocess.Popen(
                [self.folder / ".venv/bin/python", "-c", REPORT, str(writing), *own, *arguments],
                cwd=self.folder,
                env={**environment, "TMPDIR": str(temporary)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[writing],
                start_new_session=True,
                preexec_fn=_limit,
            )
            os.close(writing)
            try:
                found = follow(reading, stage.patience, most)
            finally:
                # Programs that a test has started in a session of their own end with pytest.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        found.seconds = round(time.monotonic() - started, 1)
        return found

    def log(self) -> str:
        """Return the end of what pytest printed last."""
        return (self._own / "log").read_text(errors="replace")[-3000:]


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))


def follow(events: int, patience: float, most: float) -> Outcome:
    """Read what `report` tells, until pytest has ended, hangs, or takes more than `most` seconds. A
    test that hangs is the first one that failed."""
    outcome, ended, rest = Outcome(), False, b""
    running: dict[str, None] = {}
    until, wait = time.monotonic() + most, max(patience, COLLECTING)

    def stopped(why: str) -> Outcome:
        outcome.failed = {next(iter(running), ""): why, **outcome.failed}
        return outcome

    while not ended:
        left = min(wait, until - time.monotonic())
        if left <= 0 or not select.select([events], [], [], left)[0]:
            return stopped(TIMED_OUT)
        read = os.read(events, 65536)
        if not read:
            return stopped("pytest has crashed")
        *lines, rest = (rest + read).split(b"\n")
        for what, test, why in map(json.loads, lines):
            outcome.files |= {test.partition("::")[0]} - {""}
            if what == "begins":
                running[test], wait = None, patience
            elif what == "ends":
                running.pop(test, None)
            elif what == "fails":
                outcome.failed.setdefault(test, why)
            else:
                ended = True
                if why and not outcome.failed:
                    outcome.failed[""] = why
    return outcome


def git(folder: Path, *command: str) -> str:
    """Return what a git command prints. Raises Unfit with what it says if it fails."""
    environment = {name: each for name, each in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *command], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise Unfit(f"git {command[0]} fails in {folder}: {done.stderr.strip()}")
    return done.stdout


class Trial:
    """Tries faults in a copy.

    `baseline` has, for each stage that was run without a fault, how many seconds it took, and the
    files that have its tests.
    """

    def __init__(self, copy: Copy, baseline: dict[str, Any]) -> None:
        self._copy, self.baseline = copy, baseline

    def prepare(self, stage: Stage) -> None:
        """Run a stage without a fault, unless that was done, and then make sure that what it runs
        is in the copy. Raises Unfit."""
        if stage.name in self.baseline:
            return
        say(f"All tests of the stage {stage.name}, without a fault:")
        outcome = self._copy.run(stage, processes=stage.processes, whole=True)
        log = self._copy.log()
        for test, why in outcome.failed.items():
            if why == TIMED_OUT or not test or self._copy.run(stage, test).failed:
                raise Unfit(f"{test or 'pytest'} fails without a fault: {why}\n{log}")
            say(f"    once, but not again, fails {test}: {why}")
        say(f"    they pass, in {outcome.seconds:.0f} s")
        self.baseline[stage.name] = {"seconds": outcome.seconds, "files": sorted(outcome.files)}
        if not outcome.files and stage is STAGES[0]:
            raise Unfit("there are no tests")
        if outcome.files and self.judge(self._spoiled(stage), stage)["outcome"] != "found":
            raise Unfit(f"the tests of the stage {stage.name} do not run the code of the copy")

    def _spoiled(self, stage: Stage) -> dict[str, bytes]:
        """Return files that nothing can load; or, for a stage that starts programs, only pytest."""
        when = "" if stage is STAGES[0] else "if 'pytest' not in sys.modules: "
        spoiled = {}
        for folder in FOLDERS:
            for path in sources(self._copy.folder, folder)[:1]:
                line = f"\nimport sys\n{when}raise ImportError('a fault')\n"
                name = path.relative_to(self._copy.folder).as_posix()
                spoiled[name] = path.read_bytes() + line.encode()
        return spoiled

    def judge(
        self, faults: dict[str, bytes], stage: Stage, near: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Run the tests of a stage, those of the files `near` first, until one finds the faults:
        files of the copy with other contents. Return what came of it."""
        started = time.monotonic()
        found: dict[str, Any] = {"outcome": "survived", "stage": stage.name, "chances": []}
        files = self.baseline[stage.name]["files"]
        first = [file for file in near if file in files]
        others = [f"--ignore={file}" for file in first]
        for arguments, many in ((first, len(first)), (others, len(files) - len(first))):
            if many and found["outcome"] == "survived":
                processes = stage.processes if many >= MANY else 1
                self._try(faults, stage, arguments, processes, found)
        return {**found, "seconds": round(time.monotonic() - started, 1)}

    def _try(
        self,
        faults: dict[str, bytes],
        stage: Stage,
        arguments: Sequence[str],
        processes: int,
        found: dict[str, Any],
    ) -> None:
        """Run tests with the faults. Write into `found` what came of it, and in its `chances` the
        tests that fail, but not when they are run again, or also without the faults."""
        most = SLOWER * self.baseline[stage.name]["seconds"] + LATER
        with self._copy.with_faults(faults):
            run = self._copy.run(stage, *arguments, processes=processes, most=most)
        for test, why in run.failed.items():
            # What is slow as a whole has no test that could be run again.
            if run.seconds >= most or self._is_sure(faults, stage, test, arguments):
                how = "timed out" if why == TIMED_OUT else "found"
                found.update(outcome=how, by=test, why=why)
                return
            found["chances"].append(test)
            say(f"    for another reason fails {test}: {why}")
        if len(run.failed) >= CHANCES:
            found["outcome"] = "unclear"

    def _is_sure(
        self, faults: dict[str, bytes], stage: Stage, test: str, arguments: Sequence[str]
    ) -> bool:
        """Return whether a test passes without the faults, and fails with them; or its file, where
        a failure is noticed late."""
        again = [[test], [test.partition("::")[0]]] if test else [["--collect-only", *arguments]]
        for each in again:
            if not self._copy.run(stage, *each).failed:
                with self._copy.with_faults(faults):
                    if self._copy.run(stage, *each).failed:
                        return True
        return False


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def try_all(tree: Path, seed: int, count: int, last: str, file: Path | None) -> None:
    """Try the first mutants of a seed on the stages up to `last`, and print what came of it.

    Results are kept in `file`, and those that it has stand. Raises Unfit.
    """
    names = [stage.name for stage in STAGES]
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
        copy = Copy(tree, Path(folder).resolve())
        results: dict[str, Any] = {"tree": copy.content, "seed": seed}
        if file is not None and file.exists():
            known = json.loads(file.read_text())
            if any(known[name] != value for name, value in results.items()):
                raise Unfit(f"{file} has results of another tree or seed: name another file")
            results = known
        tried = results.setdefault("mutants", [])
        trial = Trial(copy, results.setdefault("baseline", {}))
        nearness = Nearness(copy.folder, copy.files)
        for number, mutant in enumerate(find(copy.folder, seed)[:count]):
            source = (copy.folder / mutant.file).read_bytes()
            diff = mutant.diff(source)
            found = {**dataclasses.asdict(mutant), "diff": diff}
            if number < len(tried):
                found = tried[number]
            done = names.index(found["stage"]) + 1 if "stage" in found else 0
            for stage in STAGES[done : names.index(last) + 1]:
                if found.get("outcome", "survived") != "survived":
                    break
                trial.prepare(stage)
                say(f"{number + 1}/{count} {mutant.kind}, {stage.name}:\n{diff}")
                faults = {mutant.file: mutant.made_in(source)}
                found = {**found, **trial.judge(faults, stage, nearness.near(mutant.file))}
                by = f" by {found['by']}: {found['why']}" if "by" in found else ""
                say(f"    {found['outcome']}{by} ({found['seconds']:.0f} s)")
                tried[number : number + 1] = [found]
                if file is not None:
                    new = file.with_name(f"{file.name}.new")
                    new.write_text(json.dumps(results, indent=1))
                    new.replace(file)
    summary(tried[:count])


def summary(tried: Sequence[dict[str, Any]]) -> None:
    """Print how many mutants were found, and those that were not."""
    counts = Counter(each["outcome"] for each in tried)
    parts = [f"{counts[what]} {what}" for what in ("found", "timed out", "survived", "unclear")]
    say(f"\n{len(tried)} mutants: {', '.join(parts)}")
    for number, each in enumerate(tried, 1):
        if each["outcome"] in ("survived", "unclear"):
            say(f"\n{number} {each['outcome']}, {each['kind']} in {each['where']}\n{each['diff']}")


def main() -> int:
    """Try as many mutants as the command line says; return the exit code."""
    options = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    options.formatter_class = argparse.RawDescriptionHelpFormatter
    options.add_argument("--seed", type=int, default=1, help="which mutants (default: 1)")
    options.add_argument("--count", type=int, default=60, help="how many (default: 60)")
    options.add_argument("--tree", type=Path, default=ROOT, help="another tree than this one")
    options.add_argument("--json", type=Path, help="the file that results are kept in")
    options.add_argument(
        "--until",
        choices=[stage.name for stage in STAGES],
        default="programs",
        help="the last tests that a mutant must survive (default: programs)",
    )
    chosen = options.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        try_all(chosen.tree.resolve(), chosen.seed, chosen.count, chosen.until, chosen.json)
    except Unfit as unfit:
        print(f"tests.mutants: {unfit}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
