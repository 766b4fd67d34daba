"""A process of the benchmark of work queues.

It takes, pushes, pulls, or consumes until it is killed. It exchanges lines of JSON with its parent:

    configuration {"role": "take", "url", "queue", "way", "repeat", "threshold"}, or
                  {"role": "push", "url", "queue", "shape", "messages"}, or
                  {"role": "pull", "url", "queue", "shape", "due"}, or
                  {"role": "consume", "url", "queue", "way"}, all in one argument
    parent        {"go": true} when all are ready, {"pushed": true} when the pusher has ended
    worker        {"ready": true}, and then its report; or {"trouble": "a sentence"} instead of
                  either, and exit status 1
    a consumer    {"claimed": [[number, tries], ..]} when it has claimed messages, and at the end
                  {"empty": true}

Times are nanoseconds of CLOCK_MONOTONIC, and CPU times seconds.
"""

import itertools
import json
import sys
import time
from collections.abc import Mapping
from statistics import fmean
from typing import Literal, TypedDict

import redis

from flatlands.loadtest.kit.brokers import open_redis, server_cpu
from flatlands.loadtest.studies import parent
from flatlands.loadtest.studies.parent import Parent
from flatlands.loadtest.studies.work_queues.series import (
    FIFOS,
    FILLED_MESSAGES,
    REJECTS,
    TAKEN_AT_ONCE,
    TAKES,
)
from flatlands.loadtest.studies.work_queues.ways import Ack, Lasting, Way
from flatlands.stores.base import StoreError

#: What a message has in addition to its number, for about 115 bytes of JSON in all.
PADDING = "x" * 90

#: Seconds that a puller waits for a message before it looks whether more can come.
WAIT_S = 1

# Where consumers die:
#: One claim has so many messages.
CLAIMED_AT_ONCE = 10
#: A consumer works this long on them.
WORK_S = 0.05
LEASE_MS = 2000

clock = time.monotonic_ns


class TakeConfig(TypedDict):
    """The configuration of a consumer that takes."""

    role: Literal["take"]
    url: str
    queue: str
    way: str
    repeat: int
    threshold: float


class PushConfig(TypedDict):
    """The configuration of a pusher."""

    role: Literal["push"]
    url: str
    queue: str
    shape: str
    messages: int


class PullConfig(TypedDict):
    """The configuration of a puller."""

    role: Literal["pull"]
    url: str
    queue: str
    shape: str
    due: int


class ConsumeConfig(TypedDict):
    """The configuration of a consumer that is killed."""

    role: Literal["consume"]
    url: str
    queue: str
    way: str


Config = TakeConfig | PushConfig | PullConfig | ConsumeConfig


class TakeReport(TypedDict):
    """The ns of each take of each turn, how many turns were rejected, the CPU time of each
    process, the numbers that came, and how many messages wait and are held at the end."""

    times: list[list[int]]
    rejects: int
    cpu: dict[str, float | None]
    got: list[int]
    waiting: int
    held: int


PushReport = TypedDict("PushReport", {"from": int, "to": int, "cpu": float})


class PullReport(TypedDict):
    """The numbers that came, when the last one did, and the CPU time."""

    got: list[int]
    to: int
    cpu: float


def message(number: int) -> bytes:
    """Return a message as JSON."""
    return json.dumps({"id": number, "body": PADDING}).encode()


def number_of(body: bytes) -> int:
    """Return the number of a message."""
    number: int = json.loads(body)["id"]
    return number


def take_all(way: Way[Ack], filled: int, most: int) -> tuple[list[int], list[int]]:
    """Take what a queue was filled with; return the ns of each take, and the numbers that came.

    A take ends when its messages are decoded and acknowledged.
    """
    times: list[int] = []
    got: list[int] = []
    for _ in range(filled // most):
        started = clock()
        claimed, bodies = way.claim(most)
        got += [number_of(body) for body in bodies]
        way.done(claimed)
        times.append(clock() - started)
    return times, got


def take(config: TakeConfig, parent: Parent) -> TakeReport:
    """Fill a queue and empty it by takes, `repeat` times after a first time that is not counted.
    Turns that are rejected are repeated."""
    way, url = TAKES[config["way"]].way(config["url"], config["queue"]), config["url"]
    server = open_redis(url) if url.startswith("redis") else None
    begin(parent)
    numbers = itertools.count()
    got: list[int] = []
    used: list[tuple[float, float]] = []

    def turn() -> list[int]:
        way.put([message(n) for n in itertools.islice(numbers, FILLED_MESSAGES)])
        other, client = server_cpu(server) if server else 0.0, time.process_time()
        taken, came = take_all(way, FILLED_MESSAGES, TAKEN_AT_ONCE)
        client = time.process_time() - client
        used.append((client, server_cpu(server) - other if server else 0.0))
        got.extend(came)
        return taken

    times = [turn() for _ in range(config["repeat"] + 1)][1:]
    rejects = 0
    while rejects < REJECTS * len(times) and (far := rejected(times, config["threshold"])):
        for at in far:
            times[at] = turn()
        rejects += len(far)
    waiting, held = way.left()
    client, other = map(sum, zip(*used[1:], strict=True))
    return {
        "times": times,
        "rejects": rejects,
        "cpu": {"client": client, "server": other if server else None},
        "got": got,
        "waiting": waiting,
        "held": held,
    }


def rejected(times: list[list[int]], threshold: float) -> list[int]:
    """Return the numbers of the turns whose mean differs from that of all by at least `threshold`,
    a share of the latter, as PHPBench rejects them; none if it is 0."""
    means = [fmean(turn) for turn in times]
    middle = fmean(means)
    return [n for n, mean in enumerate(means) if 0 < threshold * middle <= abs(mean - middle)]


def push(config: PushConfig, parent: Parent) -> PushReport:
    """Push messages to the queues of a shape, in turn, as fast as it can."""
    client = open_redis(config["url"])
    client.ping()
    shape, messages, name = FIFOS[config["shape"]], config["messages"], config["queue"]
    begin(parent)
    started, cpu = clock(), time.process_time()
    for first in range(0, messages, shape.pushed):
        numbers = range(first, min(first + shape.pushed, messages))
        if shape.pulled > 1:
            queue = queue_of(name, first, shape.pulled, shape.pullers)
            client.rpush(queue, *(message(n) for n in numbers))
        elif shape.pushed > 1:
            pipeline = client.pipeline(transaction=False)
            for n in numbers:
                pipeline.rpush(queue_of(name, n, 1, shape.pullers), message(n))
            pipeline.execute()
        else:
            queue = queue_of(name, first, 1, shape.pullers)
            client.rpush(queue, message(first))
            if shape.trims:
                # It keeps as many messages as there are in all, so that none is lost.
                client.ltrim(queue, -messages, -1)
    return {"from": started, "to": clock(), "cpu": time.process_time() - cpu}


def queue_of(name: str, number: int, together: int, queues: int) -> str:
    """Return the queue of a message: each queue in turn gets `together` messages."""
    return f"{name}:{number // together % queues}"


def pull(config: PullConfig, parent: Parent) -> PullReport:
    """Pull messages until all that are due were pulled, or no more can come."""
    client = open_redis(config["url"])
    client.ping()
    most, queue = FIFOS[config["shape"]].pulled, config["queue"]
    got: list[int] = []
    begin(parent)
    last, cpu = clock(), time.process_time()
    while len(got) < config["due"]:
        if most > 1:
            found = client.blmpop(WAIT_S, 1, queue, direction="LEFT", count=most)
            bodies = found[1] if found else []
        else:
            found = client.blpop(queue, WAIT_S)
            bodies = found[1:] if found else []
        if not bodies:
            if parent.poll() is not None:
                break
            continue
        got += [number_of(body) for body in bodies]
        last = clock()
    return {"got": got, "to": last, "cpu": time.process_time() - cpu}


def consume(config: ConsumeConfig, parent: Parent) -> Mapping[str, bool]:
    """Claim, work and acknowledge until the queue is empty."""
    way = TAKES[config["way"]].way(config["url"], config["queue"])
    assert isinstance(way, Lasting)
    begin(parent)
    while True:
        claimed = way.claim_for(CLAIMED_AT_ONCE, LEASE_MS)
        if claimed:
            # It is written before the work, so that it is known whenever this process dies.
            parent.send({"claimed": [(number_of(body), tries) for _, body, tries in claimed]})
            time.sleep(WORK_S)
            way.done([id for id, _, _ in claimed])
        elif any(way.left()):
            time.sleep(WORK_S)
        else:
            return {"empty": True}


def begin(parent: Parent) -> None:
    """Say that this process is ready, and wait until all are."""
    parent.send({"ready": True})
    parent.wait(time.sleep)


def work(config: Config, parent: Parent) -> Mapping[str, object]:
    """Do the work of the role in the configuration, and return the report."""
    if config["role"] == "take":
        return take(config, parent)
    if config["role"] == "push":
        return push(config, parent)
    if config["role"] == "pull":
        return pull(config, parent)
    return consume(config, parent)


if __name__ == "__main__":
    sys.exit(parent.work(work, (OSError, redis.RedisError, StoreError)))
