"""Stores hold what lasts, and what must happen exactly once (base.py is the contract).

A store knows nothing of squares or players. registry.py opens one by its URL.
"""
