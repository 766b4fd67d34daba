"""Cairns: heaps of stones that players leave, each with a line."""

from flatlands.games.flatlands.cairns.cairns import Cairns

PARTS = (Cairns,)
PLACE = 20
