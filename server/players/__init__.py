"""The players that this node hosts: where they are, what they do, how they come and go.

It knows no connections.
"""
