"""Faults done to a server under a swarm, and what is promised of each."""
