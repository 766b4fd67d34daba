"""Bots that walk from gem to gem, of which there are many: bench/server.py measures what one
costs."""

from flatlands.loadtest.swarm.bot import Bot
from flatlands.loadtest.swarm.scenarios import wander

PLAN = {
    "rate": 2,
    "viewports": ((24, 24),),
    "server": ("--gems", "60", "--gem-pause", "2"),
}

#: A bot goes to one of so many gems that are nearest, since others go there, or the way is blocked.
NEAREST = 3


def turn(bot: Bot) -> None:
    """Go to a gem nearby, or walk about where none is in sight."""
    x, y = bot.place()
    gems = sorted((abs(gem.x - x) + abs(gem.y - y), gem.x, gem.y) for gem in bot.things("Gem"))
    if gems:
        bot.go(*bot.random.choice(gems[:NEAREST])[1:])
    else:
        wander(bot)
