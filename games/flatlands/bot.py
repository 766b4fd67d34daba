"""A bot that plays Flatlands: it goes to gems and twin stones, takes the ember, races from signpost
to signpost, plants something for the gems it has found, dances, and leaves cairns.

python -m flatlands.games.flatlands.bot http://localhost:8000
"""

import random

from flatlands.bot import Playing, play, turns

#: The chances, at each turn of the bot, that it sets out somewhere, does something, and begins to
#: dance. It dances for TURNS turns, and makes the emote DANCE in one turn of EVERY.
SETS_OUT, DOES, DANCES = 0.15, 0.3, 0.002
TURNS, EVERY, DANCE = 48, 10, 4

#: How far it strolls along each axis, and how far a twin stone is from its gem, in tiles.
FAR, STONE = 12, 2


def turn(bot: Playing) -> None:
    """Go on dancing, or set out somewhere, do something, or both, by chance."""
    x, y = bot.place()
    left = bot.notes.get("dances", 0) or TURNS * (random.random() < DANCES)
    if left > 0:
        bot.notes["dances"] = left - 1
        if left % EVERY == 0:
            bot.do("emote", DANCE)
        return
    if random.random() < SETS_OUT:
        # Parts of the game may be left out.
        gems = [(gem.x, gem.y) for gem in bot.things() if gem.type == "Gem"]
        stones = [(gem.x + STONE, gem.y) for gem in bot.things() if gem.type == "Twin"]
        away = x + random.uniform(-FAR, FAR), y + random.uniform(-FAR, FAR)
        bot.go(*random.choice([away, (0, 0), *gems[:3], *stones[:3]]))
    if random.random() < DOES:
        side, tile = random.randrange(4), (round(x), round(y))
        others = [id for id, other in bot.players.items() if not other.clockwork]
        deeds: dict[str, list[int | str]] = {
            "take": [random.choice([0, *others])],
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
