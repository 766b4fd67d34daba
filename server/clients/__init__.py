"""Serves clients: admission, the session of a player on a connection, tokens."""
