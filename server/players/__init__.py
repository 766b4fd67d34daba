"""The players that this node hosts: where they are, what they do, how they come and go.

Nothing in this package uses a connection.
"""
