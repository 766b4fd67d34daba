"""Cairns: heaps of stones that players leave at a place, each with one line for those who walk by.

A cairn crumbles after a week, unless others add stones. This module never checks what a player may
say.
"""

from flatlands import Me, Part, Records, Refused, Thing, action, number
from flatlands import text as line
from flatlands.games.flatlands.notes import LINES, MARK, Note, note
from flatlands.server.messages.table import NUMBER
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT, TEXT_LIMIT
from flatlands.world.terrain import PLAZA

#: Seconds for which a cairn stands after it was built or a stone was added.
STANDS_FOR = 7 * 24 * 3600

#: No player has more cairns.
CAIRNS_MOST = 3
#: No cairn has more stones.
STONES_MOST = 40

#: The most squares from the origin.
FAR = 2**40

_REFUSED = {
    "key": "send a key first, so that the server can tell which cairns are yours",
    "most": f"you already have {CAIRNS_MOST} cairns: each crumbles after a week",
    "room": "there is already a cairn close by: add a stone to it, or walk on a little",
}


class Cairn(Thing, reach=2.5, lasts=STANDS_FOR, per_square=1, per_owner=CAIRNS_MOST):
    """A cairn: `player` is the id that its builder had. A player adds a stone from within reach."""

    player = number(0, NUMBER)
    name = line(1, PLAYER_NAME_LIMIT)
    text = line(1, TEXT_LIMIT)
    stones = number(1, STONES_MOST)
    #: The marks of those whose stones it has, the builder's first.
    _marks = line(0, STONES_MOST * (MARK + 1))

    def higher(self, owner: str) -> "Cairn":
        """Return the cairn with an owner's stone. Raises Refused."""
        mark = owner[:MARK]
        if mark in self._marks:
            raise Refused("cairn", "you have already added a stone to it")
        if self.stones >= STONES_MOST:
            raise Refused("cairn", "it cannot get any higher")
        return self.again(stones=self.stones + 1, _marks=f"{self._marks} {mark}")


class Cairns(Part):
    """What players do with cairns, and how long these stand."""

    things = [Cairn]
    notes = Records(Note)

    @action(rate=0.5, burst=3, address=(1 / 120, 20))
    def build(self, me: Me, text: str = line(1, TEXT_LIMIT)) -> None:
        """Leave a cairn with a line where a player stands. Raises Refused."""
        if self.node.terrain.kind(*me.tile) == PLAZA:
            raise Refused("cairn", "you cannot leave a cairn on the plaza: walk on a little")
        mark = me.owner[:MARK]
        try:
            me.put(Cairn(me.tile, player=me.id, name=me.name, text=text, stones=1, _marks=mark))
        except Refused as refused:
            raise Refused("cairn", _REFUSED[refused.code]) from None
        x, y = me.tile
        self.notes.add(note(me.owner, "cairn", self.now(), x=x, y=y), LINES)

    @action(rate=0.5, burst=3, address=(1 / 10, 60))
    def stone(self, me: Me, column: int = number(-FAR, FAR), row: int = number(-FAR, FAR)) -> None:
        """Add a player's stone to the cairn of a square. Raises Refused."""
        if not me.owner:
            raise Refused("cairn", _REFUSED["key"])
        for thing in self.things_in((column, row)):
            if isinstance(thing, Cairn):
                if not me.near(thing.tile, thing.reach):
                    raise Refused("far", "you are too far away from it")
                changed = me.change(thing, lambda cairn: cairn.higher(me.owner))
                if changed is not None:
                    self._notify_builder(me, changed)
                    return
        raise Refused("missed", "the cairn is gone")

    def _notify_builder(self, me: Me, cairn: Cairn) -> None:
        """Note in the builder's book that a player has added a stone."""
        x, y = cairn.tile
        builder, who = cairn._marks.split()[0], me.name
        once = f"{cairn.id} {cairn.stones}"
        line = note(builder, "stone", self.now(), who=who, n=cairn.stones, x=x, y=y, once=once)
        self.notes.add(line, LINES)
