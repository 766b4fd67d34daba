"""What tests of several parts of Flatlands begin with."""

import pytest

from tests.server.things import worlds


@pytest.fixture
def world(tmp_path):
    """A function that starts a harness, all of whose nodes share a world in a file."""
    with worlds(f"sqlite:///{tmp_path / 'store.db'}") as start:
        yield start
