"""The steps that happen in a simulated world, and the plans made from seeds.

A step is a word and four numbers, so any part of a plan can be played. The bare game is played, or
another one that the tests of that game put in its place. This module never looks at what players
believe: tests/simulate/rule.py does.
"""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from flatlands.server.cluster.districts import COLUMNS, PLAYERS, ROWS
from flatlands.server.cluster.districts import Partition as Districts
from flatlands.server.messages.peer_protocol import HEARTBEAT_INTERVAL_MOST_MS
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.players.resident import Resident
from flatlands.server.squares import peers
from flatlands.server.squares.crowds import CROWD_FROM
from flatlands.server.squares.peers import (
    HEARTBEAT_EVERY,
    HEARTBEATS_HEARD,
    NODE_GONE_MS,
    silence_limit,
)
from flatlands.server.storage import upkeep
from flatlands.testkit.client import SimulatedClient
from flatlands.testkit.clock import Clock
from flatlands.testkit.host import Host
from flatlands.testkit.search import Step
from flatlands.testkit.store import shared_stores
from flatlands.world.track import UNIT
from tests import bare
from tests.server.harness import Harness
from tests.server.machine import Machine
from tests.simulate.ground import WRITTEN_WITHIN, Ground, Painted
from tests.simulate.letters import Letters
from tests.simulate.movers import MOVERS_RIGHT_WITHIN, Movers, with_movers
from tests.simulate.online import RIGHT_WITHIN_MS, Online
from tests.simulate.rule import Broken, check, check_ways
from tests.simulate.things import (
    MOVED_AFTER,
    PAUSE,
    PER_PLOT,
    RIGHT_WITHIN,
    TOLD_WITHIN,
    Things,
    ThingSetup,
)

#: The most nodes that a world has at a time.
NODES_MOST = 5

#: The close codes with which clients end their connections; 1006 stands for a lost connection.
CODES = (1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 1012, 1013, 3000, 4000, 4001)

#: One in how many worlds has a herd, if the game has one.
HERD_ONE_IN = 6

#: How many ms a plot counts as planted.
PLANTED_FOR = upkeep.PLANTED_FOR_MS

#: One in how many worlds without a herd has things.
THINGS_ONE_IN = 8

#: One in how many worlds is a machine, whose nodes are workers and pass players to each other.
MACHINE_ONE_IN = 4

#: ms after which players that are on their way to another worker arrive.
ARRIVES_EVERY = 2000

#: Heartbeats a second that a node hears in a world where they are rare.
RARE = 0.125

#: Tiles from the plaza within which the players of a world stay.
RANGE = 40

#: The fewest and the most steps of an episode. All faults end with the episode; quiet follows.
EPISODE = (3, 14)


#: One in how many worlds without things has ground on which players write.
CELLS_ONE_IN = 4


class Plan(NamedTuple):
    """A world: its seed, the nodes at its start, the ms by which their clocks differ (`skew`),
    whether all its ground is free, its steps, whether its nodes share a herd, whether their
    heartbeats are as rare as in a world of hundreds of nodes (`rare`), whether three players are a
    crowd (`crowds`), whether the nodes are the workers of one `machine`, whether there are
    `things`, whether players write on the ground (`cells`), and whether there are `movers`."""

    seed: int
    nodes: int
    skew: int
    free: bool
    steps: tuple[Step, ...]
    herd: bool = False
    rare: bool = False
    crowds: bool = False
    machine: bool = False
    things: bool = False
    cells: bool = False
    movers: bool = False


def _with_presence(game: type[Any]) -> type[Any]:
    """Return a game that also knows who is online."""
    return type("Game", (game,), {"presence": True, "__module__": game.__module__})


class World:
    """A world that is played: the bare one, or another game, by a class that inherits from this one
    and has what is different there. The steps in `WHAT` are its methods."""

    #: The game, and the same one where players write on the ground.
    game: type[Any] = bare.Game
    painted: type[Any] = Painted
    #: The things that lie in worlds with things.
    kind = ThingSetup(bare.Apple, lambda game: game, bare.BOARD, purses=True)
    #: Whether the game can have movers: their ids may not be those of its computer players.
    has_movers = True
    #: How many computer players there are in a world with a herd: the bare game has none.
    herd = 0

    def options(self, plan: Plan) -> Any:
        """Return the options of the game in a world."""
        return bare.Options(apples=PER_PLOT if plan.things else 0, pause=PAUSE)

    def __init__(self, plan: Plan) -> None:
        random.seed(plan.seed)
        # With five nodes, each sends one heartbeat in half a minute.
        peers.HEARTBEATS_HEARD = RARE if plan.rare else HEARTBEATS_HEARD
        clock = Clock()
        self.rare = plan.rare
        # Half of the worlds with cells do without a store.
        stores = shared_stores(clock)
        stored = plan.herd or plan.things or (plan.cells and plan.seed % 2 == 1)
        moving = plan.movers and self.has_movers
        stored = stored or (moving and plan.seed % 4 > 0)
        game = self.painted if plan.cells else self.game
        game = _with_presence(game) if plan.things else game
        game = with_movers(game) if moving else game
        self.herd = self.herd if plan.herd else 0
        self.harness: Harness = (Machine if plan.machine else Harness)(
            plan.free,
            1,
            plan.skew,
            plan.seed,
            clock=clock,
            stores=stores if stored else lambda: None,
            crowd_from=3 if plan.crowds else CROWD_FROM,
            play=game,
            options=self.options(plan),
            paced=True,
        )
        for _ in range(plan.nodes - 1):
            # The nodes' heartbeats are out of phase, as they are between machines.
            self.harness.run(self.harness.chance.randint(0, 999))
            self.harness.host()
        for host in self.harness.hosts:
            host.loop.chance = self.harness.chance
        self.harness.run(1100)
        #: The tokens that players got, in order, without those that repeat an earlier one
        #: and were merely made in another second of real time.
        self.tokens: list[str] = []
        self._said: set[str] = set()
        #: Player that a node believes to be at a stopped node, and computer player of a node
        #: that was killed -> the time of the harness until which it may still be shown.
        self.stopped: dict[int, int] = {}
        #: Player of a stopped node that another node had too -> its last seq at the stopped one.
        self.torn: dict[int, int] = {}
        self.player_ms = 0
        #: The ms of the longest episode, and when the present one began.
        self.longest, self._began = 0, clock.time
        #: Player -> all the ways (x, y, dx, dy) of the tracks that it ever had.
        self.ways: dict[int, set[tuple[int, ...]]] = {}
        self.letters = Letters(self.harness)
        self.movers = Movers(self.harness) if moving else None
        self.online = Online(self.harness, stores()) if plan.things else None
        self.ground = Ground(self.harness, stores() if stored else None) if plan.cells else None
        self.things: Things | None = None
        #: How many seconds a thing lies.
        self._lasts = self.kind.thing.lasts
        if plan.things:
            moved = plan.seed % 2 == 1
            if moved:
                self.kind.thing.lasts, upkeep.PLANTED_FOR_MS = MOVED_AFTER, MOVED_AFTER * 1000
            self.things = Things(self.harness, stores(), moved, self.kind)
        for host in self.harness.hosts:
            self._watch(host)

    def end(self) -> None:
        """Make heartbeats as frequent, and things lie as long, as they usually are."""
        peers.HEARTBEATS_HEARD = HEARTBEATS_HEARD
        self.kind.thing.lasts, upkeep.PLANTED_FOR_MS = self._lasts, PLANTED_FOR

    def _watch(self, host: Host) -> None:
        """Make a node's store answer as this world's stores do, and note its residents' tracks.

        A resident that was handed over, or left, may have stopped in the same moment.
        """
        self.letters.serve(host)
        if self.things is not None:
            self.things.serve(host)
        if self.online is not None:
            self.online.serve(host)
        if self.ground is not None:
            self.ground.serve(host)
        residents: set[Resident] = set()

        def note() -> None:
            residents.update(host.node.residents.by_id.values())
            for resident in residents:
                self.ways.setdefault(resident.id, set()).add(resident.track.numbers()[:4])

        host.loop.on_done = note

    def play(self, step: Step) -> None:
        """Let the step's wait pass, and then do the step."""
        self.run(step.wait)
        WHAT[step.what](self, step.a, step.b, step.c)
        self.harness.settle()

    def run(self, ms: int) -> None:
        """Let `ms` milliseconds pass."""
        playing = sum(client.connection.open for client in self.harness.clients)
        self.player_ms += playing * ms
        for start in range(0, ms, ARRIVES_EVERY):
            self.harness.run(min(ms - start, ARRIVES_EVERY))
            if isinstance(self.harness, Machine):
                self.harness.arrive()
        check_ways(self)
        for client in self.harness.clients:
            token = client.model.token
            if token and (said := token.partition(".")[0]) not in self._said:
                self._said.add(said)
                self.tokens.append(token)

    def heal(self) -> None:
        """End everything that has gone wrong."""
        harness = self.harness
        harness.network.heal()
        if self.things is not None:
            self.things.away.clear()
        for host in list(harness.hosts):
            if host.frozen:
                host.thaw()
            host.broker.losing = 0.0
            if host.broker.down:
                host.broker.restore(host.node)
            host.broker.restore_subscriptions(host.node)
        if isinstance(harness, Machine):
            harness.arrive()
        for client in harness.clients:
            client.silent = False
            if client.connection.stuck:
                client.connection.drain()
        harness.clients = [client for client in harness.clients if client.connection.open]
        harness.settle()
        self._keep_stopped()

    def _keep_stopped(self) -> None:
        """Allow players of stopped nodes to be shown longer: nodes with a lost link wait again."""
        until = self.harness.clock.time + NODE_GONE_MS + 2 * HEARTBEAT_EVERY
        self.stopped.update(dict.fromkeys(self.stopped, until))

    # Who and where

    def host(self, a: int) -> Host:
        return self.harness.hosts[a % len(self.harness.hosts)]

    def client(self, a: int) -> SimulatedClient | None:
        """Return a client that plays, or None if there is none."""
        playing = [
            client
            for client in self.harness.clients
            if client.connection.open and client.session.resident is not None
        ]
        return playing[a % len(playing)] if playing else None

    def token(self, a: int) -> str | None:
        """Return a token, more likely a recent one than an old one; None if there is none."""
        return self.tokens[-1 - a % min(len(self.tokens), 1 + a % 13)] if self.tokens else None

    def greet(
        self, host: Host, name: str, token: str | None, near: int | None = None
    ) -> SimulatedClient:
        """Return a new client that has sent a hello, which is not answered yet."""
        client = self.harness.client(host)
        client.say_hello(name, (40, 25), token, near)
        return client

    # What players do

    def join(self, a: int, b: int, c: int) -> None:
        friend = self.client(c)
        self.greet(self.host(a), f"P{b}", None, friend.id if friend and b % 2 else None)

    def walk(self, a: int, b: int, c: int) -> None:
        client = self.client(a)
        if client is not None:
            client.walk(b % 3 - 1, c % 3 - 1, age=b % 300)

    def go(self, a: int, b: int, c: int) -> None:
        client = self.client(a)
        if client is not None:
            client.go((b % (2 * RANGE) - RANGE) * UNIT, (c % (2 * RANGE) - RANGE) * UNIT)

    def home(self, a: int, _b: int, _c: int) -> None:
        client = self.client(a)
        if client is not None:
            client.home()

    def view(self, a: int, b: int, c: int) -> None:
        client = self.client(a)
        if client is not None:
            client.send(5, b % 99 + 1, c % 70 + 1)

    def say(self, a: int, b: int, _c: int) -> None:
        client = self.client(a)
        if client is not None:
            client.send(6, f"{b}")

    def lose(self, a: int, b: int, _c: int) -> None:
        client = self.client(a)
        if client is not None:
            client.connection.lose(CODES[b % len(CODES)])

    def come_back(self, a: int, b: int, _c: int) -> None:
        self.greet(self.host(a), "Back", self.token(b))

    def come_and_hang_up(self, a: int, b: int, c: int) -> None:
        self.greet(self.host(a), "Gone", self.token(b)).connection.lose(CODES[c % len(CODES)])

    def come_twice(self, a: int, b: int, c: int) -> None:
        """Show a token to two nodes, or twice to one node, at the same time."""
        for host in (self.host(a), self.host(c)):
            self.greet(host, "Twice", self.token(b))

    def move_on(self, a: int, b: int, c: int) -> None:
        """Let a client close its connection, and join at another node at once."""
        client = self.client(a)
        if client is not None:
            token = client.model.token
            client.connection.lose(CODES[c % len(CODES)])
            self.greet(self.host(b), "On", token)

    def fall_silent(self, a: int, _b: int, _c: int) -> None:
        client = self.client(a)
        if client is not None:
            client.silent = True

    def get_stuck(self, a: int, _b: int, _c: int) -> None:
        client = self.client(a)
        if client is not None:
            client.connection.stuck = True

    # What nodes do

    def start(self, _a: int, _b: int, _c: int) -> None:
        if len(self.harness.hosts) < NODES_MOST:
            host = self.harness.host()
            host.loop.chance = self.harness.chance
            self._watch(host)

    def kill(self, a: int, _b: int, _c: int) -> None:
        host = self.host(a)
        if len(self.harness.hosts) > 1:
            # Other nodes will adopt its computer players. Until then they stay on screens.
            herd = [id for id in host.node.residents.by_id if id < FIRST_PERSON_ID]
            self.harness.kill(host)
            self.stopped.update(dict.fromkeys(herd, 0))
            self._keep_stopped()

    def stop(self, a: int, _b: int, _c: int) -> None:
        host = self.host(a)
        if len(self.harness.hosts) > 1 and not host.frozen:
            by_id = host.node.residents.by_id
            residents = list(by_id)
            self.harness.stop(host)
            # A player may have come to it since, and another node may have missed one that left.
            known = [
                player.id
                for other in self.harness.hosts
                for heard in other.node.subscriptions.by_square.values()
                for player in heard.replica.players.values()
                if player.node == host.node.id
            ]
            self.stopped.update(dict.fromkeys([*residents, *by_id, *known], 0))
            for other in self.harness.hosts:
                both = by_id.keys() & other.node.residents.by_id.keys()
                self.torn.update({id: by_id[id].seq for id in both})
            self._keep_stopped()

    def freeze(self, a: int, _b: int, _c: int) -> None:
        self.host(a).freeze()

    def thaw(self, a: int, b: int, _c: int) -> None:
        """Let a node that stood still continue; its clock may have stood still too."""
        host = self.host(a)
        if host.frozen:
            host.thaw(suspended=b % 2 == 0)
            self._keep_stopped()

    def walker(self, a: int, b: int, _c: int) -> None:
        node = self.host(a).node
        node.residents.join(f"W{b}", node.residents.choose_spot())

    # What the workers of a machine do

    def divide(self, _a: int, _b: int, _c: int) -> None:
        """Draw lines between the districts of some workers, in any order."""
        harness, chance = self.harness, self.harness.chance
        if isinstance(harness, Machine) and (taking := harness.taking()):
            chance.shuffle(taking)
            plan: Districts = taking[0]
            for slot in taking[1 : chance.randint(1, len(taking))]:
                axis = chance.choice((COLUMNS, ROWS, PLAYERS))
                at = chance.randrange(2) if axis == PLAYERS else chance.randrange(-2, 3)
                low, high = chance.choice([(plan, slot), (slot, plan)])
                plan = (axis, at, low, high)
            harness.tell(plan)

    def look_after(self, _a: int, _b: int, _c: int) -> None:
        if isinstance(self.harness, Machine):
            self.harness.look_after()

    def lose_way(self, a: int, _b: int, _c: int) -> None:
        """Lose some players that are on their way from worker to worker."""
        if isinstance(self.harness, Machine):
            self.harness.arrive(lose=1 + a % 2)

    # What nodes send to players

    def letter(self, a: int, b: int, _c: int) -> None:
        client = self.client(b)
        if client is not None:
            self.letters.write(self.host(a), client.id)

    # What is done with movers

    def spawn(self, a: int, b: int, c: int) -> None:
        if self.movers is not None:
            self.movers.spawn(self.host(a), b, c)

    def lead(self, a: int, b: int, c: int) -> None:
        if self.movers is not None:
            self.movers.lead(self.host(a), b, c)

    def change(self, a: int, b: int, c: int) -> None:
        if self.movers is not None:
            self.movers.change(self.host(a), b, c)

    # What is done with things

    def reach(self, a: int, b: int, c: int) -> None:
        if self.things is not None:
            self.things.reach(self.host(a), b, c)

    def trade(self, a: int, b: int, c: int) -> None:
        if self.things is not None:
            self.things.trade(self.host(a), b, c)

    def store_away(self, a: int, _b: int, _c: int) -> None:
        if self.things is not None:
            self.things.away.add(self.host(a))

    def store_back(self, _a: int, _b: int, _c: int) -> None:
        if self.things is not None:
            self.things.away.clear()

    # What links do

    def down(self, a: int, _b: int, _c: int) -> None:
        self.host(a).broker.fail()

    def up(self, a: int, _b: int, _c: int) -> None:
        host = self.host(a)
        if host.broker.down and not host.frozen:
            host.broker.restore(host.node)
            self._keep_stopped()

    def all_down(self, _a: int, _b: int, _c: int) -> None:
        for host in self.harness.hosts:
            host.broker.fail()

    def all_up(self, _a: int, _b: int, _c: int) -> None:
        for n in range(len(self.harness.hosts)):
            self.up(n, 0, 0)

    def lossy(self, a: int, b: int, _c: int) -> None:
        self.host(a).broker.losing = b % 10 / 10

    def cut(self, a: int, b: int, _c: int) -> None:
        """Cut one node off from another one, which may still get its messages."""
        self.harness.network.cuts.add((self.host(a).broker, self.host(b).broker))

    def join_up(self, _a: int, _b: int, _c: int) -> None:
        self.harness.network.cuts.clear()

    def delay(self, _a: int, b: int, _c: int) -> None:
        self.harness.network.delay = b % 500

    def forget(self, a: int, b: int, _c: int) -> None:
        """Make a broker lose subscriptions of a node."""
        link = self.host(a).broker
        channels = sorted(link.channels)
        link.lose_subscriptions(set(channels[b % 2 :: 1 + b % 3]))

    def remember(self, a: int, _b: int, _c: int) -> None:
        host = self.host(a)
        if not host.frozen:
            host.broker.restore_subscriptions(host.node)

    def quiet(self, _a: int, _b: int, _c: int) -> None:
        """End all faults, and check that every screen is right within five seconds, and right
        about things once each square was read again."""
        self.heal()
        self.longest = max(self.longest, self.harness.clock.time - self._began)
        self.run(5000)
        self._began = self.harness.clock.time
        check(self)
        self.letters.check()
        # A player that walks on always comes to plots with things just planted, and writes.
        for client in self.harness.clients:
            if client.session.resident is not None and (self.things or self.ground):
                client.walk(0, 0)
        if self.ground is not None:
            self.run(WRITTEN_WITHIN)
            # If a node was killed before its first heartbeat, nobody knows how rare those are,
            # and nobody adopts what it wrote until it counts as dead.
            living = {host.node.id for host in self.harness.hosts}
            for _ in range(0, silence_limit(HEARTBEAT_INTERVAL_MOST_MS), WRITTEN_WITHIN):
                if any(host.node.peers.peers.keys() - living for host in self.harness.hosts):
                    self.run(WRITTEN_WITHIN)
            self.ground.check()
        if self.things is not None:
            lasting = self.things.wrong()
            for wait in (RIGHT_WITHIN, TOLD_WITHIN):
                self.run(wait)
                lasting &= self.things.wrong()
            if lasting:
                raise Broken(f"a screen stays wrong about things: {lasting}")
            self.things.check()
        if self.online is not None:
            self.run(RIGHT_WITHIN_MS)
            self.online.check()
        if self.movers is not None:
            # With a slow store a node often cannot be certain of its groups.
            for _ in range(5 if self.things is not None else 1):
                self.run(MOVERS_RIGHT_WITHIN)
                if not self.movers.wrong():
                    break
            self.movers.check()


#: The steps, and about how many in a hundred are of each kind.
_SHARES: dict[Callable[..., None], int] = {
    World.join: 6,
    World.walk: 14,
    World.go: 8,
    World.home: 2,
    World.view: 2,
    World.say: 1,
    World.lose: 8,
    World.come_back: 10,
    World.come_and_hang_up: 6,
    World.come_twice: 4,
    World.move_on: 6,
    World.fall_silent: 2,
    World.get_stuck: 1,
    World.start: 2,
    World.kill: 2,
    World.stop: 2,
    World.freeze: 3,
    World.thaw: 3,
    World.walker: 1,
    World.down: 3,
    World.up: 3,
    World.all_down: 1,
    World.all_up: 1,
    World.lossy: 2,
    World.cut: 3,
    World.join_up: 1,
    World.delay: 3,
    World.forget: 2,
    World.remember: 1,
}

#: The steps of the workers of a machine, and how frequent each one is.
_WORKERS = {World.divide: 6, World.look_after: 3, World.lose_way: 1}

#: What is done with things, and how frequent each step is.
_THINGS = {World.reach: 20, World.store_away: 1, World.store_back: 2}

#: What several things and records do at once. It is drawn apart, so that the rest of a world is as
#: it would be without it.
TRADES_IN = 0.4

#: One in how many worlds has movers, and how many of their steps there are for each other one. They
#: are drawn apart, too.
MOVERS_ONE_IN = 2
MOVERS_IN = 0.5

#: How many letters are written for each step. They are drawn apart, too.
LETTERS_IN = 0.15

WHAT: dict[str, Callable[..., None]] = {
    step.__name__: step
    for step in (
        *(*_SHARES, *_WORKERS, *_THINGS, World.trade, World.letter, World.quiet),
        *(World.spawn, World.lead, World.change),
    )
}


def plan(seed: int) -> Plan:
    """Return the plan of a seed: some episodes of steps, each followed by quiet."""
    drawn, apart = _drawn(seed), random.Random(f"{seed} letters")
    moving = random.Random(f"{seed} movers")
    movers = not drawn.herd and moving.randrange(MOVERS_ONE_IN) == 0
    steps: list[Step] = []
    for step in drawn.steps:
        if movers and moving.random() < MOVERS_IN:
            what = moving.choice((World.spawn, World.spawn, World.lead, World.change))
            some = (moving.randrange(10_000) for _ in range(3))
            steps.append(Step(moving.choice((0, 10, 500)), what.__name__, *some))
        if apart.random() < LETTERS_IN:
            some = (apart.randrange(10_000) for _ in range(3))
            steps.append(Step(apart.choice((0, 10, 500)), World.letter.__name__, *some))
        steps.append(step)
    return drawn._replace(steps=tuple(steps), movers=movers)


def _drawn(seed: int) -> Plan:
    """Return the plan of a seed without letters."""
    chance = random.Random(seed)
    steps: list[Step] = []
    # Each world leaves out some kinds of steps, so that worlds differ in what goes wrong most.
    shares = {step: share for step, share in _SHARES.items() if chance.random() < 0.7}
    shares = shares or dict(_SHARES)
    waits = chance.choice([(0, 100), (0, 1500), (0, 5000)])
    steps += [Step(0, "join", n, n, 0) for n in range(chance.randint(1, 5))]
    for _ in range(chance.randint(1, 4)):
        for kind in chance.choices(list(shares), list(shares.values()), k=chance.randint(*EPISODE)):
            # Often there is no wait, so the last step is not yet known everywhere.
            wait = 0 if chance.random() < 0.3 else chance.randint(*waits)
            some = (chance.randrange(10_000) for _ in range(3))
            steps.append(Step(wait, kind.__name__, *some))
        steps.append(Step(0, "quiet", 0, 0, 0))
    drawn = Plan(
        seed,
        chance.randint(1, 4),
        chance.choice([0, 0, 7000, 3_600_000]),
        chance.random() < 0.7,
        tuple(steps),
        chance.randrange(HERD_ONE_IN) == 0,
        chance.randrange(4) == 0,
        chance.randrange(3) == 0,
    )
    # This is drawn last, so that the rest of a world is as it would be without it.
    cells = random.Random(f"{seed} cells").randrange(CELLS_ONE_IN) == 0
    drawn = drawn._replace(cells=cells)
    if not chance.randrange(MACHINE_ONE_IN):
        kinds = chance.choices(list(_WORKERS), list(_WORKERS.values()), k=len(steps))
        for at in range(len(steps) - 1, 0, -1):
            if chance.random() < 0.4:
                steps.insert(at, Step(0, kinds[at].__name__, chance.randrange(10), 0, 0))
        # The workers of a machine share a clock.
        return drawn._replace(nodes=drawn.nodes + 1, skew=0, machine=True, steps=tuple(steps))
    if drawn.herd or chance.randrange(THINGS_ONE_IN):
        return drawn
    for at in range(len(steps) - 1, 0, -1):
        for kind in chance.choices(list(_THINGS), list(_THINGS.values()), k=4):
            some = (chance.randrange(10_000) for _ in range(3))
            steps.insert(at, Step(chance.choice((0, 10, 500)), kind.__name__, *some))
    apart = random.Random(f"{seed} trades")
    for at in range(len(steps) - 1, 0, -1):
        if apart.random() < TRADES_IN:
            some = (apart.randrange(10_000) for _ in range(3))
            steps.insert(at, Step(apart.choice((0, 10, 500)), World.trade.__name__, *some))
    return drawn._replace(things=True, cells=False, steps=tuple(steps))
