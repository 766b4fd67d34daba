"""Connections: HTTP, the handshake, frames. It knows no game."""
