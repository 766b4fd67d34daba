"""The study of work queues: its options, tables, charts, and what counts as a fault of a point."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from flatlands.loadtest.kit.charts import COLOURS, FAINT, Bar, bar_chart, short, tint
from flatlands.loadtest.kit.options import amount, names, option, whole
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.studies.study import Column, Measure, Point, Study
from flatlands.loadtest.studies.work_queues.account import fault
from flatlands.loadtest.studies.work_queues.measure import measure
from flatlands.loadtest.studies.work_queues.series import (
    FIFOS,
    FILLED_MESSAGES,
    LASTING,
    TAKEN_AT_ONCE,
    TAKES,
)

SERIES: dict[str, Any] = {**TAKES, **FIFOS}


def _redis(text: str) -> str:
    if not text.startswith(("redis://", "rediss://")):
        raise argparse.ArgumentTypeError(f"{text!r} does not begin with redis:// or rediss://")
    return text


@dataclass(frozen=True)
class Options:
    """What the user chose: how often a queue is filled and taken from, the messages of a FIFO
    queue, how many consumers are killed instead (0: none), the URL of a running Redis ("": some are
    started), and the percent of the mean beyond which a turn is rejected (0: none is)."""

    series: tuple[str, ...] = option(
        *("--series", names(SERIES), (), "NAME,..."),
        f"what to measure: all (the default), or some of {', '.join(SERIES)}",
    )
    repeat: int = option(
        *("--repeat", whole(1, 1000), 10, "N"),
        f"how often {FILLED_MESSAGES:,} messages are put and taken in each way",
    )
    threshold: float = option(
        *("--retry-threshold", amount(0, 1000), 0.0, "PERCENT"),
        "repeat a turn whose mean is so far from that of all, as PHPBench does, and print how "
        "often as rejects (0: never, as in 2016)",
    )
    messages: int = option(
        "--messages", whole(1, 10**7), 200_000, "N", "messages that pass through a FIFO queue"
    )
    deaths: int = option(
        *("--kill", whole(1, 1000), 0, "N"),
        "instead: kill N consumers, each after a second, and compare what was handed out again "
        f"with what they held ({', '.join(LASTING)}; 5, if N is not given)",
        nargs="?",
        const=5,
    )
    redis: str = option(
        *("--redis", _redis, "", "URL"),
        "use this running Redis instead of some that are started, which gets keys of this run "
        "alone and loses them again; it may have a user and a password, and rediss:// is over TLS: "
        "the variable BROKER_TLS says which certificates to accept",
    )


def _label(point: Point) -> str:
    return str(SERIES[point["series"]].label)


def _past(at: int) -> Any:
    """Return a function that gives a rate of 2021, of the pusher (0) or the pullers (1)."""
    return lambda point: (FIFOS[point["series"]].past or (None, None))[at]


_FIRST = Column("series", "series", width=-14), Column("", _label)


class WorkQueues(Study):
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
            Column("2016 (mean)", lambda point: TAKES[point["series"]].past, ".3f", 11),
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
            Column("deaths", lambda point: len(point["held"]), width=6),
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

    def jobs(self) -> Iterator[tuple[str, Measure]]:
        """Yield each series, of which one point is measured."""
        for name in self.chosen.series or (LASTING if self.chosen.deaths else SERIES):
            yield name, partial(lambda name: [measure(name, self.chosen)], name)

    def faults(self, row: Point) -> Iterator[tuple[str, str]]:
        """Raise Trouble if the account of a point's messages shows a fault."""
        if wrong := fault(row["account"]):
            raise Trouble(wrong)
        yield from ()

    def draw(self, run: dict[str, Any]) -> dict[str, Any]:
        """Return a chart of speed and one of CPU time for takes and for FIFO queues."""
        found: dict[str, list[Bar]] = {}
        for point in run["points"]:
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


def _us(point: Point) -> Bar:
    """Return the bar of a point's CPU time."""
    used = {who: us for who, us in point["us"].items() if us is not None}
    text = " + ".join(f"{who} {short(us)}" for who, us in used.items())
    return Bar(_label(point), _colour(point), sum(used.values()), text)


def _speed(point: Point) -> Iterator[Bar]:
    """Yield the bar of a point's speed, and that of what others measured."""
    label, past = _label(point), SERIES[point["series"]].past
    if point["kind"] == "take":
        ms = point["ms"]
        text = f"{ms['median']:.3f}, the fastest {ms['least']:.3f}"
        yield Bar(label, _colour(point), ms["median"], text)
        if past:
            yield Bar(f"{label}, 2016", FAINT, past, f"{past:.3f} (mean)")
        return
    rates = [(label, _colour(point), (point["pushed"], point["pulled"]))]
    if past:
        rates.append((f"{label}, 2021", FAINT, past))
    for name, colour, (pushed, pulled) in rates:
        yield Bar(name, colour, pulled, f"{pulled:,.0f}, pushed {pushed:,.0f}")


main = WorkQueues.main
