"""A painter that is a bot: it walks about, and spills paint now and then.

python -m flatlands.games.paint.bot http://localhost:8000
"""

import random

from flatlands.bot import Playing, play, turns

#: The chances, at each turn of the bot, that it turns and that it spills.
TURNS, SPILLS = 0.2, 0.05


def turn(bot: Playing) -> None:
    """Do something."""
    if random.random() < TURNS:
        bot.walk(*random.choice([(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)]))
    if random.random() < SPILLS:
        bot.do("spill", 2)


if __name__ == "__main__":
    play("Paint Bot", turns(turn))
