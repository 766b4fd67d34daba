"""The squares that this node is subscribed to, what it publishes in them, what clients are told of
them, and the other nodes.

This package knows players as `world/` describes them, and clients only as sessions that hold
squares (`ClientSession` in hub.py).
"""
