"""The tests of cairns."""
