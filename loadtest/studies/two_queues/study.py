"""The study of the brokers: its options, table, charts, and what counts as a fault of a point."""

import functools
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from flatlands.loadtest.kit.charts import Bar, Figure, Line, bar_chart, line_chart, short
from flatlands.loadtest.kit.machine import machine, output_of
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.studies.compilers import find_go
from flatlands.loadtest.studies.study import Column, Measure, PlainStudy
from flatlands.loadtest.studies.two_queues.figures import Cpu, Point
from flatlands.loadtest.studies.two_queues.measure import build_worker, measure
from flatlands.loadtest.studies.two_queues.options import Options
from flatlands.loadtest.studies.two_queues.series import CHARTS, PAST_CLIENTS, SERIES
from flatlands.loadtest.studies.two_queues.worker import DRAIN_S

#: A point is drawn hollow if a larger share of its messages was not delivered.
LOSSY = 0.01

#: It is drawn pale if its processes used this share of all cores: clients or broker had none left.
FULL = 0.95


def _missing(point: Point) -> float:
    """Return the share of a point's messages that were not delivered."""
    return 1 - float(point["account"]["delivered"] / point["account"]["due"])


def _is_full(point: Point, cores: int) -> bool:
    """Return whether a point shows how many clients the machine carries, and not its broker."""
    cpu = point["cpu"]
    each = cpu["publishers"], cpu["subscribers"], cpu["both"], cpu["brokers"]
    used = sum(one for one in each if one is not None)
    return bool(used >= FULL * cores or point["account"]["unfinished"])


def _told(point: Point) -> str:
    if not _missing(point):
        return "none"
    return f"{_missing(point):.1%}{', and nobody told' if point['account']['silent'] else ''}"


class TwoQueues(PlainStudy[Point, Options]):
    """How many messages a second brokers carry, with more and more clients."""

    program = "loadtest/two_queues.py"
    about = (
        "Measure how many messages per second the brokers carry. A client is two processes: one "
        "publishes to random channels as fast as it can, the other one is subscribed to all "
        "channels. CPU is that of one message at a publisher, the brokers and a subscriber."
    )
    title = "Two queues, again"
    note = """<p class=note>Dashed: the article of 2013, read from its charts (8 hardware threads;
its clients reported over the broker, and losses were not counted). Hollow: more than 1 % was not
delivered. Pale: 95 % of all cores were used or more, or a subscriber was not done 15 s after the
end, so this is what the machine carries.</p><p class=note>Rates are messages a second. Sent &times;
clients = delivered + dropped (which a broker counted) + lost. At full throttle latency is the
length of queues: for that of a broker which is not full, give a rate. CPU is in cores, then in
microseconds for each message: at publisher and brokers for each that is published, at a subscriber
for each that is delivered.</p>"""
    options = Options
    columns = {
        "": (
            Column("series", "series", width=-16),
            Column("clients", "clients", width=7),
            Column("per client (median)", "per_client", ",.0f", 19),
            Column("least", "per_client_least", ",.0f"),
            Column("most", "per_client_most", ",.0f"),
            Column("published", "publishes", ",.0f"),
            Column("delivered", "deliveries", ",.0f", 9),
            Column("sent", "account/sent", ","),
            Column("× clients", "account/due", ","),
            Column("delivered", "account/delivered", ","),
            Column("dropped", "account/dropped", ","),
            Column("lost", "account/lost", ","),
            Column("links lost", "account/cuts"),
            Column("p50 ms", "latency_ms/p50", ",.2f", 8),
            Column("p99 ms", "latency_ms/p99", ",.2f", 8),
            Column("CPU publishers", lambda point: _publishers(point["cpu"]), ".2f"),
            Column("subscribers", "cpu/subscribers", ".2f"),
            Column("brokers", "cpu/brokers", ".2f"),
            Column("CPU µs publisher", "cpu_us/publishers", ".1f", 16),
            Column("broker", "cpu_us/brokers", ".1f", 6),
            Column("subscriber", "cpu_us/subscribers", ".1f", 10),
            Column("not delivered", _told, width=13),
        )
    }
    figures = {
        **{"per client": "per_client", "published/s": "publishes", "delivered/s": "deliveries"},
        **{name: f"latency_ms/{name}" for name in ("p50", "p90", "p99", "p99.9")},
        "max": "latency_ms/pmax",
        **{name: f"cpu_us/{name}" for name in ("publishers", "brokers", "subscribers")},
        **{name: f"account/{name}" for name in ("dropped", "lost")},
    }

    def machine(self) -> Mapping[str, object]:
        return {**machine(), "go": output_of(find_go(), "version")}

    def jobs(self) -> Iterator[tuple[str, Measure[Point]]]:
        """Yield each series, to be measured with one number of clients after the other."""
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="two-queues-"))
        build = functools.cache(lambda: build_worker(Path(folder)))

        def points(name: str) -> Iterator[Point]:
            series = SERIES[name]
            worker = build() if series.client == "go" else ""
            return (measure(series, n, self.chosen, worker) for n in self.chosen.clients)

        for name in self.chosen.series:
            yield name, functools.partial(points, name)

    def name(self, row: Point) -> str:
        return f"{row['series']} with {row['clients']} clients"

    def faults(self, row: Point) -> Iterator[tuple[str, str]]:
        """Raise Trouble if the account of a point's messages shows a fault. Silent losses are not a
        fault of a series that promises nothing else."""
        account, wrong = row["account"], ""
        if not account["adds_up"]:
            wrong = f"the account does not add up: {account}"
        elif account["unfinished"]:
            wrong = f"{account['unfinished']} of the subscribers were still receiving {DRAIN_S:.0f}"
            wrong += " s after the end, so their losses are not known: this machine is too slow for"
            wrong += " so many"
        elif account["silent"] and SERIES[row["series"]].is_told:
            wrong = f"{account['lost']} messages were lost without a Reset"
        elif not account["delivered"]:
            wrong = "nothing was delivered"
        if wrong:
            raise Trouble(f"{self.name(row)}: {wrong}")
        yield from ()

    def end(self, code: int) -> int:
        if self.chosen.brokers:
            print("CPU of running brokers is not known: they were not started for the run.")
        return code

    def draw(self) -> Mapping[str, Figure]:
        """Return the three charts of the article, and one of all series. With a rate, there is only
        a chart of latencies."""
        rate, cores = self.chosen.rate, os.cpu_count() or 1
        if rate:
            bars, x = _latencies(self.points), "milliseconds until half of the messages are there"
            title = f"Latency at {rate:,} messages a second from each publisher"
            return {"two-queues-latency": bar_chart(bars, title, x)} if bars else {}
        x = "clients: one process publishes, one hears all channels"
        figures = {}
        for number, (title, chosen) in enumerate(CHARTS, 1):
            figures[f"two-queues-{number}"] = line_chart(
                _past(chosen) + _lines(self.points, chosen, "per_client", cores),
                title,
                x,
                "messages a second, per client",
                ticks=(1, 2, 4, 8, 16),
                doubling=True,
            )
        if lines := _lines(self.points, SERIES, "deliveries", cores):
            y = "messages a second, all clients together"
            figures["two-queues-all"] = line_chart(lines, "All that was delivered", x, y)
        return figures


def _publishers(cpu: Cpu) -> float | None:
    return cpu["publishers"] if cpu["both"] is None else cpu["both"]


def _lines(
    points: Sequence[Point],
    chosen: Iterable[str],
    figure: Literal["per_client", "deliveries"],
    cores: int,
) -> list[Line]:
    """Return a line of a figure for each of these series that has points. `cores` are those of the
    machine."""
    lines = []
    for name in chosen:
        if found := [point for point in points if point["series"] == name]:
            xs, ys = [one["clients"] for one in found], [one[figure] for one in found]
            hollow = [_missing(one) > LOSSY for one in found]
            pale = [_is_full(one, cores) for one in found]
            of = SERIES[name]
            line = Line(of.label, of.colour, xs, ys, marker=of.marker, hollow=hollow, pale=pale)
            lines.append(line)
    return lines


def _past(chosen: Iterable[str]) -> list[Line]:
    lines = []
    for name in chosen:
        if past := SERIES[name].past:
            ys = [1000 * number for number in past[1]]
            lines.append(Line(past[0], SERIES[name].colour, PAST_CLIENTS, ys, is_past=True))
    return lines


def _latencies(points: Sequence[Point]) -> list[Bar]:
    """Return a bar for each point that has the largest number of clients."""
    bars = []
    most = max((point["clients"] for point in points), default=0)
    for point in points:
        of, ms = SERIES[point["series"]], point["latency_ms"]
        half, late = ms["p50"], ms["p99"]
        if point["clients"] == most and half is not None and late is not None:
            text = f"{short(half)} ms, 99 % within {short(late)} ms"
            bars.append(Bar(f"{of.label}, {most} clients", of.colour, half, text))
    return bars


main = TwoQueues.main
