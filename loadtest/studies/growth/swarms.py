"""The series that the swarm measures: the same players on more and more workers, on machines with
and without addresses, and crowds.

Each function yields the points of a series, and calls `note` with what happens.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TypedDict

from flatlands.loadtest.kit import brokers
from flatlands.loadtest.studies.children import Children
from flatlands.loadtest.studies.growth import sizes
from flatlands.loadtest.studies.growth.points import Crowd, Machines, Workers
from flatlands.loadtest.studies.swarm import measured
from flatlands.loadtest.swarm import target as targets
from flatlands.loadtest.swarm.result import Options


def workers(note: Callable[[str], None]) -> Iterator[Workers]:
    """Yield a point for each number of workers, in each scenario. Raises Trouble and Interrupted.

    `us` is the CPU time of a delivery, `times` how many times one worker's that is; `cpu` and
    `broker` are shares of a core, latencies are in ms, and `bytes_event` is what a player gets for
    each event that it is told.
    """
    for scenario in sizes.SCENARIOS:
        alone = None
        for number in sizes.WORKERS:
            name = f"{scenario}, {sizes.BOTS} players, {number} workers"
            options = Options(
                bots=sizes.BOTS,
                squares=sizes.SQUARES,
                scenario=scenario,
                workers=number,
                broker=sizes.BROKER,
                seconds=sizes.SECONDS,
                warm_up=sizes.SETTLED,
                pin=False,
            )
            result = measured(options, name, note)
            found = result.figures
            per_cpu_second = found["per CPU s"]
            us = 1e6 / per_cpu_second if per_cpu_second else None
            events = result.totals["events"] or 0.0
            alone = us if number == 1 else alone
            yield {
                "series": "workers",
                "size": number,
                "scenario": scenario,
                "us": us,
                "times": us / alone if us and alone else None,
                "cpu": found["server"],
                "broker": found["broker"],
                "deliveries": found["deliveries/s"],
                "bytes_event": (result.totals["bytes"] or 0.0) / max(events, 1),
                "p50": found["p50"],
                "p99": found["p99"],
                "faults": result.faults,
                "invalid": result.invalid,
            }


#: How many times its share of the players a machine has room for: with nine tenths of that it is
#: busy. With less room, most players that are asked to go find the other machine full, and stay.
MACHINE_ROOM = 1.8


def machines(note: Callable[[str], None]) -> Iterator[Machines]:
    """Yield a point for machines of one world without addresses, and one with: then players of one
    district go to one machine. Raises Trouble and Interrupted.

    `heard` are the squares that a machine hears on average, `most` those of the one that hears the
    most. `received` are the messages a second that all receive, `batches` those that all publish,
    and `times` how many are received for each one published, heartbeats and keepalives included.
    """
    for addresses in (False, True):
        name = f"{sizes.MACHINES} machines {'with' if addresses else 'without'} addresses"
        with Children() as family, ExitStack() as stack:
            note(f"{name}: starting")
            url, _ = family.broker(sizes.BROKER)
            seats = str(math.ceil(sizes.PLAYERS * MACHINE_ROOM))
            servers: list[targets.Target] = []
            for port in brokers.free_ports(sizes.MACHINES):
                address = ("--address", f"http://127.0.0.1:{port}") if addresses else ()
                options = "--store", url, "--max-players", seats, *address
                secret = {"SECRET_KEY": "the same one on all machines"}
                started = targets.started(url, 1, sizes.SQUARES, (), port, secret, options=options)
                servers.append(stack.enter_context(started))
            lasts = str(sizes.MACHINES * sizes.SETTLED + sizes.SECONDS + 120)
            for server in servers:
                at = f"ws://127.0.0.1:{server.address[1]}/ws"
                some = "--bots", str(sizes.PLAYERS), "--rate", "1", "--scenario", "mill"
                whole = "--url", at, "--seconds", lasts, "--processes", "1", *some
                family.worker("a swarm", [sys.executable, "loadtest/bots.py", *whole])
            note(f"{name}: players join, and go where they belong")
            number = sizes.MACHINES * sizes.PLAYERS

            def are_there(number: int = number, servers: list[targets.Target] = servers) -> bool:
                return sum(one["residents"] for one in map(_stats, servers)) >= number

            family.wait(are_there, 60, "the players do not all come")
            # A plan changes once in 20 s, and needs a line for each machine but the first.
            family.sleep((sizes.MACHINES + 1) * sizes.SETTLED)
            were, had, _ = _all_counted(servers)
            family.sleep(sizes.SECONDS)
            are, have, heard = _all_counted(servers)
            received, batches = are - were, have - had
            yield {
                "series": "machines",
                "size": sizes.MACHINES,
                "addresses": addresses,
                "heard": sum(heard) / len(heard),
                "most": max(heard),
                "received": received / sizes.SECONDS,
                "batches": batches / sizes.SECONDS,
                "times": received / batches,
                "faults": [],
                "invalid": [],
            }


class Received(TypedDict):
    """What a server says of its broker."""

    received: int


class Counted(TypedDict):
    """What a server has counted."""

    batches: int


class Stats(TypedDict):
    """What is used of what a server says of itself at /stats."""

    residents: int
    squares: int
    broker: Received
    counted: Counted


def _stats(server: targets.Target) -> Stats:
    with server.open("/stats") as answer:
        found: Stats = json.load(answer)
    return found


def _all_counted(servers: list[targets.Target]) -> tuple[int, int, list[int]]:
    """Return the messages that all servers have received, the batches that they have published, and
    the squares that each of them hears now."""
    found = list(map(_stats, servers))
    received = sum(one["broker"]["received"] for one in found)
    batches = sum(one["counted"]["batches"] for one in found)
    return received, batches, [one["squares"] for one in found]


def crowds(note: Callable[[str], None]) -> Iterator[Crowd]:
    """Yield a point for each crowd in one square. Raises Trouble and Interrupted.

    `told` are the events a second that the node published, and `replaced` those that newer ones
    replaced before that; `bytes_each` is what each player gets in a second. `lagging` counts how
    often a player had to be told everything again.
    """
    for number in sizes.CROWDS:
        options = Options(
            bots=number,
            squares=1,
            scenario="crowd",
            rate=sizes.CROWD_MOVES_A_SECOND,
            seconds=sizes.SECONDS,
            joins=number / sizes.CROWD_JOIN_SECONDS,
            processes=sizes.CROWD_PROCESSES,
            pin=False,
        )
        result = measured(options, f"a crowd of {number:,}", note)
        found = result.figures
        seconds = result.measured
        told, replaced = (result.server.get(name, 0) / seconds for name in ("events", "replaced"))
        yield {
            "series": "crowd",
            "size": number,
            "cpu": found["server"],
            "p50": found["p50"],
            "p99": found["p99"],
            "told": told,
            "replaced": replaced,
            "bytes_each": (result.totals["bytes"] or 0.0) / seconds / number,
            "lagging": result.totals["resyncs"],
            "faults": result.faults,
            "invalid": result.invalid,
        }
