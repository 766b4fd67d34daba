"""Lockstep, for the scenario life: no bot steps before it has heard the last step of all its
neighbours. One message that is lost stops them, and those around them."""

from collections import Counter

from loadtest.swarm.agenda import Agenda
from loadtest.swarm.bot import Bot
from loadtest.swarm.connection import PLAYING
from loadtest.swarm.plan import Plan
from loadtest.swarm.scenarios import SCENARIOS

SECOND = 1_000_000

#: A step that is not complete after so many us never will be.
WITHIN = 3 * SECOND

#: A bot that may not step yet looks again after so many us.
AGAIN = 2000


class Lockstep:
    """See the module. Times are us of the run's clock."""

    def __init__(self, plan: Plan, agenda: Agenda, counted: "Counter[str]") -> None:
        self._plan, self._agenda, self._counted = plan, agenda, counted
        self._move = SCENARIOS[plan.scenario].move
        #: The neighbours of each bot, by its index, with the last intent heard of each.
        self._neighbours: dict[int, dict[int, int]] = {}
        #: When each bot stepped last.
        self._stepped: dict[int, int] = {}
        #: When all were told to stop, or 0.
        self._stopped = 0

    def begin(self, bot: Bot, now: int) -> None:
        """Let a bot step from now on."""
        self._agenda.put(now + SECOND, self._step, bot, (bot.asked, 0))

    def stop(self, now: int) -> None:
        """Let nobody step any more."""
        self._stopped = now

    def stalled(self) -> list[int]:
        """Return the bots that had waited for too long when all were told to stop."""
        return [index for index, at in self._stepped.items() if at < self._stopped - WITHIN]

    def _meet(self, bot: Bot) -> None:
        """Note who the neighbours are: those in the squares around one's own."""
        assert bot.observer is not None
        span = bot.observer.span
        own = bot.home[0] // span, bot.home[1] // span
        self._neighbours[bot.index] = {
            id: 0
            for id, player in bot.observer.players.items()
            if max(abs(player.square[0] - own[0]), abs(player.square[1] - own[1])) <= 1
        }
        self._stepped[bot.index] = self._plan.now()

    def _step(self, bot: Bot, due: int, state: tuple[int, int]) -> None:
        """Step, if all neighbours' last steps were heard, else look again soon."""
        life, number = state
        if self._stopped or bot.asked != life or bot.state != PLAYING:
            return
        assert bot.observer is not None
        if number == 0:
            self._meet(bot)
        heard = self._neighbours[bot.index]
        players = bot.observer.players
        complete = number == 0 or all(
            id in players and players[id].ack > before for id, before in heard.items()
        )
        now = self._plan.now()
        if complete:
            for id in heard:
                if id in players:
                    heard[id] = players[id].ack
            kind, *fields = self._move(bot, now)
            bot.intend(kind, now, *fields)
            self._counted["moves"] += 1
            self._counted["steps"] += 1
            self._stepped[bot.index] = now
            number += 1
        pause = SECOND / self._plan.rate if complete else AGAIN
        self._agenda.put(now + round(pause), self._step, bot, (life, number))
