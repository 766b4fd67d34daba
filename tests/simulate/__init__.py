"""Simulates random worlds of several nodes in which everything goes wrong: `make simulate`."""
