"""Lockstep, for the scenario `life`: a bot steps once told of its neighbours' last steps.

A single lost message stops a bot, and then its neighbours.
"""

from flatlands.loadtest.swarm.bot import Bot
from flatlands.loadtest.swarm.connection import PLAYING
from flatlands.loadtest.swarm.counters import Counters
from flatlands.loadtest.swarm.event_queue import EventQueue
from flatlands.loadtest.swarm.process_options import ProcessOptions
from flatlands.loadtest.swarm.scenarios import scenario

SECOND = 1_000_000

#: us after which a step that is not complete counts as stalled.
WITHIN = 3 * SECOND

#: us after which a bot that may not step yet looks again.
AGAIN = 2000


class Lockstep:
    """Counts neighbours' steps. Times are in us of the run's clock."""

    def __init__(self, plan: ProcessOptions, event_queue: EventQueue, counters: Counters) -> None:
        self._plan, self._event_queue, self._counters = plan, event_queue, counters
        self._move = scenario(plan.scenario, plan.game).move
        #: A bot's index -> id of a neighbour -> the last intent (`ack`) that the bot was told of.
        self._neighbours: dict[int, dict[int, int]] = {}
        #: A bot's index -> the time of its last step.
        self._stepped: dict[int, int] = {}
        #: The time at which all bots were stopped, or 0.
        self._stopped = 0

    def begin(self, bot: Bot, now: int) -> None:
        """Let a bot step from now on."""
        self._event_queue.put(now + SECOND, self._step, bot, (bot.asked, 0))

    def stop(self, now: int) -> None:
        """Stop all bots from stepping."""
        self._stopped = now

    def stalled(self) -> list[int]:
        """Return the indices of the bots that had waited too long when all were stopped."""
        return [index for index, at in self._stepped.items() if at < self._stopped - WITHIN]

    def _meet(self, bot: Bot) -> None:
        """Note a bot's neighbours: the bots in its own square and the eight around it."""
        assert bot.observer is not None
        own = bot.home[0] // bot.side, bot.home[1] // bot.side
        self._neighbours[bot.index] = {
            id: 0
            for id, player in bot.observer.players.items()
            if max(abs(player.square[0] - own[0]), abs(player.square[1] - own[1])) <= 1
            and bot.behaviour.intent_times.knows(id)
        }
        self._stepped[bot.index] = self._plan.now()

    def _step(self, bot: Bot, due: int, state: tuple[int, int]) -> None:
        """Step if the bot was told of all its neighbours' last steps; otherwise look again soon.

        `state` is (the bot's life, how many steps it has made).
        """
        life, number = state
        if self._stopped or bot.asked != life or bot.state != PLAYING:
            return
        assert bot.observer is not None
        if number == 0:
            self._meet(bot)
        acks = self._neighbours[bot.index]
        players = bot.observer.players
        complete = number == 0 or all(
            id in players and players[id].ack not in (0, before) for id, before in acks.items()
        )
        now = self._plan.now()
        if complete:
            for id in acks:
                if id in players:
                    acks[id] = players[id].ack
            bot.due = now
            self._move(bot)
            self._counters.counted["steps"] += 1
            self._stepped[bot.index] = now
            number += 1
        pause = SECOND / self._plan.rate if complete else AGAIN
        self._event_queue.put(now + round(pause), self._step, bot, (life, number))
