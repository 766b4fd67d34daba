"""The study of work queues: its options, tables, charts, and what counts as a fault of a point."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from flatlands.loadtest.kit.charts import COLOURS, FAINT, Bar, Figure, bar_chart, short, tint
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.studies.study import Column, Measure, PlainStudy
from flatlands.loadtest.studies.work_queues.account import fault
from flatlands.loadtest.studies.work_queues.measure import Fifoed, Killed, Point, Taken, measure
from flatlands.loadtest.studies.work_queues.options import Options
from flatlands.loadtest.studies.work_queues.series import (
    FIFOS,
    FILLED_MESSAGES,
    LASTING,
    SERIES,
    TAKEN_AT_ONCE,
    TAKES,
)


def _label(point: Point) -> str:
    return SERIES[point["series"]].label


def _past(at: int) -> Callable[[Fifoed], float | None]:
    """Return a function that gives a rate of 2021, of the pusher (0) or the pullers (1)."""
    return lambda point: (FIFOS[point["series"]].past or (None, None))[at]


_FIRST = Column[Point]("series", "series", width=-14), Column("", _label)


class WorkQueues(PlainStudy[Point, Options]):
    """How long messages take to be put into queues, and to be taken."""

    program = "loadtest/work_queues.py"
    about = (
        "Measure work queues, which give each message to one consumer: what it costs to take "
        f"{TAKEN_AT_ONCE} of {FILLED_MESSAGES:,} messages in several ways, and how fast messages "
        "pass through a FIFO queue from a pusher to its pullers."
    )
    title = "Work queues"
    note = """<p class=note>Dark: messages are acknowledged. Grey: the figures of 2016 and 2021,
made elsewhere. A series in which a message was lost, came twice or out of order is named at the
top.</p>"""
    options = Options
    columns = {
        "take": (
            *_FIRST,
            Column(f"ms per {TAKEN_AT_ONCE}, median", "ms/median", ".3f", 17),
            Column("mean", "ms/mean", ".3f", 7),
            Column("fastest", "ms/least", ".3f", 7),
            Column("spread", "spread", ".1%", 6),
            Column("rejects", "rejects", ",", 7),
            Column[Taken]("2016 (mean)", lambda point: TAKES[point["series"]].past, ".3f", 11),
            Column("CPU µs client", "us/client", ".1f", 13),
            Column("server", "us/server", ".1f", 6),
        ),
        "fifo": (
            *_FIRST,
            Column("messages", "messages", ",", 8),
            Column("pushed /s", "pushed", ",.0f", 9),
            Column("pulled", "pulled", ",.0f", 7),
            Column("2021: pushed", _past(0), ",.0f", 12),
            Column("pulled", _past(1), ",.0f", 7),
            Column("CPU µs pusher", "us/push", ".1f", 13),
            Column("pullers", "us/pull", ".1f", 7),
            Column("server", "us/server", ".1f", 6),
        ),
        "kill": (
            *_FIRST,
            Column[Killed]("deaths", lambda point: len(point["held"]), width=6),
            Column("held by the dead", "account/held_by_dead", ",", 16),
            Column("handed out again", "account/again", ",", 16),
            Column("done", "account/done", ",", 6),
        ),
    }

    def lacking(self) -> str:
        wrong = sorted(set(self.chosen.series).difference(LASTING))
        if not wrong or not self.chosen.deaths:
            return ""
        return (
            f"--kill is for {', '.join(LASTING)}: {', '.join(wrong)} would not hand out again, or "
            "not count, what a dead consumer held"
        )

    def jobs(self) -> Iterator[tuple[str, Measure[Point]]]:
        """Yield each series, of which one point is measured."""
        for name in self.chosen.series or (LASTING if self.chosen.deaths else SERIES):
            yield name, partial(self._points, name)

    def _points(self, name: str) -> list[Point]:
        return [measure(name, self.chosen)]

    def faults(self, row: Point) -> Iterator[tuple[str, str]]:
        """Raise Trouble if the account of a point's messages shows a fault."""
        if wrong := fault(row["account"]):
            raise Trouble(wrong)
        yield from ()

    def draw(self) -> Mapping[str, Figure]:
        """Return a chart of speed and one of CPU time for takes and for FIFO queues."""
        found: dict[str, list[Bar]] = {}
        for point in self.points:
            if point["kind"] != "kill":
                found.setdefault(point["kind"], []).extend(_speed(point))
                found.setdefault(f"{point['kind']}-us", []).append(_us(point))
        us = "microseconds of CPU time for each message"
        # Charts on one page need different titles: the ids in an SVG come from its title.
        titles = {
            "take": (
                f"To take {TAKEN_AT_ONCE} messages",
                "milliseconds; half of the takes were not slower",
            ),
            "take-us": (f"CPU time to take {TAKEN_AT_ONCE} at a time", us),
            "fifo": ("Through a FIFO queue", "messages a second, pulled"),
            "fifo-us": ("CPU time through a FIFO queue", us),
        }
        return {f"work-queues-{of}": bar_chart(bars, *titles[of]) for of, bars in found.items()}


def _colour(point: Point) -> str:
    """Return the colour of a way: with acknowledgement, without, or without a server."""
    if point["series"] == "store-sqlite":
        return COLOURS["memory"]
    acknowledged = point["kind"] == "take" and TAKES[point["series"]].acknowledged
    return tint(COLOURS["redis"], -0.4) if acknowledged else COLOURS["redis"]


def _us(point: Taken | Fifoed) -> Bar:
    """Return the bar of a point's CPU time."""
    used = {who: us for who, us in point["us"].items() if us is not None}
    text = " + ".join(f"{who} {short(us)}" for who, us in used.items())
    return Bar(_label(point), _colour(point), sum(used.values()), text)


def _speed(point: Taken | Fifoed) -> Iterator[Bar]:
    """Yield the bar of a point's speed, and that of what others measured."""
    label = _label(point)
    if point["kind"] == "take":
        ms = point["ms"]
        text = f"{ms['median']:.3f}, the fastest {ms['least']:.3f}"
        yield Bar(label, _colour(point), ms["median"], text)
        if mean := TAKES[point["series"]].past:
            yield Bar(f"{label}, 2016", FAINT, mean, f"{mean:.3f} (mean)")
        return
    rates = [(label, _colour(point), (point["pushed"], point["pulled"]))]
    if past := FIFOS[point["series"]].past:
        rates.append((f"{label}, 2021", FAINT, past))
    for name, colour, (pushed, pulled) in rates:
        yield Bar(name, colour, pulled, f"{pulled:,.0f}, pushed {pushed:,.0f}")


main = WorkQueues.main
