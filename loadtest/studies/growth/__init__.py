"""Measures how the cost of a world grows: with the workers, the nodes, and a crowd."""
