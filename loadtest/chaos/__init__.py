"""Does faults to a server under a swarm, and checks what docs/operations.md promises of each."""
