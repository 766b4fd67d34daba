"""The kind of computer players that are deer; people of the herd are in clockwork.py."""

from flatlands import Mover, number

#: How many meadows there are. With more deer than there is room for, meadows get fuller.
MEADOWS = 16


class Deer(Mover):
    """A deer, which grazes on one of the meadows."""

    meadow = number(0, MEADOWS - 1)
