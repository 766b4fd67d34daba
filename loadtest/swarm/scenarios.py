"""What bots do: each scenario is a way to choose the next move, and how the bots come and stay.

Places are in 1/1024 tile. A scenario sees a bot's own position as its client does, and no terrain.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from loadtest.swarm import wire
from loadtest.swarm.bot import Bot

TILE = 1024

AROUND = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)]

#: A move: the kind of the intent and its fields.
Move = tuple[int, ...]


def wander(bot: Bot, now: int) -> Move:
    """Walk about within a few tiles of where one began."""
    back = _homewards(bot, now, 6 * TILE)
    if back is not None:
        return wire.WALK, *back
    if random.random() < 0.2:
        return wire.WALK, 0, 0
    return wire.WALK, *random.choice(AROUND)


def mill(bot: Bot, now: int) -> Move:
    """Go to and fro within one's square, and never out of it."""
    span = bot.world.span
    place = []
    for home in bot.home:
        low = home // span * span
        place.append(random.randint(low + 2 * TILE, low + span - 2 * TILE))
    return wire.GO, *place


def march(bot: Bot, now: int) -> Move:
    """Walk on across borders, and turn where the way is blocked or home is far."""
    x, y = bot.at(now)
    back = _homewards(bot, now, 96 * TILE)
    bot.turn += 1
    if bot.turn == 1:
        bot.heading = random.choice(AROUND[::2])
    elif back is not None:
        # Along the longer way home.
        far_in_x = abs(x - bot.home[0]) >= abs(y - bot.home[1])
        bot.heading = (back[0], 0) if far_in_x else (0, back[1])
    elif bot.position[2] == bot.position[3] == 0:
        bot.heading = random.choice(AROUND[::2])
    dx, dy = bot.heading
    # Every other move is a slant: a walk on in the same direction would be no move at all.
    if bot.turn % 2:
        slant = (bot.turn // 2 % 2) * 2 - 1
        dx, dy = dx or slant, dy or slant
    return wire.WALK, dx, dy


def border(bot: Bot, now: int) -> Move:
    """Walk to the nearest border of a column, then cross it at every move."""
    span = bot.world.span
    x, y = bot.at(now)
    line = round(x / span) * span
    return wire.WALK, 1 if x < line else -1, 0


def circle(bot: Bot, now: int) -> Move:
    """Walk in a circle, an eighth of a turn a move."""
    bot.turn += 1
    return wire.WALK, *AROUND[bot.turn % 8]


def hop(bot: Bot, now: int) -> Move:
    """Click on a spot some tiles away, rather towards home when far from it."""
    x, y = bot.at(now)
    back = _homewards(bot, now, 24 * TILE) or (0, 0)
    reach = 10 * TILE
    return (
        wire.GO,
        x + random.randint(-reach, reach) + back[0] * reach,
        y + random.randint(-reach, reach) + back[1] * reach,
    )


def step(bot: Bot, now: int) -> Move:
    """A small step about one's place: for life, where only that it is heard matters."""
    bot.turn += 1
    x, y = bot.home
    span = bot.world.span
    inwards = 1 if x % span < span // 2 else -1
    return wire.GO, x + bot.turn % 2 * inwards * TILE // 2, y


def _homewards(bot: Bot, now: int, within: int) -> tuple[int, int] | None:
    """Return the direction home for who is farther from it than that along an axis."""
    x, y = bot.at(now)
    dx, dy = bot.home[0] - x, bot.home[1] - y
    if max(abs(dx), abs(dy)) <= within:
        return None
    sx, sy = (0 if abs(d) < within // 2 else int(math.copysign(1, d)) for d in (dx, dy))
    return sx, sy


@dataclass(frozen=True)
class Scenario:
    """How bots come, move and stay.

    `rate` moves a second and bot; `share` bots a square, of as many squares as that takes (0: all
    in one); `stay` seconds after which a bot leaves and comes again (0: it stays); `late` share of
    the bots that join, within `JOIN_WITHIN`, while the others are measured; `deaf` and `rude`
    shares that never read, or break the rules; `lockstep`: a bot moves when all its neighbours'
    last moves were heard; `viewport` tiles that a screen shows.
    """

    about: str
    move: Callable[[Bot, int], Move]
    rate: float = 2.0
    share: int = 20
    stay: float = 0.0
    late: float = 0.0
    deaf: float = 0.0
    rude: float = 0.0
    lockstep: bool = False
    viewport: tuple[int, int] = (24, 24)

    def squares(self, bots: int) -> int:
        """Return over how many squares newcomers are spread."""
        return math.ceil(bots / self.share) if self.share else 1


#: Seconds within which latecomers of a storm come.
JOIN_WITHIN = 5.0

SCENARIOS = {
    "wander": Scenario("20 bots in each square walk about near the place where they began", wander),
    "crowd": Scenario("all bots are in one square", mill, share=0),
    "mill": Scenario("20 bots in each square walk to and fro and never leave it", mill),
    "march": Scenario("20 bots in each square walk on across borders", march),
    "border": Scenario("bots step to and fro over a border between squares", border, 15, share=10),
    "storm": Scenario("nine bots in ten join within five seconds", wander, late=0.9),
    "churn": Scenario("bots leave after some five seconds and join again", wander, stay=5),
    "slow": Scenario("one bot in ten never reads", wander, deaf=0.1),
    "flood": Scenario("one bot in ten sends garbage and too many messages", wander, rude=0.1),
    "browserquest": Scenario(
        "all begin in one square, and each clicks every two seconds", hop, 0.5, share=0,
    ),
    "workadventure": Scenario("all bots walk in circles, five moves a second", circle, 5, share=40),
    "life": Scenario(
        "one bot in each square steps only when it has heard the last steps of its neighbours",
        step, rate=10, share=1, lockstep=True,
    ),
}  # fmt: skip
