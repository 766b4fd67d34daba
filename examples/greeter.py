"""A bot that greets whoever comes into its view, and returns waves."""

from flatlands.bot import Bot, play


def main(bot: Bot) -> None:
    met = set()
    for what, player, _more in bot.events():
        if player.type or player.id == bot.id:
            continue
        if what == "came" and player.id not in met:
            met.add(player.id)
            x, y = bot.place(player.id)
            bot.go(x + 2, y)
            bot.do("emote", 1)
            bot.say(f"Hello, {player.name}! I am a bot of 20 lines.")
        elif what == "Emote":
            bot.do("emote", 1)


play("Greeter Bot", main)
