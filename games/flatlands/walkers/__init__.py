"""Computer players: people and deer, kept by one node at a time, and what they do for others."""

from flatlands.games.flatlands.walkers.walkers import Walkers

PARTS = (Walkers,)
PLACE = 80
