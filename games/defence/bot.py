"""A bot that plays defence: it walks along the ways of the monsters, and builds towers there.

python -m flatlands.games.defence.bot http://localhost:8000
"""

import math
import random

from flatlands.bot import BaseBot, play, turns

#: The tiles on which it builds, beside the rows in which monsters come.
PLACES = [(column, row) for row in (-8, 8) for column in range(-20, 5, 3)]


def turn(bot: BaseBot) -> None:
    """Build a tower if it stands on its next place, or else go there."""
    towers = {(math.floor(one.x), math.floor(one.y)) for one in bot.things("Tower")}
    free = [place for place in PLACES if place not in towers]
    goal = bot.notes.get("goal")
    if goal in free and math.dist(bot.place(), goal) > 1:
        return
    if goal in free:
        bot.do("build", *goal)
    if free:
        column, row = bot.notes["goal"] = random.choice(free)
        bot.go(column + 0.5, row + 0.5)


if __name__ == "__main__":
    play("Defence Bot", turns(turn))
