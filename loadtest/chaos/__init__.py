"""Inflicts faults on a server under a swarm; checks what docs/operations.md promises about each."""
