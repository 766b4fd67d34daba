"""What connections take: in the server's processes, and in the kernel.

The kernel's numbers are those of the whole machine. They count both ends of a connection, if the
clients run there too.
"""

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

SOCKETS = Path("/proc/net/sockstat")

#: KB of a page, as SOCKETS counts them.
PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024

#: With fewer connections, what each of them takes is lost in what everything else takes.
ENOUGH = 1000


def of_processes(processes: Iterable[psutil.Process]) -> dict[str, float]:
    """Return the KB of memory of processes: "rss", and "pss", in which what they share counts once.

    Processes that have ended count as nothing.
    """
    found = {"rss": 0.0, "pss": 0.0}
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            memory = process.memory_full_info()
            found["rss"] += memory.rss / 1024
            found["pss"] += memory.pss / 1024
    return found


def of_kernel() -> dict[str, float]:
    """Return the KB of the kernel's objects ("slab") and of what TCP's buffers hold ("tcp")."""
    [pages] = re.findall(r"^TCP:.* mem (\d+)", SOCKETS.read_text(), re.M)
    return {"slab": psutil.virtual_memory().slab / 1024, "tcp": float(pages) * PAGE_KB}


def each(
    now: Mapping[str, float], before: Mapping[str, float], connections: int
) -> dict[str, float] | None:
    """Return the KB of each connection; None if there are fewer than ENOUGH.

    `before` is what there was without connections.
    """
    if connections < ENOUGH:
        return None
    return {name: round((kb - before[name]) / connections, 2) for name, kb in now.items()}
