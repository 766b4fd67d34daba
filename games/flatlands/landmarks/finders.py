"""The finders of landmarks: who has found which one, and in which place among its finders.

For each landmark the store keeps one item: the marks of the players that have found it, in the
order in which they did, but no more than MOST, however many come. A mark is the beginning of a
player's owner, which is a hash, so a player that comes again, on whichever node, is not another
finder. The name of the first finder is carved into the landmark for good. None of this is
published: only the player that finds a landmark gets them.
"""

from flatlands import Me, Part, Records, Refused, StoreUnavailable, action, number
from flatlands.games.flatlands.finds import MARK, QUEUE, Carved
from flatlands.games.flatlands.ground.landmarks import FOUND_FROM, PART, Landmarks
from flatlands.games.flatlands.notes import LINES, Note, note
from flatlands.server.game.game import Game
from flatlands.server.messages.table import NUMBER
from flatlands.stores.base import NEVER_DUE_MS, Item, Store

#: The most marks of a landmark.
MOST = 1000


class Finders(Part):
    """Counts finders."""

    carved = Records(Carved)
    notes = Records(Note)

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._landmarks = Landmarks(self.node.terrain)
        self._queue = f"{QUEUE} {self.node.channels.ground_id}"

    @action(rate=0.5, burst=5, address=(1 / 10, 60))
    def find(
        self, me: Me, column: int = number(-NUMBER, NUMBER), row: int = number(-NUMBER, NUMBER)
    ) -> None:
        """Count a player as a finder of the landmark of a part of the world, and send it its place
        among them, from 1, their number, and the name of the first. The place is 0 for a player
        that came after MOST others.

        Raises Refused if there is no landmark, if the player is not close to it, or if it has sent
        no key.
        """
        if not me.owner:
            raise Refused("landmark", "send a key first, so that the server can tell who you are")
        # No landmark is near the border of its part. Looking for one takes a moment.
        if (me.tile[0] // PART, me.tile[1] // PART) != (column, row):
            raise Refused("far", "you are not in that part of the world")
        tile = self._landmarks.of(column, row)
        if tile is None:
            raise Refused("landmark", "there is no landmark there")
        if not me.near(tile, FOUND_FROM):
            raise Refused("far", "you are too far away from it", None)
        name, mark = f"{column}:{row}", bytes.fromhex(me.owner)[:MARK]
        try:
            place, of, new = self.node.store_client.wait(
                lambda store: self._count(store, name, mark)
            )
            mine = Carved(name, name=me.name)
            carved = self.carved.change(name, lambda there: there or (mine if place == 1 else None))
            if place:
                at, who = self.now(), me.name
                line = note(me.owner, "landmark", at, who=who, n=place, x=column, y=row, once=name)
                self.notes.add(line, LINES)
        except StoreUnavailable:
            # The page asks again.
            me.refund()
            return
        if not new:
            me.refund()
        me.send("finders", column, row, place, of, "" if carved is None else carved.name)

    def _count(self, store: Store, name: str, mark: bytes) -> tuple[int, int, bool]:
        """Add a mark if it is new; return its place, the number of marks, and whether it was added.
        It waits for the store."""
        new = False

        def add(item: Item | None) -> Item | None:
            nonlocal new
            body = b"" if item is None else item.body
            new = mark not in _marks(body) and len(body) < MOST * MARK
            return Item(name, NEVER_DUE_MS, name, body + mark) if new else None

        item = store.change(self._queue, name, add)
        marks = _marks(b"" if item is None else item.body)
        return marks.index(mark) + 1 if mark in marks else 0, len(marks), new


def _marks(body: bytes) -> list[bytes]:
    return [body[at : at + MARK] for at in range(0, len(body), MARK)]
