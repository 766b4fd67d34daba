"""The map of everybody: how many players are where in the whole world, for whoever looks at it.

Nobody is told of a player here, only of numbers, and nothing is counted or published unless
somebody looks.
"""
