"""What the store has of landmarks that somebody has found: the part landmarks writes it, and others
read it."""

from flatlands import Record, text
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT

#: The name of the queue in the store begins with it, and that of the ground follows.
QUEUE = "finders"

#: The bytes of a mark.
MARK = 8


class Carved(Record):
    """The name that is carved into a landmark."""

    name = text(0, PLAYER_NAME_LIMIT)
