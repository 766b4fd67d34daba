"""The movers of a simulated world: nodes spawn them, let them go, change and take them.

Whatever goes wrong, each is taken once, no change is lost, and in a quiet world each mover of the
store is moved by one node, as it is there.
"""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from flatlands import Mover, Refused, StoreUnavailable, number
from flatlands.server.messages.peer_protocol import MOVER_GROUPS
from flatlands.server.movers.adoption import COMPARE_EVERY_MS, REMOVED_AFTER_MS
from flatlands.testkit.clock import begin
from flatlands.testkit.host import Host
from flatlands.testkit.invariants import check_movers
from tests.server.harness import Harness
from tests.simulate.rule import Broken

#: The most movers that a world has at a time, and tiles from the plaza within which they stay.
MOST = 30
RANGE = 30

#: ms within which all movers are right once all faults have ended.
MOVERS_RIGHT_WITHIN = MOVER_GROUPS * COMPARE_EVERY_MS + REMOVED_AFTER_MS + 5000


class Sheep(Mover, speed=3, reach=1.5):
    """A mover that survives its node."""

    wool = number(0, 10**6)


class Ball(Mover, speed=8, reach=1, persist=False):
    """A mover that does not."""

    kicks = number(0, 10**6)


def somewhere() -> tuple[int, int]:
    return random.randint(-RANGE, RANGE), random.randint(-RANGE, RANGE)


def with_movers(game: type[Any]) -> type[Any]:
    """Return a game that also has movers."""

    class Flock(game):  # type: ignore[misc]
        things = (*game.things, Sheep, Ball)

        def on_touch(self, me: Any, thing: Any) -> None:
            if not isinstance(thing, Mover):
                super().on_touch(me, thing)

        def on_arrive(self, mover: Mover) -> None:
            if random.random() < 0.5:
                self._lead(mover)

        def on_adopt(self, mover: Mover) -> None:
            self._lead(mover)

        def on_near(self, mover: Mover, other: Any) -> None:
            if random.random() < 0.1:
                self.stop(mover)

        def _lead(self, mover: Mover) -> None:
            free = [tile for tile in (somewhere(), somewhere()) if not self.blocked(tile)]
            if free:
                self.go(mover, free)

    return type("Game", (Flock,), {"__module__": game.__module__})


class Movers:
    """The movers of a world."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        #: How often each mover was taken; and how often it was changed, as far as anybody knows.
        self._taken: Counter[str] = Counter()
        self._changed: Counter[str] = Counter()
        #: The movers of which an answer of the store was lost.
        self._uncertain: set[str] = set()

    def spawn(self, host: Host, b: int, c: int) -> None:
        """Let a node spawn a mover."""
        game, tile = host.node.game, (b % (2 * RANGE) - RANGE, c % (2 * RANGE) - RANGE)
        there = sum(len(one.node.play.movers.hosting.hosted) for one in self._harness.hosts)
        if not host.frozen and there < MOST and not game.blocked(tile):
            kind = Ball if b % 4 == 0 else Sheep
            self._do(host, kind, lambda: game.spawn(kind(tile)))

    def lead(self, host: Host, b: int, c: int) -> None:
        """Let a node tell a mover to go on."""
        mover = self._mover(host, b)
        if mover is not None and not host.frozen:
            if c % 3:
                host.node.game._lead(mover)
            else:
                host.node.game.stop(mover)

    def change(self, host: Host, b: int, c: int) -> None:
        """Let a node change a mover that it sees, or take it."""
        mover = self._mover(host, b)
        if mover is None or host.frozen:
            return
        store, name = host.node.game.store, type(mover).fields[0].name

        def take() -> None:
            self._taken[mover.id] += store.take(mover)

        def count() -> None:
            changed = store.change(mover, lambda now: now.again(**{name: getattr(now, name) + 1}))
            self._changed[mover.id] += changed is not None

        self._do(host, type(mover), take if c % 4 == 0 else count, mover)

    def _mover(self, host: Host, b: int) -> Mover | None:
        """Return a mover that a node sees, or None if it sees none."""
        view, known = host.node.play.movers.hosting.view, host.node.subscriptions.players()
        kinds = host.node.play.movers.hosting.kinds
        some = sorted(
            (
                view(player)
                for _, _, player in known
                if player.values[:1] and player.id < 2**31 and player.values[0] in kinds
            ),
            key=lambda one: one.number,
        )
        return some[b % len(some)] if some else None

    def _do(
        self,
        host: Host,
        kind: type[Mover],
        what: Callable[[], object],
        mover: Mover | None = None,
    ) -> None:
        """Let a node do what waits for its store or, for a kind that is in none, for a node."""

        def act() -> None:
            try:
                what()
            except Refused:
                pass
            except StoreUnavailable:
                if mover is not None:
                    self._uncertain.add(mover.id)

        stored = host.node.play.movers.hosting.is_stored(kind)
        (host.spawn if stored else begin)(act)

    def wrong(self) -> str:
        """Return in what the movers of nodes and store disagree, or ""."""
        try:
            check_movers(self._harness.hosts)
        except AssertionError as error:
            return str(error)
        return ""

    def check(self) -> None:
        """Raise Broken unless movers are as they should be in a quiet world."""
        if wrong := self.wrong():
            raise Broken(wrong)
        for id, times in self._taken.items():
            if times > 1:
                raise Broken(f"{id} was taken {times} times")
        for host in self._harness.hosts:
            hosting = host.node.play.movers.hosting
            for one in map(hosting.view, hosting.residents()):
                if self._taken[one.id]:
                    raise Broken(f"{one.id} was taken, and a node moves it")
                has, times = one.version - 1, self._changed[one.id]
                # An answer may have been lost.
                certain = hosting.is_stored(type(one)) and one.id not in self._uncertain
                if has < times or (has > times and certain):
                    raise Broken(f"{one.id} was changed {times} times, and {has} are known")
