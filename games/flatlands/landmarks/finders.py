"""The finders of landmarks: who has come to which one, and as the how many-th.

Of each landmark the store keeps one item: the marks of the players who have found it, in the order
in which they did. Of MOST it keeps no more, however many come. A mark is the beginning of the hash
of a player's key (board.py), so whoever comes again, at whichever node, is no other finder. Nothing
of it is published: whoever finds a landmark is told, and nobody else. This module never knows
connections.
"""

from collections.abc import Callable

from flatlands.games.flatlands.landmarks.landmarks import PART, Landmarks
from flatlands.server.kept.reach import check_reach
from flatlands.server.messages.protocol import Refused
from flatlands.server.node import Node
from flatlands.stores.base import NEVER, Item, Store
from flatlands.world.track import UNIT, Track

#: The name of the queue in the store begins with it, and that of the ground follows.
QUEUE = "finders"

#: The bytes of a mark, and the most marks of a landmark.
MARK, MOST = 8, 1000

#: A landmark is found from within so many units of the middle of its tile. A page asks from within
#: six tiles.
REACH = 7 * UNIT


class Finders:
    """See the module."""

    def __init__(self, node: Node) -> None:
        self._landmarks = Landmarks(node.terrain)
        self._queue = f"{QUEUE} {node.channels.ground}"
        self._keeper, self._loop = node.keeper, node.loop

    def find(
        self,
        part: tuple[int, int],
        track: Track,
        owner: str,
        found: Callable[[int, int, bool], None],
        failed: Callable[[], None],
    ) -> None:
        """Count a player, whose owner is as in board.py, as a finder of a part's landmark.

        Calls `found` later with its place among the finders, from 1, their number, and whether it
        is a new one. The place is 0 for a player who came after MOST others. If the store fails,
        `failed` is called. Raises Refused if there is no landmark, if the player is not close to
        it, or has sent no key.
        """
        if not owner:
            raise Refused("landmark", "send a key first, by which you are known", None)
        now, (i, j) = self._loop.now(), part
        # A landmark is not near its part's border. To look for one takes a moment.
        x, y = track.at(now)
        if (x // (PART * UNIT), y // (PART * UNIT)) != part:
            raise Refused("far", "you are not in that part of the world", None)
        tile = self._landmarks.of(i, j)
        if tile is None:
            raise Refused("landmark", "there is no landmark", None)
        x, y = (UNIT * each + UNIT // 2 for each in tile)
        check_reach(track, now, x, y, REACH)
        name, mark = f"{i}:{j}", bytes.fromhex(owner)[:MARK]
        self._keeper.ask(
            lambda store: self._count(store, name, mark),
            lambda counted: found(*counted),
            failed,
        )

    def _count(self, store: Store, name: str, mark: bytes) -> tuple[int, int, bool]:
        """Return the place of a mark, which is added if it is new, the number of marks, and whether
        it was added. It waits for the store."""
        new = False

        def add(item: Item | None) -> Item | None:
            nonlocal new
            body = b"" if item is None else item.body
            new = mark not in _marks(body) and len(body) < MOST * MARK
            return Item(name, NEVER, name, body + mark) if new else None

        item = store.change(self._queue, name, add)
        marks = _marks(b"" if item is None else item.body)
        return marks.index(mark) + 1 if mark in marks else 0, len(marks), new


def _marks(body: bytes) -> list[bytes]:
    return [body[at : at + MARK] for at in range(0, len(body), MARK)]
