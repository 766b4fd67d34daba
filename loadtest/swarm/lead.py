"""The leader of a swarm on several machines: it admits generators, and compares their clocks.

A generator's processes get plans as those of one machine do, and tell the same progress and
reports, on the leader's clock: so there is one result, and one oracle that judges everybody. How
long a move was under way is measured where its own bot is, by one clock. What observers elsewhere
were told names a move by its number, and the leader finds out when that was due.
"""

import contextlib
import hmac
import secrets
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
from flatlands.loadtest.swarm.line import Line, digest, edition, proof
from flatlands.loadtest.swarm.plan import Plan
from flatlands.loadtest.swarm.scenarios import scenario

#: Seconds within which all generators must have joined, and after which a silent one is given up.
JOIN_WITHIN, SILENT = 60.0, 15.0

#: Messages there and back by which a clock is compared: the quickest counts.
TRIPS = 50


def book(name: str, game: str) -> str:
    """Return a short text that differs if the code does by which bots play a scenario or game."""
    return digest([Path(scenario(name, game).move.__code__.co_filename)])


def clock() -> int:
    """Return this machine's monotonic clock, in us."""
    return time.monotonic_ns() // 1000


class Hand:
    """A generator that has joined. Its methods raise Trouble if it cannot go on.

    `who` names it in sentences. `clocks` has (its clock minus the leader's, by how much that may
    be wrong), in us, before and after a run. `heard` is when it was heard last, in seconds.
    """

    def __init__(self, line: Line, name: str, processes: int) -> None:
        self._line, self.name, self.processes = line, name, processes
        self.who = f"the generator {name}"
        self.clocks: list[tuple[int, int]] = []
        self.heard = time.monotonic()
        self._plays = False

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            raise Trouble(f"{self.who} has ended in the middle of the run ({error})") from error

    def fileno(self) -> int:
        """Return the descriptor of its connection."""
        return self._line.fileno()

    def send(self, order: tuple[Any, ...]) -> None:
        """Send an order for all its processes."""
        with self._reached():
            self._line.send(order)

    def recv(self) -> tuple[str, Any, int]:
        """Return what the next message is, its content, and the number of its process."""
        with self._reached():
            kind, content, number = self._line.recv()
        self.heard = time.monotonic()
        if kind == "trouble":
            raise Trouble(f"{self.who}: {content}")
        return kind, content, number

    def begin(self, plans: Sequence[Plan], playbook: str) -> None:
        """Let its processes begin a run, each by a plan whose `epoch` is of the leader's clock."""
        self.clocks = [self._compare()]
        offset = self.clocks[0][0]
        told = [
            {
                **asdict(replace(plan, epoch=plan.epoch + offset)),
                "indices": (plan.indices.start, plan.indices.stop, plan.indices.step),
            }
            for plan in plans
        ]
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
            there = self.recv()[1]
            after = clock()
            trips.append((after - before, there - (before + after) // 2))
        trip, offset = min(trips)
        return offset, trip // 2 + 1

    @property
    def uncertain(self) -> int:
        """By how many us its times may be wrong: half a trip, and how far its clock has moved."""
        (before, trip), (after, back) = self.clocks[0], self.clocks[-1]
        return max(trip, back) + abs(after - before)

    def told(self) -> dict[str, Any]:
        """Return what JSON has of it."""
        moved = self.clocks[-1][0] - self.clocks[0][0]
        return {
            "name": self.name,
            "processes": self.processes,
            "trip_ms": round(2 * max(trip for _, trip in self.clocks) / 1000, 3),
            "moved_ms": round(moved / 1000, 3),
            "uncertain_ms": round(self.uncertain / 1000, 3),
        }


@contextlib.contextmanager
def gathered(
    address: tuple[str, int],
    count: int,
    secret: bytes,
    say: Callable[[str], None],
    patience: float = JOIN_WITHIN,
) -> Iterator[list[Hand]]:
    """Wait until so many generators have joined, and yield them; they end with the block.

    Raises Trouble, and Interrupted.
    """
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        server = socket.create_server(address, family=family)
    except OSError as error:
        raise Trouble(f"nobody can join at {host}:{port} ({error}): choose another port") from error
    hands: list[Hand] = []
    with server, contextlib.ExitStack() as stack:
        port = server.getsockname()[1]
        say(f"waiting for {count} generators: python loadtest/bots.py join {host}:{port}")
        until = time.monotonic() + patience
        while len(hands) < count:
            signals.check()
            if time.monotonic() > until:
                names = ", ".join(hand.name for hand in hands) or "none"
                raise Trouble(
                    f"only {len(hands)} of {count} generators have joined within {patience:.0f} s "
                    f"({names}): start bots.py join on the other machines"
                )
            if wait([server], 0.25):
                line = Line(server.accept()[0])
                stack.callback(line.close)
                if hand := _admit(line, secret, [hand.name for hand in hands], say):
                    hands.append(hand)
        server.close()
        yield hands


def _admit(
    line: Line, secret: bytes, names: Sequence[str], say: Callable[[str], None]
) -> Hand | None:
    """Return who is at the other end of a line, or None if that is nobody who knows the secret."""
    nonce = secrets.token_bytes(16)
    try:
        line.send(nonce)
        theirs, shown, version, name, processes = line.recv()
        if not hmac.compare_digest(shown, proof(secret, b"join", nonce, theirs)):
            line.send((b"", "the leader has another SWARM_SECRET: give both the same"))
            say("somebody with another SWARM_SECRET was sent away")
            return None
        why = ""
        if version != edition():
            why = f"the generator {name} has another version of the swarm: give both the same"
        line.send((proof(secret, b"lead", nonce, theirs), why))
    except (OSError, ValueError, TypeError):
        say("somebody who is no generator was sent away")
        line.close()
        return None
    if why:
        raise Trouble(why)
    line.trust()
    while name in names:
        name += "'"
    say(f"{name} has joined, with {processes} process{'es' * (processes > 1)}")
    return Hand(line, name, processes)


def settle(reports: Sequence[dict[str, Any]], measured: tuple[int, int]) -> Histogram:
    """Write into reports when the moves were due of which observers at other generators were told,
    where these have a number below 0, and tell nodes of different generators apart.

    Returns how long the moves of the time `measured`, in us, were under way to them by batches.
    """
    lives: dict[int, list[dict[str, Any]]] = defaultdict(list)
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
        for row in np.flatnonzero(news[:, 2] < 0).tolist():
            at, id, number = news[row, :3].tolist()
            news[row, 2] = when = due(id, -number, at)
            if measured[0] <= when < measured[1] and (id, when) not in first:
                first.add((id, when))
                if news[row, 4] >= 0:
                    took.append(at - when)
        for row in np.flatnonzero(beliefs[:, 2] < 0).tolist():
            beliefs[row, 2] = due(int(beliefs[row, 0]), -int(beliefs[row, 2]), 2**62)
    found = Histogram()
    found.add(np.array(took, dtype=np.int64))
    return found
