"""The page's pure modules under node: in a second, what the browser tests try in Chromium."""

import shutil
import subprocess

import pytest

from tests.processes import ROOT, clean_environment
from tests.vectors import load, make


@pytest.mark.process
def test_the_pages_pure_modules_in_node():
    node = shutil.which("node")
    assert node, "node is not on this machine: make test installs it, or says what to install"
    tests = [*ROOT.glob("tests/js/*.test.js"), *ROOT.glob("games/**/tests/js/*.test.js")]
    assert len(tests) > 30
    ended = subprocess.run(
        [node, "--import", "./tests/js/modules.js", "--test-timeout", "60000", "--test", *tests],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_vectors_of_the_replica_are_what_the_model_makes():
    made = make.replica()
    assert sum(len(vector["players"]) for vector in made) > 60
    assert [vector["players"] for vector in load("replica")] == [v["players"] for v in made]
