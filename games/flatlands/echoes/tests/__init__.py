"""The tests of races and their echoes."""
