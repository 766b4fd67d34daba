"""Movers: things that walk, each moved by the node that holds its group."""
