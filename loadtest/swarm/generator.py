"""One process of the swarm: an event loop over its bots' sockets, and their agenda.

Open loop: a move is sent when it is due, however late the server answers, and its latency counts
from that moment. What the process cannot do in time it tells (`late`), for a generator that lags
measures itself.
"""

import gc
import os
import select
import socket
import time
from collections import Counter, deque
from typing import Any

import numpy as np

from loadtest.kit.processes import raise_descriptor_limit
from loadtest.kit.signals import leave_to_parent
from loadtest.swarm.agenda import Agenda
from loadtest.swarm.bot import DEAD_AFTER, MADE_WITHIN, PING_ANYWAY, Bot
from loadtest.swarm.connection import CLOSED, CONNECTING, PLAYING, SECURING, Sockets
from loadtest.swarm.plan import Plan
from loadtest.swarm.play import Play
from loadtest.swarm.tally import Tally

SECOND = 1_000_000

#: Between two looks at everything, in us.
HOUSEKEEPING = SECOND // 2

#: Sockets that are read before it is looked whether a move is due.
AT_ONCE = 64


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
        self.plan, self._pipe = plan, pipe
        self.now = plan.now
        self.sockets, self.tally, self._agenda = Sockets(), Tally(plan.now), Agenda()
        self.play = Play(plan, self.sockets, self._agenda, self.tally)
        self._bots = self.play.bots
        #: What was read and not yet looked at: the bot, its socket, the bytes, and when.
        self._received: deque[tuple[Bot, socket.socket, bytes, int]] = deque()

    def run(self) -> None:
        """Do as the pipe says until it says that it is over."""
        self.play.join(early=True)
        gc.collect()
        gc.freeze()
        gc.disable()
        housekeeping = self.now() + HOUSEKEEPING
        epoll = self.sockets.epoll
        epoll.register(self._pipe.fileno(), select.EPOLLIN)
        running = True
        while running:
            due = self._agenda.next(housekeeping)
            wait = 0 if self._received else max(due - self.now(), 0) / SECOND
            for turn, (fd, mask) in enumerate(epoll.poll(wait)):
                if turn % AT_ONCE == AT_ONCE - 1:
                    self._agenda.do(self.now())
                bot = self.sockets.of(fd)
                if bot is not None:
                    self.serve(bot, mask)
                elif fd == self._pipe.fileno():
                    running = self._obey(*self._pipe.recv())
            # What waits in a socket is read first, for it is the reading that is timed; but what
            # was read must not wait for long, or flushes would be acknowledged too late.
            for _ in range(min(len(self._received), max(AT_ONCE, len(self._received) // 4))):
                bot, source, data, now = self._received.popleft()
                # It may have hung up meanwhile, and have come again.
                if bot.state != CLOSED and bot.socket is source:
                    bot.received(data, now)
            self._agenda.do(self.now())
            if self.now() >= housekeeping:
                housekeeping = self.now() + HOUSEKEEPING
                self._keep_house()

    def serve(self, bot: Bot, mask: int) -> None:
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
                data = bot.read() if data and self.plan.tls else None
        elif mask & (select.EPOLLHUP | select.EPOLLERR) and bot.deaf:
            # Nobody reads that it has ended, and it would be told for ever.
            bot.lose("the server hung up")
            return
        if mask & select.EPOLLOUT:
            bot.writable()

    def _obey(self, order: str, *arguments: Any) -> bool:
        """Do what is ordered; return whether it goes on."""
        if order == "move":
            self.play.move()
        elif order == "stop":
            self.play.stop()
        elif order == "storm":
            self.play.join(early=False)
        elif order == "report":
            self._keep_house()
            self._pipe.send(("report", self._report()))
        elif order == "close":
            self.play.close(*arguments)
        else:
            assert order == "end", order
            self.play.end()
        return order != "end"

    def _keep_house(self) -> None:
        now = self.now()
        self.tally.count()
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
        self._pipe.send(("progress", self._progress(now)))

    def _progress(self, now: int) -> dict[str, Any]:
        """Return what has happened since the start."""
        states = Counter(bot.state for bot in self._bots)
        return {
            **self.tally.progress(),
            "at": now,
            "playing": states[PLAYING],
            "ready": sum(bot.state == PLAYING and bot.ready_at > 0 for bot in self._bots),
            "cpu": time.process_time(),
            "away": len(self.play.away),
            "unanswered": sum(bot.state == PLAYING and bot.unanswered for bot in self._bots),
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
            "rules": (self.play.span, self.play.drop),
            "viewport": self.plan.viewport,
            "slow": self.tally.slow,
            "stalled": self.play.lockstep.stalled(),
        }
