"""Measures one point: one series with one number of clients."""

import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from flatlands.loadtest.kit.brokers import free_ports
from flatlands.loadtest.kit.processes import START_SECONDS, Program, Trouble, cost
from flatlands.loadtest.studies.children import Children
from flatlands.loadtest.studies.compilers import build_go
from flatlands.loadtest.studies.two_queues.figures import Cpu, Point, Rates, costs, figures
from flatlands.loadtest.studies.two_queues.options import Options, kind_of
from flatlands.loadtest.studies.two_queues.series import GO_2013, PYTHON_2013, Series
from flatlands.loadtest.studies.two_queues.stamp import SECOND
from flatlands.loadtest.studies.two_queues.worker import (
    DRAIN_S,
    Published,
    Report,
    RunConfig,
)

#: Seconds from when the workers are told when to begin, until they begin.
LEAD_S = 0.15

#: Seconds by which a worker's answer may be late on a machine with fewer cores than workers.
LATE_S = 30.0

PYTHON = (sys.executable, "-m", "flatlands.loadtest.studies.two_queues.worker")


@dataclass(frozen=True)
class Job:
    """A worker that is to be started.

    `command` is its program, `client` a key of clients.PUBLISHERS or "go"; `publishers` and
    `subscribers` are the numbers of those that it runs.
    """

    command: tuple[str, ...]
    client: str
    publishers: list[int]
    subscribers: list[int]

    @property
    def kind(self) -> str:
        """The name under which its processor time is reported."""
        if self.publishers and self.subscribers:
            return "both"
        return "publishers" if self.publishers else "subscribers"


def build_worker(folder: Path) -> str:
    """Build the worker in Go into a folder; return its path. Raises Trouble and Interrupted."""
    worker = folder / "worker"
    build_go(Path(__file__).with_name("go"), worker, "the worker in Go")
    return str(worker)


def jobs_of(series: Series, clients: int, go: str) -> list[Job]:
    """Return the workers of a series. `go` is the path of the worker that is written in Go."""
    command = (go,) if series.client == "go" else PYTHON
    everybody = list(range(clients))
    if series.together:
        return [Job(command, series.client, everybody, everybody)]
    publishers = [Job(command, series.client, [n], []) for n in everybody]
    return publishers + [Job(command, series.client, [], [n]) for n in everybody]


def open_brokers(
    series: Series, options: Options, children: Children, go: str
) -> tuple[str, list[Program]]:
    """Start the brokers of a series, unless the user has named one; return the URL and programs.

    `go` is the path of the worker that is written in Go.
    """
    if series.broker == "memory":
        return "memory://two-queues", []
    if series.broker in (PYTHON_2013, GO_2013):
        pull, pub = free_ports(2)
        python = [sys.executable, "-m", "flatlands.loadtest.studies.two_queues.broker_2013"]
        command = python if series.broker == PYTHON_2013 else [go, "broker"]
        program = children.worker("the broker of 2013", [*command, str(pull), str(pub)])
        program.ready("^ready")
        return f"zeromq://127.0.0.1:{pull}?pub={pub}", [program]
    given = [url for url in options.brokers if kind_of(url) == series.broker]
    if given and len(given) < series.brokers:
        raise Trouble(f"{series.name} needs {series.brokers} brokers: name as many, or none")
    if given:
        return ",".join(given[: series.brokers]), []
    return children.broker(",".join([f"{series.broker}://"] * series.brokers))


def measure(series: Series, clients: int, options: Options, go: str = "") -> Point:
    """Measure one point and return its figures. Raises Trouble and Interrupted.

    All processes have ended when it returns or raises.
    """
    with Children() as children:
        url, brokers = open_brokers(series, options, children, go)
        rates, cpu = run(jobs_of(series, clients, go), url, options, children, brokers)
        return {
            "series": series.name,
            "clients": clients,
            **rates,
            "cpu": cpu,
            "cpu_us": costs(cpu, rates),
        }


def run(
    jobs: list[Job], url: str, options: Options, children: Children, brokers: list[Program]
) -> tuple[Rates, Cpu]:
    """Make workers publish and receive; return the figures of the window that all have measured,
    and the cores that were used in it."""
    config: RunConfig = {
        "url": url,
        "clients": sum(len(job.publishers) for job in jobs),
        "run": random.randrange(1 << 16),
        "channels": options.channels,
        "size": options.size,
        "rate": options.rate,
        "buffer": options.buffer,
        "flush_ms": options.flush_ms,
    }
    workers = [_start(job, config, children) for job in jobs]
    children.answers(workers, START_SECONDS)
    begin = time.monotonic_ns() + int(LEAD_S * SECOND)
    start = begin + int(options.warm_up * SECOND)
    stop = start + options.seconds * SECOND
    for worker in workers:
        worker.send({"begin": begin, "start": start, "stop": stop})
    used = _cpu(children, jobs, workers, brokers, (start, stop))
    senders = [worker for worker, job in zip(workers, jobs, strict=True) if job.publishers]
    answers: list[Published] = children.answers(senders, LATE_S)
    sending = [one for answer in answers for one in answer["publishers"]]
    # The jobs, and so these reports, are in the order of the publishers' numbers.
    sent = {"sent": [one["sent"] for one in sending]}
    receivers = [worker for worker, job in zip(workers, jobs, strict=True) if job.subscribers]
    for worker in receivers:
        worker.send(sent)
    reports: dict[Program, Report]
    reports = dict(zip(receivers, children.answers(receivers, DRAIN_S + LATE_S), strict=True))
    # They are asked last, since their counts of losses may grow while others receive.
    others = [worker for worker in senders if worker not in reports]
    for worker in others:
        worker.send(sent)
    reports.update(zip(others, children.answers(others, LATE_S), strict=True))
    since = [one for worker in senders for one in reports[worker]["publishers"]]
    received = [one for worker in receivers for one in reports[worker]["subscribers"]]
    return figures(sending, since, received, options.seconds), used


def _start(job: Job, config: RunConfig, children: Children) -> Program:
    name = {"publishers": "a publisher", "subscribers": "a subscriber"}.get(job.kind, "a worker")
    own = {"client": job.client, "publishers": job.publishers, "subscribers": job.subscribers}
    return children.worker(name, [*job.command, json.dumps({**config, **own})])


def _cpu(
    children: Children,
    jobs: list[Job],
    workers: list[Program],
    brokers: list[Program],
    window: tuple[int, int],
) -> Cpu:
    """Wait for the end of the window; return how many cores each kind of process used.

    `window` is (start, stop) in nanoseconds of CLOCK_MONOTONIC.
    """
    kinds: dict[str, list[psutil.Process]] = {}
    for worker, job in zip(workers, jobs, strict=True):
        kinds.setdefault(job.kind, []).append(worker.process)
    for broker in brokers:
        kinds.setdefault("brokers", []).append(broker.process)

    def used(at: int) -> tuple[float, dict[str, float]]:
        children.sleep((at - time.monotonic_ns()) / SECOND)
        # This process may be late too.
        now = time.monotonic_ns() / SECOND
        return now, {kind: cost(processes)[0] for kind, processes in kinds.items()}

    (began, first), (ended, last) = map(used, window)

    def cores(kind: str) -> float | None:
        return (last[kind] - first[kind]) / (ended - began) if kind in kinds else None

    return {
        "publishers": cores("publishers"),
        "subscribers": cores("subscribers"),
        "both": cores("both"),
        "brokers": cores("brokers"),
    }
