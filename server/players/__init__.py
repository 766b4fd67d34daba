"""The players that this node hosts: where they are, what they do, how they come and go.

This package never knows a connection.
"""
