"""The ways in which a rude bot breaks the rules. Answers are not looked at here."""

import math

from flatlands.loadtest.swarm import wire
from flatlands.loadtest.swarm.bot import Bot


def offend(bot: Bot) -> None:
    """Break one of the rules, at random."""
    way = bot.random.randrange(7)
    if way == 0:
        bot.write(bot.random.randbytes(400))
    elif way == 1:
        bot.write(wire.client_frame(bot.random.randbytes(200)))
    elif way == 2:
        bot.write(wire.client_frame(b"text", wire.TEXT))
    elif way == 3:
        bot.write(wire.client_frame(b"\x91" * 8000))
    elif way == 4:
        bot.send(wire.GO, 1, 0, 2**60, math.pi)
    elif way == 5:
        for number in range(1, 200):
            bot.send(wire.WALK, number, 0, 1, 0)
    else:
        for _ in range(30):
            bot.send(wire.SAY, "x" * 120)
