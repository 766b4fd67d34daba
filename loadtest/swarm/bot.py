"""One bot: a WebSocket client that plays as docs/protocol.md describes.

It is called when bytes have come for it, and when one of its events is due. It never decides what
to do: loadtest/swarm/scenarios.py does, or the bot of a game, to which it looks like
`flatlands.Bot`. It follows what others do only if it `sees`, since that costs as much as all the
rest.
"""

import random
import socket
from itertools import product
from typing import Any, Protocol

import msgpack

from flatlands import wire
from flatlands.bot import BaseBot
from flatlands.loadtest.swarm.connection import (
    CLOSED,
    GREETING,
    PLAYING,
    SHAKING,
    Connection,
    Door,
    Sockets,
)
from flatlands.loadtest.swarm.counters import Counters
from flatlands.loadtest.swarm.effects import UNASKED_US
from flatlands.loadtest.swarm.intent_log import IntentLog
from flatlands.loadtest.swarm.intent_times import IntentTimes
from flatlands.loadtest.swarm.observer import Observer
from flatlands.loadtest.swarm.reader import Flush
from flatlands.loadtest.swarm.reports import LifeFacts, Look
from flatlands.loadtest.swarm.slot_tables import SlotTable
from flatlands.wire import Square

#: A flush is acknowledged after this long.
ACK_AFTER_US = 850_000
#: A flush is acknowledged sooner if so many bytes have come.
ACK_BYTES = 90_000
#: It is acknowledged by a ping if the last ping was this long ago.
PING_EVERY_US = 5_000_000
#: A quiet connection is pinged after this long.
QUIET_PING_US = 10_000_000

#: us: an acknowledgement that is due sooner goes with a move.
ACK_WITH = 500_000

#: us: a pong that takes longer shows that the server, or the way to it, was late.
SLOW = 1_000_000

#: A connection is dead after this long without a pong.
DEAD_AFTER_US = 8_000_000
#: A connection must be made within this time.
MADE_WITHIN_US = 30_000_000

#: Units of a tile.
TILE = 1024

#: The kinds of messages, besides flushes, by which bots that observe or see know the world.
WORLD = {wire.WELCOME, wire.HELD, wire.SNAPSHOT, wire.RESYNC, wire.LINK}
WORLD |= {wire.THINGS, wire.CELLS}

#: Bytes of the receive buffer of a bot that does not read. Over loopback it would be megabytes,
#: unlike that of a machine far away.
DEAF_BUFFER = 16 * 1024


class Behaviour(Protocol):
    """What a bot needs of the Behaviour of its process, which behaviour.py describes."""

    door: Door
    sockets: Sockets
    counters: Counters
    intent_times: IntentTimes
    span: int

    def now(self) -> int: ...

    def door_at(self, address: str) -> Door | None: ...

    def view(self) -> SlotTable: ...

    def rules(self, side: int, speed: int, diagonal: int, drop: int) -> None: ...

    def welcomed(self, bot: "Bot") -> None: ...

    def ready(self, bot: "Bot", now: int) -> None: ...

    def lost(self, bot: "Bot", why: str, code: int, played: bool) -> None: ...

    def forget(self, bot: "Bot") -> None: ...

    def ack_after(self, bot: "Bot", now: int) -> None: ...


class Bot(Connection, BaseBot):
    """A bot. Times are in us of the run's clock.

    Only the starts of tracks are in ms of the clock of the bot's node. `offset` is that clock minus
    the run's, in ms, as the quickest pong until now has shown it.
    """

    def __init__(
        self,
        behaviour: Behaviour,
        index: int,
        viewport: tuple[int, int],
        *,
        observes: bool,
        sees: bool = False,
        ticket: str = "",
    ) -> None:
        Connection.__init__(self, behaviour.door, behaviour.sockets)
        BaseBot.__init__(self, f"bot-{index}", ticket)
        self.behaviour, self._counters = behaviour, behaviour.counters
        self.index = index
        #: Tiles that its screen shows.
        self.viewport = viewport
        self.observer = Observer(behaviour.intent_times) if observes else None
        self.sees = sees
        #: What is known of the players in the squares that it holds.
        self.view = behaviour.view()
        #: How many reads of its socket wait to be processed.
        self.waiting = 0
        #: Three values for the scenario: where the bot began, in tiles, its heading, and how many
        #: turns it has had.
        self.home = (0.0, 0.0)
        self.heading = (1, 0)
        self.turn = 0
        #: All its choices are drawn from here; its process seeds it.
        self.random = random.Random(index)
        #: When its next move is due, and how the game lets players walk.
        self.due, self.walking = 0, "free"
        self._looked: list[Look] = []
        #: When its last action was due, if no news have come since then, or 0.
        self._acted = 0
        #: Whether it stops reading once it has joined, and whether it breaks the rules.
        self.deaf = self.rude = False
        #: Its lives that have ended.
        self.lives: list[tuple[LifeFacts, IntentLog]] = []
        self.asked = 0
        #: The id of the player that its token stands for, or 0, and how often it has tried to come
        #: back.
        self.former = self.tries = 0
        self.intent_log = IntentLog()
        #: The address to which it was asked to go, and the socket of the machine that asked.
        self._asked_to = ""
        self._last: socket.socket | None = None

    # Its connection.

    def connect(self, now: int) -> None:
        """Begin to connect: as the same player if it was cut off, otherwise as a new one."""
        self._rest = b""
        self.asked = now
        self.id = 0
        self.offset = 0.0
        self._quickest = 10_000_000
        self._welcomed = 0
        self.missing: set[tuple[int, int]] | None = None
        self.flush = 0
        #: When its last flush came, and when the last one before a resync.
        self._heard = self._missed = now
        self._unread = 0
        #: Whether a flush is to be acknowledged, and by when.
        self.ack_due, self.ack_by = False, 0
        self.pinged = now
        #: The time at which the oldest ping without a pong was sent, or 0.
        self.awaited = 0
        self.intent_log = IntentLog(self.intent_log.seq if self.former else 0)
        self.ready_at = 0
        self.held_changes = 0
        #: When it last received which squares it holds.
        self._held_at = self._acted = 0
        self._looked = []
        self._forget_all()
        self._anew: set[Square] = set()
        if self.observer is not None:
            self.observer = Observer(self.behaviour.intent_times)
        self.view = self.behaviour.view()
        self.view.bots.add(self)
        self.dial(DEAF_BUFFER if self.deaf else 0)

    def opened(self) -> None:
        """Begin the handshake of the WebSocket."""
        # A full server lets in only who may have a place there.
        path = self._door.path if self._token is None else f"{self._door.path}?back"
        self.write(wire.upgrade_request(self._door.host, path, login=self._door.login))

    def received(self, data: bytes, now: int) -> None:
        """Process bytes that were read at the time `now`; b"" is the end of the connection."""
        if not data:
            self.lose(self._why)
            return
        counters = self._counters
        counters.bytes += len(data)
        if self.state == SHAKING:
            self._shake(self._rest + data)
            return
        try:
            data, end = self._rest + data if self._rest else data, 0
            while end < len(data):
                data, end = data[end:], 0
                for part, end_of_part in counters.reader.parts(data, self.view, now):
                    end = end_of_part
                    if isinstance(part, Flush):
                        self._flushed(part, now)
                    else:
                        self._other(part, now)
                        if wire.message_kind(part) == wire.RESYNC:
                            # What follows is for another view.
                            break
                else:
                    break
            self._rest = data[end:]
        except wire.BrokenFrame as error:
            self.lose(str(error))
        if self._asked_to and self.state == PLAYING:
            self._go_over(now)

    def _go_over(self, now: int) -> None:
        """Continue at another machine; keep the connection to the last one until that is done."""
        door, self._asked_to = self.behaviour.door_at(self._asked_to), ""
        if door is None or self.deaf or self.rude:
            return
        self._counters.counted["moved"] += 1
        self._end("it went to another machine", heard=None)
        self._last, self._door = self.socket, door
        self.connect(now)

    def _let_go(self) -> None:
        """Give up the connection to the machine that it has left."""
        if self._last is not None:
            self._sockets.parting.append(self._last)
            self._last = None

    def _resync(self) -> None:
        """Forget what is known: everything is told again, perhaps by another node."""
        self._counters.resyncs += 1
        self._missed = self._heard
        self._anew = _squares(self.held)
        self.hold_nothing()
        self._forget_all()
        self.view.bots.discard(self)
        self.view = self.behaviour.view()
        self.view.bots.add(self)
        self.flush = 0

    def hears(self, flush: Flush, now: int) -> bool:
        """Note a flush at once that was all that was read at the time `now`, if that is enough.

        Returns False, and does nothing, if it takes more than that, or other bytes come first.
        """
        if self.waiting or self._rest or flush.view is not self.view:
            return False
        if self.observer is not None or self.sees:
            return False
        self._counters.bytes += flush.size
        self._flushed(flush, now)
        return True

    def _flushed(self, flush: Flush, now: int) -> None:
        self._heard = now
        flush.arrivals.append(now)
        self._counters.events += flush.events
        if self.observer is not None:
            self.observer.take(flush.message, now)
        if self.sees:
            self._expire()
            before = self.me and self.me.values
            for what, player, _more in self._apply_flush(flush.batches, flush.crowds):
                if player.id == self.id and what != "said":
                    self._note_news("event", what, now)
            if self.me is not None and self.me.values != before:
                self._note_news("values", None, now)
        self._unread += flush.size
        if self.state == PLAYING:
            if not self.ack_due:
                self.behaviour.ack_after(self, now)
            self.flush = flush.number
            if self._unread > ACK_BYTES:
                self.acknowledge(now)

    def _shake(self, data: bytes) -> None:
        if b"\r\n\r\n" not in data:
            self._rest = data
            return
        head, self._rest = data.split(b"\r\n\r\n", 1)
        status = head.split(b"\r\n", 1)[0].decode("latin-1")
        if " 101 " not in status + " ":
            self.lose(f"the server answered {status!r} to the WebSocket handshake")
            return
        self.state = GREETING
        width, height = self.viewport
        if self._ticket:
            self.send(wire.TICKET, self._ticket)
        self.send(wire.HELLO, wire.VERSION, self.name, width, height, self._token, *[None] * 3)

    def lose(self, why: str, code: int = 0) -> None:
        """Note that the connection is lost. `code` is that of the server's close frame, or 0."""
        played = self.id != 0
        if not self.rude:
            now = self.behaviour.now()
            for square in _squares(self.held):
                self._counters.wait(self.view.outstanding(square), now)
        self._end(why, heard=False)
        self._door = self.behaviour.door
        self.behaviour.lost(self, why, code, played)

    def leave(self, code: int = 1000) -> None:
        """Send a close frame and hang up. Unless `code` is 1000, it may come back as itself."""
        if self.state == CLOSED:
            return
        if self.state >= GREETING:
            self.write(wire.client_frame(code.to_bytes(2, "big"), wire.CLOSE))
        if self.state != CLOSED:
            self._end("" if code == 1000 else f"closed by the client: {code}", heard=True)
            if code == 1000:
                self.begin_anew()

    def begin_anew(self) -> None:
        """Become a new player with the next connection."""
        self.behaviour.forget(self)
        self._token, self.former = None, 0

    def _end(self, why: str, *, heard: bool | None) -> None:
        if self.id:
            facts = self.life(self.behaviour.now(), why)
            self.lives.append((facts, self.intent_log))
            self.former = self.id
        self.hold_nothing()
        self.view.bots.discard(self)
        self._let_go()
        self.hang_up(heard=heard)

    def look(self) -> None:
        """Note what lies, and what is written, on the ground that it observes, for
        square_contents.py; only the last two looks are kept."""
        if self.observer is not None:
            self._looked = [*self._looked[-1:], self.observer.ground()]

    def hold_nothing(self) -> None:
        """Hold no square any more, because it reads nothing more of them for now."""
        self.view.hold(_squares(self.held), set())
        self.held = None

    def life(self, left: int, why: str = "") -> LifeFacts:
        """Return all of its life but the log of intents. It ended at the time `left`, or goes on if
        that is 0; `why` is as in LifeFacts."""
        return {
            "index": self.index,
            "id": self.id,
            "viewport": self.viewport,
            "asked": self.asked,
            "ready": self.ready_at,
            "left": left,
            "why": why,
            "welcomed": self._welcomed,
            "former_seq": self.intent_log.former,
            "offset": self.offset,
            "honest": not self.deaf and not self.rude,
            "node": self.view.now().name,
            "held_changes": self.held_changes,
            "observed": self.observer.report() if self.observer is not None else None,
            "looked": self._looked,
        }

    # What it sends.

    def send(self, *fields: object) -> None:
        """Send one message."""
        self.write(wire.message_frame(*fields))

    def do(self, action: str, *fields: object) -> None:
        """Ask for an action."""
        self._acted = self.due
        self._counters.effects.ask(self.due, self.behaviour.now())
        super().do(action, *fields)

    def _note_news(self, what: str, name: object, now: int) -> None:
        """Note news that may have come of its action."""
        if self.ready_at:
            since = max(self.ready_at, self._held_at)
            self._counters.effects.note((what, name), self._acted, now, since)
            self._acted = 0

    def walk(self, dx: int, dy: int) -> None:
        """Walk in a direction, as far as the game lets players."""
        if self.walking == "straight" and dx:
            dy = 0
        self._move(wire.WALK, dx, dy)

    def go(self, x: float, y: float) -> None:
        """Walk to a place, in tiles, or towards it where players walk along rows and columns."""
        if self.walking == "straight":
            dx, dy = (to - at for to, at in zip((x, y), self.place(), strict=True))
            far_in_x = abs(dx) >= abs(dy)
            self.walk(*((dx > 0) - (dx < 0), 0) if far_in_x else (0, (dy > 0) - (dy < 0)))
        else:
            self._move(wire.GO, round(x * TILE), round(y * TILE))

    def _move(self, kind: int, *fields: int) -> None:
        if self.walking != "none":
            last = self.intent_log.intents[-1] if self.intent_log.intents else 0
            # The time at which a move is due identifies it: no two are due at one time.
            self.intend(max(self.due, last + 1), self.behaviour.now(), kind, *fields)
            self._counters.moves += 1

    def intend(self, due: int, now: int, kind: int, *fields: int) -> None:
        """Send an intent that was due at the time `due`.

        An acknowledgement that is due soon goes with it, as in the browser's page.
        """
        number = self.intent_log.intend(due, now)
        self.behaviour.intent_times.put(self.index, number, due)
        data = wire.message_frame(kind, number, self._node_time(due), *fields)
        if self.ack_due and self.ack_by - now < ACK_WITH:
            data += self._acknowledge(now)
        self.write(data)

    def acknowledge(self, now: int) -> None:
        """Acknowledge the last flush."""
        self.write(self._acknowledge(now))

    def ping(self, now: int) -> None:
        """Acknowledge the last flush, and ask for a pong."""
        self.write(self._ping(now))

    def _acknowledge(self, now: int) -> bytes:
        self.ack_due = False
        self._unread = 0
        # The pongs of observers show when the server was late.
        if self.observer is None and now - self.pinged < PING_EVERY_US:
            return wire.message_frame(wire.ACK, self.flush)
        return self._ping(now)

    def _ping(self, now: int) -> bytes:
        self.pinged = now
        self.awaited = self.awaited or now
        return wire.message_frame(wire.PING, now, self.flush)

    @property
    def unanswered(self) -> bool:
        """Whether its last move has not yet been answered by an event of its own."""
        return bool(self.ready_at) and not self.intent_log.answered

    def _node_time(self, now: int) -> int:
        return round(now / 1000 + self.offset)

    def now(self) -> float:
        """Return the node's time in ms, approximately."""
        return self._node_time(self.behaviour.now())

    def place(self, id: int | None = None) -> tuple[float, float]:
        """Return where it, or a player that it sees, is by what it was told: (x, y) in tiles."""
        if id not in (None, self.id):
            return super().place(id)
        x, y = self.intent_log.at(self._node_time(self.behaviour.now()))
        return x / TILE, y / TILE

    @property
    def halted(self) -> bool:
        """Whether its walk was over or blocked, by what it was last told of it."""
        return self.intent_log.position[2] == self.intent_log.position[3] == 0

    def stands(self, now: int) -> bool:
        """Return whether its last move is answered, and over."""
        return not self.unanswered and self.intent_log.over(self._node_time(now))

    # What it receives.

    def moved(self, square: Square, seq: int, ack: int, track: tuple[int, ...], now: int) -> None:
        """Note an event of its own; see IntentLog."""
        self.intent_log.moved(square, seq, ack, track, now)

    def _other(self, payload: bytes, now: int) -> None:
        first = payload[0]
        if first == wire.WS_PING:
            self.write(wire.client_frame(payload[1:], wire.WS_PONG))
            return
        if first == wire.WS_PONG:
            return
        if first == wire.CLOSE:
            code = int.from_bytes(payload[1:3], "big")
            self.lose(f"closed by the server: {code} {payload[3:].decode()}", code)
            return
        kind = wire.message_kind(payload)
        if kind == wire.HELD:
            self._note_held(wire.unpack_message(payload)[1:5])
        elif kind == wire.RESYNC:
            self._resync()
        if kind in WORLD and (self.observer is not None or self.sees):
            message = wire.unpack_message(payload)
            if self.observer is not None:
                self.observer.take(message, now)
            if self.sees:
                self._apply(message)
        if kind == wire.SNAPSHOT:
            self._counters.snapshots += 1
            unpacker = msgpack.Unpacker()
            unpacker.feed(payload)
            unpacker.read_array_header()
            unpacker.skip()
            square = unpacker.unpack(), unpacker.unpack()
            missed = self._missed if square in self._anew else None
            self._counters.wait(self.view.snapshot(square, payload, now, missed), now)
            self._anew.discard(square)
            if self.missing:
                self.missing.discard(square)
                self._check_ready(now)
        elif kind == wire.PONG:
            _, then, node_now = msgpack.unpackb(payload)[:3]
            self._pong(then, node_now, now)
        elif kind == wire.MOVED:
            self._asked_to = msgpack.unpackb(payload)[1]
        elif kind == wire.TOKEN:
            self._token = msgpack.unpackb(payload)[1]
        elif kind == wire.WELCOME:
            self._welcome(msgpack.unpackb(payload), now)
        elif kind == wire.MESSAGE:
            self._note_news("message", msgpack.unpackb(payload)[1], now)
        elif kind in (wire.THINGS, wire.CELLS):
            # What comes before is what lies in squares that it has come to hold.
            if now - self._held_at > UNASKED_US:
                self._note_news("ground", kind, now)
        elif kind == wire.ERROR:
            code, sentence = msgpack.unpackb(payload)[1:3]
            self._note_news("error", None, now)
            if code == "full" and self._last is not None:
                # It comes back to the machine that asked it to go.
                self._counters.counted["no_seat"] += 1
            else:
                self._counters.refused(self.rude, self.sees, code, sentence)

    def _welcome(self, fields: list[Any], now: int) -> None:
        _, _, _, node_now, _, x, y, side, speed, diagonal, _, drop = fields[:12]
        self._begin(fields)
        self.walking = next((name for what, _, name, _ in fields[15] if what == "walking"), "free")
        self.state = PLAYING
        self.offset = node_now - now / 1000
        self.behaviour.rules(side, speed, diagonal, drop)
        self.behaviour.intent_times.name(self.index, self.id)
        self.intent_log.position = x, y, 0, 0, node_now, 0
        self._welcomed = now
        if self.former == self.id and not self.intent_log.timeline:
            # A player that comes back before it is removed stands where it stood, without an event.
            span = self.behaviour.span
            self.intent_log.go_on((x // span, y // span), now)
        if self.former != self.id:
            self.home = x / TILE, y / TILE
            self.intent_log.former = 0
        self.behaviour.welcomed(self)
        self._let_go()
        self.ping(now)

    def _pong(self, then: int, node_now: int, now: int) -> None:
        if now - then < self._quickest:
            self._quickest = now - then
            self.offset = node_now - (then + now) / 2000
        self.awaited = 0 if then >= self.pinged else self.pinged
        if now - then > SLOW:
            self._counters.slow.append((then, now))

    def _note_held(self, rect: tuple[int, int, int, int]) -> None:
        self._held_at = self.behaviour.now()
        if self.held is not None and rect != self.held:
            self.held_changes += 1
        self.view.hold(_squares(self.held), _squares(rect))
        self.held = rect
        if self.missing is None:
            self.missing = _squares(rect)

    def _check_ready(self, now: int) -> None:
        if not self.missing and not self.ready_at:
            self.ready_at = now
            self.behaviour.ready(self, now)


def _squares(rect: tuple[int, int, int, int] | None) -> set[Square]:
    """Return the squares of a rectangle c0, r0 to c1, r1; None has none."""
    if rect is None:
        return set()
    c0, r0, c1, r1 = rect
    return set(product(range(c0, c1 + 1), range(r0, r1 + 1)))
