"""A painter that is a bot: python bot.py http://localhost:8000"""

import random

from flatlands.bot import Bot, play

WAYS = [(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)]


def main(bot: Bot) -> None:
    """Play until the program is ended."""
    bot.walk(1, 0)
    for what, _player, _more in bot.events():
        if what == "" and random.random() < 0.2:
            bot.walk(*random.choice(WAYS))
        if what == "came":
            bot.do("spill", 2)


if __name__ == "__main__":
    play("Painter", main)
