"""Fixtures for all tests of loadtest/."""

import pytest

from flatlands.loadtest.swarm import run


@pytest.fixture
def out(tmp_path):
    """The path at which a run is kept."""
    return tmp_path / "run.json"


@pytest.fixture
def sets(monkeypatch):
    """A function that gives a module's names other values. The swarm warms up and settles sooner
    than outside of tests."""
    monkeypatch.setattr(run, "WARM_UP_SECONDS", 0.5)
    monkeypatch.setattr(run, "SETTLE_SECONDS", 1.0)

    def set_all(module, **values):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)

    return set_all
