"""Landmarks: where each part of the world has one, and who has found it."""

from flatlands.games.flatlands.landmarks.finders import Finders

PARTS = (Finders,)
PLACE = 40
