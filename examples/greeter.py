"""A bot that greets whoever comes into its view, and returns waves."""

import sys

from client import World

world = World(sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8000", "Greeter Bot")
met = set()

for what, player, _more in world.events():
    if player.clockwork or player.id == world.id:
        continue
    if what == "came" and player.id not in met:
        met.add(player.id)
        x, y = world.place(player.id)
        world.go(x + 2, y)
        world.emote()
        world.say(f"Hello, {player.name}! I am a bot of 20 lines.")
    elif what == "emoted":
        world.emote()
