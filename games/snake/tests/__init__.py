"""The tests of snake."""
