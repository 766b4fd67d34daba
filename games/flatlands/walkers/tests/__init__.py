"""The tests of computer players."""
