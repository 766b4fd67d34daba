"""What the bots of a process do: join, move as their scenario says, leave, and come back.

Times are in us of the run's clock.
"""

import math
import random
import socket
import traceback
from urllib.parse import urlsplit

from flatlands import wire
from flatlands.loadtest.swarm.bot import ACK_AFTER_US, Bot
from flatlands.loadtest.swarm.connection import CLOSED, PLAYING, Door, Sockets
from flatlands.loadtest.swarm.counters import Counters
from flatlands.loadtest.swarm.event_queue import EventQueue
from flatlands.loadtest.swarm.intent_times import IntentTimes
from flatlands.loadtest.swarm.lockstep import Lockstep
from flatlands.loadtest.swarm.process_options import ProcessOptions
from flatlands.loadtest.swarm.scenarios import JOIN_WITHIN, scenario
from flatlands.loadtest.swarm.slot_tables import SlotTable
from flatlands.wire import TrackReader

SECOND = 1_000_000

#: us after which a bot that has left joins again.
AWAY = SECOND // 2

#: A bot that was cut off tries again after this long, which is doubled each time. The pause is
#: drawn between half and all of that.
BACK_AFTER_US = 400_000
#: It is doubled no further.
BACK_AFTER_US_MOST = 8 * SECOND
#: After these close codes a bot never tries again.
NEVER_BACK = (1002, 1003, 1007, 1008, 1009, 4001)

#: The close code of a server that restarts.
RESTART = 1012


class Behaviour:
    """The bots of a process at play."""

    def __init__(
        self, plan: ProcessOptions, sockets: Sockets, event_queue: EventQueue, counters: Counters
    ) -> None:
        assert plan.dues is not None
        self._plan, self._event_queue = plan, event_queue
        self.sockets, self.counters = sockets, counters
        self.intent_times = IntentTimes(plan.dues, plan.bots, plan.elsewhere)
        self._track_reader = TrackReader()
        self.door = Door(
            plan.address,
            plan.name,
            wire.tls_context(plan.tls) if plan.tls else None,
            plan.path,
            plan.login,
        )
        #: The doors of other machines, by their addresses.
        self._doors: dict[str, Door | None] = {}
        self.span = self.drop = 0
        self.now = plan.now
        self._scenario = scenario(plan.scenario, plan.game)
        #: us from a bot's move to its next.
        self._pause = SECOND / plan.rate if plan.rate > 0 else 0.0
        self.bots = [self._make(index) for index in plan.indices]
        self.lockstep = Lockstep(plan, event_queue, counters)
        #: Whether bots move, and whether those that are cut off come back.
        self.moving, self._returns = False, plan.returns
        #: The bots that were cut off and are to come back.
        self.away: set[Bot] = set()
        #: The bots that have been ready once.
        self.joined: set[Bot] = set()

    def _make(self, index: int) -> Bot:
        chosen = self._scenario
        observes = chosen.lockstep or index % self._plan.sample == 0
        # Bots of each kind are spread evenly among the others.
        kind = (index * 0.6180339887498949) % 1
        viewport = self._plan.viewports[int(kind * len(self._plan.viewports))]
        bot = Bot(self, index, viewport, observes=observes, sees=chosen.see, ticket=chosen.ticket)
        bot.random.seed(f"{self._plan.seed} {index}")
        if not observes:
            bot.deaf = 0 < kind < chosen.deaf
            bot.rude = 0 < kind < chosen.rude
        return bot

    # Orders.

    def join(self, *, early: bool) -> None:
        """Make the bots that come early join, or those that come late."""
        now, late = self.now(), self._scenario.late
        bots = [bot for bot in self.bots if (bot.index % 100 >= late * 100) == early]
        pause = 1 / self._plan.joins if early or not late else JOIN_WITHIN / max(len(bots), 1)
        for turn, bot in enumerate(bots):
            self._event_queue.put(now + round(turn * pause * SECOND), self._join, bot)

    def move(self) -> None:
        """Make all bots that are ready move, and the others as soon as they are."""
        self.moving = True
        now = self.now()
        for bot in self.bots:
            if bot.state == PLAYING and bot.ready_at:
                self._begin(bot, now)

    def stop(self) -> None:
        """Make all bots stand, so that the last beliefs of observers can be compared."""
        self.moving = False
        now = self.now()
        self.lockstep.stop(now)
        for bot in self.bots:
            if bot.state == PLAYING and bot.ready_at and not bot.rude:
                bot.intend(now, now, wire.WALK, 0, 0)

    def look(self) -> None:
        """Make observers look at the ground."""
        for bot in self.bots:
            if bot.observer is not None and bot.state == PLAYING and bot.ready_at:
                bot.look()

    def close(self, code: int, share: float) -> None:
        """Make a share of the bots close their connections with a code, and come back."""
        for bot in self.bots:
            if bot.state == PLAYING and random.random() < share:
                bot.leave(code)
                self._come_back(bot)

    def end(self) -> None:
        """Make all bots leave for good."""
        self._returns = False
        for bot in self.bots:
            bot.leave()

    # Reports of the bots.

    def rules(self, side: int, speed: int, diagonal: int, drop: int) -> None:
        """Note the rules of the world: a square's side in tiles, speeds in 1/1024 tile a second,
        and the world's outer margin in 1/1024 tile."""
        self.span, self.drop = side * 1024, drop
        self._track_reader.set(side, speed, diagonal)

    def door_at(self, address: str) -> Door | None:
        """Return the door of another machine of the world, by its address; None if its host is not
        found."""
        if address not in self._doors:
            self._doors[address] = _door_at(address, self.door)
        return self._doors[address]

    def view(self) -> SlotTable:
        """Return a view that knows nothing yet."""
        return SlotTable(self._track_reader, self.intent_times, self.counters.players)

    def welcomed(self, bot: Bot) -> None:
        """Note that a bot has become a player."""
        self.counters.players[bot.id] = bot
        if bot.former and bot.former != bot.id:
            self.counters.players.pop(bot.former, None)
        self.counters.counted["joins"] += 1

    def forget(self, bot: Bot) -> None:
        """Note that a bot is no longer a player."""
        self.counters.players.pop(bot.former or bot.id, None)

    def ready(self, bot: Bot, now: int) -> None:
        """Note that a bot has got snapshots of all squares that it holds."""
        bot.tries = 0
        self.away.discard(bot)
        self.joined.add(bot)
        if bot.deaf:
            bot.hold_nothing()
            bot.read_nothing_more()
        if self._scenario.stay:
            stay = bot.random.uniform(0.5, 1.5) * self._scenario.stay * SECOND
            self._event_queue.put(now + round(stay), self._part, bot, bot.asked)
        if self.moving:
            self._begin(bot, now)

    def lost(self, bot: Bot, why: str, code: int, played: bool) -> None:
        """Note that a bot's connection has ended, and not by its own doing.

        `why` is a sentence, `code` that of a close frame or 0; `played`: it had been welcomed.
        """
        counted = self.counters.counted
        if bot.rude:
            counted["rude_closed"] += 1
            bot.begin_anew()
            self._event_queue.put(self.now() + SECOND, self._join, bot)
            return
        if bot.deaf and bot.id:
            # The server is meant to give up clients that never read.
            counted["deaf_closed"] += 1
            return
        self.counters.cuts[why] += 1
        if played or not bot.former:
            # A bot that is on its way back has been counted already.
            counted["sent_away" if code == RESTART and played else "lost"] += 1
        if self._returns and code not in NEVER_BACK:
            self._come_back(bot)
        else:
            self.away.discard(bot)

    def _come_back(self, bot: Bot) -> None:
        pause = min(BACK_AFTER_US << min(bot.tries, 8), BACK_AFTER_US_MOST)
        bot.tries += 1
        self.away.add(bot)
        self._event_queue.put(
            self.now() + round(pause * (0.5 + random.random() / 2)), self._join, bot
        )

    def ack_after(self, bot: Bot, now: int) -> None:
        """Have a bot acknowledge a flush a little later."""
        bot.ack_due = True
        if bot.flush:
            bot.ack_by = now + ACK_AFTER_US
            self._event_queue.append(self._event_queue.acks, bot.ack_by, self._acknowledge, bot)
        else:
            # All bots get their first flush at one time, and would ping at one time ever after.
            bot.ack_by = now + random.randrange(ACK_AFTER_US)
            self._event_queue.put(bot.ack_by, self._acknowledge, bot)

    # Events of the queue. A bot that comes back begins a new life: `life` is the time at which it
    # asked to join, and events of earlier lives are skipped.

    def _join(self, bot: Bot, due: int, _: object) -> None:
        if bot.state == CLOSED:
            bot.connect(self.now())

    def _acknowledge(self, bot: Bot, due: int, _: object) -> None:
        # The acknowledgement may have gone with a move, and the next one be due later.
        if bot.ack_due and bot.ack_by <= due and bot.state == PLAYING:
            bot.acknowledge(self.now())

    def _moves(self, bot: Bot, life: int) -> bool:
        return self.moving and bot.asked == life and bot.state == PLAYING

    def _part(self, bot: Bot, due: int, life: int) -> None:
        if self._moves(bot, life):
            bot.leave()
            self._event_queue.put(self.now() + AWAY, self._join, bot)

    def _begin(self, bot: Bot, now: int) -> None:
        if bot.rude:
            self._event_queue.put(now + SECOND // 2, self._offend, bot, bot.asked)
        elif self._scenario.lockstep:
            self.lockstep.begin(bot, now)
        elif self._plan.rate > 0:
            first = now + bot.random.random() * self._pause
            self._event_queue.put(round(first), self._move, bot, (bot.asked, first))

    def _move(self, bot: Bot, due: int, state: tuple[int, float]) -> None:
        life, exactly = state
        if not self._moves(bot, life):
            return
        now, bot.due = self.now(), due
        if not bot.sees or bot.me is not None:
            try:
                self._scenario.move(bot)
            except Exception as error:
                # It is the code of a game's author, or of a scenario's.
                frame = traceback.extract_tb(error.__traceback__)[-1]
                what = f"{type(error).__name__}: {error}"
                self.counters.complaints[f"{frame.filename}, line {frame.lineno}: {what}"] += 1
        self.counters.lateness.append(now - due)
        exactly += self._pause
        if bot.state == PLAYING:
            event_queue = self._event_queue
            event_queue.append(event_queue.moves, round(exactly), self._move, bot, (life, exactly))

    def _offend(self, bot: Bot, due: int, life: int) -> None:
        """Break a rule, and do it again soon."""
        if not self._moves(bot, life):
            return
        self.counters.counted["offences"] += 1
        _break_a_rule(bot)
        if bot.state == PLAYING:
            self._event_queue.put(self.now() + SECOND // 5, self._offend, bot, life)


def _break_a_rule(bot: Bot) -> None:
    """Break one of the rules, at random. Answers are not looked at here."""
    way = bot.random.randrange(7)
    if way == 0:
        bot.write(bot.random.randbytes(400))
    elif way == 1:
        bot.write(wire.client_frame(bot.random.randbytes(200)))
    elif way == 2:
        bot.write(wire.client_frame(b"text", wire.TEXT))
    elif way == 3:
        bot.write(wire.client_frame(b"\x91" * 8000))
    elif way == 4:
        bot.send(wire.GO, 1, 0, 2**60, math.pi)
    elif way == 5:
        for number in range(1, 200):
            bot.send(wire.WALK, number, 0, 1, 0)
    else:
        for _ in range(30):
            bot.send(wire.SAY, "x" * 120)


def _door_at(address: str, home: Door) -> Door | None:
    """Return the door of another machine; `home` is the one at which the swarm began."""
    parts = urlsplit(address)
    tls = (home.tls or wire.tls_context("checked")) if parts.scheme == "https" else None
    name, port = parts.hostname or "", parts.port or (443 if tls else 80)
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except OSError:
        return None
    ip = str(found[0][4][0])
    return Door((ip, port), name, tls, f"{parts.path}/ws", home.login)
