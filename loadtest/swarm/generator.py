"""One process of the swarm: an event loop over its bots' sockets, and their agenda.

Open loop: a move is sent when it is due, however late the server answers, and its latency counts
from that moment. What the process cannot do in time it tells (`late`), for a generator that lags
measures itself.
"""

import gc
import heapq
import os
import random
import select
import time
from collections import Counter, deque
from dataclasses import dataclass, replace
from socket import AF_INET, AF_INET6, socket
from typing import Any

import numpy as np

from loadtest.kit.histogram import Histogram
from loadtest.kit.processes import raise_descriptor_limit
from loadtest.kit.signals import leave_to_parent
from loadtest.swarm import wire
from loadtest.swarm.bot import (
    CLOSED,
    CONNECTING,
    DEAD_AFTER,
    MADE_WITHIN,
    PING_AFTER,
    PING_ANYWAY,
    PLAYING,
    SECURING,
    Bot,
)
from loadtest.swarm.lockstep import Lockstep
from loadtest.swarm.rude import offend
from loadtest.swarm.scenarios import JOIN_WITHIN, SCENARIOS

SECOND = 1_000_000

#: Between two looks at everything, in us.
HOUSEKEEPING = SECOND // 2

#: Sockets that are read before it is looked whether a move is due.
AT_ONCE = 64

#: A bot that leaves comes again after so many us.
AWAY = SECOND // 2

#: A bot that was cut off tries again after so many us, twice as many each time up to the latter,
#: half of it at random; not after these close codes.
BACK_AFTER, BACK_AFTER_MOST = 400_000, 8 * SECOND
NEVER_BACK = (1002, 1003, 1007, 1008, 1009, 4001)

#: The server restarts, says this close code.
RESTART = 1012


@dataclass(frozen=True)
class Plan:
    """What a process of the swarm is told. `address` is a number and a port, `name` what the server
    calls itself; `tls` is "", "checked" or "unchecked". `epoch` is the monotonic clock, in us, at
    which the run's clock shows 0; `indices` are its bots; `sample` of all bots one in so many
    observes; `returns` says that who is cut off comes back."""

    address: tuple[str, int]
    name: str
    tls: str
    path: str
    scenario: str
    rate: float
    viewport: tuple[int, int]
    indices: range
    sample: int
    joins: float
    epoch: int
    cpus: tuple[int, ...]
    returns: bool


def main(pipe: Any, plan: Plan) -> None:
    """Run one process of the swarm, as its pipe's other end says, to the end."""
    leave_to_parent()
    raise_descriptor_limit()
    if plan.cpus:
        os.sched_setaffinity(0, plan.cpus)
    generator = Generator(pipe, plan)
    try:
        generator.run()
    except (ConnectionError, EOFError):
        # Who ordered the run is gone: nobody wants the rest.
        pass


class Generator:
    """See the module. Times are us of the run's clock."""

    def __init__(self, pipe: Any, plan: Plan) -> None:
        self.plan = plan
        self.address, self.path, self.viewport = plan.address, plan.path, plan.viewport
        self.family = AF_INET6 if ":" in plan.address[0] else AF_INET
        self.tls = wire.tls(plan.tls) if plan.tls else None
        self.host, self.name = wire.host(plan.name, plan.address[1], bool(plan.tls)), plan.name
        self.span = self.drop = 0
        self.reader = wire.Reader(self._learn)
        self._pings: deque[tuple[int, Bot]] = deque()
        #: What was read and not yet looked at: the bot, its socket, the bytes, and when.
        self._received: deque[tuple[Bot, socket, bytes, int]] = deque()
        self.bytes = self.events = self.snapshots = self.resyncs = 0
        self.counted: Counter[str] = Counter()
        self._scenario = SCENARIOS[plan.scenario]
        self._pipe = pipe
        self._epoll = select.epoll()
        self._by_fd: dict[int, Bot] = {}
        self._by_id: dict[int, Bot] = {}
        self._bots = [self._make(index) for index in plan.indices]
        #: (when, a number that keeps order, what to do, for whom, what it says to it).
        self._agenda: list[tuple[int, int, Any, Bot, Any]] = []
        self._order = 0
        #: The newest move of each player that this process has heard of, and of each batch
        #: (node, number) the moves that it was the first to tell.
        self._newest: dict[int, int] = {}
        self._told: dict[tuple[int, int], list[int]] = {}
        self._latency, self._late = Histogram(), Histogram()
        self._lateness: list[int] = []
        self.moving = False
        self._stopped = 0
        self._lockstep = Lockstep(self)
        self._complaints: Counter[str] = Counter()
        #: The bots on their way back.
        self._away: set[Bot] = set()
        #: Why connections ended that nobody wanted to end.
        self._cuts: Counter[str] = Counter()
        #: The pings that took long: when each was sent, and when its pong came.
        self.slow: list[tuple[int, int]] = []

    def now(self) -> int:
        """The run's clock."""
        return time.monotonic_ns() // 1000 - self.plan.epoch

    def _make(self, index: int) -> Bot:
        scenario = self._scenario
        observes = scenario.lockstep or index % self.plan.sample == 0
        bot = Bot(self, index, observes=observes)
        # Evenly among the others; the first observes, and behaves.
        kind = (index * 0.6180339887498949) % 1
        if not observes:
            bot.deaf = 0 < kind < scenario.deaf
            bot.rude = 0 < kind < scenario.rude
        return bot

    # The loop.

    def run(self) -> None:
        """Do as the pipe says until it says that it is over."""
        self._schedule_joins(early=True)
        gc.collect()
        gc.freeze()
        gc.disable()
        housekeeping = self.now() + HOUSEKEEPING
        self._epoll.register(self._pipe.fileno(), select.EPOLLIN)
        running = True
        while running:
            now = self.now()
            due = self._agenda[0][0] if self._agenda else housekeeping
            if self._pings:
                due = min(due, self._pings[0][0])
            wait = 0 if self._received else max(min(due, housekeeping) - now, 0) / SECOND
            for turn, (fd, mask) in enumerate(self._epoll.poll(wait)):
                if turn % AT_ONCE == AT_ONCE - 1:
                    self._do_what_is_due()
                bot = self._by_fd.get(fd)
                if bot is not None:
                    self._serve(bot, mask)
                elif fd == self._pipe.fileno():
                    running = self._obey(*self._pipe.recv())
            # What waits in a socket is read first, for it is the reading that is timed; but what
            # was read must not wait for long, or flushes would be acknowledged too late.
            for _ in range(min(len(self._received), max(AT_ONCE, len(self._received) // 4))):
                bot, source, data, now = self._received.popleft()
                # It may have hung up meanwhile, and have come again.
                if bot.state != CLOSED and bot.socket is source:
                    bot.received(data, now)
            self._do_what_is_due()
            if self.now() >= housekeeping:
                housekeeping = self.now() + HOUSEKEEPING
                self._keep_house()

    def _serve(self, bot: Bot, mask: int) -> None:
        """Do what a bot's socket is ready for."""
        if bot.state == CONNECTING:
            bot.writable()
            return
        if bot.state == SECURING:
            bot.secure()
            return
        if mask & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR) and bot.reads:
            data = bot.read()
            while data is not None:
                self._received.append((bot, bot.socket, data, self.now()))
                # What TLS has read besides is told by no socket.
                data = bot.read() if data and self.tls is not None else None
        elif mask & (select.EPOLLHUP | select.EPOLLERR) and bot.deaf:
            # Nobody reads that it has ended, and it would be told for ever.
            bot.lose("the server hung up")
            return
        if mask & select.EPOLLOUT:
            bot.writable()

    def _do_what_is_due(self) -> None:
        now = self.now()
        agenda = self._agenda
        while agenda and agenda[0][0] <= now:
            due, _, what, bot, argument = heapq.heappop(agenda)
            what(bot, due, argument)
        while self._pings and self._pings[0][0] <= now:
            due, bot = self._pings.popleft()
            self._ping(bot, due)

    def put(self, due: int, what: Any, bot: Bot, argument: Any = None) -> None:
        """Let `what(bot, due, argument)` be done at a moment."""
        self._order += 1
        heapq.heappush(self._agenda, (due, self._order, what, bot, argument))

    def _obey(self, order: str, *arguments: Any) -> bool:
        if order == "move":
            self._begin_moving(*arguments)
        elif order == "stop":
            self._stop()
        elif order == "storm":
            self._schedule_joins(early=False)
        elif order == "report":
            self._keep_house()
            self._pipe.send(("report", self._report()))
        elif order == "end":
            self.plan = replace(self.plan, returns=False)
            for bot in self._bots:
                bot.leave()
            return False
        elif order == "close":
            self._close(*arguments)
        return True

    def _keep_house(self) -> None:
        now = self.now()
        for chunk in self.reader.turn():
            if len(chunk.due) and chunk.arrivals:
                arrivals = np.array(chunk.arrivals, dtype=np.int64)
                self._latency.add(arrivals[:, None] - chunk.due[None, :])
        self._late.add(np.array(self._lateness, dtype=np.int64))
        self._lateness = []
        for bot in self._bots:
            if bot.state == PLAYING:
                if bot.observer is not None:
                    bot.observer.look(now)
                if now - bot.pinged > PING_ANYWAY and bot.reads:
                    bot.ping(now)
                if bot.awaited and now - bot.awaited > DEAD_AFTER and bot.reads:
                    bot.lose(f"no pong for {DEAD_AFTER // SECOND} s")
            elif bot.state != CLOSED and now - bot.asked > MADE_WITHIN:
                bot.lose(f"no welcome within {MADE_WITHIN // SECOND} s")
        if len(self._told) > 1_000_000:
            self._told = dict(list(self._told.items())[500_000:])
        self._pipe.send(("progress", self._progress(now)))

    def _progress(self, now: int) -> dict[str, Any]:
        """Return what has happened since the start."""
        states = Counter(bot.state for bot in self._bots)
        return {
            "at": now,
            "playing": states[PLAYING],
            "ready": sum(bot.state == PLAYING and bot.ready_at > 0 for bot in self._bots),
            "moves": self.counted["moves"],
            "joins": self.counted["joins"],
            "deliveries": self._latency.total,
            "events": self.events,
            "bytes": self.bytes,
            "snapshots": self.snapshots,
            "resyncs": self.resyncs,
            "steps": self.counted["steps"],
            "cpu": time.process_time(),
            "latency": _sparse(self._latency),
            "late": _sparse(self._late),
            "away": len(self._away),
            "unanswered": sum(bot.state == PLAYING and bot.unanswered for bot in self._bots),
            "counted": dict(self.counted),
            "complaints": dict(self._complaints),
            "cuts": dict(self._cuts),
        }

    def _report(self) -> dict[str, Any]:
        """Return all that bots did and were told."""
        now = self.now()
        lives = []
        for bot in self._bots:
            lives += bot.lives
            if bot.state == PLAYING:
                lives.append({**bot.life(now), "left": 0})
        for life in lives:
            for name in ("intents", "late", "heard"):
                life[name] = np.array(life[name], dtype=np.int64)
            life["timeline"] = np.array(life["timeline"], dtype=np.int64).reshape(-1, 10)
        return {
            "lives": lives,
            "at": now,
            "rules": (self.span, self.drop),
            "viewport": self.viewport,
            "slow": self.slow,
            "stalled": self._lockstep.stalled(self._stopped),
        }

    # What bots tell their process.

    def register(self, bot: Bot, mask: int) -> None:
        """A bot has a socket."""
        self._by_fd[bot.fd] = bot
        self._epoll.register(bot.fd, mask)

    def modify(self, bot: Bot, mask: int) -> None:
        """A bot waits for something else."""
        self._epoll.modify(bot.fd, mask)

    def unregister(self, bot: Bot) -> None:
        """A bot's socket is about to be closed."""
        self._by_fd.pop(bot.fd, None)
        self._epoll.unregister(bot.fd)

    def rules(self, side: int, drop: int) -> None:
        """The world's square side in tiles, and its outer margin."""
        self.span, self.drop = side * 1024, drop

    def welcomed(self, bot: Bot) -> None:
        """A bot has become a player."""
        self._by_id[bot.id] = bot
        if bot.former and bot.former != bot.id:
            self._by_id.pop(bot.former, None)
        self.counted["joins"] += 1

    def forget(self, bot: Bot) -> None:
        """A bot is no player any more."""
        self._by_id.pop(bot.former or bot.id, None)

    def ready(self, bot: Bot, now: int) -> None:
        """A bot has been told all that it holds."""
        bot.tries = 0
        self._away.discard(bot)
        if bot.deaf:
            bot.reads = False
            self.modify(bot, 0)
        if self._scenario.stay:
            stay = random.uniform(0.5, 1.5) * self._scenario.stay * SECOND
            self.put(now + round(stay), self._part, bot, bot.asked)
        if self.moving:
            self._begin(bot, now)

    def lost(self, bot: Bot, why: str, code: int, played: bool) -> None:
        """A bot's connection has ended without its will; `played`: it had been welcomed."""
        if bot.rude:
            self.counted["rude_closed"] += 1
            bot.begin_anew()
            self.put(self.now() + SECOND, self._join, bot)
            return
        if bot.deaf and bot.id:
            # Who never reads is let go in the end: it was to be so.
            self.counted["deaf_closed"] += 1
            return
        self._cuts[why] += 1
        if played or not bot.former:
            # Else it is on its way back, and was counted.
            self.counted["sent_away" if code == RESTART and played else "lost"] += 1
        if self.plan.returns and code not in NEVER_BACK:
            self._come_back(bot)
        else:
            self._away.discard(bot)

    def _come_back(self, bot: Bot) -> None:
        pause = min(BACK_AFTER << min(bot.tries, 8), BACK_AFTER_MOST)
        bot.tries += 1
        self._away.add(bot)
        self.put(self.now() + round(pause * (0.5 + random.random() / 2)), self._join, bot)

    def _close(self, code: int, share: float) -> None:
        """Let some bots close their connections with a code, and come back."""
        for bot in self._bots:
            if bot.state == PLAYING and random.random() < share:
                bot.leave(code)
                self._come_back(bot)

    def ping_after(self, bot: Bot, now: int) -> None:
        """A bot has a flush to acknowledge."""
        bot.ping_due = True
        if bot.flush:
            self._pings.append((now + PING_AFTER, bot))
        else:
            # The first one reaches all at once: they would go on to ping at once, as no people do.
            self.put(now + random.randrange(PING_AFTER), self._ping, bot)

    def _ping(self, bot: Bot, due: int, _: Any = None) -> None:
        if bot.ping_due and bot.state == PLAYING:
            bot.ping(self.now())

    def complain(self, bot: Bot, code: str, sentence: str) -> None:
        """The server did not obey a bot."""
        if bot.rude:
            self.counted["rude_refused"] += 1
        else:
            self._complaints[f"{code}: {sentence}"] += 1

    def _learn(self, batch: wire.Batch) -> None:
        """Learn from a batch that this process has not seen before."""
        newest, own = self._newest, self._by_id
        key = batch.node, batch.number
        told = self._told.get(key)
        if told is not None:
            # Decoded before, a while ago: some bots receive it only now.
            batch.due = told
            return
        due, now = batch.due, self.now()
        for event in batch.events:
            if event[0] > wire.TRACK:
                continue
            id, ack = event[1], event[3]
            if ack >= wire.FIRST_NUMBER and ack > newest.get(id, 0):
                newest[id] = ack
                due.append(ack)
            bot = own.get(id)
            if bot is not None:
                bot.moved(batch, event, now)
        self._told[key] = due

    # What bots do.

    def _schedule_joins(self, *, early: bool) -> None:
        now, late = self.now(), self._scenario.late
        bots = [bot for bot in self._bots if self._early(bot) == early]
        pause = 1 / self.plan.joins if early or not late else JOIN_WITHIN / max(len(bots), 1)
        for turn, bot in enumerate(bots):
            self.put(now + round(turn * pause * SECOND), self._join, bot)

    def _early(self, bot: Bot) -> bool:
        late = self._scenario.late
        return bot.index % 100 >= late * 100

    def _join(self, bot: Bot, due: int, _: Any) -> None:
        if bot.state == CLOSED:
            bot.connect(self.now())

    # Who comes back begins anew: what is due for it is told apart by when it asked to join.

    def _part(self, bot: Bot, due: int, life: int) -> None:
        if bot.asked == life and bot.state == PLAYING and self.moving:
            bot.leave()
            self.put(self.now() + AWAY, self._join, bot)

    def _begin_moving(self) -> None:
        self.moving = True
        now = self.now()
        for bot in self._bots:
            if bot.state == PLAYING and bot.ready_at:
                self._begin(bot, now)

    def _stop(self) -> None:
        """Let all stand, so that what is believed in the end can be compared."""
        self.moving = False
        now = self._stopped = self.now()
        for bot in self._bots:
            if bot.state == PLAYING and bot.ready_at and not bot.rude:
                bot.intend(wire.WALK, now, 0, 0)

    def _begin(self, bot: Bot, now: int) -> None:
        if bot.rude:
            self.put(now + SECOND // 2, self._offend, bot, bot.asked)
        elif self._scenario.lockstep:
            self._lockstep.begin(bot, now)
        elif self.plan.rate > 0:
            pause = SECOND / self.plan.rate
            first = now + random.random() * pause
            self.put(round(first), self._move, bot, (bot.asked, first))

    def _move(self, bot: Bot, due: int, state: tuple[int, float]) -> None:
        life, exactly = state
        if not self.moving or bot.asked != life or bot.state != PLAYING:
            return
        kind, *fields = self._scenario.move(bot, due)
        bot.intend(kind, due, *fields)
        self.counted["moves"] += 1
        self._lateness.append(self.now() - due)
        exactly += SECOND / self.plan.rate
        if bot.state == PLAYING:
            self.put(round(exactly), self._move, bot, (life, exactly))

    def _offend(self, bot: Bot, due: int, life: int) -> None:
        """Break the rules, in one of many ways."""
        if not self.moving or bot.asked != life or bot.state != PLAYING:
            return
        self.counted["offences"] += 1
        offend(bot)
        if bot.state == PLAYING:
            self.put(self.now() + SECOND // 5, self._offend, bot, life)


def _sparse(histogram: Histogram) -> tuple[Any, Any]:
    found = np.flatnonzero(histogram.counts)
    return found, histogram.counts[found]
