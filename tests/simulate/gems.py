"""The gems of a simulated world: nodes take and plant them, while stores are slow or do not answer.

Whatever goes wrong, a gem is given once and is always somewhere, and in a quiet world each screen
shows those that lie there.
"""

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgpack

from flatlands.games.flatlands.gems.board import BOARD
from flatlands.games.flatlands.gems.garden import GROW_EVERY, QUEUE, Rules
from flatlands.server.agenda import Agenda
from flatlands.server.kept.keeper import FAILS_FOR
from flatlands.server.kept.reader import AFTER_FAILURE, AGAIN
from flatlands.server.messages.protocol import Refused
from flatlands.stores.base import Store, StoreError
from flatlands.world.track import Track
from tests.server.harness import Client, Harness, Host
from tests.simulate.rule import Broken

#: Gems of each cell, and that one which was taken lies somewhere else after some 20 s.
RULES = Rules(per_cell=3, pause=20_000)

#: ms after which gems are moved that nobody takes, in worlds where they are.
MOVED_AFTER = 150_000

#: The longest that a question waits, or its answer, in ms.
SLOW = 3000

#: ms within which all screens are right once nothing goes wrong any more.
RIGHT_WITHIN = AGAIN + AFTER_FAILURE + FAILS_FOR + GROW_EVERY + 4 * SLOW


#: ms until all screens know of a gem that was just moved: what was wrong about it before may have
#: been another fault, that is long over.
TOLD_WITHIN = GROW_EVERY + 4 * SLOW


class Gems:
    """See the module. `store` is one more that opens what the nodes share; `moved`: gems that
    nobody takes are moved."""

    def __init__(self, harness: Harness, store: Store, moved: bool) -> None:
        self._harness, self._store, self._moved = harness, store, moved
        self._ground = f"{QUEUE} 2013-16"
        #: Nodes whose store does not answer.
        self.away: set[Host] = set()
        #: How often each gem was given, and what became of all that were asked for.
        self._taken: Counter[tuple[str, int]] = Counter()
        self._answers: Counter[str] = Counter()

    def serve(self, host: Host) -> None:
        """Let each question of a node wait from now on, and then its answer."""
        waiting = Agenda(host.loop, lambda do, _due: do())  # type: ignore[arg-type]

        def wait(do: Callable[[], None]) -> None:
            ms = self._harness.chance.choice((0, 0, 10, 200, SLOW))
            waiting.put(do, host.loop.now() + ms)

        def spawn(ask: Any, store: Store, question: Any, answered: Any, failed: Any) -> None:
            def later() -> None:
                result: Any = None
                error = StoreError("it is away") if host in self.away else None
                try:
                    # A question that is not answered may have taken effect.
                    if error is None or self._harness.chance.random() < 0.5:
                        result = question(store)
                except StoreError as failure:
                    error = error or failure

                def answer(_store: Store) -> Any:
                    if error is not None:
                        raise error
                    return result

                wait(lambda: ask(store, answer, answered, failed))

            wait(later)

        host.spawn = spawn

    def reach(self, host: Host, b: int, c: int) -> None:
        """Let a player of a node reach for a gem that the node knows."""
        node = host.node
        known = [
            (square, thing)
            for square, heard in sorted(node.replicas.squares.items())
            for thing in heard.things.all()
        ]
        if not known or host.frozen:
            return
        (column, row), thing = known[b % len(known)]
        x, y = thing.x + column * node.grid.span, thing.y + row * node.grid.span
        player = SimpleNamespace(track=Track(x, y, 0, 0, 0, 0), id=1, name="Wren")

        def has(version: int) -> None:
            self._taken[thing.id, version] += 1

        def refused(why: Refused) -> None:
            self._answers[why.code] += 1

        self._answers["asked"] += 1
        try:
            owner = node.game.board.owner(f"key {c % 3}")
            node.game.garden.take((column, row), thing.id, player, owner, has, refused)  # type: ignore[arg-type]
        except Refused as why:
            refused(why)

    def check(self) -> None:
        """Raise Broken unless each gem was given once, and is somewhere or counted."""
        if twice := [gem for gem, times in self._taken.items() if times > 1]:
            raise Broken(f"gems were given twice: {twice}")
        if not self._moved and self._store.count(self._ground) % RULES.per_cell:
            raise Broken("a gem is lost, or there is one too many")
        points = sum(n for _, n in self._points())
        unknown = self._answers["asked"] - self._answers["missed"] - self._taken.total()
        if not self._taken.total() <= points <= self._taken.total() + unknown:
            raise Broken(f"{points} points, where {self._taken.total()} gems were given")

    def wrong(self) -> set[tuple[Any, ...]]:
        """Return what screens show that does not lie there, and what they do not show. Some of it
        may be about to be told."""
        playing = [c for c in self._harness.clients if c.connection.open and c.model.held]
        return {(client, *what) for client in playing for what in self._differ(client)}

    def _points(self) -> list[tuple[str, int]]:
        return self._store.top(BOARD, 10)

    def _differ(self, client: Client) -> set[tuple[str, int, str]]:
        c0, r0, c1, r1 = client.model.held
        squares = [(c, r) for c in range(c0, c1 + 1) for r in range(r0, r1 + 1)]
        truth = {
            (item.id, msgpack.unpackb(item.body)[0], item.group)
            for item in self._store.group(self._ground, *(f"{c}:{r}" for c, r in squares))
        }
        shown = {
            (id, version, f"{c}:{r}")
            for (c, r), things in client.model.things.items()
            for _, id, version, *_ in things
        }
        return shown ^ truth

    def check_end(self) -> None:
        """Raise Broken unless a node that starts when all others are dead shows the same board."""
        for host in list(self._harness.hosts):
            self._harness.kill(host)
        reader = self._harness.stand("reader", (0, 0), (96, 64), self._harness.host())
        reader.send(11)
        if [n for _, n, _ in reader.model.board[3]] != [n for _, n in self._points()]:
            raise Broken(f"the board is {reader.model.board}, and not {self._points()}")
