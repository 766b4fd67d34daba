"""The events of Flatlands, in addition to those of every game."""

from typing import Final

from flatlands import Event, number

#: The numbers of the emotes that wave, dance and ask: page/emotes.js has them all.
WAVE: Final = 1
DANCE: Final = 4
WONDER: Final = 6


class Emote(Event):
    """A player made an emote."""

    emote = number(1, 255)
