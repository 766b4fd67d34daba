"""What happens in Flatlands beside what happens in every game."""

from flatlands import Event, number


class Emote(Event):
    """A player made an emote."""

    emote = number(1, 255)
