"""Cairns: heaps of stones that players leave at a place, each with one line for who walks by.

A cairn crumbles after a week, unless others add stones. There is one in a square at most, because
it is stored under the square's name. A player has some at most: each cairn takes one of its owner's
places in the store, which is free again when the cairn has crumbled. This module never checks what
a player may say.
"""

import random
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgpack

from flatlands import Me, Part, Refused, action, number
from flatlands import text as line
from flatlands.games.flatlands.kinds import CAIRN, THINGS, CairnThing
from flatlands.server.game import Game
from flatlands.server.kept.boards import NO_NAME
from flatlands.server.kept.reach import check_reach, name_of, square_of, thing_of
from flatlands.server.logs import log_line
from flatlands.server.messages.texts import TEXT_LIMIT
from flatlands.stores.base import Claimed, Item, Store
from flatlands.world.grid import Square
from flatlands.world.terrain import PLAZA
from flatlands.world.things import Thing
from flatlands.world.track import UNIT

#: The names of two queues in the store begin with these, and that of the ground follows: the
#: cairns, and the places of their owners.
QUEUE, PLACES = "cairn", "cairns of"

#: ms for which a cairn stands, from when it was built or a stone was added.
STANDS_FOR = 7 * 24 * 3600 * 1000

#: ms after which a place is free again if its owner has built no cairn for it: the node may have
#: died in between.
BUILT_WITHIN = 5 * 60 * 1000

#: The most cairns of one player, and the most stones in a cairn.
MOST, STONES = 3, 40

#: The most squares from the origin.
FAR: Final = 2**40

#: A player adds a stone from within so many units.
REACH = UNIT * 5 // 2

#: How often a node looks for cairns that crumble, in ms; how many it claims at a time, and for how
#: many ms.
CRUMBLE_EVERY, CLAIMED, LEASE = 30_000, 50, 5000

_GONE = "the cairn is not there any more"


class Cairn(NamedTuple):
    """A cairn as it is stored: the position is in units, and `player` the builder's id then.

    `place` is the number of its owner's place that it has. `adders` has the owners of its stones,
    the builder's first.
    """

    version: int
    x: int
    y: int
    player: int
    name: str
    text: str
    place: int
    adders: list[str]

    @property
    def place_id(self) -> str:
        """The id of its place."""
        return f"{self.adders[0]} {self.place}"

    def pack(self) -> bytes:
        """Return the body of its item."""
        packed: bytes = msgpack.packb(self)
        return packed


class Cairns(Part):
    """See the module."""

    kinds = THINGS

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        node = self.node
        self._grid, self._terrain = node.grid, node.terrain
        ground = node.channels.ground
        self._queue, self._places = f"{QUEUE} {ground}", f"{PLACES} {ground}"
        self._keeper, self._replicas, self._loop = node.keeper, node.replicas, node.loop
        self.fetches = (self.fetch,)
        # Nodes that start together do not all look at the same moment.
        self._loop.every(CRUMBLE_EVERY, self._crumble, random.randrange(CRUMBLE_EVERY))

    # What stands where, for the Reader.

    def fetch(self, store: Store, squares: list[Square]) -> Iterator[tuple[Square, Thing]]:
        """Yield the cairns that stand in some squares. It waits for the store."""
        for item in store.group(self._queue, *map(name_of, squares)):
            square = square_of(item.id)
            yield square, self._thing(square, read(item.body))

    def _thing(self, square: Square, cairn: Cairn) -> CairnThing:
        span = self._grid.span
        x, y = cairn.x - square[0] * span, cairn.y - square[1] * span
        return CairnThing(
            CAIRN,
            name_of(square),
            cairn.version,
            x,
            y,
            cairn.player,
            cairn.name,
            cairn.text,
            len(cairn.adders),
        )

    # Players build.

    @action(rate=0.5, burst=3, address=(1 / 120, 20))
    def build(self, me: Me, text: str = line(1, TEXT_LIMIT)) -> None:
        """Leave a cairn with a line where a player stands. Raises Refused."""
        _check_owner(me)
        x, y = me.track.at(self._loop.now())
        if self._terrain.kind(x // UNIT, y // UNIT) == PLAZA:
            raise Refused("cairn", "nothing is left on the plaza: walk on a little")
        square = self._grid.square(x, y)
        cairn = Cairn(self._loop.now(), x, y, me.id, me.name, text, 0, [me.owner])
        trouble = self._keeper.wait(lambda store: self._build(store, square, cairn))
        if trouble is not None:
            raise Refused("cairn", trouble)
        self._loop.stats["cairns_built"] += 1
        self._replicas.publish_things(square, [self._thing(square, cairn)], [])
        log_line("build", player=me.id, square=name_of(square))

    def _build(self, store: Store, square: Square, cairn: Cairn) -> str | None:
        """Put a cairn into the store; return a sentence if it may not be there."""
        owner, name = cairn.adders[0], name_of(square)
        used = {item.id for item in store.group(self._places, owner)}
        for place in range(MOST):
            cairn = cairn._replace(place=place)
            free = Item(cairn.place_id, BUILT_WITHIN, owner, name.encode())
            # The player may build at two nodes at the same time: then one of them gets this place.
            if cairn.place_id not in used and store.put(self._places, [free]):
                break
        else:
            return f"you have {MOST} cairns already: they crumble after a week"
        if store.put(self._queue, [Item(name, STANDS_FOR, name, cairn.pack())]):
            return None
        store.take(self._places, cairn.place_id)
        return "there is a cairn close by already: add a stone to it, or walk on a little"

    @action(rate=0.5, burst=3)
    def stone(self, me: Me, column: int = number(-FAR, FAR), row: int = number(-FAR, FAR)) -> None:
        """Add a player's stone to the cairn of a square. Raises Refused."""
        _check_owner(me)
        square, owner = (column, row), me.owner
        thing = thing_of(self._replicas, square, name_of(square))
        if not isinstance(thing, CairnThing):
            raise Refused("missed", _GONE)
        span = self._grid.span
        x, y = thing.x + column * span, thing.y + row * span
        check_reach(me.track, self._loop.now(), x, y, REACH)
        cairn = self._keeper.wait(lambda store: self._add(store, square, owner))
        if isinstance(cairn, Refused):
            raise cairn
        self._loop.stats["stones_added"] += 1
        self._replicas.publish_things(square, [self._thing(square, cairn)], [])

    def _add(self, store: Store, square: Square, owner: str) -> Cairn | Refused:
        """Add an owner's stone to a cairn in the store; return the cairn, or why it was not
        done."""

        def higher(item: Item | None) -> Item:
            if item is None:
                raise Refused("missed", _GONE)
            cairn = read(item.body)
            if owner in cairn.adders:
                raise Refused("cairn", "one of its stones is yours already")
            if len(cairn.adders) >= STONES:
                raise Refused("cairn", "it is as high as it can be")
            cairn = cairn._replace(version=cairn.version + 1, adders=[*cairn.adders, owner])
            return item._replace(delay=STANDS_FOR, body=cairn.pack())

        try:
            item = store.change(self._queue, name_of(square), higher)
        except Refused as refused:
            return refused
        assert item is not None
        return read(item.body)

    # Cairns end.

    def clear(self, square: Square) -> None:
        """Remove the cairn of a square, if there is one, because an operator wants it."""

        def question(store: Store) -> Cairn | None:
            for item in store.group(self._queue, name_of(square)):
                store.take(self._places, read(item.body).place_id)
            body = store.take(self._queue, name_of(square))
            return None if body is None else read(body)

        self._keeper.ask(question, lambda cairn: self._publish_gone(square, cairn))

    def clear_name(self, name: str) -> None:
        """Replace the name of a builder at all its cairns, because an operator wants it."""

        def question(store: Store) -> list[tuple[Square, CairnThing]]:
            cleared = []
            for item in store.each(self._queue):
                cairn = read(item.body)
                if cairn.name == name:
                    cairn = cairn._replace(version=cairn.version + 1, name=NO_NAME)
                    then = [(self._queue, item._replace(body=cairn.pack()))]
                    if store.take(self._queue, item.id, then, only=item.body) is not None:
                        square = square_of(item.id)
                        cleared.append((square, self._thing(square, cairn)))
            return cleared

        def answered(cleared: list[tuple[Square, CairnThing]]) -> None:
            for square, thing in cleared:
                self._replicas.publish_things(square, [thing], [])

        self._keeper.ask(question, answered)

    def _publish_gone(self, square: Square, cairn: Cairn | None) -> None:
        if cairn is not None:
            self._loop.stats["cairns_gone"] += 1
            self._replicas.publish_things(square, [], [name_of(square), cairn.version])

    def _crumble(self) -> None:
        self._keeper.ask(lambda store: store.claim(self._queue, CLAIMED, LEASE), self._crumbled)
        self._keeper.ask(self._free_places, lambda _none: None)

    def _crumbled(self, claimed: list[Claimed]) -> None:
        """Remove cairns whose time is over."""
        for id, body, _tries in claimed:
            self._end(id, read(body))

    def _end(self, id: str, cairn: Cairn) -> None:
        def answered(count: int) -> None:
            self._publish_gone(square_of(id), cairn if count else None)

        self._keeper.ask(lambda store: store.done(self._queue, [id]), answered)

    def _free_places(self, store: Store) -> None:
        """Free the places that no cairn has any more. It waits for the store."""
        for id, body, _tries in store.claim(self._places, CLAIMED, LEASE):
            owner, name = id.partition(" ")[0], body.decode()
            then = [
                (self._places, Item(id, item.delay + CRUMBLE_EVERY, owner, body))
                for item in store.group(self._queue, name)
                if read(item.body).place_id == id
            ]
            store.done(self._places, [id], then)


def _check_owner(me: Me) -> None:
    if not me.owner:
        raise Refused("cairn", "send a key first, by which your cairns are known")


def read(body: bytes) -> Cairn:
    """Return the cairn that the body of an item is."""
    return Cairn._make(msgpack.unpackb(body))
