"""Circles of objects are freed: new ones at once, and old ones now and then."""

import gc
import subprocess
import sys
import weakref

import gevent
import pytest

from flatlands.server.runtime import garbage
from tests.brokers.redis_servers import free_port
from tests.processes import PATIENCE, ROOT
from tests.server.servers import until


class Circle:
    """An object that refers to itself."""

    def __init__(self):
        self.itself = self


def circle():
    return weakref.ref(Circle())


@pytest.fixture
def collecting(monkeypatch):
    """Return a function that makes a collector, which looks and counts every millisecond."""
    monkeypatch.setattr(garbage, "COLLECT_EVERY_S", 0.001)
    monkeypatch.setattr(garbage, "LOOKS_A_COUNT", 1)
    gc.unfreeze()
    greenlets = []

    def begin():
        greenlets.append(gevent.spawn(garbage.keep_collecting))
        gevent.sleep(0)

    yield begin
    gevent.killall(greenlets)
    gc.unfreeze()
    gc.enable()


def test_a_new_circle_is_freed_and_python_looks_for_none_itself(collecting):
    collecting()
    assert not gc.isenabled()
    new = circle()
    assert new() is not None
    until(lambda: new() is None)


def old_circle():
    """Return an old circle to which nothing refers any more."""
    made = Circle()
    seen = weakref.ref(made)
    # When a newer circle is freed, the collector has looked at this one too.
    newer = circle()
    until(lambda: newer() is None)
    del made
    gevent.sleep(0.1)
    return seen


def test_an_old_circle_is_freed_once_there_are_twice_as_many_objects(collecting, monkeypatch):
    # The first look at all objects gives the number to compare with.
    monkeypatch.setattr(garbage, "OBJECTS_LEAST", 0)
    collecting()
    until(lambda: gc.get_freeze_count() > 0)
    old = old_circle()
    assert old() is not None
    many = [[] for _ in range(2 * gc.get_freeze_count())]
    until(lambda: old() is None)
    assert many


def test_an_old_circle_is_freed_after_some_minutes_in_any_case(collecting, monkeypatch):
    monkeypatch.setattr(garbage, "OBJECTS_LEAST", 10**9)
    collecting()
    old = old_circle()
    assert old() is not None
    gevent.sleep(0)
    monkeypatch.setattr(garbage, "ALL_AFTER_S", 0.0)
    monkeypatch.setattr(garbage.time, "monotonic", lambda: 10**9)
    until(lambda: old() is None)


@pytest.mark.process
@pytest.mark.parametrize("workers", [1, 2])
def test_a_process_that_serves_looks_for_circles_itself(workers):
    port = free_port()
    # The script looks at its own state once it serves.
    script = (
        "import gc, os, signal, sys\n"
        "from flatlands.server.__main__ import main\n"
        "import gevent\n"
        "from urllib.request import urlopen\n"
        "def serves():\n"
        "    try:\n"
        f"        return urlopen('http://127.0.0.1:{port}/healthz', timeout=5).status == 200\n"
        "    except OSError:\n"
        "        return False\n"
        "def tell():\n"
        "    while not serves():\n"
        "        gevent.sleep(0.1)\n"
        "    print('Python looks:', gc.isenabled(), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "gevent.spawn(tell)\n"
        f"sys.argv[1:] = ['--port', '{port}', '--workers', '{workers}']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE
    )
    # A supervisor has no players that would notice a pause.
    assert f"Python looks: {workers > 1}\n" in done.stdout, done.stderr
