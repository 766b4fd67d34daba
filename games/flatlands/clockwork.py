"""Clockwork people, as other parts than walkers know them: where there are none, nobody finds one.
This module never lets one act."""

from collections.abc import Callable
from typing import TypeAlias

from flatlands import Mover, text
from flatlands.games.flatlands.emotes import Emoting
from flatlands.server.game.game_node import GameNode


class Walker(Mover, together=True, on_map=True):
    """A person of the herd. One node moves all of them, so that they keep company as a whole."""

    name = text(1, 20)


#: Lets a person of the herd, by its number, carry what a player that it walks with carries, and
#: calls the last argument, soon, as long as one of the two carries it: with True if that is the
#: person of the herd.
Bearing: TypeAlias = Callable[[int, int, Callable[[bool], None]], None]


class Accompanied(Emoting):
    """A game in which clockwork people walk with players."""

    def __init__(self, node: GameNode, options: object, alone: bool) -> None:
        super().__init__(node, options, alone)
        #: What they carry for players, if a part of the game has something to carry.
        self.bearings: list[Bearing] = []
