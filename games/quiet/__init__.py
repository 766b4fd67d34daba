"""A world in which players meet, and nothing else: the least that a game can be."""
