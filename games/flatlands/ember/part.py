"""What Flatlands takes of this folder: see game.py."""

from flatlands.games.flatlands.ember.ember import Relay

PARTS = (Relay,)
