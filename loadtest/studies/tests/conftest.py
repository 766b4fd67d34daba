"""Fixtures for the tests of all studies: those of the other load tests."""

from tests.loadtest.conftest import out as out
from tests.loadtest.conftest import sets as sets
