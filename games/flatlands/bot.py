"""A bot that plays Flatlands: it goes to gems and twin stones, takes the ember, races from signpost
to signpost, plants something for the gems it has found, dances, and leaves cairns.

python -m flatlands.games.flatlands.bot http://localhost:8000
"""

import random

from flatlands.bot import BaseBot, play, turns

#: How likely it is, from 0 to 1, that the bot sets out somewhere at one of its turns.
SET_OUT_CHANCE = 0.15
#: How likely it is, from 0 to 1, that the bot does something at one of its turns.
DEED_CHANCE = 0.3
#: How likely it is, from 0 to 1, that the bot begins to dance at one of its turns.
DANCE_CHANCE = 0.002
DANCE_TURNS = 48
#: A bot that dances makes an emote once in so many turns.
EMOTE_EVERY_TURNS = 10
#: The number of the emote that dancers make.
DANCE_EMOTE = 4

#: The bot strolls so far along each axis.
STROLL_TILES = 12
#: A twin stone is so far from its gem.
STONE_TILES = 2


def turn(bot: BaseBot) -> None:
    """Go on dancing, or set out somewhere, do something, or both, by chance."""
    x, y = bot.place()
    left = bot.notes.get("dances", 0) or DANCE_TURNS * (random.random() < DANCE_CHANCE)
    if left > 0:
        bot.notes["dances"] = left - 1
        if left % EMOTE_EVERY_TURNS == 0:
            bot.do("emote", DANCE_EMOTE)
        return
    if random.random() < SET_OUT_CHANCE:
        # Parts of the game may be left out.
        gems = [(gem.x, gem.y) for gem in bot.things() if gem.type == "Gem"]
        stones = [(gem.x + STONE_TILES, gem.y) for gem in bot.things() if gem.type == "Twin"]
        away = (
            x + random.uniform(-STROLL_TILES, STROLL_TILES),
            y + random.uniform(-STROLL_TILES, STROLL_TILES),
        )
        bot.go(*random.choice([away, (0, 0), *gems[:3], *stones[:3]]))
    if random.random() < DEED_CHANCE:
        side, tile = random.randrange(4), (round(x), round(y))
        deeds: dict[str, list[int | str]] = {
            "take": [random.choice([0, *bot.players])],
            "light": [],
            "race": [0, 0, side],
            "arrive": [0, 0, side],
            "sow": [random.randint(1, 4), *tile],
            "emote": [1],
            "build": ["a bot was here"],
            "scores": [],
        }
        deed, fields = random.choice(list(deeds.items()))
        bot.do(deed, *fields)


if __name__ == "__main__":
    play("Walking Bot", turns(turn))
