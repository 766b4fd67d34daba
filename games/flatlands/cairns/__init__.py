"""Cairns: heaps of stones that players leave, each with a line."""
