"""Gems in a real browser."""
