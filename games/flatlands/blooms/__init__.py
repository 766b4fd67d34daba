"""Blooms: squares that bloom for a day because three people have danced there."""

from flatlands.games.flatlands.blooms.blooms import Blooms

PARTS = (Blooms,)
PLACE = 60
