"""The map of everybody: how many players are where in the whole world.

It tells nobody of players, only of numbers, and counts and publishes nothing unless somebody looks.
"""
