"""Fixtures for all tests of loadtest/."""

import pytest


@pytest.fixture
def out(tmp_path):
    """Where a run is kept."""
    return tmp_path / "run.json"
