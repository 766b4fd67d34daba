"""The tests of who finds which landmark."""
