"""A bot that paints: it walks about, and spills paint now and then.

python -m flatlands.games.paint.bot http://localhost:8000
"""

import random

from flatlands.bot import BaseBot, play, turns

#: How likely it is, from 0 to 1, that the bot changes direction at one of its turns.
TURN_CHANCE = 0.2
#: How likely it is, from 0 to 1, that the bot spills paint at one of its turns.
SPILL_CHANCE = 0.05


def turn(bot: BaseBot) -> None:
    """Change direction, or spill paint, by chance."""
    if random.random() < TURN_CHANCE:
        bot.walk(*random.choice([(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)]))
    if random.random() < SPILL_CHANCE:
        bot.do("spill", 2)


if __name__ == "__main__":
    play("Paint Bot", turns(turn))
