"""One process of the swarm: an event loop over its bots' sockets and their event queue.

The load is an open loop: a move is sent when it is due, however late the server answers, and its
latency counts from that time. The process reports how late it sent moves itself (`late`), since a
slow generator would measure itself.
"""

import gc
import multiprocessing
import os
import random
import select
import socket
import time
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from flatlands import wire
from flatlands.loadtest.kit.processes import raise_descriptor_limit
from flatlands.loadtest.kit.signals import leave_to_parent
from flatlands.loadtest.swarm.behaviour import Behaviour
from flatlands.loadtest.swarm.bot import DEAD_AFTER_US, MADE_WITHIN_US, QUIET_PING_US, Bot
from flatlands.loadtest.swarm.connection import CLOSED, CONNECTING, PLAYING, SECURING, Sockets
from flatlands.loadtest.swarm.counters import Counters
from flatlands.loadtest.swarm.event_queue import EventQueue
from flatlands.loadtest.swarm.process_options import ProcessOptions
from flatlands.loadtest.swarm.reports import Progress, Report

SECOND = 1_000_000

#: us between two rounds over all bots.
HOUSEKEEPING = SECOND // 2

#: Sockets that are read before the event queue is looked at again.
AT_ONCE = 64


def launch(plans: Sequence[ProcessOptions], stack: ExitStack) -> list[Connection]:
    """Start a process of the swarm for each plan; return their pipes. They end with the stack."""
    context = multiprocessing.get_context("spawn")
    pipes = []
    for plan in plans:
        ours, theirs = context.Pipe()
        process = context.Process(target=main, args=(theirs, plan), daemon=True)
        process.start()
        theirs.close()
        pipes.append(ours)
        stack.callback(_end, process, ours)
    return pipes


def _end(process: SpawnProcess, pipe: Connection) -> None:
    pipe.close()
    process.join(5)
    if process.is_alive():
        process.kill()
        process.join()


def main(pipe: Connection, plan: ProcessOptions) -> None:
    """Run one process of the swarm until the other end of its pipe ends it."""
    leave_to_parent()
    raise_descriptor_limit()
    if plan.cpus:
        os.sched_setaffinity(0, plan.cpus)
    # The bots of a game draw from the module `random`, since they know no seed.
    random.seed(f"{plan.seed} {plan.indices.start}")
    generator = Generator(pipe, plan)
    try:
        generator.run()
    except (ConnectionError, EOFError):
        # The process that ordered the run has ended.
        pass


class Generator:
    """The event loop of a process. Times are in us of the run's clock."""

    def __init__(self, pipe: Connection, plan: ProcessOptions) -> None:
        self.plan, self._pipe = plan, pipe
        self.now = plan.now
        self.sockets, self.counters, self._event_queue = Sockets(), Counters(), EventQueue()
        self.play = Behaviour(plan, self.sockets, self._event_queue, self.counters)
        self._bots = self.play.bots
        #: Bytes that were read and not yet processed: (bot, its socket, bytes, time of reading).
        self._received: deque[tuple[Bot, socket.socket, bytes, int]] = deque()

    def run(self) -> None:
        """Obey the orders that come over the pipe until the order to end."""
        self.play.join(early=True)
        gc.collect()
        gc.freeze()
        gc.disable()
        housekeeping = self.now() + HOUSEKEEPING
        epoll = self.sockets.epoll
        epoll.register(self._pipe.fileno(), select.EPOLLIN)
        running, counting = True, False
        while running:
            due = self._event_queue.next(housekeeping)
            busy = self._received or counting
            wait = 0 if busy else max(due - self.now(), 0) / SECOND
            for turn, (fd, mask) in enumerate(epoll.poll(wait)):
                if turn % AT_ONCE == AT_ONCE - 1:
                    self._event_queue.do(self.now())
                bot = self.sockets.of(fd)
                if bot is None:
                    if fd == self._pipe.fileno():
                        running = self._obey(*self._pipe.recv())
                elif mask == select.EPOLLIN and bot.state == PLAYING and not self.plan.tls:
                    self._hear(bot)
                else:
                    self.serve(bot, mask)
            # Sockets are read before bytes are processed, since the time of reading is what is
            # measured. But the bytes must not wait for long, or flushes are acknowledged too late.
            for turn in range(min(len(self._received), max(AT_ONCE, len(self._received) // 4))):
                if turn % AT_ONCE == AT_ONCE - 1:
                    self._event_queue.do(self.now())
                bot, source, data, now = self._received.popleft()
                bot.waiting -= 1
                # Meanwhile the bot may have hung up, and connected again.
                if bot.state != CLOSED and bot.socket is source:
                    bot.received(data, now)
            self._event_queue.do(self.now())
            if self.now() >= housekeeping:
                housekeeping = self.now() + HOUSEKEEPING
                self._keep_house()
                counting = True
            elif counting:
                counting = self.counters.count()

    def serve(self, bot: Bot, mask: int) -> None:
        """Read and write what a bot's socket is ready for; `mask` is from epoll."""
        if bot.state == CONNECTING:
            bot.writable()
            return
        if bot.state == SECURING:
            bot.secure()
            return
        if mask & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR) and bot.reads:
            data = bot.read()
            while data is not None:
                self._wait(bot, data, self.now())
                # TLS may have read more than it returned, of which the socket gives no sign.
                data = bot.read() if data and self.plan.tls else None
        elif mask & (select.EPOLLHUP | select.EPOLLERR) and bot.deaf:
            # The bot never reads the end, so epoll would report it for ever.
            bot.lose("the server hung up")
            return
        if mask & select.EPOLLOUT:
            bot.writable()

    def _hear(self, bot: Bot) -> None:
        """Read what a bot's socket has: nearly always a flush that other bots have got already."""
        data = bot.read()
        if data is None:
            return
        now = self.now()
        flush = self.counters.reader.flushes.get(data)
        if flush is None or not bot.hears(flush, now):
            self._wait(bot, data, now)

    def _wait(self, bot: Bot, data: bytes, now: int) -> None:
        """Queue bytes that were read at the time `now`, to be processed."""
        bot.waiting += 1
        self._received.append((bot, bot.socket, data, now))

    def _obey(self, order: str, *arguments: Any) -> bool:
        """Obey an order; return False if it was the last one."""
        if order == "move":
            self.play.move()
        elif order == "measure":
            self.counters.begin(self.now())
        elif order == "stop":
            self.counters.end(self.now())
            self.play.stop()
            self.play.look()
        elif order == "storm":
            self.play.join(early=False)
        elif order == "report":
            self.play.look()
            self.counters.turn()
            self._count_outstanding()
            self._keep_house()
            self._pipe.send(("report", self._report()))
        elif order == "close":
            self.play.close(*arguments)
        else:
            assert order == "end", order
            self.play.end()
        return order != "end"

    def _count_outstanding(self) -> None:
        """Count the moves that have never arrived."""
        now = self.now()
        for view in {bot.view.now() for bot in self._bots if bot.state == PLAYING}:
            for square, bots in view.held.items():
                self.counters.wait(view.outstanding(square), now, bots)
        self.counters.turn()

    def _keep_house(self) -> None:
        # What was ready at the last round is counted now at the latest: otherwise a swarm that is
        # never idle would seem to receive nothing.
        while self.counters.count():
            self._event_queue.do(self.now())
        self.counters.turn()
        now = self.now()
        self.sockets.close_parted()
        wire.renew_key()
        for bot in self._bots:
            if bot.state == PLAYING:
                if bot.observer is not None:
                    bot.observer.look(now)
                if bot.awaited and now - bot.awaited > DEAD_AFTER_US and bot.reads:
                    bot.lose(f"no pong for {DEAD_AFTER_US // SECOND} s")
                elif now - bot.pinged > QUIET_PING_US and bot.reads:
                    bot.ping(now)
            elif bot.state != CLOSED and now - bot.asked > MADE_WITHIN_US:
                bot.lose(f"no welcome within {MADE_WITHIN_US // SECOND} s")
        self._pipe.send(("progress", self._progress(now)))

    def _progress(self, now: int) -> Progress:
        """Return counts of everything since the start."""
        playing = [bot for bot in self._bots if bot.state == PLAYING]
        return {
            **self.counters.progress(),
            "at": now,
            "playing": len(playing),
            "joined": len(self.play.joined),
            "cpu": time.process_time(),
            "away": len(self.play.away),
            # This matters only once no bot moves any more.
            "unanswered": 0 if self.play.moving else sum(bot.unanswered for bot in playing),
        }

    def _report(self) -> Report:
        """Return everything that the bots did and were told."""
        now = self.now()
        lives = []
        for bot in self._bots:
            lives += bot.lives
            if bot.state == PLAYING:
                lives.append((bot.life(0), bot.intent_log))
        return {
            "lives": [{**facts, **log.arrays()} for facts, log in lives],
            "at": now,
            "rules": (self.play.span, self.play.drop),
            "slow": self.counters.slow,
            "stalled": self.play.lockstep.stalled(),
        }
