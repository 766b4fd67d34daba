"""Blooms in a real browser."""
