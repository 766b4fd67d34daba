"""Brokers carry messages between nodes: bytes on named channels (base.py is the contract).

A broker carries any bytes: it has no notion of squares or players. registry.py opens one by its
URL.
"""
