"""The squares that this node is subscribed to, what it publishes in them, and the other nodes.

This package knows players as `world/` describes them. It knows no clients, only screens that hold
squares.
"""
