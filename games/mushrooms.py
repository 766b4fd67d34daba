"""Mushrooms, for any game: who comes to one goes one and a half times as fast for ten seconds."""

from flatlands import Event, Me, Part, Thing

#: In each cell of 64 x 64 tiles.
PER_CELL = 6


class Mushroom(Thing, reach=1):
    """It is there again a minute after somebody has eaten it."""


class Sparks(Event):
    """Somebody has eaten one."""


class Mushrooms(Part):
    """Mushrooms: whoever comes to one goes half as fast again for ten seconds."""

    things, events = (Mushroom,), (Sparks,)

    def plant(self, cell: tuple[int, int]) -> list[Thing]:
        """Let some grow in a cell."""
        tiles = [self.somewhere(cell) for _ in range(PER_CELL)]
        return [Mushroom(tile) for tile in tiles if tile is not None]

    def on_touch(self, me: Me, thing: Mushroom) -> None:
        """Let a player eat one."""
        if me.take(thing, then=[thing.again(after=60)]):
            me.pace(1.5, lasts=10)
            me.emit(Sparks())
