"""Snake, in a field without end: a snake that eats gets faster and longer, and one that runs into
another falls apart into food. A body is what a snake has written on the ground in the last few
seconds. Each head is judged by its own node, from what everybody is shown."""

import random

from flatlands import Cells, Event, Me, Thing, action, flag, number, plain
from flatlands import Game as Engine
from flatlands.world.track import Tile

#: A body is as long as the way of its head in so many seconds.
BODY_SECONDS = 3
#: What each bite adds to the pace of a snake; 1 is that of a walker.
PACE_PER_BITE = 0.04
#: A snake that has eaten more gets no faster.
BITES_MOST = 30
#: How many pieces of food lie in a plot, which has 64 x 64 tiles.
FOOD_PER_PLOT = 48
#: Food comes back this long after a snake has eaten it.
REGROW_SECONDS = 10
#: How many colours there are, from 1 on: snakes of the same colour pass through each other.
COLOURS = 255


class Snake(Me):
    """A player: how much it has eaten, and whether it has run into another one."""

    eaten = number(0, BITES_MOST)
    fallen = flag()


class Food(Thing, reach=1):
    """Food, which comes back in another place a while after somebody has eaten it."""


class Crumb(Thing, reach=1, lasts=60):
    """A piece of a snake that has fallen apart."""


class Fell(Event):
    """A snake has run into one of this colour."""

    colour = number(1, COLOURS)


class Game(Engine[Snake]):
    """A field with snakes and food."""

    ground = plain()
    page = "page"
    me = Snake
    walking = "straight"
    things = (Food, Crumb)
    events = (Fell,)
    messages = {"board": {"rows": list[tuple[str, int]]}}
    bodies = Cells(persist=False, forget=BODY_SECONDS)

    def plant(self, plot: Tile) -> list[Thing]:
        """Let food lie in a plot."""
        return [Food(tile) for _ in range(FOOD_PER_PLOT) if (tile := self.somewhere(plot))]

    def on_step(self, me: Snake, tiles: list[Tile]) -> None:
        """Let a snake go on, or fall if its head has run into another one."""
        own = me.id % COLOURS + 1
        hit = [body for tile in tiles if (body := self.bodies[tile]) not in (0, own)]
        if hit and not me.fallen:
            me.emit(Fell(colour=hit[0]))
            me.fallen = True
            me.teleport(me.tile)
        elif not me.fallen:
            self.bodies[tiles] = own

    def on_touch(self, me: Snake, food: Thing) -> None:
        """Let a snake eat."""
        if me.fallen:
            return
        then = []
        if isinstance(food, Food):
            then = [food.again(self.somewhere(food.plot), after=REGROW_SECONDS)]
        if me.take(food, then=then, scores=[("eaten", 1)]):
            me.eaten = min(me.eaten + 1, BITES_MOST)
            me.pace(1 + PACE_PER_BITE * me.eaten)

    @action(rate=1, burst=2)
    def restart(self, me: Snake) -> None:
        """Let a fallen snake leave behind what it has eaten, and begin again elsewhere."""
        if me.fallen:
            x, y = me.tile
            around = random.sample(range(49), me.eaten + 3)
            me.put(*[Crumb((x + n % 7 - 3, y + n // 7 - 3)) for n in around])
            me.teleport(self.somewhere((0, 0)) or (0, 0))
            me.eaten, me.fallen = 0, False
            me.pace(1)

    @action(rate=1, burst=2)
    def board(self, me: Snake) -> None:
        """Tell a page who has eaten the most."""
        me.send("board", [[one.name, one.points] for one in self.top("eaten", 5)])
