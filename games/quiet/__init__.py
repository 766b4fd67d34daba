"""A world in which players meet, and nothing else is there: the least that a game can be."""
