"""Keeps squares: of all nodes whose players see a square, one lets happen there what happens by
itself.

What that node keeps of the square is an item in the store, which it has claimed for three seconds
and claims anew each second, with what it has published since. A node that is dead, stands still, or
does not reach the store claims nothing, so that another one does, and goes on with what is there.
Nodes that hear nothing of a square's keeper look into the store; so nobody elects one. A square
that nobody sees sleeps: its item stays.

Each claim of a square has a higher *epoch*, and what a keeper publishes has a version that begins
with it. Nobody believes a lower version than he has heard, so a keeper that was late harms nobody.
This module never decides what happens in a square.
"""

import copy
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgpack

from flatlands.server.kept.keeper import Keeper
from flatlands.server.kept.lease import EVERY, LEASE, SURE_FOR
from flatlands.server.kept.reach import name_of, square_of
from flatlands.server.loop import Loop
from flatlands.server.squares.hub import Hub
from flatlands.server.squares.peers import Peers
from flatlands.server.squares.replicas import Replicas
from flatlands.server.things import Kept
from flatlands.stores.base import NEVER, Item, Store
from flatlands.world.grid import Square

#: The name of the queue in the store begins with it.
QUEUE: Final = "kept"

#: ms without a word of a square's keeper after which a node looks into the store.
SILENT: Final = EVERY * 3 // 2

#: The most squares that one node keeps.
MOST: Final = 500

#: The factor of the epoch in a version: as many versions has each keeper.
EPOCH: Final = 2**32

#: So many squares tick in one turn of the event loop, every so many ms.
AT_ONCE, TURN = 20, 2

#: What is called with a square and what is kept of it; it returns True unless it fails.
Call = Callable[[Square, Kept], object]

#: What the store has of a square: a version, and the values of each kind by its name.
Stored = tuple[int, dict[str, Any]]


class _Square:
    """A square that this node keeps: the version of what it published last, and what it keeps, by
    the numbers of the kinds."""

    __slots__ = ("version", "kept")

    def __init__(self, version: int, kept: list[Kept]) -> None:
        self.version, self.kept = version, kept


class Keepers:
    """See the module. `name` is that of the game, `ground` as in the names of channels. `kinds` are
    those that the game keeps, by their numbers, each with what is called when it wakes and when it
    ticks."""

    def __init__(
        self,
        name: str,
        ground: str,
        keeper: Keeper,
        replicas: Replicas,
        hub: Hub,
        peers: Peers,
        loop: Loop,
        kinds: Sequence[tuple[type[Kept], Call, Call]],
    ) -> None:
        self._queue = f"{QUEUE} {name} {ground}"
        self._keeper, self._replicas, self._loop = keeper, replicas, loop
        self._hub, self._peers, self._kinds = hub, peers, kinds
        self._mine: dict[Square, _Square] = {}
        #: Until when nobody else can keep them, in node time in ms.
        self._until = 0
        self._asking = self._stopped = False
        #: The kinds of which a round goes on.
        self._ticking: set[int] = set()

    @property
    def squares(self) -> list[Square]:
        """The squares that this node keeps, as far as it knows."""
        return list(self._mine)

    def start(self) -> None:
        """Begin to keep squares, if the game has a use for that and there is a store."""
        if self._kinds and self._keeper.store is not None:
            self._loop.every(EVERY, self._look, random.randrange(EVERY))
            for number, (kind, _wake, _tick) in enumerate(self._kinds):
                ms = round(kind.every * 1000)
                self._loop.every(ms, partial(self._round, number), random.randrange(ms))

    def stop(self) -> None:
        """Leave all squares to other nodes, for good. When that is done, it is `stopped`."""
        self._stopped = True
        self._look()

    @property
    def stopped(self) -> bool:
        """Whether others may keep what this node has kept."""
        return not (self._mine or self._asking) or self._keeper.store is None

    def known(self, kind: type[Kept], square: Square) -> Kept | None:
        """Return what is kept of a square, as this node has heard it last; None if it has not."""
        heard = self._replicas.squares.get(square)
        for values, (each, _wake, _tick) in zip(
            () if heard is None else heard.shown.kept.values, self._kinds, strict=False
        ):
            if each is kind:
                return kind(**_named(kind, values))
        return None

    # Which squares this node keeps.

    def _look(self) -> None:
        """Claim the squares of this node anew, and others that nobody keeps; leave those that
        nobody sees here."""
        if self._asking:
            return
        asked = self._loop.now()
        may = self._peers.linked and not self._stopped
        seen = self._hub.held if may else frozenset[Square]()
        leaves = {name_of(s): self._pack(self._mine.pop(s)) for s in self.squares if s not in seen}
        keeps = {name_of(square): self._pack(one) for square, one in self._mine.items()}
        wants = [s for s in seen if s not in self._mine and self._is_silent(s, asked)]
        wants = random.sample(wants, min(len(wants), MOST - len(keeps)))
        if not (leaves or keeps or wants):
            return
        self._asking = True

        def question(store: Store) -> tuple[list[str], dict[str, Stored]]:
            still = store.renew(self._queue, keeps.items(), LEASE) if keeps else []
            self._leave(store, leaves)
            return still, self._claim(store, list(map(name_of, wants))) if wants else {}

        def answered(found: tuple[list[str], dict[str, Stored]]) -> None:
            self._asking, self._until = False, asked + SURE_FOR
            for name in keeps.keys() - set(found[0]):
                self._mine.pop(square_of(name), None)
            for name, was in found[1].items():
                self._begin(square_of(name), *was)
            for square in self.squares:
                self._publish(square)
            if self._stopped:
                self._look()

        def failed() -> None:
            self._asking = False

        self._keeper.ask(question, answered, failed)

    def _is_silent(self, square: Square, now: int) -> bool:
        heard = self._replicas.squares.get(square)
        return heard is not None and now - heard.shown.kept.at >= SILENT

    def _leave(self, store: Store, bodies: dict[str, bytes]) -> None:
        """Let squares sleep that this node has claimed, with what is kept of them."""
        if bodies:
            then = [(self._queue, Item(name, NEVER, name, body)) for name, body in bodies.items()]
            store.done(self._queue, bodies, then)

    def _claim(self, store: Store, names: list[str]) -> dict[str, Stored]:
        """Claim those of some squares that nobody keeps; return what was kept of each."""
        self._wake(store, names)
        due = {one.id: one.body for one in store.claim(self._queue, MOST, LEASE)}
        # What was due elsewhere nobody has missed: nobody sees it, or who does looks again.
        self._leave(store, {name: body for name, body in due.items() if name not in names})
        mine = {name: _read(body) for name, body in due.items() if name in names}
        next_ = [(name, _packed(_next(version), known)) for name, (version, known) in mine.items()]
        still = store.renew(self._queue, next_, LEASE) if mine else []
        return {name: mine[name] for name in still}

    def _wake(self, store: Store, names: list[str]) -> None:
        """Let those of some squares be due that sleep, or that nobody has ever seen."""
        there = {item.id: item for item in store.group(self._queue, *names)}
        new = [Item(name, 0, name, b"") for name in names if name not in there]
        if new:
            store.put(self._queue, new)
        for item in there.values():
            if item.delay > LEASE:
                then = [(self._queue, item._replace(delay=0))]
                store.take(self._queue, item.id, then, only=item.body)

    def _begin(self, square: Square, version: int, known: dict[str, Any]) -> None:
        """Begin to keep a square, with what the store has of it, or with what was heard of its last
        keeper, if that is later: the store may have forgotten something."""
        there, kept = self._replicas.squares.get(square), list[Kept]()
        heard = None if there is None else there.shown.kept
        later = heard if heard is not None and heard.version > version else None
        for number, (kind, wake, _tick) in enumerate(self._kinds):
            values = known.get(kind.__name__, {})
            if later is not None:
                values = _named(kind, later.values[number])
            fit = {f.name: values[f.name] for f in kind.fields if f.allows(values.get(f.name))}
            was = kind(**fit)
            now = copy.copy(was)
            kept.append(now if wake(square, now) else was)
        self._mine[square] = _Square(_next(version if later is None else later.version), kept)

    def _pack(self, one: _Square) -> bytes:
        return _packed(one.version, {type(kept).__name__: kept.values for kept in one.kept})

    # What happens there.

    def _round(self, number: int) -> None:
        """Let all squares tick, unless those of the last round have not all had their turn."""
        if number in self._ticking or not self._mine:
            return
        self._ticking.add(number)

        def tick(square: Square | None) -> None:
            if square is None:
                self._ticking.discard(number)
            elif square in self._mine:
                self._tick(number, square)

        self._loop.in_turns([*self._mine, None], AT_ONCE, TURN, tick)

    def _tick(self, number: int, square: Square) -> None:
        one, heard = self._mine[square], self._replicas.squares.get(square)
        if heard is not None and heard.shown.kept.version // EPOCH > one.version // EPOCH:
            # Another node has claimed it since.
            del self._mine[square]
        elif self._is_sure():
            before = one.kept[number]
            after = copy.copy(before)
            # It may have stood still meanwhile.
            if self._kinds[number][2](square, after) and self._is_sure():
                one.kept[number] = after
                if after.values != before.values:
                    one.version += 1
                    self._publish(square)

    def _is_sure(self) -> bool:
        return self._loop.now() < self._until and self._peers.linked

    def _publish(self, square: Square) -> None:
        one = self._mine[square]
        said = [kept.shows() for kept in one.kept]
        self._replicas.publish_kept(square, one.version, said)


def _next(version: int) -> int:
    """Return the first version of the next epoch."""
    return (version // EPOCH + 1) * EPOCH


def _packed(version: int, known: dict[str, Any]) -> bytes:
    """Return the body of an item: the version, and the values of each kind by its name."""
    packed: bytes = msgpack.packb([version, known])
    return packed


def _read(body: bytes) -> Stored:
    version, known = msgpack.unpackb(body) if body else (0, {})
    return version, known


def _named(kind: type[Kept], values: Sequence[Any]) -> dict[str, Any]:
    """Return values by the names of a kind's fields."""
    return dict(zip([field.name for field in kind.fields], values, strict=True))
