"""Keeps squares: of all nodes whose players see a square, one runs there what happens by itself.

What that node keeps of the square is an item in the store, which it has claimed for three seconds
and claims again each second, with what it has published since. When a node is dead, stands still,
or does not reach the store, its claims end, and another node claims the item and goes on with it.
Nodes that hear nothing from a square's keeper look into the store; so there is no election. A
square that nobody sees sleeps: its item stays.

Each claim of a square has a higher *epoch*, and what a keeper publishes has a version that begins
with it. No node believes a lower version than it has heard, so a late keeper harms nobody. This
module never decides what happens in a square.
"""

import copy
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgpack

from flatlands.brokers.guard import LogLimit
from flatlands.server.kept.boards import NO_NAME
from flatlands.server.kept.keeper import Keeper
from flatlands.server.kept.lease import EVERY, LEASE, SURE_FOR
from flatlands.server.kept.reach import name_of, square_of
from flatlands.server.loop import Loop
from flatlands.server.squares.hub import Hub
from flatlands.server.squares.peers import Peers
from flatlands.server.squares.replicas import Replicas
from flatlands.server.squares.square import KeptThere
from flatlands.server.things import Kept, stored, usable
from flatlands.stores.base import NEVER, Item, Store
from flatlands.world.grid import Square

#: The name of the queue in the store begins with this.
QUEUE: Final = "kept"

#: ms without a word from a square's keeper after which a node looks into the store.
SILENT: Final = EVERY * 3 // 2

#: The most squares that one node keeps, and how many sleeping ones it wakes at a time: each is a
#: call of the store.
MOST, WOKEN = 1000, 50

#: The factor of the epoch in a version: each keeper has this many versions.
EPOCH: Final = 2**32

#: How many squares tick in one turn of the event loop, and ms between two such turns.
AT_ONCE, TURN = 20, 2

log = logging.getLogger("flatlands")

#: What is called with a square and what is kept of it; it returns True unless it fails.
Call = Callable[[Square, Kept], object]


class Kind(NamedTuple):
    """A kind that a game keeps, and what is called when a square wakes and when it ticks."""

    kept: type[Kept]
    wake: Call
    tick: Call


class Stored(NamedTuple):
    """What the store has of a square: a version, and the values of each kind by its name."""

    version: int = 0
    known: Mapping[str, dict[str, Any]] = MappingProxyType({})

    @property
    def epoch(self) -> int:
        """The number of the claim of its last keeper."""
        return self.version // EPOCH

    def pack(self) -> bytes:
        """Return the body of an item."""
        packed: bytes = msgpack.packb([self.version, dict(self.known)])
        return packed


class _Square:
    """A square that this node keeps: the version of what it published last; what it keeps, by the
    numbers of the kinds; what it has of kinds of other versions of the game; and until when nobody
    else can keep it, in node time in ms."""

    __slots__ = ("version", "kept", "rest", "until")

    def __init__(
        self, version: int, kept: list[Kept], rest: dict[str, dict[str, Any]], until: int
    ) -> None:
        self.version, self.kept, self.rest, self.until = version, kept, rest, until

    def pack(self) -> bytes:
        """Return the body of its item."""
        known = {type(kept).__name__: kept.values for kept in self.kept}
        return Stored(self.version, self.rest | known).pack()


class Keepers:
    """Keeps squares: of all nodes whose players see a square, one runs there what happens by
    itself. `name` is that of the game, `ground` as in the names of channels. `kinds` are those that
    the game keeps, by their numbers.
    """

    def __init__(
        self,
        name: str,
        ground: str,
        keeper: Keeper,
        replicas: Replicas,
        hub: Hub,
        peers: Peers,
        loop: Loop,
        kinds: Sequence[Kind],
    ) -> None:
        self._queue = f"{QUEUE} {name} {ground}"
        self._keeper, self._replicas, self._loop = keeper, replicas, loop
        self._hub, self._peers, self._kinds = hub, peers, kinds
        self._mine: dict[Square, _Square] = {}
        #: Whether the store is asked for the squares of this node, and for others.
        self._renewing = self._claiming = self._stopped = False
        #: The kinds whose last round is still going on.
        self._ticking: set[int] = set()
        self._warnings = LogLimit()

    @property
    def squares(self) -> list[Square]:
        """The squares that this node keeps, as far as it knows."""
        return list(self._mine)

    def start(self) -> None:
        """Begin to keep squares, if the game has a use for that and there is a store."""
        if self._kinds and self._keeper.store is not None:
            self._loop.every(EVERY, self._look, random.randrange(EVERY))
            for number, kind in enumerate(self._kinds):
                ms = round(kind.kept.every * 1000)
                self._loop.every(ms, partial(self._round, number), random.randrange(ms))

    def stop(self) -> None:
        """Leave all squares to other nodes, for good. When that is done, it is `stopped`."""
        self._stopped = True
        self._look()

    @property
    def stopped(self) -> bool:
        """Whether others may keep what this node has kept."""
        busy = self._mine or self._renewing or self._claiming
        return not busy or self._keeper.store is None

    def known(self, kind: type[Kept], square: Square) -> Kept | None:
        """Return what is kept of a square, as this node has heard it last; None if it has not."""
        heard = self._heard(square)
        for values, each in zip(() if heard is None else heard.values, self._kinds, strict=False):
            if each.kept is kind:
                return kind(**usable(kind.fields, _named(kind, values)))
        return None

    def _heard(self, square: Square) -> KeptThere | None:
        heard = self._replicas.squares.get(square)
        return None if heard is None else heard.shown.kept

    # Which squares this node keeps.

    def _look(self) -> None:
        """Renew the claims of this node's squares, leave those that nobody sees here, and claim
        others that nobody keeps."""
        if self._renewing:
            return
        asked = self._loop.now()
        wants = self._choose(asked)
        chosen = set(wants)
        leaves = {s: self._mine.pop(s).pack() for s in self.squares if s not in chosen}
        keeps = {name_of(square): one.pack() for square, one in self._mine.items()}
        if leaves or keeps:
            self._renewing = True

            def question(store: Store) -> list[str]:
                still = store.renew(self._queue, keeps.items(), LEASE) if keeps else []
                self._leave(store, {name_of(square): body for square, body in leaves.items()})
                return still

            def renewed(still: list[str]) -> None:
                self._renewing = False
                for name in keeps.keys() - set(still):
                    self._mine.pop(square_of(name), None)
                for name in still:
                    if (one := self._mine.get(square_of(name))) is not None:
                        one.until = asked + SURE_FOR
                for square, body in leaves.items():
                    # Nodes that see it need not wait until its keeper is silent.
                    self._replicas.publish_kept(square, _read(body).version, [])
                for square in self.squares:
                    self._publish(square)
                if self._stopped:
                    self._look()

            def failed() -> None:
                self._renewing = False

            self._keeper.ask(question, renewed, failed)
        self._claim([square for square in wants if square not in self._mine])

    def _choose(self, now: int) -> list[Square]:
        """Return the squares that this node should keep: of those that its screens hold, its own
        and those whose keeper is not heard; first those in which somebody stands."""
        if self._stopped or not self._peers.linked:
            return []
        mine, squares = self._mine, self._replicas.squares
        seen = [s for s in self._hub.held if s in mine or self._is_silent(s, now)]
        if len(seen) > MOST and self._warnings.allows(now / 1000):
            log.warning("%d squares that players see are not kept", len(seen) - MOST)
        self._loop.stats["unkept"] += max(len(seen) - MOST, 0)
        # Some may be kept by a node that is not heard: these must not come first each time.
        random.shuffle(seen)
        seen.sort(key=lambda s: (not (s in squares and squares[s].replica.players), s not in mine))
        return seen[:MOST]

    def _is_silent(self, square: Square, now: int) -> bool:
        heard = self._heard(square)
        return heard is not None and now - heard.at >= SILENT

    def _leave(self, store: Store, bodies: Mapping[str, bytes]) -> None:
        """Put to sleep squares that this node has claimed, with what is kept of them."""
        if bodies:
            then = [(self._queue, Item(name, NEVER, name, body)) for name, body in bodies.items()]
            store.done(self._queue, bodies, then)

    def _claim(self, squares: list[Square]) -> None:
        """Claim those of some squares that nobody keeps, unless a claim is already under way."""
        if self._claiming or not squares:
            return
        self._claiming, asked = True, self._loop.now()
        heard = {square: self._heard(square) for square in squares}
        epochs = {name_of(s): Stored(kept.version).epoch for s, kept in heard.items() if kept}

        def question(store: Store) -> dict[str, Stored]:
            self._wake(store, epochs)
            due = {one.id: one.body for one in store.claim(self._queue, MOST, LEASE)}
            # Nobody misses what was due elsewhere: nobody sees it, or those who do look again.
            self._leave(store, {name: body for name, body in due.items() if name not in epochs})
            mine = {name: _read(body) for name, body in due.items() if name in epochs}
            begun = {name: _next(was).pack() for name, was in mine.items()}
            still = store.renew(self._queue, begun.items(), LEASE) if mine else []
            return {name: mine[name] for name in still}

        def claimed(mine: dict[str, Stored]) -> None:
            self._claiming, until = False, asked + SURE_FOR
            # After that others may have claimed them.
            for name, was in mine.items() if self._loop.now() < until else ():
                self._loop.guarded(self._begin, square_of(name), was, until)

        def failed() -> None:
            self._claiming = False

        self._keeper.ask(question, claimed, failed)

    def _wake(self, store: Store, epochs: Mapping[str, int]) -> None:
        """Make due those of some squares that nobody has ever seen, and some of those that sleep,
        or whose keeper is not believed: epochs of them were heard that the store has forgotten."""
        there = {item.id: item for item in store.group(self._queue, *epochs)}
        new = [Item(name, 0, name, b"") for name in epochs if name not in there]
        if new:
            store.put(self._queue, new)
        sleeping = [
            item
            for item in (there[name] for name in epochs if name in there)
            if item.delay > LEASE or (item.delay and _read(item.body).epoch < epochs[item.id])
        ]
        for item in sleeping[:WOKEN]:
            then = [(self._queue, item._replace(delay=0))]
            store.take(self._queue, item.id, then, only=item.body)

    def _begin(self, square: Square, was: Stored, until: int) -> None:
        """Begin to keep a square, with what the store has of it, or with what was heard of its last
        keeper, if that is later: the store may have forgotten something."""
        heard, kept, rest = self._heard(square), list[Kept](), dict(was.known)
        later = heard if heard is not None and heard.version > was.version else None
        for number, kind in enumerate(self._kinds):
            values = rest.pop(kind.kept.__name__, {})
            if later is not None:
                values = _named(kind.kept, later.values[number])
            before = kind.kept(**stored(kind.kept, values))
            after = copy.copy(before)
            kept.append(after if kind.wake(square, after) else before)
        begins = _next(was if later is None else Stored(later.version)).version
        self._mine[square] = _Square(begins, kept, rest, until)
        self._publish(square)

    # What happens there.

    def _round(self, number: int) -> None:
        """Let all squares tick, unless those of the last round have not all had their turn."""
        if number in self._ticking:
            return
        self._ticking.add(number)

        def tick(square: Square | None) -> None:
            if square is None:
                self._ticking.discard(number)
            elif square in self._mine:
                self._tick(number, square)

        self._loop.in_turns([*self._mine, None], AT_ONCE, TURN, tick)

    def _tick(self, number: int, square: Square) -> None:
        one, heard = self._mine[square], self._heard(square)
        if heard is not None and heard.version // EPOCH > one.version // EPOCH:
            # Another node has claimed it since.
            del self._mine[square]
        elif self._is_sure(one):
            after = copy.copy(one.kept[number])
            # This node may have stood still meanwhile.
            if self._kinds[number].tick(square, after) and self._is_sure(one):
                self._become(square, number, after)

    def _become(self, square: Square, number: int, after: Kept) -> None:
        """Replace what is kept of a square, and publish it if it differs."""
        one = self._mine[square]
        before, one.kept[number] = one.kept[number], after
        if after.values != before.values:
            one.version += 1
            self._publish(square)

    def _is_sure(self, one: _Square) -> bool:
        return self._loop.now() < one.until and self._peers.linked

    def _publish(self, square: Square) -> None:
        one = self._mine[square]
        said = [kept.shows() for kept in one.kept]
        self._replicas.publish_kept(square, one.version, said)

    # What operators do.

    def clear(self, square: Square) -> None:
        """Let all texts of a square be empty, because an operator wants it. It waits for the store.
        Raises Away."""
        self._clear(lambda _text: True, "", square)

    def clear_name(self, name: str) -> None:
        """Replace a name in all that is kept, because an operator wants it. It waits for the store.
        Raises Away."""
        self._clear(lambda text: text == name, NO_NAME)

    def _clear(self, bad: Callable[[str], bool], instead: str, only: Square | None = None) -> None:
        here = {s for s, one in self._mine.items() if only in (None, s) and self._is_sure(one)}
        for square in here:
            for number, kept in enumerate(self._mine[square].kept):
                self._become(square, number, kept.without(bad, instead))

        def elsewhere(item: Item | None) -> Item | None:
            if item is None or square_of(item.id) in here:
                return None
            was = _read(item.body)
            known = dict(was.known)
            for kind in self._kinds:
                values = stored(kind.kept, known.get(kind.kept.__name__, {}))
                known[kind.kept.__name__] = kind.kept(**values).without(bad, instead).values
            body = Stored(was.version, known)
            if known == was.known:
                return None
            # Its keeper then loses its claim, and the next keeper goes on with this.
            kept = 0 < item.delay <= LEASE
            return item._replace(body=_next(body).pack(), delay=0 if kept else item.delay)

        def question(store: Store) -> None:
            items = store.each(self._queue) if only is None else [Item(name_of(only), 0, "", b"")]
            for name in [item.id for item in items]:
                store.change(self._queue, name, elsewhere)

        if self._kinds:
            self._keeper.wait(question)


def _next(was: Stored) -> Stored:
    """Return the same with the first version of the next epoch."""
    return was._replace(version=(was.epoch + 1) * EPOCH)


def _read(body: bytes) -> Stored:
    """Return what the body of an item says; nothing if it is no such body."""
    try:
        version, known = msgpack.unpackb(body)
        return Stored(version, {str(name): dict(values) for name, values in known.items()})
    except (ValueError, TypeError, AttributeError, msgpack.UnpackException):
        return Stored()


def _named(kind: type[Kept], values: Sequence[Any]) -> dict[str, Any]:
    """Return values by the names of a kind's fields."""
    return dict(zip([field.name for field in kind.fields], values, strict=True))
