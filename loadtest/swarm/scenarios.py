"""The scenarios: what bots do at each turn, and how they come and stay.

Places are in tiles. A scenario knows a bot's own place as its client does, but never the terrain.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from runpy import run_path
from typing import Any

from flatlands.bot import bots_of
from flatlands.loadtest.swarm.bot import Bot

#: The side of the field around which a patrol walks, and how near its corners it turns, in tiles.
FIELD = 10
AT_END = 0.5

AROUND = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)]


def wander(bot: Bot) -> None:
    """Walk about within a few tiles of where the bot began."""
    back = _homewards(bot, 6)
    if back is not None:
        bot.walk(*back)
    elif bot.random.random() < 0.2:
        bot.walk(0, 0)
    else:
        bot.walk(*bot.random.choice(AROUND))


def mill(bot: Bot) -> None:
    """Go to and fro within the square in which the bot began."""
    low = [home // bot.side * bot.side for home in bot.home]
    bot.go(*(bot.random.uniform(at + 2, at + bot.side - 2) for at in low))


def pace(bot: Bot) -> None:
    """Walk to and fro by keys: each move turns back."""
    if bot.turn == 0:
        bot.heading = bot.random.choice(AROUND[::2])
    bot.turn += 1
    dx, dy = bot.heading
    bot.heading = -dx, -dy
    bot.walk(dx, dy)


def march(bot: Bot) -> None:
    """Walk on across borders, and turn where the way is blocked or home is far."""
    x, y = bot.place()
    back = _homewards(bot, 96)
    bot.turn += 1
    if bot.turn == 1:
        bot.heading = bot.random.choice(AROUND[::2])
    elif back is not None:
        # It goes along the axis on which home is farther.
        far_in_x = abs(x - bot.home[0]) >= abs(y - bot.home[1])
        bot.heading = (back[0], 0) if far_in_x else (0, back[1])
    elif bot.halted:
        bot.heading = bot.random.choice(AROUND[::2])
    dx, dy = bot.heading
    # Every other move is diagonal, since a walk in the same direction would be no new move.
    if bot.turn % 2:
        slant = (bot.turn // 2 % 2) * 2 - 1
        dx, dy = dx or slant, dy or slant
    bot.walk(dx, dy)


def explore(bot: Bot) -> None:
    """Walk on, away from the plaza; go anywhere for a moment if the way is blocked."""
    x, y = bot.place()
    outwards = round(math.atan2(y, x) / math.tau * len(AROUND))
    bot.turn += 1
    if bot.halted:
        bot.walk(*bot.random.choice(AROUND))
    else:
        # A walk in the same direction would be no new move.
        bot.walk(*AROUND[(outwards + bot.turn % 2) % len(AROUND)])


def border(bot: Bot) -> None:
    """Walk to the nearest border of a column, then cross it at every move."""
    x, _ = bot.place()
    line = round(x / bot.side) * bot.side
    bot.walk(1 if x < line else -1, 0)


def circle(bot: Bot) -> None:
    """Walk in a circle: each move turns by an eighth."""
    bot.turn += 1
    bot.walk(*AROUND[bot.turn % 8])


def patrol(bot: Bot) -> None:
    """Walk around a field whose north-western corner is home; go anywhere near for a moment if the
    way is blocked."""
    (x, y), (west, north) = bot.place(), bot.home
    east, south = west + FIELD, north + FIELD
    if y < north + AT_END and x < east - AT_END:
        corner = east, north
    elif x > east - AT_END and y < south - AT_END:
        corner = east, south
    elif y > south - AT_END and x > west + AT_END:
        corner = west, south
    else:
        corner = west, north
    between = AT_END < x - west < FIELD - AT_END or AT_END < y - north < FIELD - AT_END
    if bot.halted and between:
        corner = x + bot.random.uniform(-3, 3), y + bot.random.uniform(-3, 3)
    bot.go(*corner)


def hop(bot: Bot) -> None:
    """Click on a place some tiles away, towards home if that is far."""
    x, y = bot.place()
    dx, dy = _homewards(bot, 24) or (0, 0)
    reach = 10
    bot.go(
        x + bot.random.uniform(-reach, reach) + dx * reach,
        y + bot.random.uniform(-reach, reach) + dy * reach,
    )


def step(bot: Bot) -> None:
    """Make a small step around the place where the bot began."""
    bot.turn += 1
    x, y = bot.home
    inwards = 1 if x % bot.side < bot.side // 2 else -1
    bot.go(x + bot.turn % 2 * inwards / 2, y)


def _homewards(bot: Bot, within: int) -> tuple[int, int] | None:
    """Return the direction home if it is farther than `within` tiles along an axis, or None."""
    x, y = bot.place()
    dx, dy = bot.home[0] - x, bot.home[1] - y
    if max(abs(dx), abs(dy)) <= within:
        return None
    sx, sy = (0 if abs(d) < within // 2 else int(math.copysign(1, d)) for d in (dx, dy))
    return sx, sy


@dataclass(frozen=True)
class Scenario:
    """How bots come, move and stay.

    `about` describes it in a sentence. `move` makes a bot do something, and is called `rate` times
    a second for each. `share` is the number of bots in each square (0: all are in one square).
    After `stay` seconds, on average, a bot leaves and joins again (0: it stays). `late` is the
    share of bots that join within JOIN_WITHIN while the others are measured. `deaf` and `rude` are
    the shares of bots that never read, or break the rules. With `lockstep`, a bot moves once it has
    been told of all its neighbours' last moves. `ticket` is what admits bots to the game. If they
    `see`, they know others as players do. `viewports` are in tiles; bots have them in equal shares.
    `server` are options of the server that is started.
    """

    about: str
    move: Callable[[Bot], object]
    rate: float = 2.0
    share: int = 20
    stay: float = 0.0
    late: float = 0.0
    deaf: float = 0.0
    rude: float = 0.0
    lockstep: bool = False
    see: bool = False
    ticket: str = ""
    viewports: tuple[tuple[int, int], ...] = ((24, 24),)
    server: tuple[str, ...] = ()

    def squares(self, bots: int) -> int:
        """Return the number of squares over which newcomers are spread."""
        return math.ceil(bots / self.share) if self.share else 1


#: Tiles that a telephone held upright, a laptop and a large screen show.
SCREENS = (12, 24), (40, 25), (64, 36)

#: The distance in tiles from the plaza at which explorers begin, 314 tiles from each other if there
#: are 2,000 of them.
RING = 100_000

#: Seconds within which the latecomers of a storm join.
JOIN_WITHIN = 5.0

SCENARIOS = {
    "wander": Scenario("20 bots in each square walk about near where they began", wander),
    "crowd": Scenario("all bots are in one square", mill, share=0),
    "mill": Scenario("20 bots in each square walk to and fro and never leave it", mill),
    "pace": Scenario("20 bots in each square walk to and fro by keys", pace),
    "mixed": Scenario(
        "the same, with the screens of a telephone, a laptop and a large monitor",
        pace,
        viewports=SCREENS,
    ),
    "march": Scenario("20 bots in each square walk on across borders", march),
    "explore": Scenario(
        "bots begin alone, 100,000 tiles from the plaza, and walk outwards, half a move a second",
        explore,
        0.5,
        share=1,
        server=("--spread-ring", str(RING)),
    ),
    "border": Scenario(
        "bots step to and fro over a border, 15 moves a second", border, 15, share=10
    ),
    "storm": Scenario(
        "nine bots in ten join within five seconds, while the others play", wander, late=0.9
    ),
    "churn": Scenario("bots leave after some five seconds and join again", wander, stay=5),
    "slow": Scenario("one bot in ten never reads", wander, deaf=0.1),
    "flood": Scenario(
        "one bot in ten sends garbage and too many messages, and comes back if it is cut off",
        wander,
        rude=0.1,
    ),
    "browserquest": Scenario(
        "all begin in one square, and each clicks every two seconds",
        hop,
        0.5,
        share=0,
    ),
    "workadventure": Scenario("all bots walk in circles, five moves a second", circle, 5, share=40),
    "patrol": Scenario("20 bots in each square walk around fields of ten by ten tiles", patrol),
    "life": Scenario(
        "one bot in each square steps when it has heard its neighbours: one lost message stops all",
        step,
        rate=10,
        share=1,
        lockstep=True,
    ),
}

#: The scenario in which bots play by a game's own bot.
OWN = "own"


def scenario(name: str, game: str) -> Scenario:
    """Return a scenario by its name, or the one in a Python file, see docs/swarm.md. Raises
    ValueError with a sentence if a game or a file has no function `turn(bot)`, or a wrong PLAN."""
    if name in SCENARIOS:
        return SCENARIOS[name]
    plan: dict[str, Any] = {"rate": 4, "see": True, "viewports": SCREENS}
    if name == OWN:
        turn, plan["ticket"] = bots_of(game)
        if turn is None:
            raise ValueError(f"the game {game} has no bot.py with a function turn(bot)")
        return Scenario("bots play by the game's own bot.py", turn, **plan)
    try:
        found = run_path(name)
        turn, plan["ticket"] = found["turn"], found.get("TICKET", "")
        return Scenario(found["__doc__"] or name, turn, **{**plan, **found.get("PLAN", {})})
    except KeyError as error:
        raise ValueError(f"the scenario {name} has no function turn(bot)") from error
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        known = ", ".join(field.name for field in fields(Scenario)[2:])
        raise ValueError(f"the scenario {name} fails: {what}; PLAN may have {known}") from error
