"""Connections: the listener, HTTP, the handshake, frames. It never knows anything of the game."""
