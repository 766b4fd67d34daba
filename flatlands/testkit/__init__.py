"""A kit to test games: worlds of one or more nodes, on a clock that only the test moves.

All of the server is real except sockets, links and clock: a minute takes a moment, and a test can
cut a link or kill a node. It needs no browser, no broker and no free port.
"""

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from greenlet import getcurrent

from flatlands import wire
from flatlands.bot import BaseBot, Thing
from flatlands.bot import Player as Seen
from flatlands.server.game import loader
from flatlands.server.game.actions import Action
from flatlands.server.game.game import AnyGame, store_name
from flatlands.server.storage.kinds import Mover, middle_of
from flatlands.stores.base import Store
from flatlands.testkit import blocking
from flatlands.testkit.client import SimulatedClient
from flatlands.testkit.clock import Clock, HookGreenlet
from flatlands.testkit.harness import Harness
from flatlands.testkit.host import Host
from flatlands.testkit.invariants import Taken, check_counts, check_movers, wrong_screens
from flatlands.testkit.store import SimulatedStore, shared_stores
from flatlands.world.track import Tile, tile_at

log = logging.getLogger("flatlands")

#: The time after which all nodes of a new world are ready.
START_SECONDS = 1.5

#: Milliseconds of a second.
SECOND = 1000

#: Seconds after which a screen that is still wrong about the same thing is wrong for ever.
LASTS = 2


class Player(BaseBot):
    """A player in a World: it walks, speaks and does what the game lets players do, and has what
    its screen gets, as `flatlands.Bot` does.

    `events` has all that happened in its view, as `Bot.events` yields it: (what, player, more).
    """

    def __init__(self, world: "World", name: str, ticket: str) -> None:
        super().__init__(name, ticket)
        self.events: list[tuple[str, Seen, Any]] = []
        self._world, self._read = world, 0
        self._client: SimulatedClient

    def _join(self, client: SimulatedClient, size: tuple[int, int]) -> None:
        self._forget_all()
        self._client, self._read = client, 0
        self._greet(*size)

    def _receive(self) -> None:
        """Apply the messages that have come since the last call."""
        messages = self._client.connection.messages
        while self._read < len(messages):
            message = messages[self._read]
            self._read += 1
            if message[0] == wire.WELCOME:
                self._begin(message)
            else:
                self.events += self._take(message)

    def send(self, *message: object) -> None:
        """Send any message of section 2 of docs/protocol.md."""
        self._world._alive(self.node)
        with self._world._moving():
            self._client.send(*message)

    def now(self) -> float:
        """Return node time in ms."""
        return self._client.now()

    @property
    def node(self) -> int:
        """The node at which it plays, by its number."""
        return self._world._hosts.index(self._client.host)

    @property
    def tile(self) -> Tile:
        """Where it is, as its node has it. Raises KeyError if it does not play, and ValueError if
        its node is dead."""
        self._world._alive(self.node)
        host = self._client.host
        return tile_at(host.node.residents.by_id[self.id].track, host.loop.now())

    @property
    def playing(self) -> bool:
        """Whether it plays: it has joined, has not left, and has not lost its connection."""
        client = self._client
        return client in self._world._harness.clients and client.session.resident is not None

    @property
    def lost(self) -> bool:
        """Whether it has lost its connection, so that it may come `back`."""
        code, _ = self._client.connection.closed or (1006, "")
        return not self.playing and code in (1006, 1012)

    @property
    def refused(self) -> str:
        """Why it was sent away: a sentence, or "" if it plays or has lost its connection."""
        code, why = self._client.connection.closed or (0, "")
        return why if code in (1008, 4001) else ""

    def message(self, name: str) -> Any:
        """Return the fields of the game's last message to it with a name, or None."""
        found = [more[1] for what, _, more in self.events if what == "message" and more[0] == name]
        return found[-1] if found else None

    def tiles(self, name: str) -> dict[Tile, int]:
        """Return the values above 0 of a layer of cells, by tile, as far as it sees. Raises
        ValueError if the game has no such layer."""
        self._check_name("cells", name, "layer of cells")
        return {
            (column, row): value
            for c0, r0 in {(c, r) for _, c, r in self._cells}
            for column in range(c0 * self.side, (c0 + 1) * self.side)
            for row in range(r0 * self.side, (r0 + 1) * self.side)
            if (value := super(Player, self).cell(name, column, row))
        }

    def errors(self) -> list[str]:
        """Return the sentences of all refusals so far."""
        return [more[1] for what, _, more in self.events if what == "error"]

    def _shown(self) -> Iterator[tuple[str, object]]:
        """Yield the things in each square that it holds, and the value of each tile, by the model,
        each after words that say where."""
        model = self._client.model
        c0, r0, c1, r1 = model.held or (0, 0, -1, -1)
        layers = {n: name for (what, n), (name, _) in self._kinds.items() if what == "cells"}
        for square in ((c, r) for c in range(c0, c1 + 1) for r in range(r0, r1 + 1)):
            yield (
                f"square {square}",
                sorted(
                    [self._kinds["thing", kind][0], id, *fields]
                    for kind, id, _version, *fields in model.things.get(square, [])
                ),
            )
            for n, name in layers.items():
                for at, value in enumerate(model.cells.get((*square, n), bytes(self.side**2))):
                    tile = (
                        square[0] * self.side + at % self.side,
                        square[1] * self.side + at // self.side,
                    )
                    yield f"tile {tile} of {name}", value

    def things(self, type: str = "") -> list[Thing]:
        """Return the things in view: all, or those of a kind. Raises ValueError if the game has no
        such kind."""
        self._check_name("thing", type or None, "kind of things")
        return super().things(type)

    def cell(self, name: str, column: int, row: int) -> int:
        """Return the value of a tile in a layer of cells: 0 if nobody has written there. Raises
        ValueError if the game has no such layer."""
        self._check_name("cells", name, "layer of cells")
        return super().cell(name, column, row)

    def _check_name(self, what: str, name: str | None, called: str) -> None:
        known = [its for (kind, _), (its, _) in self._kinds.items() if kind == what]
        if name is not None and name not in known:
            raise ValueError(f"the game has no {called} {name!r}: there are {', '.join(known)}")

    def leave(self) -> None:
        """Leave for good."""
        with self._world._moving():
            self._client.connection.lose(1000)

    def lose(self) -> None:
        """Lose the connection, without a word."""
        with self._world._moving():
            self._client.connection.lose()

    def back(self, node: int = 0, size: tuple[int, int] = (40, 25)) -> None:
        """Come back to a node after a lost connection, with the token that it has."""
        self._join(self._world._client(node), size)


class World:
    """A world in which a `game` is played: its class, the name of a shipped one, or the path of a
    folder or file. It has this many `nodes`, numbered from 0 on, each with a clock that is `skew`
    seconds ahead of the one before. They share a store, unless `store` is false, as it is in some
    worlds of `flatlands simulate`: `has_store` says so, and `players` are all who have ever joined.
    `options` are those of the game, as the server makes them. The same `seed` makes links and
    `random` behave the same, and so `somewhere`. Raises loader.InvalidGame if there is no such
    game, or if it does not load.

    Whatever a method of the game raises, where a server would only log it, is raised by the call
    during which it happens: `run`, `join`, or what a player does. So is a RuntimeError if the
    method waits where it must not.
    """

    def __init__(
        self,
        game: type[AnyGame] | str | Path,
        nodes: int = 1,
        *,
        skew: float = 0,
        store: bool = True,
        seed: int = 1,
        options: object = None,
    ) -> None:
        if isinstance(game, type):
            kind = game
        else:
            kind, declared = loader.kind_of(str(game)), loader.attribute_of(str(game), "Options")
            options = declared() if options is None and declared is not None else options
        random.seed(seed)
        clock = Clock()
        stores: Callable[[], Store | None] = shared_stores(clock) if store else lambda: None
        self._harness = Harness(
            kind,
            options,
            free=False,
            nodes=nodes,
            skew=round(skew * SECOND),
            seed=seed,
            stores=stores,
            clock=clock,
        )
        #: Whether the store answers nobody.
        self._away = False
        #: Whether something is happening now.
        self._moves = False
        self._taken = Taken()
        #: How often each hook was called at all nodes, by its name; those of parts are named
        #: "part.name".
        self.hook_calls = Counter[str]()
        self._hosts = list(self._harness.hosts)
        for host in self._hosts:
            self._guard(host)
        #: Whether it has a store, and all who have ever joined.
        self.has_store = store
        self.players: list[Player] = []
        self.run(START_SECONDS)

    def join(
        self,
        name: str,
        node: int = 0,
        *,
        at: Tile | None = None,
        size: tuple[int, int] = (40, 25),
        ticket: str = "",
        person: Player | None = None,
    ) -> Player:
        """Let somebody play at a node, from the tile `at` or from where the game lets newcomers
        begin, with a screen of `size` tiles; `person` is another player of the same person, as in
        another window of one browser. Raises ValueError if nobody can stand there."""
        player, here = Player(self, name, ticket), self._alive(node).node
        if person is not None:
            player._key = person._key
        begin = here.play.start_place_hook
        if at is not None and here.terrain.blocked(*at):
            raise ValueError(f"nobody can stand on {at!r}")
        if at is not None:
            here.play.start_place_hook = partial(middle_of, at)
        try:
            client = self._client(node)
            self.players.append(player)
            player._join(client, size)
        finally:
            here.play.start_place_hook = begin
        return player

    def game(self, node: int = 0) -> Any:
        """Return the object that a node plays."""
        return self._alive(node).node.game

    def movers(self, type: str = "") -> list[Mover]:
        """Return all movers of the world, or those of a kind, as the nodes that move them have
        them, by their numbers."""
        found = [
            play.movers.hosting.view(resident)
            for host in self._harness.hosts
            if (play := host.node.play).movers is not None
            for resident in play.movers.hosting.residents()
        ]
        some = [one for one in found if type in ("", one.__class__.__name__)]
        return sorted(some, key=lambda one: one.number)

    @property
    def actions(self) -> Mapping[str, Action]:
        """What players may do, by name."""
        return self._hosts[0].node.play.actions

    def run(self, seconds: float) -> None:
        """Let this many seconds pass."""
        with self._moving():
            self._harness.run(round(seconds * SECOND))

    # What may go wrong.

    def cut(self, one: int, other: int) -> None:
        """Cut the link between two nodes: neither receives anything of the other."""
        links = self._alive(one).broker, self._alive(other).broker
        self._harness.network.cuts |= {links, links[::-1]}

    def delay(self, seconds: float) -> None:
        """Let what a node publishes take up to this many seconds to reach others, and what a hook
        asks of the store as long to reach it, and to be answered."""
        self._harness.network.delay = round(seconds * SECOND)

    def lose_store(self) -> None:
        """Let the store answer nobody from now on, as if it could not be reached."""
        self._away = True
        self._reach_store()

    def heal(self) -> None:
        """End all cuts and delays, and let the store answer."""
        self._harness.network.heal()
        self._away = False
        self._reach_store()

    def kill(self, node: int) -> None:
        """Let a node die as by kill -9: its players lose their connections, and may come `back`."""
        self._harness.kill(self._alive(node))

    def stop(self, node: int) -> None:
        """Stop a node as a server stops at SIGTERM."""
        with self._moving():
            self._harness.stop(self._alive(node))

    def start(self) -> int:
        """Start another node; return its number."""
        self._hosts.append(self._harness.host())
        self._guard(self._hosts[-1])
        self._reach_store()
        self.run(START_SECONDS)
        return len(self._hosts) - 1

    def _reach_store(self) -> None:
        for host in self._hosts:
            if isinstance(store := host.node.store_client.store, SimulatedStore):
                store.away = self._away

    # What must hold.

    def check(self) -> None:
        """Raise AssertionError unless what must hold in every quiet world holds: each screen shows
        the players and movers that it should, all screens show the same things and cells, each
        mover of the store is moved by one node, the store's counts of cells are those of its cells,
        and boards have the points that were given. Whenever
        somebody takes something, it is checked that nobody has taken it before.

        A world is quiet some seconds after the last step: `run(5)`, and after a cut `run(60)`. What
        else must hold in a game is in its tests/rules.py, which `flatlands simulate` checks too:

            def check(world):
                for player in world.players:
                    assert not player.playing or player.me.values["coins"] <= 9
        """
        assert any(player.playing for player in self.players), "nobody plays"
        if wrong := self._wrong():
            # What happened last may still be under way to some screens.
            self.run(LASTS)
            lasts = [f"{what}{more}" for what, more in self._wrong().items() if what in wrong]
            assert not lasts, "; ".join(lasts)
        check_movers(self._harness.hosts)
        node = self._harness.hosts[0].node
        for layer in node.play.layers:
            check_counts(layer)
        self._taken.check(node.store_client.store)

    def _wrong(self) -> dict[str, str]:
        """Return, in words, what screens show wrongly now -> what they should show."""
        playing = [player for player in self.players if player.playing]
        screens = [(player.name, player._client, player._shown()) for player in playing]
        return wrong_screens(screens, self._harness.hosts)

    def _alive(self, node: int) -> Host:
        host = self._hosts[node]
        if host not in self._harness.hosts:
            raise ValueError(f"node {node} is dead")
        return host

    def _client(self, node: int) -> SimulatedClient:
        return self._harness.client(self._alive(node))

    @contextmanager
    def _moving(self) -> Iterator[None]:
        """Let something happen, and all that takes no time; raise what has failed."""
        if self._moves:
            yield
            return
        raised, self._moves = _Raised(), True
        log.addHandler(raised)
        here = getcurrent()
        blocking.turning.add(here)
        try:
            yield
            self._harness.settle()
            for player in self.players:
                player._receive()
        finally:
            self._moves = False
            blocking.turning.discard(here)
            log.removeHandler(raised)
        if raised.errors:
            raise raised.errors[0]

    def _counted(self, name: str, call: Callable[..., object]) -> Callable[..., object]:
        """Return what calls a hook, and counts that."""
        self.hook_calls[name] += 0

        def run(*arguments: object) -> object:
            self.hook_calls[name] += 1
            return call(*arguments)

        return run

    def _guard(self, host: Host) -> None:
        """Make waiting at a node fail wherever a server forbids it, and take its time elsewhere;
        and count the calls of its hooks."""
        play, wait = host.node.play, host.node.store_client.wait
        for part, hook in play.hooks:
            own = part == store_name(type(play.game))
            hook.wrap(partial(self._counted, hook.name if own else f"{part}.{hook.name}"))

        def waits(operation: Callable[[Store], object]) -> Any:
            if not isinstance(getcurrent(), HookGreenlet):
                if self._moves:
                    raise RuntimeError("a callback of the event loop may not wait for the store")
                return wait(operation)
            self._pause(host)
            answer = wait(operation)
            self._pause(host)
            return answer

        if isinstance(store := host.node.store_client.store, SimulatedStore):
            store.on_taken = self._taken.note
            store.on_scored = self._taken.count
        host.node.store_client.wait = waits  # type: ignore[method-assign]

    def _pause(self, host: Host) -> None:
        """Let a hook at a node wait for as long as a message on its way to the store takes."""
        network, result = self._harness.network, host.loop.result()
        if network.delay:
            after = host.loop.timer(partial(result.set, None))
            after.set(host.loop.now() + network.chance.randint(0, network.delay))
            result.get()


class _Raised(logging.Handler):
    """Keeps the exceptions that are logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep an exception."""
        if record.exc_info and record.exc_info[1] is not None:
            self.errors.append(record.exc_info[1])
