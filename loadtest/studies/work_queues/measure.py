"""Measures one point, or kills consumers of a series.

Each has a separate server or file, so that no message of another one can be there.
"""

import json
import math
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from statistics import fmean, median, pstdev
from typing import Any, Literal, TypedDict

import redis

from flatlands.loadtest.kit.brokers import open_redis, server_cpu
from flatlands.loadtest.kit.machine import shared_out
from flatlands.loadtest.kit.processes import START_SECONDS, Program, Trouble
from flatlands.loadtest.studies.children import Children
from flatlands.loadtest.studies.work_queues.account import account, handed_out_again, together
from flatlands.loadtest.studies.work_queues.options import Options
from flatlands.loadtest.studies.work_queues.series import (
    FIFOS,
    FILLED_MESSAGES,
    REJECTS,
    TAKEN_AT_ONCE,
    TAKES,
    Fifo,
    Take,
)
from flatlands.loadtest.studies.work_queues.ways import Lasting
from flatlands.loadtest.studies.work_queues.worker import (
    CLAIMED_AT_ONCE,
    WORK_S,
    PullReport,
    PushReport,
    TakeReport,
    message,
    number_of,
    queue_of,
)
from flatlands.stores.base import StoreError

#: A worker may need this long for each 1,000 messages, on a busy machine.
SLOW_S = 2.0
#: A worker may need this long in addition.
LATE_S = 30.0

#: Seconds after which a consumer is killed, when it next claims messages.
LIFE_S = 1.0


class TakeMs(TypedDict):
    """The ms of a take."""

    median: float
    mean: float
    least: float


class Taken(TypedDict):
    """The figures of a way to take, see take_figures()."""

    series: str
    kind: Literal["take"]
    ms: TakeMs
    spread: float
    rejects: int
    us: dict[str, float | None]
    account: dict[str, int]
    takes: list[list[float]]


class Fifoed(TypedDict):
    """The figures of a FIFO shape, see fifo_figures()."""

    series: str
    kind: Literal["fifo"]
    messages: int
    pushed: float
    pulled: float
    us: dict[str, float | None]
    account: dict[str, int]


class Killed(TypedDict):
    """What became of the messages of consumers that died, see kill_figures()."""

    series: str
    kind: Literal["kill"]
    held: list[int]
    account: dict[str, int]


Point = Taken | Fifoed | Killed


class Ground:
    """The processes of a point. The server has a core to itself, if the machine has several.

    `redis` is the URL of a Redis that runs already, or empty. All keys there contain the name
    `queue`, which nobody else uses, and are removed at the end.
    """

    def __init__(self, redis: str) -> None:
        self.children, self._redis = Children(), redis
        self.queue = f"work-queues-{random.getrandbits(64):016x}"
        self._server_cpus, self._client_cpus = shared_out()

    def close(self) -> None:
        """Remove what is left in a Redis that keeps running."""
        if self._redis:
            client = open_redis(self._redis)
            for key in client.scan_iter(f"*{self.queue}*", 1000):
                client.unlink(key)

    def server(self) -> str:
        """Start a redis-server and return its URL, or that of the one that runs already."""
        if self._redis:
            return self._redis
        return self.children.broker("redis://", self._server_cpus)[0]

    @contextmanager
    def store(self, series: Take) -> Iterator[str]:
        """Yield the URL of the server or file of a series."""
        with tempfile.TemporaryDirectory(prefix="work-queues-") as folder:
            url = series.server
            yield self.server() if url == "redis://" else f"{url}{folder}/store.db"

    def worker(self, name: str, config: Mapping[str, object]) -> Program:
        """Start a worker."""
        config = {"queue": self.queue, **config}
        return self.children.module(name, "work_queues.worker", config, self._client_cpus)

    def begin(self, workers: list[Program]) -> None:
        """Wait until all workers are ready, and tell them to begin."""
        self.children.answers(workers, START_SECONDS)
        for worker in workers:
            worker.send({"go": True})

    def answers(self, workers: list[Program], messages: int) -> list[Any]:
        """Wait for the reports of workers that had this many messages."""
        return self.children.answers(workers, LATE_S + SLOW_S * messages / 1000)


def measure(name: str, options: Options) -> Point:
    """Measure a series and return its figures. Raises Trouble and Interrupted.

    All processes have ended when it returns or raises.
    """
    with _told(), closing(Ground(options.redis)) as ground, ground.children:
        if options.deaths:
            return _kill(TAKES[name], options.deaths, ground)
        if name in TAKES:
            return _take(TAKES[name], options, ground)
        return _fifo(FIFOS[name], options.messages, ground)


def _take(series: Take, options: Options, ground: Ground) -> Taken:
    repeat, threshold = options.repeat, options.threshold / 100
    with ground.store(series) as url:
        config = {"role": "take", "url": url, "way": series.name}
        worker = ground.worker("the consumer", {**config, "repeat": repeat, "threshold": threshold})
        ground.begin([worker])
        turns = repeat + 1
        report: TakeReport
        [report] = ground.answers(
            [worker], (turns + (threshold > 0) * repeat * REJECTS) * FILLED_MESSAGES
        )
    return take_figures(series.name, (turns + report["rejects"]) * FILLED_MESSAGES, report)


def take_figures(name: str, put: int, report: TakeReport) -> Taken:
    """Return the figures of a way to take, from the report of its worker; `put` are all messages.

    `ms` is for a take, `us` the CPU time of a message, of client and server. `spread` is the
    standard deviation of the means of all turns, as a share of their mean; `rejects` are the turns
    that are not among them.
    """
    turns = [fmean(turn) for turn in report["times"]]
    takes = [ns / 1e6 for turn in report["times"] for ns in turn]
    messages = len(takes) * TAKEN_AT_ONCE + report["rejects"] * FILLED_MESSAGES
    return {
        "series": name,
        "kind": "take",
        "ms": {"median": median(takes), "mean": fmean(takes), "least": min(takes)},
        "spread": pstdev(turns) / fmean(turns),
        "rejects": report["rejects"],
        "us": _per_message(report["cpu"], messages),
        "account": account(range(put), report["got"], report["waiting"], report["held"]),
        "takes": [[round(ns / 1e6, 4) for ns in turn] for turn in report["times"]],
    }


def _fifo(shape: Fifo, messages: int, ground: Ground) -> Fifoed:
    url = ground.server()
    dues = due_of(shape, messages, ground.queue)
    common = {"url": url, "shape": shape.name}
    pusher = ground.worker("the pusher", {**common, "role": "push", "messages": messages})
    pullers = [
        ground.worker("a puller", {**common, "role": "pull", "queue": queue, "due": len(due)})
        for queue, due in dues.items()
    ]
    client = open_redis(url)
    before = server_cpu(client)
    ground.begin([*pullers, pusher])
    [pushed] = ground.answers([pusher], messages)
    for puller in pullers:
        puller.send({"pushed": True})
    pulled = ground.answers(pullers, messages)
    used = server_cpu(client) - before
    waiting = [client.llen(queue) for queue in dues]
    return fifo_figures(shape.name, list(dues.values()), pushed, pulled, waiting, used)


def due_of(shape: Fifo, messages: int, name: str) -> dict[str, list[int]]:
    """Return the queues of a shape, whose names begin with `name`, each with the numbers of its
    messages."""
    found: dict[str, list[int]] = {f"{name}:{n}": [] for n in range(shape.pullers)}
    for number in range(messages):
        found[queue_of(name, number, shape.pulled, shape.pullers)].append(number)
    return found


def fifo_figures(
    name: str,
    dues: Sequence[Sequence[int]],
    pushed: PushReport,
    pulled: Sequence[PullReport],
    waiting: Sequence[int],
    server: float,
) -> Fifoed:
    """Return the figures of a FIFO shape, from the reports of its workers.

    `dues` and `waiting` have for each queue the numbers of its messages, and how many are left;
    `server` is the CPU time of the server in seconds. Rates are messages a second since the pusher
    began.
    """
    messages = sum(map(len, dues))
    accounts = [
        account(due, one["got"], left, 0)
        for due, one, left in zip(dues, pulled, waiting, strict=True)
    ]
    started = pushed["from"]
    cpu = {"push": pushed["cpu"], "pull": sum(one["cpu"] for one in pulled), "server": server}
    return {
        "series": name,
        "kind": "fifo",
        "messages": messages,
        "pushed": messages * 1e9 / (pushed["to"] - started),
        "pulled": messages * 1e9 / (max(one["to"] for one in pulled) - started),
        "us": _per_message(cpu, messages),
        "account": together(accounts),
    }


def _kill(series: Take, deaths: int, ground: Ground) -> Killed:
    """Kill one consumer after the other, and let a last one finish the work of all."""
    # More than they can do before the last death.
    put = (deaths + 1) * (int(LIFE_S / WORK_S) + 1) * CLAIMED_AT_ONCE
    claims: list[tuple[int, int]] = []
    held: list[list[int]] = []
    now: set[int] = set()
    children = ground.children

    def is_empty(consumer: Program, wait: float = 0.0) -> bool:
        """Note what a consumer has claimed; return whether it found the queue empty.

        If it has said nothing yet, wait that many seconds for its next claim.
        """
        while line := consumer.line(wait):
            wait = 0.0
            said = json.loads(line)
            children.check(consumer, said)
            claims.extend(said.get("claimed", []))
            if "empty" in said:
                return True
        return False

    with ground.store(series) as url:
        way = series.way(url, ground.queue)
        assert isinstance(way, Lasting)
        for first in range(0, put, 1000):
            way.put([message(n) for n in range(first, min(first + 1000, put))])
        config = {"role": "consume", "url": url, "way": series.name}
        for _ in range(deaths):
            consumer = ground.worker("a consumer", config)
            known = len(claims)
            ground.begin([consumer])
            children.sleep(LIFE_S)
            is_empty(consumer)
            # It dies at work on its next claim: if it held nothing, its death would show nothing.
            is_empty(consumer, LIFE_S)
            children.kill(consumer)
            before, now = now, {number_of(body) for body in way.held()}
            is_empty(consumer)
            # A dead consumer's claim lasts until its lease ends, maybe longer than the next lives.
            since = {number for number, _ in claims[known:]}
            held.append(sorted(now - (before - since)))
        consumer = ground.worker("the last consumer", config)
        ground.begin([consumer])
        late = f"the queue is not empty {LATE_S:.0f} s after the last death"
        children.wait(lambda: is_empty(consumer), LATE_S + put / CLAIMED_AT_ONCE * WORK_S, late)
        left = way.left()
    return kill_figures(series.name, put, claims, held, left)


def kill_figures(
    name: str,
    put: int,
    claims: Sequence[tuple[int, int]],
    held: Sequence[Sequence[int]],
    left: tuple[int, int],
) -> Killed:
    """Return what became of the messages whose consumers died, see account.handed_out_again.

    `left` is how many wait and how many are held at the end.
    """
    came = sorted({number for number, _ in claims})
    return {
        "series": name,
        "kind": "kill",
        "held": [len(numbers) for numbers in held],
        "account": {**account(range(put), came, *left), **handed_out_again(claims, held)},
    }


@contextmanager
def _told() -> Iterator[None]:
    """Raise as Trouble what a queue raises in this process."""
    try:
        yield
    except (redis.RedisError, StoreError) as error:
        raise Trouble(str(error)) from error


def _per_message(seconds: Mapping[str, float | None], messages: int) -> dict[str, float | None]:
    """Return microseconds a message from seconds of all messages; None for what is not known."""
    return {
        name: None if used is None or math.isnan(used) else used * 1e6 / messages
        for name, used in seconds.items()
    }
