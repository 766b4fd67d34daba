"""A bot that plays snake: it goes to the nearest food, and turns away from bodies.

python -m flatlands.games.snake.bot http://localhost:8000
"""

import math

from flatlands.bot import BaseBot, play, turns

#: How far ahead it looks.
AHEAD_TILES = 3


def is_free(bot: BaseBot, dx: int, dy: int) -> bool:
    """Return whether no other snake lies ahead in a direction."""
    column, row = map(math.floor, bot.place())
    ahead = [bot.cell("bodies", column + n * dx, row + n * dy) for n in range(1, AHEAD_TILES + 1)]
    return set(ahead) <= {0, bot.id % 255 + 1}


def way(bot: BaseBot) -> tuple[int, int] | None:
    """Return the free direction that leads best towards the nearest food; None if none is free."""
    x, y = bot.place()
    food = min(bot.things(), key=lambda one: math.dist((one.x, one.y), (x, y)), default=None)
    dx, dy = (0, 0) if food is None else (food.x - x, food.y - y)
    ways = sorted([(1, 0), (-1, 0), (0, 1), (0, -1)], key=lambda it: -it[0] * dx - it[1] * dy)
    return next((it for it in ways if is_free(bot, *it)), None)


def turn(bot: BaseBot) -> None:
    """Begin again after a fall, or go the best way."""
    if bot.me is not None and bot.me.values["fallen"]:
        bot.do("restart")
        bot.notes["gone"] = None
    elif (wanted := way(bot)) not in (None, bot.notes.get("gone")):
        bot.walk(*wanted)
        bot.notes["gone"] = wanted


if __name__ == "__main__":
    play("Snake Bot", turns(turn))
