"""Hooks, fixtures and settings for the tests in tests/, and for those in games/NAME/tests."""

import gc
import logging
import os
import random
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from flatlands import compiled
from tests.quiet import MACHINE

#: Chance is the same in each run, so that a failure is due to the change. Another value of SEED
#: in the environment plays other games, and with any value set, hypothesis tries new examples.
SEED = os.environ.get("SEED", "")

# An example may take long on a busy machine, and no test asserts a speed.
settings.register_profile(
    "flatlands", deadline=None, suppress_health_check=[*HealthCheck], derandomize=not SEED
)
settings.load_profile("flatlands")

#: If Firefox is missing, tests/need.sh says so.
collect_ignore = (
    [] if shutil.which("firefox-esr") else ["games/flatlands/tests/browser/test_firefox.py"]
)

#: The markers of tests that start programs: `make check` leaves them out.
STARTING = ("process", "browser", "load")

#: The events that Python's audit hooks get when a program is started.
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options to test the compiled modules (make fast) in place of their sources, and to
    run each test several times."""
    parser.addoption("--compiled", action="store_true", help="test the compiled modules")
    parser.addoption("--times", type=int, default=1, help="how often each test runs")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test as often as --times says, each time with another seed (same_chances)."""
    times = metafunc.config.getoption("--times")
    if times > 1:
        metafunc.fixturenames.append("turn")
        metafunc.parametrize("turn", range(times))


def pytest_configure(config: pytest.Config) -> None:
    """Use the compiled modules before the tests import any, or make sure that no process does."""
    if not config.getoption("--compiled"):
        os.environ[compiled.SWITCH] = "no"
    else:
        compiled.use()
        if not compiled.used():
            pytest.exit("there are no compiled modules that fit: make fast compiles them", 4)
        early = [name for name in compiled.MODULES if name in sys.modules]
        if early:
            pytest.exit(f"imported before the compiled ones could be used: {', '.join(early)}", 4)
    # The fixtures of pages in a browser, and of the page of a game.
    here = Path(__file__).parent
    for path in (here / "tests/browser/pages.py", *here.glob("games/*/tests/browser/pages.py")):
        name = ".".join(path.relative_to(here).with_suffix("").parts)
        config.pluginmanager.import_plugin(name)


def _starts(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in STARTING)


class _Watched:
    """The name of the running test if it may start no program, otherwise None."""

    name: str | None = None


def _start_no_program(event: str, arguments: tuple[object, ...]) -> None:
    if event in STARTS and _Watched.name is not None:
        pytest.fail(
            f"{_Watched.name} starts a program ({event}): mark it with one of {', '.join(STARTING)}"
        )


sys.addaudithook(_start_no_program)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark all tests of pages in a browser, before -m selects. If several tests run at a
    time, mix the files, since those of one folder all start many programs, or none; and mix the
    runs of the load tests one by one, since each takes long and most are in one file."""
    for item in items:
        if "browser" in item.fixturenames:
            item.add_marker("browser")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: crc32(_together(item).encode()))


def _together(item: pytest.Item) -> str:
    """Return a name that all tests have which run one after the other in one process."""
    return item.nodeid if item.get_closest_marker("load") else item.nodeid.partition("::")[0]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage while tests are collected, and never in what was loaded then: it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_sessionfinish() -> None:
    """End the servers that tests have shared. A process of xdist ends without atexit."""
    if servers := sys.modules.get("tests.brokers.servers"):
        servers.SHARED.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let a test and its fixtures start no program, unless a marker says that it does, and let it
    wait while another test has the machine for itself."""
    _Watched.name = None if _starts(item) else item.nodeid
    try:
        with MACHINE.shared():
            return (yield)
    finally:
        _Watched.name = None


@pytest.fixture(autouse=True)
def same_chances(request: pytest.FixtureRequest) -> None:
    """Seed the random numbers that a test and the server in its process share; see SEED."""
    random.seed(f"{SEED} {request.node.nodeid}")


@pytest.fixture
def caplog(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Record only the test's own thread: other threads may run servers of other tests."""
    own, handler = threading.get_ident(), caplog.handler

    def is_own(record: logging.LogRecord) -> bool:
        return record.thread == own

    handler.addFilter(is_own)
    yield caplog
    # All tests share this handler.
    handler.removeFilter(is_own)


@pytest.fixture(autouse=True)
def no_socket_is_left_open():
    """Close sockets that a failed test left open, as warnings about them would hide its failure."""
    yield
    # Imported here, since it imports modules that may be compiled.
    if clients := sys.modules.get("tests.socket_client"):
        while clients.SocketClient.sockets:
            clients.SocketClient.sockets.pop().close()
