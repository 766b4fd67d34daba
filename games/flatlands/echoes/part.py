"""What Flatlands takes of this folder: see game.py."""

from flatlands.games.flatlands.echoes.echoes import Echoes

PARTS = (Echoes,)
