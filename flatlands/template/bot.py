"""A painter that is a bot: python bot.py http://localhost:8000

`flatlands swarm` lets hundreds of it play, and `flatlands simulate` some.
"""

import random

from flatlands.bot import BaseBot, play, turns

WAYS = [(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)]


def turn(bot: BaseBot) -> None:
    """Do something, four times a second."""
    if random.random() < 0.2:
        bot.walk(*random.choice(WAYS))
    if random.random() < 0.05:
        bot.do("spill", 2)


if __name__ == "__main__":
    play("Painter", turns(turn))
