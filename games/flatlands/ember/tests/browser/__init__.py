"""The ember in a real browser."""
