"""Brokers carry messages between nodes: bytes on named channels (base.py is the contract).

A broker knows nothing of squares or players. registry.py opens one by its URL.
"""
