"""The world that tests of several parts of Flatlands begin with, and the game without parts."""

import shutil
import sys
from pathlib import Path

import pytest


@pytest.fixture
def world(tmp_path):
    """A function that starts a harness whose nodes all share a world in a file."""
    # pytest loads this file before it knows whether to use compiled modules.
    from games.flatlands.tests.harness import worlds

    with worlds(f"sqlite:///{tmp_path / 'store.db'}") as start:
        yield start


def _forget():
    """Let Python import the modules of games anew; return those that it had."""
    names = [name for name in sys.modules if name.startswith("flatlands.games.")]
    return {name: sys.modules.pop(name) for name in names}


@pytest.fixture
def without(tmp_path, monkeypatch):
    """A function that puts a copy of Flatlands without some folders in its place; returns the
    copy."""
    from flatlands import games

    before = _forget()

    def delete(*parts):
        copy = tmp_path / "games" / "flatlands"
        ignored = shutil.ignore_patterns("__pycache__", "tests", *parts)
        shutil.copytree(Path(__file__).parents[1], copy, ignore=ignored)
        assert not any((copy / part).exists() for part in parts)
        monkeypatch.delattr(games, "flatlands", raising=False)
        monkeypatch.setattr(games, "__path__", [str(copy.parent)])
        return copy

    yield delete
    _forget()
    sys.modules.update(before)
