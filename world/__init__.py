"""The rules of the world: squares, interest, tracks, terrain, replicas.

They are pure: nothing in here ever reads a clock, draws a random number, opens a file or knows
gevent. Times are arguments in whole milliseconds; positions are whole numbers of 1/1024 tile.
"""
