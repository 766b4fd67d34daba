"""A server that breaks its word about gems, for tests of the account that must find it out:
`python -m tests.loadtest.broken_take FAULT OPTIONS`.
"""

import sys

from flatlands.server.__main__ import main  # first of all: it patches the standard library

from flatlands.server.things.garden import Garden  # isort: skip
from flatlands.stores.base import Store  # isort: skip

take_of_garden, take_of_store = Garden.take, Store.take


def generous(self, square, id, player, owner, taken, refused):
    """Give everybody the gem, without asking the store."""
    thing = self._replicas.squares[square].things.get(id)
    taken(thing.version if thing else 1)


def mute(self, *arguments):
    """Answer nothing."""


def forgetful(self, queue, id, then=(), score=None, *, only=None):
    """Give the gem and the point, and let nothing ripen."""
    return take_of_store(self, queue, id, [], score, only=only)


def stingy(self, queue, id, then=(), score=None, *, only=None):
    """Give the gem, and no point."""
    return take_of_store(self, queue, id, then, None, only=only)


if __name__ == "__main__":
    fault = sys.argv.pop(1)
    if fault in ("generous", "mute"):
        Garden.take = {"generous": generous, "mute": mute}[fault]  # type: ignore[method-assign]
    else:
        Store.take = {"forgetful": forgetful, "stingy": stingy}[fault]  # type: ignore[method-assign]
    sys.exit(main())
