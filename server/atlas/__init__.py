"""The map of everybody: how many players are where in the whole world.

It publishes numbers of players and nothing else of them, and nothing at all unless somebody looks.
"""
