"""The rules of the world: squares, interest, tracks, terrain, replicas.

Pure: nothing in here reads a clock, draws a random number, opens a file or knows gevent. Time is
an argument in whole milliseconds, positions are whole numbers of 1/1024 tile.
"""
