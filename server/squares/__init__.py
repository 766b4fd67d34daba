"""The squares that this node is subscribed to, what it publishes in them, what it sends clients
about them, and the other nodes.

To this package players are as `world/` describes them, and clients are sessions that hold squares
(`ClientSession` in hub.py).
"""
