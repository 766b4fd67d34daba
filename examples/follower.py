"""A bot that follows whoever says its name, until it is told to stop."""

import math

from flatlands.bot import Bot, play

NAME = "Duckling"


def main(bot: Bot) -> None:
    leader = None
    for what, player, more in bot.events():
        if what == "said" and NAME.lower() in more.lower():
            leader = player.id
            bot.say(f"Lead on, {player.name}!")
        elif what == "said" and more.lower() == "stop":
            leader = None
        elif what == "" and leader in bot.players:
            x, y = bot.place(leader)
            if math.dist((x, y), bot.place()) > 2:
                bot.go(x - 1, y)


play(NAME, main)
