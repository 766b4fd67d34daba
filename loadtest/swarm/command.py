"""The command line of the swarm: chooses the runs, prints their results and writes files."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import fields, replace

from flatlands.bot import bots_of
from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.brokers import broker, find_programs
from flatlands.loadtest.kit.machine import pinned
from flatlands.loadtest.kit.options import Parser, amount, endpoint, file, whole
from flatlands.loadtest.kit.page import write_json
from flatlands.loadtest.kit.processes import SPARE_DESCRIPTORS, Trouble, raise_descriptor_limit
from flatlands.loadtest.kit.signals import Interrupted
from flatlands.loadtest.kit.thresholds import CROSSED
from flatlands.loadtest.studies.connections import command as idle
from flatlands.loadtest.swarm import compare, follower, result_files, terminal_output
from flatlands.loadtest.swarm.control_channel import SECRET, secret
from flatlands.loadtest.swarm.leader import RemoteGenerator, gathered
from flatlands.loadtest.swarm.result import LATE, Options, Result
from flatlands.loadtest.swarm.run import run
from flatlands.loadtest.swarm.scenarios import OWN, SCENARIOS, scenario
from flatlands.loadtest.swarm.target import there

EPILOG = """scenarios, in which each bot makes two moves a second unless another rate is named:
{}

A broker URL without a host (redis://, rediscluster://, zeromq://, zeromq+ipc://, nats://, mqtt://)
starts that broker for the run. Several URLs, separated by commas, form a ring. The exit code is 0
if everything was right, 2 for bad options, 130 after Ctrl-C, and otherwise the first of these: 1 if
the oracle found a fault or the run failed, 3 if the swarm itself was too slow for its figures to be
trusted, 99 if a threshold of --fail-if was crossed. `bots.py compare A.json B.json` compares runs
kept by --json, and `bots.py join HOST:PORT` runs a part of a --lead's swarm on another machine."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["compare"]:
        return compare.main(arguments[1:])
    if arguments[:1] == ["join"]:
        return follower.main(arguments[1:])
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.scenario == idle.NAME:
        return idle.main(given, parser, arguments)
    try:
        plans = _plans(given)
    except ValueError as error:
        parser.error(str(error))
    done: list[Result] = []
    display = terminal_output.Display()
    with signals.remembered(), ExitStack() as stack:
        try:
            find_programs(options.broker for options in plans)
            target = there(given.url, given.insecure, given.admin_token) if given.url else None
            remotes: list[RemoteGenerator] = []
            if given.lead:
                remotes = stack.enter_context(gathered(given.lead, given.generators, display.say))
                processes = sum(remote.processes for remote in remotes)
                plans = [replace(options, processes=processes) for options in plans]
            for number, options in enumerate(plans, 1):
                title = terminal_output.title(options, number, len(plans))
                with display.following(title, options) as following:
                    if given.prometheus is not None:
                        following = result_files.telling(given.prometheus, following)
                    done.append(run(options, following, target=target, remotes=remotes))
                if done[-1].error == "interrupted":
                    break
        except Trouble as trouble:
            display.say(f"bots: {trouble}")
            return 1
        except Interrupted:
            display.say("bots: interrupted before anything was measured")
            return 130
        finally:
            if done:
                display.table(done)
                _keep(given, done)
    return _judge(done, display)


def _keep(given: argparse.Namespace, done: list[Result]) -> None:
    if given.json is not None:
        write_json(given.json, result_files.as_json(done, given.admin_token or ""))
    if given.csv is not None:
        result_files.write_csv(given.csv, done)
    if given.prometheus is not None:
        result_files.write_prometheus(given.prometheus, done)
    if given.report is not None:
        result_files.write_report(given.report, done, given.admin_token or "")


def _judge(done: list[Result], display: terminal_output.Display) -> int:
    code = 0
    for result in done:
        for fault in result.faults:
            display.say(f"failed: {terminal_output.name(result.options)}: {fault}")
            code = 1
        for why in result.invalid:
            display.say(
                f"not valid: {terminal_output.name(result.options)}: {why}; stop other programs "
                "here, use fewer bots, or --processes on a machine with more cores"
            )
            code = code or 3
    for name, runs in terminal_output.grouped(done).items():
        for why in terminal_output.crossed(runs):
            display.say(f"crossed: {name}: {why}")
            code = code or CROSSED
    if any(result.error == "interrupted" for result in done):
        return 130
    if code == 0:
        display.say(f"all right: {terminal_output.praise(done)}")
    return code


def _plans(given: argparse.Namespace) -> list[Options]:
    """Return the options of all runs, in order. Raises ValueError with a sentence for the user."""
    try:
        turn, _ticket = bots_of(given.game)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"the bot.py of the game {given.game} fails: {what}") from error
    # Without --game bots only walk, to measure brokers: Flatlands' own bot does much else.
    given.scenario = given.scenario or (OWN if turn and given.game else "wander")
    scenario(given.scenario, given.game)
    starts = given.compare or given.broker or given.store
    starts = starts or (given.game and given.scenario != OWN)
    if given.url and (starts or given.workers != 1):
        raise ValueError(
            "--url names a running server: --broker, --workers, --game, --store and --compare are "
            "for one that is started"
        )
    if given.compare and given.broker:
        raise ValueError("--compare names the brokers: leave --broker out")
    if given.url and given.pin:
        raise ValueError("--url names a running server: --pin is for one that is started")
    if given.insecure and not given.url:
        raise ValueError("--insecure is for a --url that begins with wss://")
    brokers = given.compare or [given.broker]
    if given.workers > 1 and any(url.startswith("memory:") for url in brokers):
        raise ValueError("the broker memory:// is for one worker: leave out --workers")
    if given.lead:
        _check_lead(given)
    if given.admin_token and not given.url:
        raise ValueError("--admin-token is for a --url: a server that is started needs none")
    # Each field of Options is an option's value.
    given.processes = given.processes or max((os.cpu_count() or 1) // 2, 1)
    pinned(given.pin, given.workers, given.processes)
    options = Options(**{field.name: getattr(given, field.name) for field in fields(Options)})
    counts = given.ramp or [given.bots]
    limit = raise_descriptor_limit()
    room = (limit - SPARE_DESCRIPTORS) * given.processes
    if max(counts) > room and not given.lead:
        raise ValueError(
            f"{max(counts)} bots need more file descriptors than the {limit} that a process may "
            "have here: raise it (ulimit -n), or use more --processes"
        )
    return [
        replace(options, bots=count, broker=url)
        for url in brokers
        for count in counts
        for _ in range(given.repeat)
    ]


def _check_lead(given: argparse.Namespace) -> None:
    """Raise ValueError with a sentence if generators elsewhere cannot play with these options."""
    if not given.url:
        raise ValueError("--lead needs a --url that the generators can reach")
    if scenario(given.scenario, given.game).lockstep:
        raise ValueError("--lead cannot run bots in lockstep: choose another scenario")
    if given.lead[0] not in ("127.0.0.1", "::1", "localhost") and not secret():
        raise ValueError(
            f"--lead listens to other machines: set {SECRET} here and for bots.py join"
        )


def _parser() -> argparse.ArgumentParser:
    scenarios = "\n".join(f"  {name:15}{s.about}" for name, s in SCENARIOS.items())
    scenarios += f"\n  {OWN:15}bots play by turn(bot) of the game's bot.py, four times a second"
    scenarios += f"\n  {idle.NAME:15}{idle.ABOUT}"
    parser = Parser(
        "bots.py",
        "Measure a Flatlands server with a swarm of clients (bots), and check\nwhether "
        "each bot received everything that it had to receive.",
        EPILOG.format(scenarios),
    )
    add = parser.add_argument
    add(
        "--url",
        help="a running server to measure, ws://HOST:PORT/ws or wss:// (default: start one); all "
        "bots share one address, so for more than a few hundred it needs --max-per-address 0; with "
        "idle also redis://HOST:PORT, or redis:// to start one",
    )
    add("--insecure", action="store_true", help="accept any certificate of a wss:// server")
    add(
        "--admin-token",
        type=_token,
        metavar="TOKEN",
        help="admin token of the --url server, to read its CPU time, memory and losses (default: "
        "do without them)",
    )
    add("--broker", type=broker, default="", metavar="URL", help="broker of the started server")
    add("--workers", type=whole(1, 64), default=1, help="number of its workers (1)")
    add("--game", default="", metavar="GAME", help="game of the started server (flatlands)")
    add(
        "--store",
        default="",
        metavar="URL",
        help="store of the started server (none, or a new one for the game's own bots)",
    )
    add(
        "--lead",
        type=endpoint,
        metavar="[ADDRESS:]PORT",
        help="let bots run on generators that join here by `bots.py join HOST:PORT`",
    )
    add("--generators", type=whole(1, 64), default=1, metavar="N", help="number of generators (1)")
    add("--bots", type=whole(1, 100_000), default=1000, help="number of bots (1000)")
    add("--seconds", type=amount(1, 86_400), default=30.0, help="seconds to measure (30)")
    add(
        "--warm-up",
        type=amount(0, 3600),
        metavar="SECONDS",
        help="seconds for which bots move before that (2); several workers settle within 15",
    )
    add(
        "--scenario",
        type=_scenario,
        metavar="NAME",
        help=f"what the bots do: one of those below ({OWN} if the game has bots, or wander), or a "
        "file of your own, mine.py, with a function turn(bot) and a PLAN (docs/swarm.md)",
    )
    add(
        "--compare",
        nargs="+",
        type=broker,
        metavar="URL",
        help="make a run with each of these brokers in turn, to see what each adds to the game, "
        "which uses little of their capacity; loadtest/two_queues.py measures that",
    )
    add(
        "--ramp",
        type=_ramp,
        metavar="A..B[/N]",
        help="make N runs (6) with more bots each time, from A to B",
    )
    add(
        "--repeat",
        type=whole(1, 100),
        default=1,
        help="number of runs of each kind (1); the table shows medians",
    )
    add(
        "--rate",
        type=amount(0, 1_000_000),
        help="moves of each bot per second, instead of the scenario's; with idle, pings of all "
        f"bots together ({idle.RATE:g})",
    )
    add(
        "--squares",
        type=whole(1, 1_000_000),
        help="number of squares in which bots begin, instead of the scenario's",
    )
    add(
        "--viewport",
        type=_size,
        metavar="WxH",
        help="size of a bot's screen in tiles, instead of the scenario's",
    )
    add(
        "--processes",
        type=whole(1, 256),
        help="number of processes of the swarm (half the cores; with idle, as many as it needs)",
    )
    add(
        "--sample",
        type=whole(1, 100_000),
        default=40,
        help="number of bots whose messages are checked (40)",
    )
    add("--joins", type=amount(1, 100_000), default=500.0, help="bots that join per second (500)")
    add(
        "--pin",
        action=argparse.BooleanOptionalAction,
        help="give each worker and each process of the swarm a core of its own (default: a server "
        "of one worker gets the first core, and the swarm the others); --no-pin leaves it to the "
        "system",
    )
    add(
        "--no-return",
        dest="returns",
        action="store_false",
        help="bots that are cut off do not reconnect",
    )
    add(
        "--late",
        type=amount(1, 500),
        default=LATE,
        metavar="MS",
        help="a run is not valid if one move in a hundred was sent more than MS milliseconds late, "
        f"1 to 500 ({LATE:g})",
    )
    parser.add_fail_if(
        terminal_output.VALUES, "a run, or of the median of several ('server >= 80%%' too)"
    )
    add(
        "--seed",
        type=whole(0, 2**32 - 1),
        help="seed of the bots' choices, to repeat another run's (default: new, kept in --json)",
    )
    add("--csv", type=file, metavar="FILE", help="write a row for each run to FILE")
    add(
        "--prometheus",
        type=file,
        metavar="FILE",
        help="write the figures to FILE in Prometheus format, twice a second during a run, and all "
        "of them at the end",
    )
    parser.add_files()
    return parser


def _scenario(text: str) -> str:
    known = [*SCENARIOS, OWN, idle.NAME]
    if text not in known and not text.endswith(".py"):
        names = ", ".join(known)
        raise argparse.ArgumentTypeError(f"no scenario is called {text!r}: choose from {names}")
    return text


def _ramp(text: str) -> list[int]:
    ends, _, steps = text.partition("/")
    low, _, high = ends.partition("..")
    parts = (low, high, steps or "6")
    if not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not like 100..5000 or 100..5000/6")
    first, last, number = map(int, parts)
    if not 1 <= first < last <= 100_000 or not 2 <= number <= 100:
        raise argparse.ArgumentTypeError(
            f"{text!r} must increase, from 1 to 100000, in 2 to 100 steps"
        )
    # The counts grow by a constant factor, rounded to two digits, for a logarithmic axis.
    factor = (last / first) ** (1 / (number - 1))
    counts = [float(f"{first * factor**step:.2g}") for step in range(number)]
    return sorted({first, *(round(count) for count in counts[1:-1]), last})


def _token(text: str) -> str:
    # The error does not quote the text, which is a secret.
    if not text or not text.isascii() or not text.isprintable():
        raise argparse.ArgumentTypeError("an admin token may have only printable ASCII characters")
    return text


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not like 40x25")
    size = int(width), int(height)
    if not (8 <= size[0] <= 96 and 8 <= size[1] <= 64):
        raise argparse.ArgumentTypeError(f"{text!r}: a screen shows 8 to 96 by 8 to 64 tiles")
    return size
