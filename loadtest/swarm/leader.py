"""The leader of a swarm on several machines: it admits generators, and compares their clocks.

A generator's processes get plans, and send progress and reports by the leader's clock, as those of
a swarm on one machine do: there is one result, and one oracle that judges everybody. How long a
move was under way is measured where its own bot is, by one clock. Observers elsewhere report a move
by its number, and the leader finds out when it was due.
"""

import contextlib
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np

from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.swarm.control_channel import ControlChannel, digest, edition
from flatlands.loadtest.swarm.process_options import ProcessOptions
from flatlands.loadtest.swarm.reports import Life, Report
from flatlands.loadtest.swarm.result import GeneratorClock
from flatlands.loadtest.swarm.scenarios import scenario
from flatlands.model import TRACK

#: All generators must have joined within this time.
JOIN_SECONDS = 60.0
#: A generator that is silent for this long is given up.
SILENT_SECONDS = 15.0

#: Round trips by which the clocks are compared: the quickest counts.
TRIPS = 50


def book(name: str, game: str) -> str:
    """Return a digest of the code by which bots play a scenario or game."""
    return digest([Path(scenario(name, game).move.__code__.co_filename)])


def clock() -> int:
    """Return this machine's monotonic clock, in us."""
    return time.monotonic_ns() // 1000


class RemoteGenerator(ControlChannel):
    """A generator that has joined.

    `clocks` has (its clock minus the leader's, by how much that may be wrong), in us, before and
    after a run. `heard` is when its last message came, in seconds.
    """

    def __init__(self, end: socket.socket, names: Sequence[str]) -> None:
        super().__init__(end, "who wants to join", leads=True)
        self.edition, self.name, self.processes = super().recv()
        while self.name in names:
            self.name += "'"
        self.who = f"the generator {self.name}"
        self.clocks: list[tuple[int, int]] = []
        self.heard = time.monotonic()
        self._plays = False

    def recv(self) -> Any:
        """Return the next message: its kind, its content, and the number of its process."""
        told = super().recv()
        self.heard = time.monotonic()
        return told

    def begin(self, plans: Sequence[ProcessOptions], playbook: str) -> None:
        """Make its processes begin a run, each by a plan whose `epoch` is on the leader's clock."""
        self.clocks = [self._compare()]
        told = []
        for plan in plans:
            of = plan.indices
            there = asdict(replace(plan, epoch=plan.epoch + self.clocks[0][0]))
            told.append({**there, "indices": (of.start, of.stop, of.step)})
        self.send(("play", told, playbook))
        self._plays = True

    def finish(self) -> None:
        """End its part of the run, if it has one, and compare the clocks once more."""
        if self._plays:
            self._plays = False
            self.send(("end",))
            while self.recv()[0] != "ended":
                pass
            self.clocks.append(self._compare())

    def _compare(self) -> tuple[int, int]:
        trips = []
        for _ in range(TRIPS):
            before = clock()
            self.send(("clock",))
            there, after = self.recv()[1], clock()
            trips.append((after - before, there - (before + after) // 2))
        trip, offset = min(trips)
        return offset, trip // 2 + 1

    def told(self) -> GeneratorClock:
        """Return what --json says of it. Its times may be wrong by half a trip plus how far its
        clock has moved."""
        (before, trip), (after, back) = self.clocks[0], self.clocks[-1]
        trip = max(trip, back)
        return {
            "name": self.name,
            "processes": self.processes,
            "trip_ms": 2 * trip / 1000,
            "moved_ms": (after - before) / 1000,
            "uncertain_ms": (trip + abs(after - before)) / 1000,
        }


@contextlib.contextmanager
def gathered(
    address: tuple[str, int], count: int, say: Callable[[str], None], patience: float = JOIN_SECONDS
) -> Iterator[list[RemoteGenerator]]:
    """Wait until `count` generators have joined, and yield them; they end with the block.

    Raises Trouble, and Interrupted.
    """
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    remotes: list[RemoteGenerator] = []
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(socket.create_server(address, family=family))
        except OSError as error:
            raise Trouble(
                f"cannot listen on {address[0]} ({error}): choose another port"
            ) from error
        say(f"waiting for {count} generators: bots.py join {address[0]}:{server.getsockname()[1]}")
        until = time.monotonic() + patience
        while len(remotes) < count:
            signals.check()
            names = [remote.name for remote in remotes]
            if time.monotonic() > until:
                raise Trouble(
                    f"only {len(remotes)} of {count} generators have joined within {patience:.0f} "
                    f"s ({', '.join(names) or 'none'}): start bots.py join on the other machines"
                )
            if wait([server], 0.25):
                try:
                    remote = RemoteGenerator(server.accept()[0], names)
                except Trouble as trouble:
                    say(f"sent away: {trouble}")
                    continue
                remotes.append(stack.enter_context(contextlib.closing(remote)))
                if remote.edition != edition():
                    why = f"{remote.who} has another version of the swarm: give both the same"
                    remote.send(("trouble", why))
                    raise Trouble(why)
                say(f"{remote.name} has joined, with {remote.processes} of its processes")
        server.close()
        yield remotes
        for remote in remotes:
            with contextlib.suppress(Trouble):
                # That a generator has ended was reported already.
                remote.send(("over",))


def settle(reports: Sequence[Report], measured: tuple[int, int]) -> Histogram:
    """Write into reports when moves that observers at other generators saw were due.

    Until then a move's number, negated, stands there. Also tells nodes of different generators
    apart. Returns how long the moves of the time `measured`, in us, took to reach those observers,
    as far as batches told of them, or of newer ones, by tracks.
    """
    lives: dict[int, list[Life]] = defaultdict(list)
    took: list[int] = []
    for report in reports:
        for life in report["lives"]:
            lives[life["id"]].append(life)
            life["node"] = report["who"], life["node"]
    for several in lives.values():
        several.sort(key=lambda life: int(life["welcomed"]))

    def due(id: int, number: int, at: int) -> int:
        begun = [life for life in lives.get(id, ()) if life["welcomed"] <= at]
        intents = begun[-1]["intents"] if begun else ()
        return int(intents[number - 1]) if number <= len(intents) else 0

    for observed in (life["observed"] for report in reports for life in report["lives"]):
        if observed is None:
            continue
        news, beliefs, first = observed["news"], observed["beliefs"], set()
        # A player's id -> the number of the last move that was told.
        last: dict[int, int] = {}
        for row in np.flatnonzero(news[:, 2] < 0).tolist():
            at, id, number, kind, batch = news[row, :5].tolist()
            news[row, 2] = due(id, -number, at)
            for one in range(last.get(id, -number - 1) + 1, -number + 1):
                when = due(id, one, at)
                if measured[0] <= when < measured[1] and (id, when) not in first:
                    first.add((id, when))
                    # A player that comes into view is told with its last move, whenever that was.
                    if kind == TRACK and batch >= 0:
                        took.append(at - when)
            last[id] = -number
        for row in np.flatnonzero(beliefs[:, 2] < 0).tolist():
            beliefs[row, 2] = due(int(beliefs[row, 0]), -int(beliefs[row, 2]), 2**62)
    found = Histogram()
    found.add(np.array(took, dtype=np.int64))
    return found
