"""The things of a simulated world, such as the apples of the bare game: nodes take and plant them
while stores are slow or do not answer.

Whatever goes wrong, a thing is given once and is always somewhere, and in a quiet world each screen
shows those that lie there.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, NamedTuple

import gevent
import msgpack

from flatlands import Me, Refused, StoreUnavailable, Thing
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.storage.boards import owner_of
from flatlands.server.storage.client import FAILS_FOR_MS
from flatlands.server.storage.kinds import of_row
from flatlands.server.storage.reader import SQUARE_AGAIN_MS, SQUARE_FAILED_MS
from flatlands.server.storage.upkeep import GROW_EVERY_MS
from flatlands.stores.base import Store, StoreError
from flatlands.testkit.client import SimulatedClient
from flatlands.testkit.host import Host
from tests.server.harness import Harness
from tests.simulate.rule import Broken

#: Each plot has so many things.
PER_PLOT = 3
#: A thing that was taken lies somewhere else after so many seconds, give or take half of it.
PAUSE = 20

#: Seconds after which things that nobody takes are forgotten, in worlds that forget them.
MOVED_AFTER = 150

#: The longest that a request to the store waits, or its answer, in ms.
SLOW = 3000

#: ms within which all screens are right once all faults have ended.
RIGHT_WITHIN = SQUARE_AGAIN_MS + SQUARE_FAILED_MS + FAILS_FOR_MS + GROW_EVERY_MS + 4 * SLOW


#: ms until all screens know of a thing that has just moved: what was wrong about it before may have
#: been another fault that is long over.
TOLD_WITHIN = GROW_EVERY_MS + 4 * SLOW


class ThingSetup(NamedTuple):
    """A kind of things that a game plants, PER_PLOT in each plot, and that players take when they
    touch them, each for a point on a board.

    `part` returns the part of a game that has the hook on_touch. A player who takes a thing is told
    `found`, with its id and its version. The action `scores` is answered with `board`, whose last
    field has a row for each of the best, with the points as its second item. `purses` says whether
    the game has purses, and `stock` and `give` as the bare game.
    """

    thing: type[Thing]
    part: Callable[[Any], Any]
    board: str
    purses: bool = False


class Wren(Me):
    """A player that no node has. It reaches for things as the hook of a game does."""

    __slots__ = ("answer",)

    def __init__(self, host: Host, owner: str) -> None:
        resident: Any = SimpleNamespace(id=1, name="Wren", owner=owner, session=None)
        super().__init__(host.node, resident)
        #: What became of its attempt.
        self.answer = "unknown"

    def _check(self) -> None:
        """Do nothing: this player is always where it should be."""

    def take(self, *arguments: Any, **more: Any) -> bool:
        taken = super().take(*arguments, **more)
        self.answer = "taken" if taken else "missed"
        return taken

    def send(self, name: str, *fields: Any) -> None:
        """Ignore the message: this player has no client."""


class Things:
    """The things of a world. `store` is one more store on the nodes' data; `moved`: things that
    nobody takes are forgotten after a while, and planted again."""

    def __init__(self, harness: Harness, store: Store, moved: bool, kind: ThingSetup) -> None:
        self._harness, self._store, self._moved, self._kind = harness, store, moved, kind
        #: What the ids of all things of the kind begin with.
        self._begins = f"{kind.thing.__name__}:"
        self._queue = harness.node.play.items.queue
        self._board = harness.node.play.boards.score(kind.board, "", 0).board
        #: The queue of the purses, if the game has some.
        records = harness.node.play.items.records
        self._purses = next(iter(records.values())) if kind.purses else None
        harness.waits = True
        #: All things of the kind that ever existed.
        self._seen: set[str] = set()
        #: The nodes whose store does not answer.
        self.away: set[Host] = set()
        #: How often each thing was given, and what became of all requests.
        self._taken: Counter[tuple[str, int]] = Counter()
        self._answers: Counter[str] = Counter()
        #: How many things nodes have taken for purses, as far as they know.
        self._stocked = 0

    def serve(self, host: Host) -> None:
        """From now on delay each of a node's requests to the store, and then its answer."""
        waiting = TimerQueue(host.loop, lambda do, _due: do())  # type: ignore[arg-type]

        def wait(do: Callable[[], None]) -> None:
            ms = self._harness.chance.choice((0, 0, 10, 200, SLOW))
            waiting.put(do, host.loop.now() + ms)

        def spawn(call: Any, *arguments: Any) -> None:
            if call.__name__ != "_ask":
                # A request from a hook, which may wait.
                gevent.spawn(call, *arguments)
                return
            store, operation, answered, failed = arguments

            def later() -> None:
                result: Any = None
                error = StoreError("it is away") if host in self.away else None
                try:
                    # A request that is not answered may still have taken effect.
                    if error is None or self._harness.chance.random() < 0.5:
                        result = operation(store)
                except StoreError as failure:
                    error = error or failure

                def answer(_store: Store) -> Any:
                    if error is not None:
                        raise error
                    return result

                wait(lambda: call(store, answer, answered, failed))

            wait(later)

        host.spawn = spawn

    def reach(self, host: Host, b: int, c: int) -> None:
        """Make a player of a node reach for a thing that the node knows."""
        node = host.node
        known = [
            (square, thing)
            for square, heard in sorted(node.subscriptions.by_square.items())
            for thing in heard.things.all()
        ]
        if not known or host.frozen:
            return
        square, row = known[b % len(known)]
        thing: Any = of_row(self._kind.thing, row, square, node.grid.side)
        wren = Wren(host, owner_of(f"key {c % 3}"))

        def touch() -> None:
            try:
                self._kind.part(node.game).on_touch(wren, thing)
            except StoreUnavailable:
                pass
            finally:
                self._answers[wren.answer] += 1
                self._taken[thing.id, thing.version] += wren.answer == "taken"

        self._answers["asked"] += 1
        gevent.spawn(touch)

    def trade(self, host: Host, b: int, c: int) -> None:
        """Let a node take a thing that it knows for a purse, or let a purse give one to another."""
        node = host.node
        if host.frozen or not self._kind.purses:
            return
        lie = sorted(
            (one for square in node.subscriptions.by_square for one in node.game.things_in(square)),
            key=lambda one: one.id,
        )

        if b % 3 == 0 or not lie:
            gevent.spawn(self._give, node.game, f"{c % 3}", f"{(c + 1) % 3}")
        else:
            self._answers["asked"] += 1
            gevent.spawn(self._stock, node.game, lie[b % len(lie)], f"{c % 3}")

    def _give(self, game: Any, giver: str, taker: str) -> None:
        with suppress(StoreUnavailable, Refused):
            game.give(giver, taker)

    def _stock(self, game: Any, thing: Thing, purse: str) -> None:
        answer = "unknown"
        try:
            answer = "taken" if game.stock(thing, purse) else "missed"
        except StoreUnavailable:
            pass
        except Refused:
            answer = "missed"
        self._answers[answer] += 1
        self._taken[thing.id, thing.version] += answer == "taken"
        self._stocked += answer == "taken"

    def check(self) -> None:
        """Raise Broken unless each thing was given once, and is somewhere or counted."""
        given = self._taken.copy()
        for client in self._harness.clients:
            given.update(client.model.found)
        if twice := [thing for thing, times in given.items() if times > 1]:
            raise Broken(f"things were given twice: {twice}")
        there = {
            item.id for item in self._store.each(self._queue) if item.id.startswith(self._begins)
        }
        self._seen |= there
        if not self._moved and there < self._seen:
            raise Broken(f"things are lost: {self._seen - there}")
        if many := [id for id in there if int(id.rpartition(":")[2]) >= PER_PLOT]:
            raise Broken(f"there are things too many: {many}")
        points = sum(n for _, n in self._points())
        unknown = self._answers["asked"] - self._answers["missed"] - self._taken.total()
        if not self._taken.total() <= points <= self._taken.total() + unknown:
            raise Broken(f"{points} points, where {self._taken.total()} things were given")
        if self._purses is not None:
            stock = [msgpack.unpackb(item.body) for item in self._store.each(self._purses)]
            has = sum(purse["apples"] for purse in stock)
            if not self._stocked <= has <= self._stocked + unknown:
                raise Broken(f"{has} in all purses, where {self._stocked} were put in")

    def wrong(self) -> set[tuple[Any, ...]]:
        """Return what screens show though it does not lie there, and what they lack. Some of it
        may be about to be told."""
        playing = [c for c in self._harness.clients if c.connection.open and c.model.held]
        return {(client, *what) for client in playing for what in self._differ(client)}

    def _points(self) -> list[tuple[str, int]]:
        return self._store.top(self._board, 10)

    def _differ(self, client: SimulatedClient) -> set[tuple[str, int, str]]:
        c0, r0, c1, r1 = client.model.held
        squares = [(c, r) for c in range(c0, c1 + 1) for r in range(r0, r1 + 1)]
        truth = {
            (item.id, msgpack.unpackb(item.body)[0], item.group)
            for item in self._store.group(self._queue, *(f"{c}:{r}" for c, r in squares))
        }
        shown = {
            (id, version, f"{c}:{r}")
            for (c, r), things in client.model.things.items()
            for _, id, version, *_ in things
            if id.startswith(self._begins)
        }
        return shown ^ truth

    def check_end(self) -> None:
        """Raise Broken unless a node that starts when all others are dead shows the same board."""
        for host in list(self._harness.hosts):
            self._harness.kill(host)
        reader = self._harness.stand("reader", (0, 0), (96, 64), self._harness.host())
        reader.send(35, "scores", [])
        self._harness.run(10)
        best = reader.model.messages["board"][-1]
        if [points for _, points, *_ in best] != [points for _, points in self._points()]:
            raise Broken(f"the board is {best}, and not {self._points()}")
