"""The command line: chooses the points to measure, prints them, and decides the exit status.

The exit status is 0 if everything was measured and adds up, 1 if something did not, 2 for bad
options, 99 if a threshold was crossed, 130 after Ctrl-C. Whatever was measured is reported in any
case.
"""

import argparse
import functools
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from operator import getitem
from pathlib import Path
from typing import Any

from flatlands.brokers.base import PAYLOAD_LIMIT
from flatlands.loadtest.kit.brokers import STARTERS
from flatlands.loadtest.kit.compilers import find_go
from flatlands.loadtest.kit.machine import output_of
from flatlands.loadtest.kit.options import Parser, amount, names, whole
from flatlands.loadtest.kit.points import keep, measure_all
from flatlands.loadtest.kit.processes import Trouble, bare
from flatlands.loadtest.kit.thresholds import Threshold, all_crossed
from flatlands.loadtest.queues.measure import Options, build_worker, kind_of, measure
from flatlands.loadtest.queues.series import SERIES
from flatlands.loadtest.queues.stamp import STAMP
from flatlands.loadtest.queues.worker import DRAIN_S

#: Clients that a run may have: a publisher's number has 16 bits in each message.
CLIENTS_LIMIT = 1000


def _clients(text: str) -> list[int]:
    """Return the numbers that a text such as "4", "1-4" or "1,2,8" names, in order."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        try:
            found.update(range(int(first), int(last if dash else first) + 1))
        except ValueError:
            found = set()
            break
    if not found or min(found) < 1 or max(found) > CLIENTS_LIMIT:
        raise argparse.ArgumentTypeError(
            f"{text!r} should look like 4, 1-4 or 1,2,8, from 1 to {CLIENTS_LIMIT}"
        )
    return sorted(found)


def _broker(text: str) -> str:
    kind = kind_of(text)
    known = {series.broker for series in SERIES.values() if series.broker in STARTERS}
    if kind not in known or not text.partition("://")[2]:
        urls = ", ".join(f"{one}://HOST" for one in sorted(known))
        raise argparse.ArgumentTypeError(f"{text!r} names no broker that is measured: {urls} do")
    return text


def parser() -> Parser:
    """Return the parser of the command line."""
    cores = os.cpu_count() or 1
    found = Parser(
        "two_queues.py",
        "Measure how many messages per second the brokers carry. A client is two "
        "processes: one publishes to random channels as fast as it can, the other one is "
        "subscribed to all channels. CPU is that of one message at a publisher, the brokers and a "
        "subscriber.",
    )
    add = found.add_argument
    add(
        "--series",
        type=names(SERIES),
        default=list(SERIES),
        metavar="NAME,...",
        help=f"what to measure: all (the default), or some of {', '.join(SERIES)}",
    )
    add(
        "--num-clients",
        type=_clients,
        default=list(range(1, 2 * cores + 1)),
        metavar="N,...",
        help=f"numbers of clients to measure with, such as 4, 1-4 or 1,2,8 (1-{2 * cores}: up to "
        "twice the cores)",
    )
    add(
        "--num-seconds",
        type=whole(1, 3600),
        default=10,
        metavar="N",
        help="number of seconds that are counted for each point (%(default)s)",
    )
    add(
        "--warm-up",
        type=amount(0, 3600),
        default=1.0,
        metavar="SECONDS",
        help="time before that in which messages are not counted (%(default)s)",
    )
    add(
        "--num-channels",
        type=whole(1, 65536),
        default=50,
        metavar="N",
        help="number of channels (%(default)s)",
    )
    add(
        "--message-size",
        type=whole(STAMP.size, PAYLOAD_LIMIT),
        default=20,
        metavar="BYTES",
        help="size of each message (%(default)s)",
    )
    add(
        "--rate",
        type=whole(1, 10**6),
        default=0,
        metavar="N",
        help="messages that each publisher sends per second (as many as it can)",
    )
    add(
        "--buffer",
        type=whole(1, 10**6),
        default=1000,
        metavar="N",
        help="messages that redis-buffered and redis-2013 send together (%(default)s)",
    )
    add(
        "--flush-ms",
        type=whole(1, 60_000),
        default=200,
        metavar="MS",
        help="time after which they send fewer (%(default)s)",
    )
    add(
        "--broker",
        type=_broker,
        nargs="+",
        default=[],
        metavar="URL",
        help="use these running brokers instead of some that are started, each for the series of "
        "its kind; a URL may have a user and a password, and rediss://, tls:// (NATS) and mqtts:// "
        "are over TLS: BROKER_TLS says which certificates to accept, as for the server",
    )
    found.add_fail_if(FIGURES, "a point")
    found.add_files()
    return found


#: Figure that a threshold may be of -> where a point has it. CPU is in microseconds a message.
FIGURES = {
    "per client": ("per_client",),
    "published/s": ("publishes",),
    "delivered/s": ("deliveries",),
    **{name: ("latency_ms", name) for name in ("p50", "p90", "p99", "p99.9")},
    "max": ("latency_ms", "pmax"),
    **{name: ("cpu_us", name) for name in ("publishers", "brokers", "subscribers")},
    **{name: ("account", name) for name in ("dropped", "lost")},
}


def crossed(point: dict[str, Any], limits: Iterable[Threshold]) -> list[str]:
    """Return sentences about the thresholds that a point crosses."""
    found = {figure: functools.reduce(getitem, way, point) for figure, way in FIGURES.items()}
    return all_crossed(limits, found, f"{point['series']} with {point['clients']} clients")


def check(point: dict[str, Any]) -> str:
    """Return the line of a point. Raises Trouble if the account of its messages shows a fault.

    That messages were lost in silence is no fault of a series that promises nothing else.
    """
    account, where = point["account"], f"{point['series']} with {point['clients']} clients"
    if not account["adds_up"]:
        raise Trouble(f"{where}: the account does not add up: {account}")
    if account["unfinished"]:
        raise Trouble(
            f"{where}: {account['unfinished']} of the subscribers were still receiving "
            f"{DRAIN_S:.0f} s after the end, so their losses are not known: this machine is too "
            "slow for so many"
        )
    if account["silent"] and SERIES[point["series"]].is_told:
        raise Trouble(f"{where}: {account['lost']} messages were lost without a Reset")
    if not account["delivered"]:
        raise Trouble(f"{where}: nothing was delivered")
    missing = account["due"] - account["delivered"]
    lost = f"{missing / account['due']:.1%} not delivered" if missing else "all delivered"
    cpu = " + ".join(
        "-" if point["cpu_us"][kind] is None else f"{point['cpu_us'][kind]:.1f}"
        for kind in ("publishers", "brokers", "subscribers")
    )
    return (
        f"{point['series']:<16} {point['clients']:>3} clients  "
        f"{point['per_client']:>9,.0f} msg/s per client  {point['deliveries']:>9,.0f} in all  "
        f"p50 {point['latency_ms']['p50'] or 0:>6,.1f} ms  "
        f"CPU {cpu} us  {lost}{' and nobody told' if account['silent'] else ''}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure what the command line asks for; return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    given = parser().parse_args(arguments)
    options = Options(
        seconds=given.num_seconds,
        channels=given.num_channels,
        size=given.message_size,
        warm_up=given.warm_up,
        rate=given.rate,
        buffer=given.buffer,
        flush_ms=given.flush_ms,
        brokers=tuple(given.broker),
    )
    facts = {"options": {**vars(options), "brokers": [bare(url) for url in options.brokers]}}

    def measure_in(run: dict[str, Any]) -> int:
        run["machine"]["go"] = output_of(find_go(), "version")
        with tempfile.TemporaryDirectory(prefix="two-queues-") as folder:
            built = functools.cache(lambda: build_worker(Path(folder)))

            def points(name: str) -> Iterator[dict[str, Any]]:
                worker = built() if SERIES[name].client == "go" else ""
                return (measure(SERIES[name], n, options, worker) for n in given.num_clients)

            status = measure_all(
                given.series, points, check, run, lambda point: crossed(point, given.fail_if)
            )
            if options.brokers:
                print("CPU of running brokers is not known: they were not started for the run.")
            return status

    return keep(
        given,
        ["loadtest/two_queues.py", *arguments],
        facts,
        measure_in,
        "flatlands.loadtest.queues.report",
    )
