"""Connections: the listener, HTTP, the handshake, frames. It imports nothing of the game."""
