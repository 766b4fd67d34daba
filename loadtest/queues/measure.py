"""One point of one series: its processes, its seconds, its figures."""

import json
import random
import sys
import time
from dataclasses import dataclass
from typing import Any

import psutil

from loadtest.kit.processes import START, Program, Trouble
from loadtest.queues.children import Children
from loadtest.queues.figures import figures
from loadtest.queues.series import Series
from loadtest.queues.stamp import SECOND
from loadtest.queues.worker import DRAIN_S

#: Seconds between the word to start and the start.
LEAD_S = 0.15

#: Seconds that a worker may be late with an answer, on a machine with more of them than cores.
LATE_S = 30.0

PYTHON = (sys.executable, "-m", "loadtest.queues.worker")


@dataclass(frozen=True)
class Options:
    """What the user chose for all points; `rate` is messages a second per publisher, 0 for all."""

    seconds: int = 10
    channels: int = 50
    size: int = 20
    warm_up: float = 1.0
    rate: int = 0
    redis: str = ""
    zeromq: str = ""


@dataclass(frozen=True)
class Job:
    """A worker to be: its program, what it publishes by, who lives in it."""

    command: tuple[str, ...]
    client: str
    publishers: list[int]
    subscribers: list[int]

    @property
    def kind(self) -> str:
        """Return under which name its processor time is reported."""
        if self.publishers and self.subscribers:
            return "both"
        return "publishers" if self.publishers else "subscribers"


def jobs_of(series: Series, clients: int, go: str) -> list[Job]:
    """Return the workers of a series; `go` is the program of those that are written in Go."""
    command = (go,) if series.client == "go" else PYTHON
    everybody = list(range(clients))
    if series.together:
        return [Job(command, series.client, everybody, everybody)]
    publishers = [Job(command, series.client, [n], []) for n in everybody]
    return publishers + [Job(command, series.client, [], [n]) for n in everybody]


def open_brokers(series: Series, options: Options, children: Children) -> tuple[str, list[Program]]:
    """Start the brokers of a series, or take the user's; return the URL, and those started."""
    if series.broker == "memory":
        return "memory://two-queues", []
    given = {"redis": options.redis, "zeromq": options.zeromq}.get(series.broker)
    if given:
        if series.brokers > 1:
            raise Trouble(f"{series.name} is measured with brokers of its own only")
        return given, []
    return children.broker(",".join([f"{series.broker}://"] * series.brokers))


def measure(series: Series, clients: int, options: Options, go: str = "") -> dict[str, Any]:
    """Measure one point; raises Trouble or Interrupted, and leaves no process."""
    with Children() as children:
        url, brokers = open_brokers(series, options, children)
        point = run(jobs_of(series, clients, go), url, options, children, brokers)
        return {"series": series.name, "clients": clients, **point}


def run(
    jobs: list[Job], url: str, options: Options, children: Children, brokers: list[Program]
) -> dict[str, Any]:
    """Let workers publish and hear; return the figures of their common seconds."""
    told = {
        "url": url,
        "clients": sum(len(job.publishers) for job in jobs),
        "run": random.randrange(1 << 16),
        "channels": options.channels,
        "size": options.size,
        "rate": options.rate,
    }
    workers = [_start(job, told, children) for job in jobs]
    children.answers(workers, START)
    begin = time.monotonic_ns() + int(LEAD_S * SECOND)
    start = begin + int(options.warm_up * SECOND)
    stop = start + options.seconds * SECOND
    for worker in workers:
        worker.tell({"begin": begin, "start": start, "stop": stop})
    used = _cpu(children, jobs, workers, brokers, (start, stop))
    senders = [worker for worker, job in zip(workers, jobs, strict=True) if job.publishers]
    answers = children.answers(senders, LATE_S)
    sending = [one for answer in answers for one in answer["publishers"]]
    # In the order of their numbers, which is that of the jobs.
    sent = {"sent": [one["sent"] for one in sending]}
    hearers = [worker for worker, job in zip(workers, jobs, strict=True) if job.subscribers]
    for worker in hearers:
        worker.tell(sent)
    reports = dict(zip(hearers, children.answers(hearers, DRAIN_S + LATE_S), strict=True))
    # Only now: what a publisher knows to be lost may still grow while others hear.
    others = [worker for worker in senders if worker not in reports]
    for worker in others:
        worker.tell(sent)
    reports.update(zip(others, children.answers(others, LATE_S), strict=True))
    since = [one for worker in senders for one in reports[worker]["publishers"]]
    heard = [one for worker in hearers for one in reports[worker]["subscribers"]]
    return {**figures(sending, since, heard, options.seconds), "cpu": used}


def _start(job: Job, told: dict[str, Any], children: Children) -> Program:
    name = {"publishers": "a publisher", "subscribers": "a subscriber"}.get(job.kind, "a worker")
    own = {"client": job.client, "publishers": job.publishers, "subscribers": job.subscribers}
    return children.worker(name, [*job.command, json.dumps({**told, **own})])


def _cpu(
    children: Children,
    jobs: list[Job],
    workers: list[Program],
    brokers: list[Program],
    window: tuple[int, int],
) -> dict[str, float | None]:
    """Wait for the end of the window; return by kind how many cores were busy in it.

    None for what no process of ours did; a process that both publishes and hears is a kind of its
    own.
    """
    kinds: dict[str, list[psutil.Process]] = {}
    for worker, job in zip(workers, jobs, strict=True):
        kinds.setdefault(job.kind, []).append(worker.process)
    for broker in brokers:
        kinds.setdefault("brokers", []).append(broker.process)
    first = _sample(children, kinds, window[0])
    last = _sample(children, kinds, window[1])
    seconds = last[""] - first[""]
    return {
        kind: (last[kind] - first[kind]) / seconds if kind in kinds else None
        for kind in ("publishers", "subscribers", "both", "brokers")
    }


def _sample(
    children: Children, kinds: dict[str, list[psutil.Process]], at: int
) -> dict[str, float]:
    """Return the seconds of user and system time that each kind has used at a time, and the time.

    It is under "" on the clock of the window: we too may be late.
    """
    children.sleep((at - time.monotonic_ns()) / SECOND)
    used = {"": time.monotonic_ns() / SECOND}
    for kind, processes in kinds.items():
        used[kind] = 0.0
        for process in processes:
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                # Its end is told by whoever waits for it next.
                continue
            used[kind] += times.user + times.system
    return used
