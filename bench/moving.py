"""A game with many movers, for `bench.whole`: each walks to a new place every 5 s."""

import random

from flatlands import Game as Engine
from flatlands import Mover, every, plain

#: How many movers there are.
MOVERS = 10_000
#: They walk within so many tiles of the origin: in 40 x 40 squares.
RANGE = 320

#: How far a mover goes at a time, in tiles along each axis: with its pause that takes some 5 s.
FAR = 8


class Sheep(Mover, speed=2.5):
    """A mover of the store."""


class Game(Engine):
    """The game."""

    ground = plain()
    things = [Sheep]
    movers = MOVERS
    range = RANGE
    filled = False

    @every(1, once=True, waits=True)
    def fill(self) -> None:
        """Spawn all movers, once."""
        if self.filled:
            return
        self.filled = True
        for at in range(0, self.movers, 100):
            some = range(min(self.movers - at, 100))
            self.spawn([Sheep(self.near((0, 0), 0)) for _ in some])

    def on_arrive(self, sheep: Sheep) -> None:
        """Go on to another place."""
        self.go(sheep, self.near(sheep.tile, FAR))

    def near(self, tile: tuple[int, int], least: int) -> tuple[int, int]:
        """Return a tile some 5 s from another one, or any one if `least` is 0."""
        far = least + FAR if least else self.range
        column, row = (
            max(
                -self.range,
                min(self.range, at + random.choice((-1, 1)) * random.randint(least, far)),
            )
            for at in tile
        )
        return column, row
