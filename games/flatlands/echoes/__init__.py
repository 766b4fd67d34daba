"""Races from signpost to signpost, against the best run so far."""

from flatlands.games.flatlands.echoes.echoes import Echoes

PARTS = (Echoes,)
PLACE = 90
