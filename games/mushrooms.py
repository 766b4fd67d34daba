"""Mushrooms, for any game: a player that comes to one is 1.5 times as fast for ten seconds."""

from flatlands import Event, Me, Part, Thing

#: How many mushrooms lie in a plot, which has 64 x 64 tiles.
MUSHROOMS_PER_PLOT = 6


class Mushroom(Thing, reach=1):
    """A mushroom, which comes back a minute after somebody has eaten it."""


class Sparks(Event):
    """Somebody has eaten a mushroom."""


class Mushrooms(Part):
    """A part that any game may have in its `parts`."""

    things = (Mushroom,)
    events = (Sparks,)

    def plant(self, plot: tuple[int, int]) -> list[Thing]:
        """Return the mushrooms of a plot."""
        tiles = [self.somewhere(plot) for _ in range(MUSHROOMS_PER_PLOT)]
        return [Mushroom(tile) for tile in tiles if tile is not None]

    def on_touch(self, me: Me, thing: Mushroom) -> None:
        """Let a player eat a mushroom."""
        if me.take(thing, then=[thing.again(after=60)]):
            me.pace(1.5, lasts=10)
            me.emit(Sparks())
