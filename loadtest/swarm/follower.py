"""`bots.py join HOST:PORT`: plays a part of the swarm that a leader on another machine leads.

Its processes are those of any swarm. This program passes on what they and the leader tell each
other, and answers what time it is. It measures and judges nothing.
"""

import socket
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.options import Parser, endpoint, whole
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.kit.signals import Interrupted
from flatlands.loadtest.swarm.control_channel import SECRET, ControlChannel, edition
from flatlands.loadtest.swarm.generator import launch
from flatlands.loadtest.swarm.intent_times import room
from flatlands.loadtest.swarm.leader import JOIN_SECONDS, book, clock
from flatlands.loadtest.swarm.process_options import ProcessOptions


def main(arguments: Sequence[str]) -> int:
    """Run the command line; return the exit code: 0 if the leader has no more runs."""
    parser = Parser(
        "bots.py join",
        "Play a part of the swarm of `bots.py --lead`, with its options, until it ends. The "
        f"variable {SECRET} must be the leader's.",
    )
    add = parser.add_argument
    add("leader", type=endpoint, metavar="HOST:PORT", help="where the leader listens")
    add("--name", default=socket.gethostname(), help="its name in the verdict (the machine's)")
    add("--processes", type=whole(1, 256), default=1, help="number of processes to run (1)")
    given = parser.parse_args(arguments)
    with signals.remembered():
        try:
            with closing(knock(given.leader, given.name, given.processes)) as line:
                while play(line):
                    pass
        except Interrupted:
            return 130
        except Trouble as trouble:
            print(f"bots: {trouble}", file=sys.stderr)
            return 1
    return 0


def knock(address: tuple[str, int], name: str, processes: int) -> ControlChannel:
    """Join the leader at an address, as soon as it listens. Raises Trouble, and Interrupted."""
    until = time.monotonic() + JOIN_SECONDS
    while True:
        try:
            end = socket.create_connection(address, timeout=5)
            break
        except OSError as error:
            if time.monotonic() > until:
                raise Trouble(
                    f"no leader waits for generators at {address[0]}:{address[1]} ({error}): start "
                    "bots.py --lead there, or it has all that it needs"
                ) from error
        signals.sleep(0.5)
    line = ControlChannel(end, "the leader", leads=False)
    line.send((edition(), name, processes))
    return line


def play(line: ControlChannel) -> bool:
    """Wait for a run, and play in it; return False if there are no more. Raises Trouble, after the
    leader was told of it."""
    pipes: list[Connection] = []
    with ExitStack() as stack:
        try:
            while True:
                signals.check()
                for source in wait([line.fileno(), *pipes], 0.25):
                    if isinstance(source, Connection):
                        line.send((*source.recv(), pipes.index(source)))
                        continue
                    what, *rest = line.recv()
                    if what == "clock":
                        line.send((what, clock(), 0))
                    elif what == "play":
                        pipes += launch(_plans(*rest), stack)
                    elif what == "over":
                        return False
                    else:
                        for pipe in pipes:
                            pipe.send((what, *rest))
                    if what == "end":
                        stack.close()
                        line.send(("ended", None, 0))
                        return True
        except (OSError, EOFError, ValueError, Trouble) as error:
            why = str(error) or "one of its processes has died"
            with suppress(Trouble):
                line.send(("trouble", why, 0))
            raise Trouble(why) from error


def _plans(told: Sequence[dict[str, Any]], playbook: str) -> list[ProcessOptions]:
    memory = room(told[0]["bots"])
    plans = [
        ProcessOptions(**{**one, "indices": range(*one["indices"]), "dues": memory}) for one in told
    ]
    if book(plans[0].scenario, plans[0].game) != playbook:
        what = plans[0].game or plans[0].scenario
        raise ValueError(f"{what} is another one here than at the leader: give both the same")
    return plans
