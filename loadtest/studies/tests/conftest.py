"""Fixtures for the tests of all studies: those of the other load tests, and one of their own."""

import os

import psutil
import pytest

from flatlands.loadtest.kit.processes import children
from tests.loadtest.conftest import out as out
from tests.loadtest.conftest import sets as sets


@pytest.fixture
def left():
    """Return a function that returns the command lines, with any of some words, of the programs
    that the test has started and that still run. One that several tests share began before."""
    here = psutil.Process(os.getpid())
    before = children(here)

    def left(*words):
        found = [command for one, command in children(here).items() if one not in before]
        return [command for command in found if any(word in " ".join(command) for word in words)]

    return left
