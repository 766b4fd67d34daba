"""A bot that follows whoever says its name, until it is told to stop."""

import math
import sys

from client import World

NAME = "Duckling"
world = World(sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8000", NAME)
leader = None

for what, player, more in world.events():
    if what == "said" and NAME.lower() in more.lower():
        leader = player.id
        world.say(f"Lead on, {player.name}!")
    elif what == "said" and more.lower() == "stop":
        leader = None
    elif what == "" and leader in world.players:
        x, y = world.place(leader)
        if math.dist((x, y), world.place()) > 2:
            world.go(x - 1, y)
