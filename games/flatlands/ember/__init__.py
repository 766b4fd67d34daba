"""The ember: a relay from fire to fire."""

from flatlands.games.flatlands.ember.ember import Relay

PARTS = (Relay,)
PLACE = 50
