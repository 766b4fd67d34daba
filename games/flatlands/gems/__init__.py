"""Gems: where they lie, who takes them, and who has how many."""

from flatlands.games.flatlands.gems.gems import Gems

PARTS = (Gems,)
PLACE = 10
