"""The tests of blooms."""
