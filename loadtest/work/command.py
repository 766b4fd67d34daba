"""The command line: chooses the series to measure, prints them, and decides the exit status.

The exit status is 0 if everything was measured and adds up, 1 if something did not, 2 for bad
options, 130 after Ctrl-C. Whatever was measured is reported in any case.
"""

import argparse
import sys
from typing import Any

from flatlands.loadtest.kit.options import Parser, names, whole
from flatlands.loadtest.kit.points import keep, measure_all
from flatlands.loadtest.kit.processes import Trouble, bare
from flatlands.loadtest.work.account import fault
from flatlands.loadtest.work.measure import Options, measure
from flatlands.loadtest.work.series import FIFOS, FILLED, LASTING, TAKEN, TAKES

SERIES = [*TAKES, *FIFOS]


def _redis(text: str) -> str:
    if not text.startswith(("redis://", "rediss://")):
        raise argparse.ArgumentTypeError(f"{text!r} does not begin with redis:// or rediss://")
    return text


def parser() -> Parser:
    """Return the parser of the command line."""
    found = Parser(
        "work_queues.py",
        f"Measure work queues, which give each message to one consumer: what it costs "
        f"to take {TAKEN} of {FILLED:,} messages in several ways, and how fast messages pass "
        "through a FIFO queue from a pusher to its pullers.",
    )
    add = found.add_argument
    add(
        "--series",
        type=names(SERIES),
        metavar="NAME,...",
        help=f"what to measure: all (the default), or some of {', '.join(SERIES)}",
    )
    add(
        "--repeat",
        type=whole(1, 1000),
        default=10,
        metavar="N",
        help=f"how often {FILLED:,} messages are put and taken in each way (%(default)s)",
    )
    add(
        "--messages",
        type=whole(1, 10**7),
        default=200_000,
        metavar="N",
        help="messages that pass through a FIFO queue (%(default)s)",
    )
    add(
        "--kill",
        type=whole(1, 1000),
        nargs="?",
        const=5,
        default=0,
        metavar="N",
        help="instead: kill N consumers, each after a second, and compare what was handed out "
        f"again with what they held ({', '.join(LASTING)}; 5, if N is not given)",
    )
    add(
        "--redis",
        type=_redis,
        metavar="URL",
        help="use this running Redis instead of some that are started, which gets keys of this run "
        "alone and loses them again; it may have a user and a password, and rediss:// is over TLS: "
        "the variable BROKER_TLS says which certificates to accept",
    )
    found.add_files()
    return found


def _check(point: dict[str, Any]) -> str:
    """Return the line of a point. Raises Trouble if the account of its messages shows a fault."""
    if wrong := fault(point["account"]):
        raise Trouble(wrong)
    if point["kind"] == "kill":
        found = point["account"]
        return (
            f"{point['series']:<12}  {len(point['held'])} consumers died and held "
            f"{found['held_by_dead']} messages; the same {found['again']} were handed out again, "
            f"and all {found['done']:,} were done"
        )
    us = "  ".join(f"{who} {n:6.1f}" for who, n in point["us"].items() if n is not None)
    if point["kind"] == "take":
        ms, past = point["ms"], TAKES[point["series"]].past
        then = f", 2016: {past:.3f}" if past else ""
        rates = f"{ms['median']:7.3f} ms per {TAKEN} ±{point['spread']:.1%}"
        rates += f" (least {ms['least']:.3f}{then})"
    else:
        past = FIFOS[point["series"]].past
        then = f" (2021: {past[0]:,.0f}, {past[1]:,.0f})" if past else ""
        rates = f"pushed {point['pushed']:7,.0f}/s, pulled {point['pulled']:7,.0f}/s{then}"
    return f"{point['series']:<12}  {rates:<58}  CPU us a message: {us}"


def main(arguments: list[str] | None = None) -> int:
    """Measure what the command line asks for; return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    found = parser()
    given = found.parse_args(arguments)
    options = Options(
        repeat=given.repeat, messages=given.messages, deaths=given.kill, redis=given.redis or ""
    )
    chosen = given.series or (LASTING if given.kill else SERIES)
    if given.kill and (wrong := set(chosen).difference(LASTING)):
        found.error(
            f"--kill is for {', '.join(LASTING)}: {', '.join(sorted(wrong))} would not hand out"
            " again, or not count, what a dead consumer held"
        )
    return keep(
        given,
        ["loadtest/work_queues.py", *arguments],
        {"options": {**vars(options), "redis": bare(options.redis)}},
        lambda run: measure_all(chosen, lambda name: [measure(name, options)], _check, run),
        "flatlands.loadtest.work.report",
    )
