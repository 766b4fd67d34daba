"""How many files a message passes through: the fewer there are, the fewer a reader must open.

The harness replaces the sockets and the loop, so none of their files are counted.
"""

import sys
from contextlib import contextmanager

from tests.processes import ROOT
from tests.server.harness import Harness

#: Only files in these folders count.
COUNTED = tuple(
    f"{ROOT}/flatlands/{name}/" for name in ("server", "world", "brokers", "stores", "games")
)

#: Message -> how many files it may pass through.
MOST = {"walk": 23, "hello": 36, "token": 38}


@contextmanager
def watching():
    """Yield the set of files whose functions are called in the block."""
    files, by_chance = set(), {"games/flatlands/walkers/sight.py"}

    def called(frame, event, _argument):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(COUNTED):
            files.add(path.partition("/flatlands/")[2])

    sys.setprofile(called)
    try:
        yield files
    finally:
        sys.setprofile(None)
        # Few newcomers pass through these files.
        files -= by_chance


def test_a_walk_passes_few_files_until_a_neighbour_sees_it():
    harness = Harness()
    a, b = harness.place("A", (0, 0)), harness.place("B", (0, 0))
    harness.run(5100)
    known = b.model.players[a.id].seq
    with watching() as files:
        a.walk(1, 0)
        while b.model.players[a.id].seq == known:
            harness.run(1)
    assert len(files) <= MOST["walk"], sorted(files)


def test_a_hello_passes_few_files_until_the_newcomer_sees_its_square():
    harness = Harness()
    harness.run(5100)
    with watching() as files:
        a = harness.client().hello("A")
        while a.id not in a.model.players:
            harness.run(1)
    assert len(files) <= MOST["hello"], sorted(files)


def test_a_token_passes_few_files_until_its_player_goes_on_at_another_node():
    harness = Harness(nodes=2, ready=True)
    a = harness.place("A", (0, 0), host=harness.hosts[0])
    harness.run(5100)
    with watching() as files:
        again = harness.client(harness.hosts[1]).hello("A", token=a.model.token)
        while again.id not in again.model.players:
            harness.run(1)
    assert again.id == a.id and len(files) <= MOST["token"], sorted(files)
