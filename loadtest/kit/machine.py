"""Describes the machine and the programs of a run, for its report."""

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import psutil
import zmq

#: Packages whose version may matter for a figure.
PACKAGES = ("gevent", "gevent-websocket", "msgpack", "hiredis", "pyzmq", "flask")


def machine() -> dict[str, object]:
    """Return the day, cores, processor, memory and load, and the versions of all programs used."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "model": _model(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "redis": output_of("redis-server", "--version"),
        "mosquitto": output_of("mosquitto", "-h").partition("\n")[0],
        "nats": output_of("nats-server", "--version"),
        "redis-py": version("redis"),
        "libzmq": zmq.zmq_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _model() -> str:
    """Return the processor's name, as far as the system knows it."""
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def output_of(program: str, option: str) -> str:
    """Return what a program prints with an option, or "not installed"."""
    if shutil.which(program) is None:
        return "not installed"
    return subprocess.run([program, option], capture_output=True, text=True).stdout.strip()


def pinned(pin: bool | None, workers: int, processes: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return the cores for a server of `workers`, and those for `processes` of its clients.

    With `pin` each worker and each process has a core to itself; raises ValueError with a sentence
    if there are too few. With None, a server of one worker is pinned if there is a second core;
    with False, nothing is. Both are empty if nothing is pinned, which stands for all cores.
    """
    if pin is None:
        return shared_out() if workers == 1 else ((), ())
    if not pin:
        return (), ()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < workers + processes:
        raise ValueError(
            f"--pin needs a core for each worker ({workers}) and for each process of the clients "
            f"({processes}), and there are {len(cores)}: use fewer of them, or leave --pin out"
        )
    return cores[:workers], cores[workers : workers + processes]


def shared_out() -> tuple[Sequence[int], Sequence[int]]:
    """Return the cores for a server and those for its clients.

    Both are empty, which stands for all cores, on a machine with a single core.
    """
    cores = sorted(os.sched_getaffinity(0))
    return (cores[:1], cores[1:]) if len(cores) > 1 else ((), ())
