"""The kinds of computer players."""

from flatlands import Mover, number, text

#: How many meadows there are. With more deer than there is room for, meadows get fuller.
MEADOWS = 16


class Walker(Mover, together=True, on_map=True):
    """A person of the herd. One node moves all of them, so that they keep company as a whole."""

    name = text(1, 20)


class Deer(Mover):
    """A deer, which grazes on one of the meadows."""

    meadow = number(0, MEADOWS - 1)
