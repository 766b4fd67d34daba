"""A bot that paints: it walks about, and spills paint now and then.

python -m flatlands.games.paint.bot http://localhost:8000
"""

import random

from flatlands.bot import Playing, play, turns

#: The chances, at each turn of the bot, that it changes direction and that it spills paint.
TURNS, SPILLS = 0.2, 0.05


def turn(bot: Playing) -> None:
    """Change direction, or spill paint, by chance."""
    if random.random() < TURNS:
        bot.walk(*random.choice([(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)]))
    if random.random() < SPILLS:
        bot.do("spill", 2)


if __name__ == "__main__":
    play("Paint Bot", turns(turn))
