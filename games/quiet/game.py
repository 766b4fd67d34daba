"""The quiet game: players walk and talk on a plain, and that is all. Copy it to begin your own."""

from flatlands import Game as Engine
from flatlands import plain


class Game(Engine):
    """A plain, and nothing on it."""

    ground = plain()
