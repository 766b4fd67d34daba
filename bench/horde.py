"""A game with as many movers in one square, for `bench.whole`, as may attack a crowd."""

from bench import moving


class Game(moving.Game):
    """The game of moving.py, with its movers close together."""

    movers = 1000
    range = 7
