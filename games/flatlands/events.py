"""The events of Flatlands, in addition to those of every game."""

from flatlands import Event, number


class Emote(Event):
    """A player made an emote."""

    emote = number(1, 255)
