"""Fixtures for all tests of brokers."""

import pytest

from flatlands.brokers.registry import open_broker


@pytest.fixture
def opened():
    """A function that opens brokers. They are closed after the test, and none of their greenlets
    and callbacks may have failed."""
    brokers = []

    def open_one(url, tls="verified"):
        brokers.append(open_broker(url, tls))
        return brokers[-1]

    yield open_one
    for broker in brokers:
        broker.close()
        assert broker.counters.errors == 0
