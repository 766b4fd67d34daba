"""The world that tests of several parts of Flatlands begin with."""

import pytest


@pytest.fixture
def world(tmp_path):
    """A function that starts a harness whose nodes all share a world in a file."""
    # pytest loads this file before it knows whether to use compiled modules.
    from tests.server.things import worlds

    with worlds(f"sqlite:///{tmp_path / 'store.db'}") as start:
        yield start
