"""A painter that is a bot: it walks about, and spills paint now and then.

python -m flatlands.games.paint.bot http://localhost:8000
"""

import random

from flatlands.bot import Bot, play

#: The chances, at each turn of the bot, that it turns and that it spills.
TURNS, SPILLS = 0.2, 0.05


def main(bot: Bot) -> None:
    """Play until the program is ended."""
    bot.walk(1, 0)
    for what, _player, _more in bot.events():
        if what == "" and random.random() < TURNS:
            bot.walk(*random.choice([(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)]))
        if what == "" and random.random() < SPILLS:
            bot.do("spill", 2)


if __name__ == "__main__":
    play("Paint Bot", main)
