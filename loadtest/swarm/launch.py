"""Starts the processes of the swarm on this machine."""

import multiprocessing
from collections.abc import Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection
from typing import Any

from flatlands.loadtest.swarm.generator import main
from flatlands.loadtest.swarm.plan import Plan


def launch(plans: Sequence[Plan], stack: ExitStack) -> list[Connection]:
    """Start a process for each plan; return their pipes. They end with the stack."""
    context = multiprocessing.get_context("spawn")
    pipes = []
    for plan in plans:
        ours, theirs = context.Pipe()
        process = context.Process(target=main, args=(theirs, plan), daemon=True)
        process.start()
        theirs.close()
        pipes.append(ours)
        stack.callback(_end, process, ours)
    return pipes


def _end(process: Any, pipe: Connection) -> None:
    pipe.close()
    process.join(5)
    if process.is_alive():
        process.kill()
        process.join()
