"""Twin stones: a gem between two stones, which opens for two people who stand on them."""

from flatlands.games.flatlands.twins.twins import Twins

PARTS = (Twins,)
PLACE = 30
