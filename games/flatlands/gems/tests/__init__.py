"""The tests of gems."""
