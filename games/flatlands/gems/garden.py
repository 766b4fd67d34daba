"""The gems of the world: where they lie, who takes them, and where they lie next.

Each cell of the ground that somebody came near has some gems, and each gem is one item in the
store, until it is forgotten because nobody took it for a day. While it *lies* in a square, the
item's group is the square's name, and its body says where. Once it is taken it *ripens*: it lies
nowhere, until the item is due and a node claims it, chooses another place, and publishes that it
lies there. Taking a gem, letting it ripen and counting the point is one step in the store. So of
all who reach for a gem, at whichever nodes, exactly one has it, and no gem is lost with a node.
This module never knows connections.
"""

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgpack

from flatlands.games.flatlands.gems.board import Board
from flatlands.games.flatlands.kinds import GEM, GemThing
from flatlands.server.kept.keeper import AWAY
from flatlands.server.kept.reach import check_reach, name_of, square_of, thing_of
from flatlands.server.messages.protocol import Refused
from flatlands.server.node import Node
from flatlands.stores.base import Claimed, Item, Store
from flatlands.world.events import Player
from flatlands.world.grid import Square
from flatlands.world.terrain import BLOCKED, CELL, HIGH, PLAZA_WITHIN
from flatlands.world.things import Thing
from flatlands.world.track import UNIT

#: The name of the gems' queue in the store begins with it, and that of the ground follows.
QUEUE = "gem"

#: ms for which a gem lies that nobody takes. Then it is forgotten, until somebody comes near its
#: cell again: the store need not keep the gems of places where nobody goes.
LIES_FOR = 24 * 3600 * 1000

#: How often a node looks for gems that are ripe, in ms; how many it claims at a time, since to
#: choose a place takes some ms; and for how many ms.
GROW_EVERY, CLAIMED, LEASE = 1000, 10, 5000

#: A player takes a gem from within so many units.
REACH = UNIT * 5 // 4

#: How far from the straight line between two waypoints a gem lies at most, in tiles, and the number
#: of random places that are tried.
ASIDE, TRIES = 6, 16

_MISSED = "the gem is not there any more"


class Rules(NamedTuple):
    """How many gems each cell has, and after how many ms, in the mean, one that was taken lies
    somewhere else."""

    per_cell: int = 4
    pause: int = 120_000


RULES = Rules()


class Garden:
    """See the module."""

    def __init__(self, node: Node, board: Board, rules: Rules) -> None:
        self._grid, self._terrain = node.grid, node.terrain
        self._queue = f"{QUEUE} {node.channels.ground}"
        self._keeper, self._replicas, self._loop = node.keeper, node.replicas, node.loop
        self._board = board
        self._rules = rules
        #: The ids of gems that a player of this node is about to take.
        self._reached: set[str] = set()
        self._growing = self._loop.every(GROW_EVERY, self._grow, 0)

    # What lies where, for the Reader.

    def fetch(self, store: Store, squares: list[Square]) -> Iterator[tuple[Square, Thing]]:
        """Yield the gems that lie in some squares, after gems were put into the cells around that
        have none yet. It waits for the store."""
        version = self._loop.now()
        seeds = [
            Item(f"{i}:{j}:{number}", 0, "", _pack(version))
            for i, j in {cell for square in squares for cell in self._cells(square)}
            for number in range(self._rules.per_cell)
        ]
        if sum(store.put(self._queue, seeds[at : at + 1000]) for at in range(0, len(seeds), 1000)):
            self._growing.set(self._loop.now())
        for item in store.group(self._queue, *map(name_of, squares)):
            square = square_of(item.group)
            yield square, self._thing(square, item.id, item.body)

    def _cells(self, square: Square) -> Iterator[tuple[int, int]]:
        """Yield the cells that a square touches."""
        left, top = square[0] * self._grid.side, square[1] * self._grid.side
        last = self._grid.side - 1
        for i in range((left + CELL // 2) // CELL, (left + last + CELL // 2) // CELL + 1):
            for j in range((top + CELL // 2) // CELL, (top + last + CELL // 2) // CELL + 1):
                yield i, j

    def _thing(self, square: Square, id: str, body: bytes) -> GemThing:
        version, x, y = msgpack.unpackb(body)
        span = self._grid.span
        return GemThing(GEM, id, version, x - square[0] * span, y - square[1] * span)

    # Players take gems.

    def take(
        self,
        square: Square,
        id: str,
        player: Player,
        owner: str,
        taken: Callable[[int], None],
        refused: Callable[[Refused], None],
    ) -> None:
        """Give a player the gem that lies in a square, and `owner` a point, if it is not "".

        Calls `taken` with the gem's version, or `refused`, now or later. Raises Refused if the gem
        is not there, or the player is not close to it.
        """
        thing = thing_of(self._replicas, square, id)
        if not isinstance(thing, GemThing) or id in self._reached:
            raise Refused("missed", _MISSED, None)
        span = self._grid.span
        x, y = thing.x + square[0] * span, thing.y + square[1] * span
        check_reach(player.track, self._loop.now(), x, y, REACH)
        pause = self._rules.pause
        ripens = Item(id, random.randint(pause // 2, pause * 3 // 2), "", _pack(thing.version + 1))
        then = [(self._queue, ripens), *self._board.entry(owner, player.id, player.name)]
        body = _pack(thing.version, x, y)

        def question(store: Store) -> bool:
            point = self._board.point(owner)
            return store.take(self._queue, id, then, point, only=body) is not None

        def answered(is_taken: bool) -> None:
            self._reached.discard(id)
            if is_taken:
                self._loop.stats["gems_taken"] += 1
                self._replicas.publish_things(square, [], [id, thing.version])
                taken(thing.version)
            else:
                # This node has missed that another player took it.
                self._replicas.read(square)
                refused(Refused("missed", _MISSED, None))

        def failed() -> None:
            self._reached.discard(id)
            refused(Refused("store", AWAY, None))

        self._reached.add(id)
        self._keeper.ask(question, answered, failed)

    # Gems get ripe.

    def _grow(self) -> None:
        # A node that nobody plays at leaves it to the others.
        if self._replicas.squares:
            self._keeper.ask(lambda store: store.claim(self._queue, CLAIMED, LEASE), self._claimed)

    def _claimed(self, claimed: list[Claimed]) -> None:
        """Let gems that are ripe lie somewhere, and forget those that nobody took for so long, and
        those that are too many."""
        if not claimed:
            return
        ids = [one.id for one in claimed]
        then = [item for one in claimed if (item := self._next(one)) is not None]

        def question(store: Store) -> tuple[list[Item], bool]:
            planted = [item for item in then if item.group]
            if store.done(self._queue, ids, [(self._queue, item) for item in then]) == len(ids):
                return planted, True
            # A lease has ended meanwhile, and another node may have chosen another place for some.
            there = store.group(self._queue, *(item.group for item in planted))
            known = {(item.id, item.body) for item in there}
            return [item for item in planted if (item.id, item.body) in known], False

        def answered(answer: tuple[list[Item], bool]) -> None:
            planted, all_done = answer
            self._loop.stats["gems_grown"] += len(planted)
            for item in planted:
                square = square_of(item.group)
                thing = self._thing(square, item.id, item.body)
                self._replicas.publish_things(square, [thing], [])
            # Which of these another node had is not known. Who tries to take one finds out.
            for id, body, _tries in claimed if all_done else ():
                version, *place = msgpack.unpackb(body)
                if place:
                    self._replicas.publish_things(self._grid.square(*place), [], [id, version])

        self._keeper.ask(question, answered)
        if len(claimed) == CLAIMED:
            self._growing.set(self._loop.now())

    def _next(self, gem: Claimed) -> Item | None:
        """Return what follows a gem whose time is over: it lies somewhere, or ripens once more
        where no place was found. None if it is forgotten."""
        version, *place = msgpack.unpackb(gem.body)
        i, j, number = map(int, gem.id.split(":"))
        # The cell may have had more gems before.
        if place or number >= self._rules.per_cell:
            return None
        found = self._choose(i, j)
        if found is None:
            return Item(gem.id, self._rules.pause, "", gem.body)
        return Item(gem.id, LIES_FOR, name_of(self._grid.square(*found)), _pack(version, *found))

    def _choose(self, i: int, j: int) -> tuple[int, int] | None:
        """Return a random position near a path of cell (i, j), or None if none was found."""
        edges = sorted(self._terrain.edges(i, j))
        for _ in range(TRIES):
            x0, y0, x1, y1 = random.choice(edges)
            part = random.random()
            column = round(x0 + (x1 - x0) * part) + random.randint(-ASIDE, ASIDE)
            row = round(y0 + (y1 - y0) * part) + random.randint(-ASIDE, ASIDE)
            inside = abs(column - i * CELL) < CELL // 2 and abs(row - j * CELL) < CELL // 2
            # Newcomers would have it at once on the plaza, whose border is decorated.
            far = column * column + row * row > (PLAZA_WITHIN + 2) ** 2
            # On a path that leads over a plateau it can be reached; elsewhere up there perhaps not.
            if inside and far and self._terrain.kind(column, row) not in BLOCKED | HIGH:
                return column * UNIT + UNIT // 2, row * UNIT + UNIT // 2
        return None


def _pack(*body: int) -> bytes:
    packed: bytes = msgpack.packb(body)
    return packed
