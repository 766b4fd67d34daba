"""What Flatlands takes of this folder: see game.py."""

from flatlands.games.flatlands.gems.gems import Gems

PARTS = (Gems,)
