"""What holds for all tests."""

import pytest
from hypothesis import HealthCheck, settings

from tests.socket_client import SocketClient

# No test asserts a speed: on a busy machine any example may take a while.
settings.register_profile(
    "flatlands", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("flatlands")


@pytest.fixture(autouse=True)
def no_socket_is_left_open():
    """Hang up what a test that failed did not: a warning of each would bury why it did."""
    yield
    while SocketClient.sockets:
        SocketClient.sockets.pop().close()
