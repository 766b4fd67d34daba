"""A test that needs the machine for itself has it, and nobody waits for ever."""

import multiprocessing
import time

import pytest

from tests.quiet import Machine

PATIENCE = 60


def _test(folder, turn, happened):
    """Run as a test would; in two turns of three alone for a while."""
    machine = Machine(folder)
    for round in range(6):
        with machine.shared():
            happened.put(("in", turn))
            if (round + turn) % 3:
                happened.put(("out", turn))
                with machine.alone():
                    happened.put(("alone", turn))
                    time.sleep(0.002)
                    happened.put(("ends", turn))
                happened.put(("in", turn))
            happened.put(("out", turn))


@pytest.mark.process
def test_who_is_alone_is_alone_and_all_get_their_turn(tmp_path):
    spawn = multiprocessing.get_context("fork")
    happened = spawn.SimpleQueue()
    children = [spawn.Process(target=_test, args=(tmp_path, n, happened)) for n in range(5)]
    for child in children:
        child.start()
    said = []
    while any(child.is_alive() for child in children) or not happened.empty():
        if not happened.empty():
            said.append(happened.get())
        else:
            time.sleep(0.002)
    for child in children:
        child.join(PATIENCE)
        assert child.exitcode == 0
    assert sum(what == "alone" for what, _ in said) == 5 * 4
    # Each one's words are in order, and between "alone" and "ends" no other says a word.
    for at, (what, who) in enumerate(said):
        if what == "alone":
            assert said[at + 1] == ("ends", who)
