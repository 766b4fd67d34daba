"""A bot that keeps people company: when asked who is here, it comes near and lists them.

python -m flatlands.games.quiet.bot http://localhost:8000
"""

from flatlands.bot import Bot, play


def main(bot: Bot) -> None:
    """Play until the program ends."""
    for what, player, more in bot.events():
        if what == "said" and more.lower() == "who is here?":
            names = sorted(one.name for one in bot.players.values() if one.id != bot.id)
            x, y = bot.place(player.id)
            bot.go(x + 2, y)
            bot.say(", ".join(names))


if __name__ == "__main__":
    play("Quiet Bot", main)
