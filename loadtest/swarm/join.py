"""`bots.py join HOST:PORT`: plays a part of the swarm that a leader on another machine leads.

Its processes are those of any swarm. This one passes on what they and the leader tell each other,
and answers which time it is. It measures and judges nothing.
"""

import hmac
import secrets
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from multiprocessing.connection import Connection, wait
from typing import Any

from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.options import Parser, endpoint, whole
from flatlands.loadtest.kit.processes import SPARE_DESCRIPTORS, Trouble, raise_descriptor_limit
from flatlands.loadtest.kit.signals import Interrupted
from flatlands.loadtest.swarm.dues import room
from flatlands.loadtest.swarm.launch import launch
from flatlands.loadtest.swarm.lead import JOIN_WITHIN, book, clock
from flatlands.loadtest.swarm.line import SECRET, Line, edition, proof, secret
from flatlands.loadtest.swarm.plan import Plan


def main(arguments: Sequence[str]) -> int:
    """Run the command line; return the exit code: 0 if the leader has no more runs."""
    parser = Parser(
        "bots.py join",
        "Play a part of the swarm of `bots.py --lead`, with its options, until it ends. The "
        f"variable {SECRET} must be the leader's.",
    )
    add = parser.add_argument
    add("leader", type=endpoint, metavar="HOST:PORT", help="where the leader listens")
    add(
        "--name", default=socket.gethostname(), help="its name in the leader's verdict (the host's)"
    )
    add("--processes", type=whole(1, 256), default=1, help="number of its processes (1)")
    given = parser.parse_args(arguments)
    with signals.remembered():
        try:
            with closing(knock(given.leader, given.name, given.processes)) as line:
                while (order := next_order(line))[0] == "play":
                    play(line, *order[1:])
        except Interrupted:
            return 130
        except Trouble as trouble:
            print(f"bots: {trouble}", file=sys.stderr)
            return 1
        except OSError as error:
            print(f"bots: the leader cannot be reached any more ({error})", file=sys.stderr)
            return 1
    return 0


def knock(address: tuple[str, int], name: str, processes: int) -> Line:
    """Join the leader at an address, as soon as it listens. Raises Trouble, and Interrupted."""
    until = time.monotonic() + JOIN_WITHIN
    while True:
        try:
            line = Line(socket.create_connection(address, timeout=5))
            break
        except OSError as error:
            if time.monotonic() > until:
                host = ":".join(map(str, address))
                raise Trouble(
                    f"no leader waits for generators at {host} ({error}): start bots.py --lead "
                    "there, or it has all that it needs"
                ) from error
        signals.sleep(0.5)
    with ExitStack() as stack:
        stack.callback(line.close)
        nonce = secrets.token_bytes(16)
        theirs = line.recv()
        shown = proof(secret(), b"join", theirs, nonce)
        line.send((nonce, shown, edition(), name, processes))
        proven, why = line.recv()
        if why:
            raise Trouble(why)
        if not hmac.compare_digest(proven, proof(secret(), b"lead", theirs, nonce)):
            raise Trouble(f"the leader does not know the {SECRET}: give both the same")
        line.trust()
        stack.pop_all()
    return line


def next_order(line: Line) -> Any:
    """Return the next order that is not to tell the time."""
    while True:
        signals.check()
        if wait([line], 0.25):
            try:
                order = line.recv()
            except ConnectionError:
                return ("over",)
            if order[0] != "clock":
                return order
            line.send(("clock", clock(), 0))


def play(line: Line, told: Sequence[dict[str, Any]], playbook: str) -> None:
    """Play in one run. Raises Trouble with what the leader was told too."""
    with ExitStack() as stack:
        try:
            pipes = launch(_plans(told, playbook), stack)
            while _pass_on(line, pipes):
                signals.check()
        except Trouble as trouble:
            line.send(("trouble", str(trouble), 0))
            raise
    line.send(("ended", None, 0))


def _plans(told: Sequence[dict[str, Any]], playbook: str) -> list[Plan]:
    memory = room(told[0]["bots"])
    plans = [Plan(**{**t, "indices": range(*t["indices"]), "dues": memory}) for t in told]
    plan = plans[0]
    try:
        found = book(plan.scenario, plan.game)
    except (OSError, ValueError) as error:
        raise Trouble(str(error)) from error
    if found != playbook:
        raise Trouble(f"{plan.game or plan.scenario} is another one here than at the leader")
    limit = raise_descriptor_limit()
    if max(len(plan.indices) for plan in plans) > limit - SPARE_DESCRIPTORS:
        raise Trouble(
            f"a process may have only {limit} file descriptors here: raise it (ulimit -n)"
        )
    return plans


def _pass_on(line: Line, pipes: list[Connection]) -> bool:
    """Pass on what has come; return False after the order to end."""
    for source in wait([line, *pipes], 0.25):
        if source is line:
            order = line.recv()
            for pipe in pipes:
                pipe.send(order)
            if order[0] == "end":
                return False
        else:
            assert isinstance(source, Connection)
            try:
                kind, content = source.recv()
            except (EOFError, OSError) as error:
                raise Trouble("one of its processes has died") from error
            line.send((kind, content, pipes.index(source)))
    return True
