"""A swarm of headless clients, and the oracle that judges what they heard.

It speaks docs/protocol.md over real sockets, and imports nothing of the game's own code.
"""
