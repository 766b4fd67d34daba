"""Clients and nodes that send anything to nodes where Flatlands is played."""

import pytest

from games.flatlands.tests.fuzz import TARGETS
from tests.fuzz.__main__ import play
from tests.fuzz.inputs import Inputs


@pytest.mark.interpreted
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_breaks(target):
    inputs = Inputs()
    play(target, 1, inputs, 3, TARGETS)
    assert inputs.count >= 100
