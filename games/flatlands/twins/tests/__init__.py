"""The tests of twin stones."""
