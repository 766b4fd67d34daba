"""The tests of the ember."""
