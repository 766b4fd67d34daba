"""The tests of paint."""
