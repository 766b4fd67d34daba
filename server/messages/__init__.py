"""The messages of clients, of the server and between nodes, and the names of channels.

This package packs and reads messages. It never sends one.
"""
