"""Fuzzers for worlds of two nodes with honest players, into which clients or nodes send anything.

Whatever is sent, nothing may raise an exception, no player may stand in water or walk too fast, and
no honest client may get what it cannot read. Time is the harness's, and the times of messages are
drawn too.
"""

import random
from collections.abc import Sequence
from struct import Struct
from typing import Any, NamedTuple

from flatlands import Mover, every
from flatlands.brokers.base import PAYLOAD_LIMIT
from flatlands.games.paint.game import Game as Paint
from flatlands.games.quiet.game import Game as Quiet
from flatlands.server.game.actions import action
from flatlands.server.game.actions import number as number_from
from flatlands.server.game.actions import text as text_from
from flatlands.server.game.cells import Cells
from flatlands.server.game.me import Guest, Me
from flatlands.server.messages import protocol, texts
from flatlands.server.messages.peer_batches import EVENTS
from flatlands.server.messages.protocol import (
    ACK,
    APPEAR,
    ASK,
    DO,
    FIRST_PERSON_ID,
    GO,
    HELLO,
    HOME,
    INVITE,
    KEY,
    PING,
    SAY,
    TICKET,
    VIEWPORT,
    WALK,
    WATCH,
    Refused,
)
from flatlands.server.messages.table import Row
from flatlands.server.players.resident import Resident
from flatlands.stores.registry import open_store
from flatlands.testkit.client import SimulatedClient
from flatlands.testkit.network import FakeLink
from flatlands.world.batches import RECORD, WIDE
from flatlands.world.events import ENTER, GONE, LEAVE, SAID
from flatlands.world.tiles import NODE_BITS
from flatlands.world.tiles import WRITE as WRITTEN
from flatlands.world.track import REACH, SPEED, UNIT
from tests.bare import Game, Options
from tests.fuzz.draw import anything, corrupted, mutated, number, packed, text
from tests.fuzz.inputs import Broken, Inputs
from tests.fuzz.readers import drawn
from tests.server.harness import Harness
from tests.simulate.movers import Ball, Sheep, somewhere

#: ms that an intent may be old when it comes, as docs/protocol.md says.
HEAD_START = 200

#: Units to which the rounding errors of some legs may add up.
ROUNDING = 64

#: How many messages are sent into one world.
MESSAGES_EACH = 60

#: ms after which everything is as if nothing had been sent. By then other nodes are silent
#: everywhere, though some may have said that their next heartbeat comes late.
CALM = 15_000

#: The close codes with which clients leave.
_CODES = (1000, 1001, 1005, 1006, 1008, 1012, 4001)


#: The address of one machine.
OWN = "http://own.example.org"

#: What a client sends after hello: entries that are listed more often are sent more often.
_SENT = (
    *(WALK, WALK, WALK, GO, GO, HOME, VIEWPORT, SAY, PING, ACK, INVITE) * 3,
    *(KEY, APPEAR, WATCH, WATCH, TICKET, *[DO] * 7, *[ASK] * 3),
)


#: The number of a kind of events that no game has.
UNKNOWN = 60


class Painter(Me):
    """A player with values that everybody sees."""

    team, word = number_from(0, 9), text_from(0, 10)


class Painting:
    """What a class that inherits from this and from a game adds to the game: ground to write on, an
    action to ask for, and values of players."""

    floor, me = Cells(), Painter

    @action(rate=5, burst=20)
    def spill(
        self, me: Painter, reach: int = number_from(0, 3), said: str = text_from(0, 20)
    ) -> None:
        """Write on the ground around a player."""
        assert 0 <= reach <= 3 and len(said) <= 20
        self.floor[[(me.tile[0] + n, me.tile[1]) for n in range(reach)]] = 7
        me.team, me.word = reach, said[:10]
        me.send("spilt", reach, said)


class Letting:
    """What lets guests into a game, in the same way."""

    def on_hello(self, guest: Guest, ticket: str) -> None:
        """Let almost all guests play, some under another name."""
        assert len(ticket) <= protocol.TICKET_LIMIT
        if ticket.startswith("x"):
            raise Refused("login", "not with that")
        if ticket:
            guest.name, guest.owner = "Guest", ticket


class Painted(Painting, Game):
    """The bare game with all that."""


class Guarded(Letting, Painted):
    """The same game, for guests who are let in."""


class Herded(Painted):
    """The bare game with movers, which go on and on."""

    things = (*Game.things, Sheep, Ball)

    @every(1, once=True, waits=True)
    def fill(self) -> None:
        """Spawn some of both kinds."""
        for kind in (Sheep, Ball):
            if len(self.store.movers(kind)) < 5 and not self.blocked(tile := somewhere()):
                self.spawn(kind(tile))

    def on_arrive(self, mover: Mover) -> None:
        """Go on to another place."""
        if not self.blocked(tile := somewhere()):
            self.go(mover, tile)

    def on_touch(self, me: Any, thing: Any) -> None:
        """Take what lies there, and kick what walks."""
        if isinstance(thing, Mover):
            name = type(thing).fields[0].name
            me.change(thing, lambda now: now.again(**{name: getattr(now, name) + 1}))
        else:
            super().on_touch(me, thing)


class Played(NamedTuple):
    """A game that is played, its options, how many times as fast as usual its players may be, and
    the action by which honest players greet others, if there is one: its only field may be 1."""

    game: type[Any]
    options: Any = None
    fastest: float = 1
    greet: str = ""


#: The games that are played.
GAMES = (
    Played(Painted, Options(apples=4), greet="wave"),
    Played(Guarded, Options(apples=4), greet="wave"),
    Played(Paint, fastest=1.5),
    Played(Quiet),
    Played(Herded, Options(apples=4), fastest=2, greet="wave"),
)


class Crowd:
    """A harness of two nodes with two honest players each, who play one of some games, that watches
    all players."""

    def __init__(self, chance: random.Random, games: Sequence[Played] = GAMES) -> None:
        self.chance = chance
        self._played = played = chance.choice(games)
        self.store = open_store("memory://", "fuzz")
        self.harness = Harness(
            free=False,
            nodes=2,
            skew=chance.choice((0, 7000)),
            seed=chance.randrange(2**32),
            stores=lambda: self.store,
            play=played.game,
            options=played.options,
            addresses=chance.choice(((), (OWN, "http://other.example.org"))),
        )
        self.harness.run(2000)
        #: Resident -> (x, y, time) of its first look since it joined or went home, and of its last.
        self._walks: dict[Resident, tuple[tuple[int, int, int], tuple[int, int, int]]] = {}
        for host in self.harness.hosts:
            self._note_homes(host.node.movement)
        self.honest: list[SimulatedClient] = []
        for n, host in enumerate(self.harness.hosts * 2):
            client = self.harness.client(host)
            client.connection.address = f"192.0.2.{n + 1}"
            self.honest.append(client.hello(f"Honest{n}"))
        #: The number of messages of each honest client that were checked.
        self._looked_at = [0] * len(self.honest)
        self.run(1000)

    def _note_homes(self, movement: Any) -> None:
        put = movement.put

        def noted(resident: Resident, *arguments: Any) -> None:
            self._walks.pop(resident, None)
            put(resident, *arguments)

        movement.put = noted

    def run(self, ms: int) -> None:
        """Let `ms` milliseconds pass, and check all players."""
        self.harness.run(ms)
        for n, client in enumerate(self.honest):
            for message in client.connection.messages[self._looked_at[n] :]:
                _check_numbers(message)
            self._looked_at[n] = len(client.connection.messages)
        for host in self.harness.hosts:
            if host.loop.stats["errors"]:
                raise Broken("a callback failed")
            now = host.loop.now()
            for resident in host.node.residents.by_id.values():
                x, y = resident.track.at(now)
                if host.node.terrain.blocked(x // UNIT, y // UNIT):
                    raise Broken(f"{resident.name} stands in what is blocked, at {x}, {y}")
                self._look_at(resident, x, y, now)

    def _look_at(self, resident: Resident, x: int, y: int, now: int) -> None:
        begun, before = self._walks.get(resident, ((x, y, now), (x, y, now)))
        # A late intent changes where a player has been, and so where it is now. Such changes do not
        # add up, neither since the beginning nor since the last look.
        for x0, y0, then in (begun, before):
            far = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
            if far > self._played.fastest * SPEED * (now - then + 2 * HEAD_START) / 1000 + ROUNDING:
                raise Broken(f"{resident.name} went {far:.0f} units within {now - then} ms")
        self._walks[resident] = begun, (x, y, now)

    def stroll(self) -> None:
        """Let one of the honest players do something."""
        client = self.chance.choice(self.honest)
        if client.connection.closed is not None or not client.model.id:
            return
        some = self.chance.randrange(10)
        if some < 6:
            client.walk(self.chance.randint(-1, 1), self.chance.randint(-1, 1))
        elif some < 8:
            client.go(*(self.chance.randint(-30, 30) * UNIT for _ in range(2)))
        elif some == 8 and self.chance.random() < 0.5:
            client.send(WATCH, self.chance.randrange(8), -(2**30), -(2**30), 2**30, 2**30)
        elif some == 8:
            greet = self._played.greet if self.chance.random() < 0.5 else ""
            client.send(*([DO, greet, [1]] if greet else [SAY, "good morning"]))
        else:
            client.send(VIEWPORT, self.chance.randint(8, 96), self.chance.randint(8, 64))

    def rest(self) -> None:
        """Stop all honest players, since a screen does not know yet what it has just come to,
        and wait until everything is known everywhere."""
        for client in self.honest:
            if client.connection.closed is None and client.model.id:
                client.walk(0, 0)
        self.run(CALM)

    def check(self) -> None:
        """Raise Broken unless all honest clients play, and believe the truth."""
        for client in self.honest:
            if client.connection.closed is not None:
                raise Broken(f"an honest client was closed with {client.connection.closed}")
            if client.model.errors:
                raise Broken(f"an honest client was refused: {client.model.errors}")
            _check_words(client)
        self.harness.clients = list(self.honest)
        self.harness.check()
        for host in self.harness.hosts:
            others = {other.node.id for other in self.harness.hosts} - {host.node.id}
            if not host.node.peers.broker_up or not others <= host.node.peers.peers.keys():
                raise Broken("the nodes do not know each other")


def _check_numbers(message: Any) -> None:
    """Raise Broken for a number that JavaScript cannot represent exactly."""
    if isinstance(message, list):
        for part in message:
            _check_numbers(part)
    elif isinstance(message, int) and not -(2**53) < message < 2**53:
        raise Broken(f"a client is told the number {message}")


def _check_words(client: SimulatedClient) -> None:
    names = [player.name for player in client.model.players.values()]
    chat = client.model.chat
    for words, limit in (
        (names + [name for name, _ in chat], texts.PLAYER_NAME_LIMIT),
        ([said for _, said in chat], texts.TEXT_LIMIT),
    ):
        for word in words:
            if not 1 <= len(word) <= limit:
                raise Broken(f"a client is told {word!r}")


# Clients that send anything


class Offender:
    """A client that sends anything, and connects again whenever it is closed."""

    def __init__(self, crowd: Crowd, inputs: Inputs, tokens: list[str]) -> None:
        self.crowd = crowd
        self.inputs = inputs
        #: The tokens and invitations of all offenders; each of them may use any.
        self.tokens = tokens
        self.client = self._connect()

    def _connect(self) -> SimulatedClient:
        chance, harness = self.crowd.chance, self.crowd.harness
        client = harness.client(chance.choice(harness.hosts))
        client.connection.address = f"198.51.100.{chance.randrange(256)}"
        return client

    def act(self) -> None:
        """Send one message, or do something to the connection."""
        chance, client = self.crowd.chance, self.client
        for shown in (client.model.token, client.model.invitation):
            if shown is not None and shown not in self.tokens:
                self.tokens.append(shown)
        if client.connection.closed is not None:
            self.crowd.harness.clients.remove(client)
            self.client = client = self._connect()
        some = chance.random()
        if some < 0.04:
            client.connection.lose(chance.choice(_CODES))
            self.crowd.harness.settle()
        elif some < 0.06:
            client.connection.stuck = True
        elif some < 0.09:
            client.connection.drain()
        elif some < 0.11:
            client.silent = not client.silent
        elif some < 0.12:
            self._send(packed(self._message()), opcode=1)
        elif some < 0.16:
            self._send(corrupted(chance, packed(self._message())))
        elif some < 0.20:
            self._send(packed(mutated(chance, self._message())))
        elif some < 0.22:
            self._send(packed(anything(chance)))
        else:
            for _ in range(chance.choice((1, 1, 1, 2, 30))):
                self._send(packed(self._message()))

    def _send(self, payload: bytes, opcode: int = 2) -> None:
        self.inputs.add(payload)
        self.client.raw(payload[: protocol.MESSAGE_LIMIT], opcode)

    def _message(self) -> list[Any]:
        """Return a message that may be obeyed, mostly with fields at the ends of their ranges."""
        chance, client = self.crowd.chance, self.client
        if not client.model.id and chance.random() < 0.1:
            return self._watch()
        if not client.model.id and chance.random() < 0.1:
            return [KEY, "k" * 16]
        if not client.model.id or chance.random() < 0.02:
            return self._hello()
        kind = chance.choice(_SENT)
        if kind == WATCH and chance.random() < 0.8:
            return self._watch()
        if kind in (DO, ASK):
            asked = [DO] if kind == DO else [ASK, chance.choice((1, 2, number(chance)))]
            return asked + self._action()
        message = [kind, *drawn(chance, protocol.CLIENT_MESSAGES[kind])]
        if kind in (WALK, GO, HOME) and chance.random() < 0.97:
            client.number += 1
            message[1] = client.number
        if kind in (WALK, GO) and chance.random() < 0.97:
            message[2] = client.now() + chance.choice(
                (0, -1, -100, -199, -200, -201, -10_000, 1, 10_000, 10**12)
            )
        if kind == WALK and chance.random() < 0.97:
            message[3:] = [chance.randint(-1, 1) for _ in range(2)]
        if kind == GO and chance.random() < 0.8:
            message[3:] = [chance.randint(-50_000, 50_000) for _ in range(2)]
        if kind == KEY and chance.random() < 0.8:
            # Another key than before ends the session.
            message[1] = chance.choice(("k" * 16,) * 9 + ("K" * 64, "0123456789-_abcde", " " * 20))
        if kind == APPEAR and chance.random() < 0.9:
            message[1] = chance.choice(("Eve", "E" * 20, text(chance)))
        if kind == PING and chance.random() < 0.97:
            message[2] = max(client.model.flush - chance.choice((0, 0, 0, 1, 9)), 0)
        if kind == ACK and chance.random() < 0.97:
            message[1] = max(client.model.flush - chance.choice((0, 0, 0, 1, 9)), 0)
        return message

    def _action(self) -> list[Any]:
        """Return the name and the fields of an action of the game, mostly of one that exists."""
        chance, actions = self.crowd.chance, self.crowd.harness.node.play.actions
        name = chance.choice([*sorted(actions), "nothing"])
        row = actions[name].row if name in actions else None
        fields = [] if row is None else drawn(chance, row)
        # Many actions are about the square of a thing.
        about = row is not None and [field.name for field in row.fields] == ["column", "row"]
        if about and self.client.model.things and chance.random() < 0.9:
            fields = list(chance.choice(sorted(self.client.model.things)))
        if name == "find" and chance.random() < 0.8:
            # Most players are around the origin.
            fields = [chance.randint(-1, 0) for _ in range(2)]
        if chance.random() < 0.1:
            name = chance.choice(("on_step", "", text(chance)))
        if chance.random() < 0.1:
            fields = chance.choice((fields[:1], fields * 9, [anything(chance)]))
        return [name, fields]

    def _watch(self) -> list[Any]:
        chance = self.crowd.chance
        ends = (chance.choice((-(2**53) + 1, -(2**28), -9, 0, 9, 2**28, 2**53 - 1)) for _ in "1234")
        return [WATCH, chance.choice((None, 0, 0, 1, 4, 31)), *ends]

    def _hello(self) -> list[Any]:
        chance = self.crowd.chance
        if chance.random() < 0.1:
            return [HELLO, *drawn(chance, protocol.CLIENT_MESSAGES[HELLO])]
        name = chance.choice(("Eve", "E" * 20, text(chance)))
        friend = self.crowd.honest[0].id
        near = chance.choice(
            (None, None, friend, number(chance) % 2**53, self._token(), text(chance))
        )
        if type(near) is str:
            near = near[: protocol.INVITATION_LIMIT]
        width, height = (chance.choice((1, 8, 40, 96, 65535)) for _ in range(2))
        place = chance.choice(((None, None), (0, 2000), (chance.randrange(-(2**41), 2**41), 0)))
        return [HELLO, protocol.VERSION, name, width, height, self._token(), near, *place]

    def _token(self) -> str | None:
        """Return a token or an invitation, a broken one, or none."""
        chance = self.crowd.chance
        if not self.tokens or chance.random() < 0.2:
            return chance.choice((None, "", "a.b.c", "\0"))
        token = chance.choice(self.tokens[-5:])
        if chance.random() < 0.25:
            return corrupted(chance, token.encode()).decode(errors="replace")[:512]
        return token


def sessions(chance: random.Random, inputs: Inputs, games: Sequence[Played] = GAMES) -> None:
    """Let some clients send anything to two nodes on which others play."""
    crowd = Crowd(chance, games)
    tokens: list[str] = []
    offenders = [Offender(crowd, inputs, tokens) for _ in range(4)]
    waits = chance.choice(((0, 1, 20), (0, 50, 300), (0, 300, 2000)))
    until = inputs.count + MESSAGES_EACH
    while inputs.count < until:
        chance.choice(offenders).act()
        if chance.random() < 0.3:
            crowd.stroll()
        if any(chance.choice(waits) for _ in range(2)):
            crowd.run(chance.choice(waits))
    crowd.run(1000)
    for client in crowd.harness.clients:
        _check_words(client)
    # Offenders that read nothing, or are still closing, cannot be compared with the truth.
    for offender in offenders:
        offender.client.connection.lose()
    crowd.harness.clients = list(crowd.honest)
    crowd.rest()
    crowd.check()
    crowd.store.close()


# Nodes that send anything


class Stranger:
    """A link that belongs to no node, and publishes on the channels of nodes and squares.

    A forger also uses the ids of real nodes and players. All that is published is believed, so a
    forger may change what is known of them; another stranger must not.
    """

    def __init__(self, crowd: Crowd, inputs: Inputs, forger: bool) -> None:
        self.crowd = crowd
        self.inputs = inputs
        self.link = FakeLink(crowd.harness.network)
        self.ids = [*range(1, 5), *range(FIRST_PERSON_ID, FIRST_PERSON_ID + 4)]
        self.nodes = [77, 78]
        self.real = [host.node.id for host in crowd.harness.hosts]
        if forger:
            self.nodes += self.real
            self.ids += [client.id for client in crowd.honest]
            for host in crowd.harness.hosts:
                self.ids += [id for id in host.node.residents.by_id if id < FIRST_PERSON_ID]

    def act(self) -> None:
        """Publish one message."""
        chance = self.crowd.chance
        parts = sorted(
            (name, part)
            for host in self.crowd.harness.hosts
            for name, part in host.node.counts.channels.items()
        )
        if parts and chance.random() < 0.2:
            self._about_a_part(*chance.choice(parts))
            return
        channels = self.crowd.harness.node.channels
        squares = sorted(
            {s for h in self.crowd.harness.hosts for s in h.node.subscriptions.by_square}
        )
        square = chance.choice(squares or [(0, 0)])
        about = chance.random() < 0.6
        message = self._about_square(square) if about else self._among_nodes()
        news = (
            channels.nodes,
            channels.node(chance.choice(self.real)),
            channels.player(chance.choice(self.ids)),
        )
        some = chance.random()
        if some < 0.2:
            message = mutated(chance, message)
        payload = packed(message)
        if some > 0.95:
            payload = corrupted(chance, payload)
        elif some > 0.93:
            payload = packed(anything(chance))
        if chance.random() < 0.03:
            about = not about
        payload = payload[:PAYLOAD_LIMIT]
        self.inputs.add(payload)
        channel = channels.square(square) if about else chance.choice(news)
        self.link.publish(channel, payload)
        self.crowd.harness.settle()

    def _about_a_part(self, channel: str, part: tuple[int, int, int, int]) -> None:
        chance = self.crowd.chance
        dots = [
            n
            for _ in range(chance.choice((0, 1, 3, 30)))
            for n in (*self._square(), self._some(0, 9), self._some(0, 9), self._some(0, 9))
        ]
        grain = self._some(0, part[0])
        message = [51, chance.choice(self.nodes), self._some(0, 1), grain, dots]
        if chance.random() < 0.1:
            message = mutated(chance, message)
        payload = packed(message)[:PAYLOAD_LIMIT]
        self.inputs.add(payload)
        self.link.publish(channel, payload)
        self.crowd.harness.settle()

    def _square(self) -> tuple[int, int]:
        far = self.crowd.chance.choice((1, 9, 2**20))
        return self._some(-far, far), self._some(-far, far)

    def _some(self, low: int, high: int) -> int:
        """Return a number that mostly makes sense."""
        chance = self.crowd.chance
        return number(chance) if chance.random() < 0.03 else chance.randint(low, high)

    def _time(self) -> int:
        chance = self.crowd.chance
        return self._some(0, 0) or self.crowd.harness.clock.time + chance.choice(
            (0, 0, 0, -1000, 1000, 7000, -3_600_000, 3_600_000)
        )

    def _about_square(self, square: tuple[int, int]) -> list[Any]:
        chance = self.crowd.chance
        node, at = chance.choice(self.nodes), list(square)
        kind = chance.choice((20, 20, 20, 20, 32, 32, 33, 43, 44, 44))
        if kind == 44:
            inhabited = chance.random() < 0.6
            return [44, *at, node, self._some(0, 30), self._time(), inhabited]
        if kind == 43:
            store = chance.choice((self.crowd.store.identity, "", "other"))
            gone = [word for _ in range(2) for word in (self._thing(), self._some(0, 9))]
            things = [self._lying() for _ in range(2)]
            return [43, *at, node, store, chance.choice(([], things)), chance.choice(([], gone))]
        if kind == 33:
            return [33, *at, node, self._some(0, 9)]
        if kind == 32:
            pages = self._some(1, 2)
            entries = [self._event(ENTER) for _ in range(chance.choice((0, 1, 3)))]
            page = chance.choice((0, 0, 1, pages))
            sent = self._some(1, 30), self._time()
            return [32, *at, node, *sent, page, pages, entries, self._writes()]
        before = self._some(0, 20)
        events = [self._event() for _ in range(chance.choice((0, 1, 2, 5)))]
        after = min(before + chance.choice((1, 1, 1, 5, 0)), 2**64 - 1)
        tracks, wide = (
            b"".join(self._record(form, most) for _ in range(chance.choice((0, 0, 1, 3))))
            for form, most in ((RECORD, 255), (WIDE, 65535))
        )
        if chance.random() < 0.03:
            tracks += bytes(chance.randrange(13))
        body: list[Any] = [tracks, events, self._some(0, 3), wide, self._writes()]
        while len(body) > 1 and not body[-1] and chance.random() < 0.9:
            del body[-1]
        return [20, *at, node, before, after, self._time(), *body]

    def _writes(self) -> list[Any]:
        chance = self.crowd.chance
        if chance.random() < 0.8:
            return []
        times = (0, self._time() << NODE_BITS, chance.randrange(2**64))
        some = [
            (chance.choice((0, 7, 255, 256, 65535)), chance.randrange(256), chance.choice(times))
            for _ in range(chance.choice((0, 1, 5)))
        ]
        packed = b"".join(WRITTEN.pack(tile, value, at & 2**64 - 1) for tile, value, at in some)
        return [self._some(0, 1), packed[chance.choice((0, 0, 0, 1)) :]]

    def _record(self, form: Struct, most: int) -> bytes:
        """Return a record of a track, mostly of a player that exists."""
        chance = self.crowd.chance
        slot = chance.choice((0, 1, 2, 3, chance.randint(0, most), most))
        low = chance.randrange(256), chance.randrange(256)
        return form.pack(slot, *low, *(chance.choice((0, 500, -32768, 32767)) for _ in range(5)))

    def _thing(self) -> str:
        """Return the id of a thing, which may exist."""
        kinds = self.crowd.harness.node.square_context.things.values()
        real = [f"{kind.make.__name__}:0:0:{n}" for kind in kinds for n in (0, 1)]
        return self.crowd.chance.choice((*real, "0:0", "a thing", "x" * 60, "x" * 61))

    def _lying(self) -> list[Any]:
        """Return a thing of a kind that the game has, or of another one."""
        chance, kinds = self.crowd.chance, self.crowd.harness.node.square_context.things
        number = chance.choice([*kinds, len(kinds)])
        own = Row("", kinds[number].row.fields[4:] if number in kinds else ())
        where = [self._some(0, 9), self._some(0, 16 * UNIT), self._some(0, 9)]
        return [number, self._thing(), *where, *drawn(chance, own)]

    def _of_game(self) -> list[int]:
        """Return the numbers of the game's own kinds of events."""
        return [
            kind for kind in self.crowd.harness.node.square_context.events if kind not in EVENTS
        ]

    def _event(self, kind: int | None = None) -> list[Any]:
        chance = self.crowd.chance
        if kind is None:
            kind = chance.choice((ENTER, ENTER, LEAVE, GONE, SAID, *self._of_game(), UNKNOWN))
        id, seq = chance.choice(self.ids), self._some(0, 9)
        if kind == SAID:
            return [SAID, id, chance.choice(("hi", "x" * 120, "x" * 121, text(chance)))]
        if kind in self._of_game():
            row = self.crowd.harness.node.square_context.events[kind].row
            return [kind, id, *drawn(chance, Row("", row.fields[1:]))]
        if kind == UNKNOWN:
            return [UNKNOWN, id, *(self._some(0, 9) for _ in range(4))]
        if kind == GONE:
            return [GONE, id, seq]
        if kind == LEAVE:
            return [LEAVE, id, seq, self._some(-2, 2), self._some(-2, 2)]
        track = [self._some(0, 3), self._some(0, 16 * UNIT), self._some(0, 16 * UNIT)]
        track += [self._some(-REACH, REACH), self._some(-REACH, REACH), self._some(-100, 5000)]
        name = chance.choice(("Ghost", "x" * 20, text(chance)))
        dimmed = chance.random() < 0.2
        state = *track, self._some(0, 9), self._some(25, 400), self._values()
        return [ENTER, id, seq, self._some(0, 9), name, dimmed, *state]

    def _values(self) -> list[Any]:
        chance = self.crowd.chance
        movers = self.crowd.harness.node.play.movers
        if movers is not None and chance.random() < 0.5:
            return [chance.choice([*movers.hosting.kinds]), self._some(1, 9), self._some(0, 9)]
        return [self._some(0, 9), chance.choice(("", "red", text(chance)))]

    def _machine(self) -> list[Any]:
        """Return what a heartbeat says of a machine."""
        chance = self.crowd.chance
        address = chance.choice(("http://a.example.org", "https://[::1]:80/x", text(chance)))
        line = chance.choice(([], [self._some(0, 2), self._some(-9, 9)]))
        return chance.choice(([], [address, self._some(0, 900), *line]))

    def _plan(self, depth: int = 3) -> Any:
        """Return a plan of machines."""
        chance = self.crowd.chance
        if not depth or chance.random() < 0.3:
            address = chance.choice(("http://a.example.org", "https://b.example.org", OWN))
            return [address] if depth == 3 else address
        sides = self._plan(depth - 1), self._plan(depth - 1)
        return [self._some(0, 2), self._some(0, 9), *sides]

    def _among_nodes(self) -> list[Any]:
        chance = self.crowd.chance
        node, id, to = chance.choice(self.nodes), chance.choice(self.ids), chance.choice(self.real)
        kind = chance.choice(
            (34, 34, 34, 35, 36, 38, 39, 40, 41, 47, 50, 52, 54, 55, 56, 57, 58, 59, 60, 61, 62)
            + (63, 64, 65, 66, 67, 68, 69)
        )
        place = [self._some(-(2**20), 2**20), self._some(-(2**20), 2**20)]
        if kind == 34:
            ring = self.crowd.harness.broker.identity
            ground = chance.choice((self.crowd.harness.node.channels.rules,) * 9 + ("1-16",))
            some = [self._time(), chance.choice((ring, ring, "other")), ground]
            load = [
                chance.random() < 0.5,
                self._some(0, 2**40),
                self._some(0, 9),
                self._some(0, 9),
                self._machine(),
            ]
            every = self._some(500, 3000)
            return [34, node, *some, chance.choice((0, 0, 0, 1, 2)), every, self._time(), *load]
        if kind == 36:
            name = chance.choice(("Ghost", "", text(chance)))
            way = chance.choice(([], [*self._square()], [self._some(0, 2**20), *place, 0, *place]))
            state = self._some(25, 400), self._some(0, 9000), self._values(), way
            walk = [self._time(), *place, 99, 0, self._time(), 1000, self._some(0, 2), 1, 0]
            state = *state, self._some(0, 9), chance.choice(([], [], walk))
            return [36, node, id, to, name, self._some(0, 2**40), *place, *state]
        if kind == 56:
            return [56, node, self._some(0, 9), self._plan()]
        if kind == 47:
            return [47, node, self._time()]
        if kind == 55:
            return [55, node, self._some(0, 5), text(chance)[:40], *self._square()]
        if kind == 54:
            found = [
                [id, text(chance)[:20], *self._square()]
                for _ in range(chance.choice((0, 1, 20, 21)))
            ]
            return [54, node, to, self._some(0, 5), found]
        if kind in (38, 41):
            return [kind, node, id, self._some(0, 2**20)]
        if kind == 40:
            name, way = chance.choice(("Ghost", text(chance))), [self._some(-9, 9)] * 2
            return [40, node, to, self._some(0, 5), name, *place, *way]
        if kind == 50:
            some = range(chance.choice((1, 2, 20)))
            parts = [(self._some(0, 32), *self._square(), self._some(1, 2**24)) for _ in some]
            return [50, node, chance.random() < 0.5, [n for part in parts for n in part]]
        if kind in (52, 57, 58, 59):
            said = [
                self._some(0, 9),
                text(chance),
                chance.choice((None, True, [1, ["a"]], 1.5, {})),
            ]
            told = [chance.choice(("storm", text(chance)[:30])), said]
            if kind == 52:
                around = chance.choice(([], [*self._square(), self._some(0, 300)], [1]))
                return [52, node, *told, around]
            for_whom = {
                57: [],
                58: ["o" * chance.choice((0, 1, 32, 65))],
                59: [id, self._some(0, 5)],
            }
            return [kind, node, *for_whom[kind], *told]
        if kind == 60:
            return [60, node, to, self._some(0, 5)]
        if kind in (61, 62):
            some = [id] * chance.choice((0, 1, 3, 1001))
            return [kind, node, *([to] if kind == 62 else []), self._some(0, 5), some]
        if kind == 63:
            return [63, node, [chance.choice((id, self._some(0, 200))) for _ in range(3)]]
        if kind == 64:
            return [64, node, self._some(0, 5), chance.choice(([], [self._some(0, 31)], [0, 31]))]
        if kind == 66:
            way = chance.choice(([], [self._some(-1, 1), self._some(-1, 1)]))
            return [66, node, id, way, chance.choice(([], place, place * 25, place * 26, [1]))]
        if kind == 67:
            seen = [id, self._some(0, 2**40), *self._square(), *place, 99, 0, self._time(), 1000]
            return [
                67,
                node,
                to,
                self._some(0, 5),
                self._time(),
                chance.choice(([], seen, seen * 2)),
            ]
        if kind == 68:
            values = chance.choice(([], self._values()))
            return [68, node, id, self._some(0, 5), self._some(0, 9), values]
        if kind == 69:
            return [69, node, to, self._some(0, 5), chance.random() < 0.5, self._values()]
        return [kind, node, id] if kind in (35, 65) else [39, node, id, self._some(0, 9)]


def _nodes(chance: random.Random, inputs: Inputs, forger: bool, games: Sequence[Played]) -> None:
    crowd = Crowd(chance, games)
    stranger = Stranger(crowd, inputs, forger)
    waits = chance.choice(((0, 1, 20), (0, 50, 300), (0, 300, 2000)))
    for _ in range(MESSAGES_EACH):
        stranger.act()
        if chance.random() < 0.2:
            crowd.stroll()
        crowd.run(chance.choice(waits))
    stranger.link.close()
    crowd.rest()
    for client in crowd.honest:
        _check_words(client)
    if not forger:
        crowd.check()
    crowd.store.close()


def strangers(chance: random.Random, inputs: Inputs, games: Sequence[Played] = GAMES) -> None:
    """Let a false node publish anything about itself and its own players."""
    _nodes(chance, inputs, False, games)


def forgers(chance: random.Random, inputs: Inputs, games: Sequence[Played] = GAMES) -> None:
    """Let a forger publish anything in the names of real nodes, and about real players."""
    _nodes(chance, inputs, True, games)


assert protocol.CLIENT_MESSAGES.keys() == {HELLO, *_SENT}
