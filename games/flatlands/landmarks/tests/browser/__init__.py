"""Landmarks in a real browser."""
