"""What a run is made on, and with: it stands in every report."""

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import zmq

#: Packages whose version may matter to a figure.
PACKAGES = ("gevent", "gevent-websocket", "msgpack", "hiredis", "pyzmq", "flask")


def machine() -> dict[str, Any]:
    """Return the day, cores, model, memory and load, and the versions of what takes part."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "model": _model(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "redis": said("redis-server", "--version"),
        "mosquitto": said("mosquitto", "-h").partition("\n")[0],
        "nats": said("nats-server", "--version"),
        "redis-py": version("redis"),
        "libzmq": zmq.zmq_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _model() -> str:
    """Return what the processor calls itself, where the system tells."""
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def said(program: str, option: str) -> str:
    """Return what a program answers, or that it is not here."""
    if shutil.which(program) is None:
        return "not installed"
    return subprocess.run([program, option], capture_output=True, text=True).stdout.strip()


def shared_out() -> tuple[Sequence[int], Sequence[int]]:
    """Return the cores for a server and those for its clients: none, which is all, where there is
    nothing to share out."""
    cores = sorted(os.sched_getaffinity(0))
    return (cores[:1], cores[1:]) if len(cores) > 1 else ((), ())
