"""One ramp: more and more connections to one server, and the loops at each step.

The connections of a step stay for the next one. It starts the server, or is told which one to use,
and starts the processes of the clients. It never prints.
"""

import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from typing import TypedDict

import psutil
import redis

from flatlands import wire
from flatlands.loadtest.kit import brokers, signals
from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.kit.machine import pinned, shared_out
from flatlands.loadtest.kit.options import bare
from flatlands.loadtest.kit.processes import Program, Trouble, children, cost
from flatlands.loadtest.studies.children import Children
from flatlands.loadtest.studies.connections import memory
from flatlands.loadtest.studies.connections.client import Report
from flatlands.loadtest.studies.connections.dialects import KEY, VALUE, Game, Redis
from flatlands.loadtest.studies.connections.room import ports, sources, why_not
from flatlands.loadtest.swarm import target as targets
from flatlands.loadtest.swarm.target import Target

SECOND = 1_000_000

#: Players in each square, once all have joined.
SHARE = 4

#: Options of the server that is started: it must not limit the rate of pings.
SERVER = ("--any-rate", "1")

#: A loop runs for this long before its measured time.
WARM_UP_SECONDS = 1.0
#: It runs a second longer for each so many connections, since in a closed loop all of them must
#: have been answered once.
WARM_UP_CONNECTIONS = 8192

#: Seconds from when all connections of a step are made until they are measured.
SETTLE = 3.0

#: At least so many connections join in a second.
JOINS_A_SECOND_LEAST = 100
#: A process answers an order within this time.
ANSWER_SECONDS = 60.0

#: Seconds between two sentences about how many have joined.
SAY_EVERY = 2.0

#: The share of a core above which a process of the clients measures itself.
BUSY = 0.9

#: The percentiles that are kept of each loop.
LEVELS = (*range(100), *(99 + n / 10 for n in range(1, 10)), *(n / 100 for n in range(9991, 10000)))

#: Called with a sentence about what is happening.
Say = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """The options of bots.py for a ramp: `counts` are the connections of its steps, `rate` is in
    requests a second of all together, and `late` that of figures()."""

    counts: Sequence[int]
    seconds: float
    rate: float
    late: float
    workers: int = 1
    processes: int = 1
    url: str | None = None
    insecure: bool = False
    broker: str = ""
    squares: int | None = None
    pin: bool | None = None


class Loop(TypedDict):
    """The figures of a loop, see figures()."""

    loop: str
    request: str
    answered: int
    per_second: float
    latency: dict[str, float]
    percentiles: list[float]
    late_ms: float
    server: float | None
    clients: float
    bound: bool
    unanswered: int
    lost: dict[str, int]
    invalid: list[str]


class Step(TypedDict):
    """A step of the ramp. `memory_kb` is for each connection, see memory.each; `by_worker` are the
    connections of each worker."""

    connections: int
    joined_s: float
    memory_kb: dict[str, float] | None
    by_worker: list[int]
    loops: list[Loop]


@dataclass
class Ground:
    """What is measured. `config` is for the clients, and `requests` are those of its dialect.

    `program` is the server, None if it was running already. `most` is the number of connections
    that it takes, None for any, and `cpus` are the cores of the clients.
    """

    name: str
    config: Mapping[str, object]
    requests: Sequence[str]
    address: tuple[str, int]
    program: Program | None
    cpus: Sequence[int] = ()
    most: int | None = None

    def processes(self) -> list[psutil.Process]:
        """Return all processes of the server, none if it was running already."""
        return [self.program.process, *children(self.program.process)] if self.program else []

    def descriptors(self) -> list[int]:
        """Return how many descriptors each worker has."""
        return [process.num_fds() for process in self.workers()]

    def memory(self) -> dict[str, float]:
        """Return the KB of memory of all processes, and of the kernel."""
        found, processes = memory.of_kernel(), self.processes()
        return {**memory.of_processes(processes), **found} if processes else found

    def used(self) -> dict[str, float]:
        """Return the CPU seconds of all processes, nothing if it was running already."""
        known = self.processes()
        return {"cpu": cost(known)[0]} if known else {}

    def check(self) -> None:
        """Raise Trouble if the server has ended."""
        if self.program and (died := self.program.death()):
            raise Trouble(died)

    def workers(self) -> list[psutil.Process]:
        """Return the processes of the server that have the connections."""
        if self.program is None:
            return []
        found = children(self.program.process).items()
        several = [child for child, command in found if "flatlands.server" in command]
        return several or [self.program.process]


def is_redis(url: str | None) -> bool:
    """Return whether a URL names a Redis."""
    return (url or "").startswith(("redis://", "rediss://"))


def check_room(options: Options, descriptors: int) -> str:
    """Return a sentence that says what is lacking before anything is started, or an empty text."""
    workers = None if options.url else options.workers
    return why_not(max(options.counts), options.processes, workers, descriptors, None)


def ramp(options: Options, descriptors: int, say: Say) -> Iterator[Step]:
    """Measure one step after the other, and yield the figures of each.

    Raises Trouble and Interrupted. By then, or at the end, everything that was started has ended.
    """
    with ExitStack() as stack:
        to = _redis if is_redis(options.url) else _game
        ground = stack.enter_context(to(options, descriptors))
        counts, most = list(options.counts), ground.most
        if most is not None and counts[-1] > most:
            say(
                f"{ground.name} takes {most:,} connections more (its maxclients), and not "
                f"{counts[-1]:,}: the ramp ends there"
            )
            counts = [count for count in counts if count < most] + [most]
        # A Redis without a password serves 127.0.0.1 and no other address.
        several = ground.address[0].startswith("127.") and not is_redis(options.url)
        here = ports()
        if lacking := why_not(
            counts[-1], options.processes, None, descriptors, None if several else here
        ):
            raise Trouble(lacking)
        addresses = sources(counts[-1], here) if several else []
        family = stack.enter_context(Children())
        try:
            clients = Clients(family, ground, options.processes, addresses)
            family.sleep(1.0)
            yield from _steps(options, ground, clients, counts, say)
        except Trouble as trouble:
            said = ground.program.errors().strip().splitlines() if ground.program else []
            last = f"; the server said at last: {said[-1]}" if said else ""
            raise Trouble(f"{trouble}{last}") from None


@contextmanager
def _game(options: Options, _: int) -> Iterator[Ground]:
    with ExitStack() as stack:
        cpus: Sequence[int] = ()
        if options.url:
            target = targets.there(options.url, options.insecure)
        else:
            own, cpus = pinned(options.pin, options.workers, options.processes)
            spread = options.squares or -(-max(options.counts) // SHARE)
            target = stack.enter_context(
                targets.started(options.broker, options.workers, spread, own, options=SERVER)
            )
        yield ground_of(target, bare(options.url) if options.url else "Flatlands", cpus)


def ground_of(target: Target, name: str, cpus: Sequence[int]) -> Ground:
    """Return the ground of a server of the game; `name` is what people call it."""
    host = wire.host_header(target.name, target.address[1], bool(target.tls))
    config = {"kind": "game", "host": host, "path": target.path, "login": target.login}
    config |= {"tls": target.tls, "name": target.name}
    return Ground(name, config, Game.requests, target.address, target.program, cpus)


@contextmanager
def _redis(options: Options, descriptors: int) -> Iterator[Ground]:
    with ExitStack() as stack:
        url, program = options.url or "", None
        cpus: Sequence[int] = ()
        if url == "redis://":
            # Redis keeps 32 descriptors for itself.
            url, [program] = brokers.redis(stack, "--maxclients", str(descriptors - 32))
            if options.pin is not False:
                own, cpus = shared_out()
                os.sched_setaffinity(program.process.pid, own or range(os.cpu_count() or 1))
        try:
            client = brokers.open_redis(url)
            client.set(KEY, VALUE, ex=86_400)
            stack.callback(_forget, client)
            clients = client.info("clients")
            place = client.connection_pool.connection_kwargs
            with socket.create_connection((place["host"], place["port"]), timeout=5) as connection:
                address = connection.getpeername()[:2]
        except (redis.RedisError, OSError, ValueError) as error:
            raise Trouble(f"{options.url} cannot be measured: {error}") from error
        most = clients.get("maxclients")
        tls = brokers.certificates().get("BROKER_TLS", "verified")
        tls = {"verified": "checked", "unverified": "unchecked"}.get(tls, tls)
        yield Ground(
            "Redis" if program else bare(url),
            {
                **{"kind": "redis", "url": url, "name": place["host"]},
                "tls": tls if url.startswith("rediss://") else "",
            },
            Redis.requests,
            address,
            program,
            cpus,
            None if most is None else most - clients["connected_clients"],
        )


def _forget(client: redis.Redis) -> None:
    # If the server has ended, nothing is left to delete; otherwise the key expires after a day.
    with suppress(redis.RedisError):
        client.delete(KEY)
    client.close()


class Clients:
    """The processes that have the connections to a server, each of which runs a module."""

    def __init__(
        self,
        family: Children,
        ground: Ground,
        processes: int = 1,
        sources: Sequence[str] = (),
        module: str = "connections.client",
    ) -> None:
        self._family, self._ground = family, ground
        self._epoch = time.monotonic_ns() // 1000
        shared = {
            **ground.config,
            "address": list(ground.address),
            "epoch": self._epoch,
            "sources": sources,
            "processes": processes,
        }
        self._all: list[Program] = []
        for number in range(processes):
            name, config = f"process {number + 1} of the clients", {**shared, "number": number}
            self._all.append(family.module(name, module, config, ground.cpus))
        #: How many connections there shall be, and how many each process has said are ready.
        self._count = 0
        self._ready: dict[Program, int] = {}

    def _shares(self) -> Iterator[tuple[Program, int]]:
        """Yield each process with its share of the connections."""
        for number, client in enumerate(self._all):
            yield client, len(range(number, self._count, len(self._all)))

    def join(self, count: int, say: Say = lambda _: None) -> None:
        """Connect until there are `count` connections. Raises Trouble and Interrupted."""
        self._count, told = count, time.monotonic()
        for client, share in self._shares():
            client.send({"join": share})
        missing = set(self._all)

        def all_there() -> bool:
            nonlocal told
            for client in list(missing):
                while line := client.line():
                    said = json.loads(line)
                    self._family.check(client, said)
                    self._ready[client] = said.get("ready", said.get("joined"))
                    if "joined" in said:
                        missing.discard(client)
                        break
            self._ground.check()
            if time.monotonic() - told > SAY_EVERY:
                told = time.monotonic()
                say(f"joining: {sum(self._ready.values()):,} of {count:,} connections")
            return not missing

        seconds = ANSWER_SECONDS + count / JOINS_A_SECOND_LEAST
        self._family.wait(all_there, seconds, f"not all have joined within {seconds:.0f} s")

    def loop(
        self, loop: str, request: str, rate: float, warm_up: float, seconds: float, late: float
    ) -> tuple[Loop, dict[str, float]]:
        """Do one loop, "open" or "closed", after `warm_up` seconds in which nothing is measured;
        return its figures, and by how much a second each number in `used` of the ground grew.

        `rate` is in requests a second, and `late` is that of figures(). Raises Trouble and
        Interrupted.
        """
        start = self._now() + SECOND // 2
        begin = start + round(warm_up * SECOND)
        end = begin + round(seconds * SECOND)
        gap = SECOND / rate
        for number, (client, share) in enumerate(self._shares()):
            # A process sends its connections' share of the rate.
            every = gap * self._count / share if share else float(end)
            client.send(
                {
                    **{"loop": loop, "request": request, "begin": begin, "end": end},
                    **{"every": every if loop == "open" else 0.0, "first": start + gap * number},
                }
            )
        (then, before), (now, after) = self._look(begin), self._look(end)
        reports = self._family.answers(self._all, seconds + ANSWER_SECONDS)
        grown = {name: (after[name] - n) / max(now - then, 1e-9) for name, n in before.items()}
        return figures(loop, request, reports, seconds, grown.get("cpu"), late), grown

    def _now(self) -> int:
        return time.monotonic_ns() // 1000 - self._epoch

    def _look(self, when: int) -> tuple[float, dict[str, float]]:
        """Wait until a time; return it in seconds, and what the ground has used until then."""
        while (left := (when - self._now()) / SECOND) > 0:
            self._family.sleep(min(left, 0.5))
            self._ground.check()
        return time.monotonic(), self._ground.used()


def _steps(
    options: Options, ground: Ground, clients: Clients, counts: Sequence[int], say: Say
) -> Iterator[Step]:
    """Measure and yield each step. Raises Trouble if all connections are lost."""
    before, descriptors = ground.memory(), ground.descriptors()
    for count in counts:
        began = time.monotonic()
        clients.join(count, say)
        took = time.monotonic() - began
        signals.sleep(SETTLE)
        now = zip(ground.descriptors(), descriptors, strict=True)
        point: Step = {
            "connections": count,
            "joined_s": round(took, 2),
            "memory_kb": memory.each(ground.memory(), before, count),
            "by_worker": [have - had for have, had in now],
            "loops": [],
        }
        for request, loop in product(ground.requests, ("open", "closed")):
            say(f"{count:,} connections: {request}, {loop} loop")
            warm_up = WARM_UP_SECONDS + count / WARM_UP_CONNECTIONS
            found, _ = clients.loop(
                loop, request, options.rate, warm_up, options.seconds, options.late
            )
            if sum(found["lost"].values()) >= count:
                raise Trouble(f"all connections were lost: {next(iter(found['lost']))}")
            point["loops"].append(found)
        yield point


def figures(
    loop: str,
    request: str,
    reports: Sequence[Report],
    seconds: float,
    server: float | None,
    late: float,
) -> Loop:
    """Return the figures of a loop, from the reports of all processes (see client.py).

    Latencies are in ms; `server` and `clients` are shares of a core, `clients` those of the
    process that used most. `late_ms` is how late one request in a hundred was sent. `invalid` says
    why an open loop measured its clients, and `bound`: the clients were as busy as they can be.
    """
    latency, lateness = Histogram(), Histogram()
    for report in reports:
        latency += Histogram.of(*report["latency"])
        lateness += Histogram.of(*report["late"])
    busiest = max(report["cpu"] for report in reports)
    late_ms = lateness.percentile(99)
    invalid = []
    if loop == "open":
        if busiest > BUSY:
            invalid.append(f"a process of the clients used {busiest:.0%} of a core")
        if late_ms > late:
            invalid.append(f"one request in a hundred was sent {late_ms:.0f} ms late or more")
    lost: dict[str, int] = {}
    for report in reports:
        for why, number in report["lost"].items():
            lost[why] = lost.get(why, 0) + number
    return {
        "loop": loop,
        "request": request,
        "answered": latency.total,
        "per_second": round(latency.total / seconds, 1),
        "latency": {**latency.summary(), "p99.99": round(latency.percentile(99.99), 3)},
        "percentiles": [round(latency.percentile(level), 3) for level in LEVELS],
        "late_ms": round(late_ms, 3),
        "server": None if server is None else round(server, 3),
        "clients": round(busiest, 3),
        "bound": busiest > BUSY,
        "unanswered": sum(report["open"] for report in reports),
        "lost": lost,
        "invalid": invalid,
    }
