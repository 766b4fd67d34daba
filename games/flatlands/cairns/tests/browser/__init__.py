"""Cairns in a real browser."""
