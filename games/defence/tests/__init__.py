"""The tests of defence."""
