"""Computer players: people and deer, kept by one node at a time, and what they do for others."""
