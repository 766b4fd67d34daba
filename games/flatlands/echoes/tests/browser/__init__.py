"""Races in a real browser."""
