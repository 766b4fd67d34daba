"""`python -m tests.paths`: through which files a message passes, and how many calls each gets.

The files of a server, its rules and its game are listed in the order in which they are reached. The
harness replaces sockets and the loop, so none of their files are among them. Nothing is judged
here: compare what two commits print.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flatlands.games.paint.game import Game as Paint
from flatlands.server.messages.protocol import DO
from flatlands.testkit.client import SimulatedClient
from tests.processes import ROOT
from tests.server.harness import Harness

#: Only files in these folders count.
COUNTED = tuple(
    f"{ROOT}/flatlands/{name}/" for name in ("server", "world", "brokers", "stores", "games")
)


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Yield how often functions of a file are called in the block, in the order of first calls."""
    calls: Counter[str] = Counter()

    def called(frame, event, _argument):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(COUNTED):
            calls[path.partition("/flatlands/")[2]] += 1

    sys.setprofile(called)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def walk() -> Counter[str]:
    harness = Harness()
    a, b = harness.place("A", (0, 0)), harness.place("B", (0, 0))
    harness.run(5100)
    known = b.model.players[a.id].seq
    with counting() as calls:
        a.walk(1, 0)
        while b.model.players[a.id].seq == known:
            harness.run(1)
    return calls


def hello() -> Counter[str]:
    harness = Harness()
    harness.run(5100)
    with counting() as calls:
        a = harness.client().hello("A")
        while a.id not in a.model.players:
            harness.run(1)
    return calls


def token() -> Counter[str]:
    harness = Harness(nodes=2, ready=True)
    a = harness.place("A", (0, 0), host=harness.hosts[0])
    harness.run(5100)
    with counting() as calls:
        again = harness.client(harness.hosts[1]).hello("A", token=a.model.token)
        while again.id not in again.model.players:
            harness.run(1)
    assert again.id == a.id
    return calls


def painted(client: SimulatedClient) -> int:
    """Return how many tiles with paint a client has been told of."""
    return sum(len(values) - values.count(0) for values in client.model.cells.values())


def painting(do: Callable[[SimulatedClient], None], tiles: int) -> Counter[str]:
    """Count the calls until a player of another node sees so many more tiles with paint."""
    harness = Harness(play=Paint, nodes=2, ready=True)
    a = harness.place("A", (0, 0), host=harness.hosts[0])
    b = harness.place("B", (0, 0), host=harness.hosts[1])
    harness.run(5100)
    known = painted(b)
    with counting() as calls:
        do(a)
        while painted(b) < known + tiles:
            harness.run(1)
    return calls


#: What is done, and until when -> counts its calls.
WAYS: dict[str, Callable[[], Counter[str]]] = {
    "a move, until a neighbour sees it": walk,
    "a hello, until the newcomer sees itself": hello,
    "a token, until its player sees itself at another node": token,
    "a step that paints a tile, until another node's player sees it": lambda: painting(
        lambda a: a.walk(1, 0), 1
    ),
    "an action that paints 25 tiles, until another node's player sees them": lambda: painting(
        lambda a: a.send(DO, "spill", [2]), 25
    ),
}


def main() -> None:
    """Print the files of all ways, and how often each is called."""
    for name, way in WAYS.items():
        random.seed(name)
        calls = way()
        print(f"{name}: {calls.total()} calls, {len(calls)} files")
        for path, count in calls.items():
            print(f"{count:7}  {path}")


if __name__ == "__main__":
    main()
