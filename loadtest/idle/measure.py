"""One ramp: more and more connections to one server, and the loops at each step.

The connections of a step stay for the next one. It starts the server, or is told which one to use,
and starts the processes of the clients. It never prints.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import psutil
import redis

from flatlands.loadtest.idle import memory
from flatlands.loadtest.idle.dialects import KEY, VALUE, Game, Redis
from flatlands.loadtest.idle.room import ports, sources, why_not
from flatlands.loadtest.kit import brokers
from flatlands.loadtest.kit.children import Children
from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.kit.machine import pinned, shared_out
from flatlands.loadtest.kit.processes import Program, Trouble, bare, children, cost
from flatlands.loadtest.swarm import target as targets
from flatlands.loadtest.swarm import wire
from flatlands.loadtest.swarm.target import Target

SECOND = 1_000_000

#: Players in each square, once all have joined.
SHARE = 4

#: What the server that is started is told: it must not limit the rate of pings.
SERVER = ("--any-rate", "1")

#: Seconds of a loop before its measured time: a second, and one more for so many connections, for
#: in a closed loop all of them must have been answered once.
WARM_UP, WARM_UP_EACH = 1.0, 8192

#: Seconds after the connections of a step are there until they are measured.
SETTLE = 3.0

#: Connections a second that join at least, and seconds until a process has answered an order.
LEAST_JOINS, ANSWER = 100, 60.0

#: Seconds between two sentences about who joins.
SAY_EVERY = 2.0

#: The share of a core from which on a process of the clients is what is measured.
BUSY = 0.9

#: The percentiles that are kept of each loop.
LEVELS = (*range(100), *(99 + n / 10 for n in range(1, 10)), *(n / 100 for n in range(9991, 10000)))


@dataclass(frozen=True)
class Options:
    """What the user chose: see bots.py. `rate` is in requests a second of all connections together,
    `late` in ms, and `counts` are the steps of the ramp."""

    counts: Sequence[int]
    url: str | None
    broker: str
    workers: int
    processes: int
    seconds: float
    rate: float
    squares: int | None
    late: float
    pin: bool | None
    insecure: bool = False


@dataclass
class Ground:
    """What is measured. `config` is for the clients, and `requests` are those of its dialect.

    `processes` returns the server's processes, none if it was running already, `died` how it ended,
    and `said` what it wrote to its log. `most` is the number of connections that it takes, or None.
    """

    name: str
    config: dict[str, Any]
    requests: Sequence[str]
    address: tuple[str, int]
    processes: Callable[[], list[psutil.Process]] = list
    workers: Callable[[], list[psutil.Process]] = list
    died: Callable[[], str] = str
    said: Callable[[], str] = str
    most: int | None = None
    client_cpus: Sequence[int] = field(default=())


#: Called with a sentence about what goes on.
Say = Callable[[str], None]


def is_redis(url: str | None) -> bool:
    """Say whether a URL names a Redis."""
    return (url or "").startswith(("redis://", "rediss://"))


def check_room(options: Options, descriptors: int) -> str:
    """Return a sentence that says what is lacking before anything is started, or an empty text."""
    workers = None if options.url else options.workers
    return why_not(max(options.counts), options.processes, workers, descriptors, None)


def ramp(options: Options, descriptors: int, say: Say) -> Iterator[dict[str, Any]]:
    """Measure one step after the other, and yield the figures of each.

    Raises Trouble and Interrupted. Everything that was started has ended then, or at the end.
    """
    with _ground(options, descriptors) as ground, Children() as family:
        counts = list(options.counts)
        if ground.most is not None and counts[-1] > ground.most:
            say(
                f"{ground.name} takes {ground.most:,} connections more (its maxclients), and not "
                f"{counts[-1]:,}: the ramp ends there"
            )
            counts = [count for count in counts if count < ground.most] + [ground.most]
        # A Redis without a password serves 127.0.0.1 and no other address.
        several = ground.address[0].startswith("127.") and not is_redis(options.url)
        if lacking := why_not(
            counts[-1], options.processes, None, descriptors, None if several else ports()
        ):
            raise Trouble(lacking)
        try:
            yield from _Ramp(options, ground, family, counts, several, say).steps()
        except Trouble as trouble:
            said = ground.said().strip().splitlines()
            last = f"; the server said at last: {said[-1]}" if said else ""
            raise Trouble(f"{trouble}{last}") from None


@contextmanager
def _ground(options: Options, descriptors: int) -> Iterator[Ground]:
    if is_redis(options.url):
        with _redis(options, descriptors) as ground:
            yield ground
        return
    if options.url:
        yield _game(targets.there(options.url, options.insecure), bare(options.url), ())
        return
    server_cpus, client_cpus = pinned(options.pin, options.workers, options.processes)
    squares = options.squares or -(-max(options.counts) // SHARE)
    with targets.started(
        options.broker, options.workers, squares, server_cpus, options=SERVER
    ) as target:
        yield _game(target, "Flatlands", client_cpus)


def _game(target: Target, name: str, cpus: Sequence[int]) -> Ground:
    program = target.program
    host = wire.host(target.name, target.address[1], bool(target.tls))

    def processes() -> list[psutil.Process]:
        if program is None:
            return []
        return [program.process, *children(program.process)]

    def workers() -> list[psutil.Process]:
        if program is None:
            return []
        return target.workers() or [program.process]

    config = {"kind": "game", "host": host, "path": target.path, "login": target.login}
    config |= {"tls": target.tls, "name": target.name}
    return Ground(
        name,
        config,
        Game.requests,
        target.address,
        processes,
        workers,
        lambda: target.died,
        lambda: program.errors() if program else "",
        client_cpus=cpus,
    )


@contextmanager
def _redis(options: Options, descriptors: int) -> Iterator[Ground]:
    assert options.url is not None
    with ExitStack() as stack:
        url, program = options.url, None
        client_cpus: Sequence[int] = ()
        if url == "redis://":
            # It keeps 32 descriptors for itself.
            most = ("--maxclients", str(descriptors - 32))
            url, [program] = brokers.redis(stack, *most)
            if options.pin is not False:
                server_cpus, client_cpus = shared_out()
                os.sched_setaffinity(program.process.pid, server_cpus or range(os.cpu_count() or 1))
        try:
            client = brokers.open_redis(url)
            client.set(KEY, VALUE, ex=86_400)
            stack.callback(_forget, client)
            clients = client.info("clients")
            place = client.connection_pool.connection_kwargs
            address = _resolved((place["host"], place["port"]))
        except (redis.RedisError, OSError, ValueError) as error:
            raise Trouble(f"{options.url} cannot be measured: {error}") from error
        most_clients = clients.get("maxclients")
        which = brokers.certificates().get("BROKER_TLS", "verified")
        which = {"verified": "checked", "unverified": "unchecked"}.get(which, which)
        tls = which if url.startswith("rediss://") else ""
        yield Ground(
            "Redis" if program else bare(options.url),
            {"kind": "redis", "url": url, "tls": tls, "name": place["host"]},
            Redis.requests,
            address,
            lambda: [program.process] if program else [],
            lambda: [program.process] if program else [],
            lambda: program.death() if program else "",
            most=None if most_clients is None else most_clients - clients["connected_clients"],
            client_cpus=client_cpus,
        )


def _forget(client: Any) -> None:
    try:
        client.delete(KEY)
    except redis.RedisError:
        # It has ended; otherwise the key ends by itself after a day.
        pass
    client.close()


def _resolved(address: tuple[str, int]) -> tuple[str, int]:
    with socket.create_connection(address, timeout=5) as connection:
        found = connection.getpeername()
    return str(found[0]), int(found[1])


class _Ramp:
    def __init__(
        self,
        options: Options,
        ground: Ground,
        family: Children,
        counts: Sequence[int],
        several: bool,
        say: Say,
    ) -> None:
        self._options, self._ground, self._family, self._say = options, ground, family, say
        self._counts = counts
        self._epoch = time.monotonic_ns() // 1000
        shared = {
            **ground.config,
            "address": list(ground.address),
            "epoch": self._epoch,
            "sources": sources(counts[-1], ports()) if several else [],
            "processes": options.processes,
        }
        self._clients: list[Program] = []
        #: How many connections of each are ready, as far as it has said.
        self._ready: dict[Program, int] = {}
        for number in range(options.processes):
            config = json.dumps({**shared, "number": number})
            command = [sys.executable, "-m", "flatlands.loadtest.idle.client", config]
            name = f"process {number + 1} of the clients"
            self._clients.append(family.worker(name, command, ground.client_cpus))

    def steps(self) -> Iterator[dict[str, Any]]:
        """Measure and yield each step."""
        self._family.sleep(1.0)
        before = self._memory()
        descriptors = self._descriptors()
        for count in self._counts:
            began = time.monotonic()
            self._join(count)
            took = time.monotonic() - began
            self._family.sleep(SETTLE)
            found = self._descriptors()
            by_worker = [now - then for now, then in zip(found, descriptors, strict=True)]
            kb = memory.each(self._memory(), before, count)
            loops = [
                self._loop(loop, request, count)
                for request in self._ground.requests
                for loop in ("open", "closed")
            ]
            yield {
                "connections": count,
                "joined_s": round(took, 2),
                "memory_kb": kb,
                "by_worker": by_worker,
                "loops": loops,
            }

    def _now(self) -> int:
        return time.monotonic_ns() // 1000 - self._epoch

    def _memory(self) -> dict[str, float]:
        found = memory.of_kernel()
        processes = self._ground.processes()
        return {**memory.of_processes(processes), **found} if processes else found

    def _descriptors(self) -> list[int]:
        return [process.num_fds() for process in self._ground.workers()]

    def _shares(self, count: int) -> list[int]:
        processes = self._options.processes
        return [len(range(number, count, processes)) for number in range(processes)]

    def _join(self, count: int) -> None:
        told = time.monotonic()
        for client, share in zip(self._clients, self._shares(count), strict=True):
            client.send({"join": share})
        missing = set(self._clients)

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
            if died := self._ground.died():
                raise Trouble(died)
            if time.monotonic() - told > SAY_EVERY:
                told = time.monotonic()
                self._say(f"joining: {sum(self._ready.values()):,} of {count:,} connections")
            return not missing

        seconds = ANSWER + count / LEAST_JOINS
        self._family.wait(all_there, seconds, f"not all have joined within {seconds:.0f} s")

    def _loop(self, loop: str, request: str, count: int) -> dict[str, Any]:
        """Do one loop and return its figures. Raises Trouble if it loses all connections."""
        options = self._options
        self._say(f"{count:,} connections: {request}, {loop} loop")
        warm_up = WARM_UP + count / WARM_UP_EACH
        start = self._now() + SECOND // 2
        begin = start + round(warm_up * SECOND)
        end = begin + round(options.seconds * SECOND)
        gap = SECOND / options.rate
        shares = self._shares(count)
        for number, (client, share) in enumerate(zip(self._clients, shares, strict=True)):
            # A process sends its connections' share of the rate.
            every = gap * count / share if share else float(end)
            client.send(
                {
                    "loop": loop,
                    "request": request,
                    "begin": begin,
                    "end": end,
                    "every": every if loop == "open" else 0.0,
                    "first": start + gap * number,
                }
            )
        cpus = [self._cpu_at(begin), self._cpu_at(end)]
        (then, used), (now, more) = cpus
        reports = self._family.answers(self._clients, options.seconds + ANSWER)
        known = self._ground.processes()
        server = (more - used) / max(now - then, 1e-9) if known else None
        found = figures(loop, request, reports, options.seconds, server, options.late)
        if sum(found["lost"].values()) >= count:
            raise Trouble(f"all connections were lost: {next(iter(found['lost']))}")
        return found

    def _cpu_at(self, when: int) -> tuple[float, float]:
        """Wait until a time; return it in seconds, and the CPU seconds of the server until then."""
        while (left := (when - self._now()) / SECOND) > 0:
            self._family.sleep(min(left, 0.5))
            if died := self._ground.died():
                raise Trouble(died)
        used, _ = cost(self._ground.processes())
        return time.monotonic(), used


def figures(
    loop: str,
    request: str,
    reports: Sequence[dict[str, Any]],
    seconds: float,
    server: float | None,
    late: float,
) -> dict[str, Any]:
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
