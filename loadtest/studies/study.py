"""A study: a command that measures points, prints their rows, and keeps all as JSON and as a page.

A study is a subclass of Study, which says what a point is, and what is shown of it. All else is
here: its options, signals, the machine, thresholds, the table, its files and the exit code. This
module never knows what is measured: each study has a TypedDict for its points, and one for its
rows if these differ.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar

from flatlands.loadtest.kit import charts, signals
from flatlands.loadtest.kit.charts import Figure
from flatlands.loadtest.kit.machine import machine
from flatlands.loadtest.kit.options import Parser, bare
from flatlands.loadtest.kit.page import page, table, write_json
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.kit.signals import Interrupted
from flatlands.loadtest.kit.thresholds import CROSSED, all_crossed

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: The points of a study, its rows, and the dataclass of its options.
Point = TypeVar("Point", bound=Mapping[str, object])
Row = TypeVar("Row", bound=Mapping[str, object])
Options = TypeVar("Options", bound="DataclassInstance")

#: What measures some points; it raises Trouble and Interrupted.
Measure = Callable[[], Iterable[Point]]

#: What a sentence about a row begins with -> the exit code of a run that has one, the worst first.
CODES = {"failed": 1, "not valid": 3, "crossed": CROSSED}


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of the table of a study.

    `of` is where a row has the value (names with slashes between them), or a function that returns
    it; None is what is not known. `form` is how it is written, see format(). The terminal shows it
    in `width` characters, left-aligned if that is negative; with 0 only the page shows it.
    """

    heading: str
    of: str | Callable[[Row], object]
    form: str = ""
    width: int = 0

    def text(self, row: Row) -> str:
        """Return the cell of a row: a dash for what is not known."""
        value = at(row, self.of) if isinstance(self.of, str) else self.of(row)
        return "-" if value is None else format(value, self.form)

    def padded(self, text: str) -> str:
        """Return a text as wide as the column is in the terminal."""
        return text.ljust(-self.width) if self.width < 0 else text.rjust(self.width)


def at(row: Mapping[str, object], of: str) -> object:
    """Return what a row has at a place, see Column; None if it has no such thing."""
    found: object = row
    for name in of.split("/"):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def number(row: Mapping[str, object], of: str) -> float | None:
    """Return a number that a row has at a place, see Column; None if there is none."""
    found = at(row, of)
    return found if isinstance(found, int | float) else None


class Judged(TypedDict):
    """What a run says of its own figures: why it has failed, and why they are not to be believed,
    in words."""

    faults: list[str]
    invalid: list[str]


def judged(row: Judged) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a run, as Study.faults does."""
    yield from (("failed", why) for why in row["faults"])
    yield from (("not valid", why) for why in row["invalid"])


class JobTrouble(TypedDict):
    """Why a job has ended early. `series` is its name, empty if it is that of the whole run."""

    series: str
    trouble: str


@dataclass(frozen=True)
class NoOptions:
    """The options of a study that has none of its own."""


class Study(Generic[Point, Row, Options]):
    """Measures points one after the other, and writes a table, a page and JSON. An instance is one
    run, with the user's options.

    A study sets these names: `program` is what follows "python" on the command line; `title` and
    `note` are the page's heading, and HTML below its charts. `options` is the dataclass of the
    options, see kit.options.option. `columns` has a table for each kind of row. `figures` says
    where rows have the figures that --fail-if knows. `sentences` stand above tables in the
    terminal, and `key` is the name of the points in the JSON. A point that raises one of `failures`
    is in trouble, too.
    """

    program = about = epilog = title = note = ""
    # Neither can be of this class's own types: `options` is read from the class, and the key of a
    # table says which of the rows it has.
    options: type[Any]
    columns: Mapping[str, Sequence[Column[Any]]]
    figures: Mapping[str, str] = {}
    sentences: Mapping[str, str] = {}
    key = "points"
    failures: tuple[type[Exception], ...] = ()

    def __init__(self, given: argparse.Namespace, chosen: Options) -> None:
        self.given, self.chosen = given, chosen
        self.points: list[Point] = []
        self.troubles: list[JobTrouble] = []
        #: Sentences about thresholds that rows have crossed.
        self.crossed: list[str] = []
        #: It ends with the run.
        self.stack = ExitStack()
        self._kind: str | None = None

    # What a study says.

    def lacking(self) -> str:
        """Return a sentence that says what is wrong with the options, or an empty text."""
        return ""

    def facts(self) -> dict[str, object]:
        """Return what is kept with a run in addition to what all runs have."""
        return {"options": {name: _bare(value) for name, value in vars(self.chosen).items()}}

    def machine(self) -> Mapping[str, object]:
        """Return the description of the machine and of all programs that are used."""
        return machine()

    def jobs(self) -> Iterator[tuple[str, Measure[Point]]]:
        """Yield names, such as those of series, and what measures the points of each."""
        raise NotImplementedError

    def rows(self, point: Point) -> Iterable[Row]:
        """Return the rows of a point."""
        raise NotImplementedError

    def kind(self, row: Row) -> str:
        """Return which of the tables a row belongs to."""
        return str(row.get("kind", ""))

    def name(self, row: Row) -> str:
        """Return the name of a row, for sentences about it."""
        return str(row["series"])

    def faults(self, row: Row) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with a row: a key of CODES, and a sentence.

        Raises Trouble if no other point of this name is to be measured.
        """
        yield from ()

    def known(self, row: Row) -> Mapping[str, float | None] | None:
        """Return the figures of a row that may cross thresholds; None if none of them may."""
        return {figure: number(row, of) for figure, of in self.figures.items()}

    def end(self, code: int) -> int:
        """Print what there is to say at the end; return the exit code."""
        return code

    def results(self) -> dict[str, object]:
        """Return what is kept with a run of what its points have in common."""
        return {}

    def shown(self) -> Sequence[Row]:
        """Return the rows of the page's tables."""
        return [row for point in self.points for row in self.rows(point)]

    def draw(self) -> Mapping[str, Figure]:
        """Return the charts of a run: name of the file -> figure."""
        return {}

    # What all studies have.

    @classmethod
    def parser(cls) -> Parser:
        """Return the parser of the command line."""
        name = f"python {cls.program}".removeprefix("python loadtest/")
        parser = Parser(name, cls.about, cls.epilog)
        parser.add_options(cls.options)
        if cls.figures:
            parser.add_fail_if(cls.figures, "a point")
        parser.add_files()
        return parser

    @classmethod
    def main(cls, arguments: Sequence[str] | None = None) -> int:
        """Run the command; return the exit code."""
        arguments = sys.argv[1:] if arguments is None else arguments
        parser = cls.parser()
        given = parser.parse_args(arguments)
        names = (one.name for one in fields(cls.options) if one.name in given)
        study = cls(given, cls.options(**{name: getattr(given, name) for name in names}))
        if wrong := study.lacking():
            parser.error(wrong)
        return study.run(arguments)

    def run(self, arguments: Sequence[str]) -> int:
        """Measure, print, and write the files that the user wants; return the exit code."""
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        command = ["python", *self.program.split(), *map(bare, arguments)]
        facts = self.facts()
        with signals.remembered():
            machine = self.machine()
            with self.stack:
                code = self.measure()
        code = self.end(code)
        if self.given.json:
            run = {
                "when": when,
                "command": command,
                **facts,
                "machine": machine,
                self.key: self.points,
                "troubles": self.troubles,
                "crossed": self.crossed,
                **self.results(),
            }
            write_json(self.given.json, run)
        if self.given.report:
            self.write(self.given.report, when, " ".join(command), machine)
            print(f"The report is {self.given.report / 'index.html'}.")
        return code

    def measure(self) -> int:
        """Measure one job after the other; return the exit code.

        A job in trouble ends early, and the next one begins.
        """
        codes = {0}
        failures: tuple[type[Exception], ...] = (Trouble, *self.failures)
        try:
            for name, measure in self.jobs():
                # The row of its first point, which may take minutes, is written over it.
                self.note_progress(f"{name} ...")
                try:
                    for point in measure():
                        self.points.append(point)
                        for row in self.rows(point):
                            codes |= self._tell(row)
                except failures as trouble:
                    codes.add(CODES["failed"])
                    self.troubles.append({"series": name, "trouble": str(trouble)})
                    print(f"{name}: {trouble}.", file=sys.stderr, flush=True)
        except Interrupted as interrupted:
            self.troubles.append({"series": "", "trouble": "it was stopped before its end"})
            print("Stopped. What was measured is reported.", file=sys.stderr)
            return 128 + interrupted.number
        return next((code for code in CODES.values() if code in codes), 0)

    def note_progress(self, sentence: str) -> None:
        """Show on a terminal what goes on, until something else is printed."""
        if sys.stderr.isatty():
            print(f"\r\033[K{sentence}", end="\r", file=sys.stderr, flush=True)

    def show(self, row: Row) -> None:
        """Print a row, below the headings of its table if it is the first one."""
        kind = self.kind(row)
        columns = [column for column in self.columns[kind] if column.width]
        self.note_progress("")
        if kind != self._kind:
            self._kind = kind
            if kind in self.sentences:
                print(f"\n{self.sentences[kind]}")
            print("  ".join(column.padded(column.heading) for column in columns).rstrip())
        print("  ".join(column.padded(column.text(row)) for column in columns).rstrip(), flush=True)

    def _tell(self, row: Row) -> set[int]:
        """Print a row, and what is wrong with it; return the exit codes of that."""
        wrong = list(self.faults(row))
        limits = self.given.fail_if if self.figures else ()
        known = self.known(row) if limits else None
        self.show(row)
        for what, sentence in wrong:
            print(f"{what}: {self.name(row)}: {sentence}", file=sys.stderr, flush=True)
        for sentence in all_crossed(limits, known, self.name(row)) if known is not None else ():
            self.crossed.append(sentence)
            wrong.append(("crossed", sentence))
            print(f"crossed: {sentence}", file=sys.stderr, flush=True)
        return {CODES[what] for what, _ in wrong}

    def write(self, folder: Path, when: str, command: str, machine: Mapping[str, object]) -> None:
        """Write index.html, which needs no other file, and each chart as SVG and PNG, into a
        folder."""
        parts = [f"<p class=note>{escape(when)}</p>"]
        for one in self.troubles:
            sentence = escape(f"{one['series'] or 'all'}: {one['trouble']}.")
            parts.append(f"<p class=bad>{sentence}</p>")
        parts += [charts.save(figure, folder, name) for name, figure in self.draw().items()]
        parts += [self.note, "<h2>Figures</h2>"]
        rows = self.shown()
        for kind, columns in self.columns.items():
            cells = [
                [escape(column.text(row)) for column in columns]
                for row in rows
                if self.kind(row) == kind
            ]
            if cells:
                parts.append(table([escape(column.heading) for column in columns], cells))
        (folder / "index.html").write_text(page(self.title, command, parts, machine))


class PlainStudy(Study[Point, Point, Options]):
    """A study in which each point is a row."""

    def rows(self, point: Point) -> Iterable[Point]:
        return [point]


def _bare(value: object) -> object:
    """Return the value of an option without the passwords of its URLs."""
    if isinstance(value, list | tuple):
        return [_bare(one) for one in value]
    return bare(value) if isinstance(value, str) else value
