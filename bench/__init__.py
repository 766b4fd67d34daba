"""Measures how fast Flatlands is, and compares it with targets and with the last recorded run."""
