"""Echoes: a player races from a signpost to the next one, and the best run of each course walks
along as its echo.

A player's way is what this node has recorded of its tracks, so a page says only when it begins and
when it has arrived. Of all who run a course, on whichever nodes, the fastest holds it; of two that
are equally fast, the first. This module never draws an echo: pages do, as a function of time.
"""

from typing import Final

from flatlands import (
    Event,
    Me,
    Part,
    Record,
    Records,
    Refused,
    StoreUnavailable,
    action,
    number,
    text,
)
from flatlands.games.flatlands.echoes.run import LENGTH, Place, Point, between, packed
from flatlands.games.flatlands.ground.posts import SIDES, Posts
from flatlands.games.flatlands.notes import LINES, Note, note
from flatlands.games.flatlands.pace import LONGEST, WAITS
from flatlands.server.game.game import Game
from flatlands.server.messages.protocol import TIME_MOST
from flatlands.server.messages.table import NUMBER
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT
from flatlands.server.storage.kinds import middle_of
from flatlands.world.track import Tile

#: Seconds for which a course that nobody runs keeps its echo.
LASTS: Final = 90 * 24 * 3600

#: The most plots from the origin.
FAR: Final = 2**25

#: ms of a day: the book gets one line a day for a course that was won, and for one that was lost.
DAY: Final = 24 * 3600 * 1000

_NO_KEY: Final = "send a key first, so that the server can tell which echoes are yours"


class Echo(Record, lasts=LASTS):
    """The best run of a course: its ms, the runner's name, and its way as run.py packs it. `player`
    and `look` are the id and the look that the runner had. `beat` and `beaten` are the ms and the
    name of the echo that it replaced. The run was recorded from node time `_at` on, in ms."""

    ms = number(1, LONGEST)
    name = text(0, PLAYER_NAME_LIMIT)
    player = number(0, NUMBER)
    look = number(0, NUMBER)
    way = text(0, LENGTH)
    beat = number(0, LONGEST)
    beaten = text(0, PLAYER_NAME_LIMIT)
    _owner = text(0, 32)
    _loser = text(0, 32)
    _at = number(0, TIME_MOST)


class Race(Event):
    """A player is about to race from the signpost of plot (x, y) to the next one on a side. The
    other fields are those of the echo that walks along; `ms` is 0 if there is none."""

    x = number(-FAR, FAR)
    y = number(-FAR, FAR)
    side = number(0, len(SIDES) - 1)
    ms = number(0, LONGEST)
    name = text(0, PLAYER_NAME_LIMIT)
    player = number(0, NUMBER)
    look = number(0, NUMBER)
    way = text(0, LENGTH)


class Echoes(Part):
    """Races and their echoes. A course is the plot of its first signpost and the side on which the
    next one is."""

    events = (Race,)
    best = Records(Echo)
    notes = Records(Note)

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._posts = Posts(self.node.terrain)

    @action(rate=1, burst=5)
    def courses(
        self, me: Me, column: int = number(-FAR, FAR), row: int = number(-FAR, FAR)
    ) -> None:
        """Answer with who holds the courses that begin at the signpost of a plot."""
        rows = []
        try:
            echoes = self.best.all(f"{column}:{row}")
        except StoreUnavailable:
            # A player that only walks by need not know.
            return
        for echo in echoes:
            side = int(echo.id.rpartition("/")[2])
            rows.append([side, echo.ms, echo.name, bool(me.owner) and echo._owner == me.owner])
        me.send("courses", column, row, rows)

    @action(rate=1, burst=5)
    def race(
        self,
        me: Me,
        column: int = number(-FAR, FAR),
        row: int = number(-FAR, FAR),
        side: int = number(0, len(SIDES) - 1),
    ) -> None:
        """Record a player's way from now on, and send the race and the echo to all who see the
        player. Raises Refused."""
        if not me.owner:
            raise Refused("race", _NO_KEY)
        echo = self.best.read(f"{column}:{row}/{side}")
        # All race at the same pace, even those who come from a road.
        me.pace(1)
        me.record()
        shown = {} if echo is None else {name: getattr(echo, name) for name in _SHOWN}
        me.emit(Race(x=column, y=row, side=side, **shown))

    @action(rate=1, burst=5, address=(1 / 10, 60))
    def arrive(
        self,
        me: Me,
        column: int = number(-FAR, FAR),
        row: int = number(-FAR, FAR),
        side: int = number(0, len(SIDES) - 1),
    ) -> None:
        """Tell a player that has come to the end of a course how fast it was, and who was fastest
        before; keep its run if that is faster. Raises Refused."""
        if not me.owner:
            raise Refused("race", _NO_KEY)
        run, start, at = self._run(me, (column, row), side)
        id, ms = f"{column}:{row}/{side}", run[-1][0] - run[0][0]
        who = {"name": me.name, "player": me.id, "look": me.look, "_owner": me.owner, "_at": at}

        def faster(echo: Echo | None) -> Echo:
            if echo is not None and ms >= echo.ms:
                # A run that is no faster renews the echo, so that it lasts.
                return echo.again()
            mine = Echo(id, ms=ms, way=packed(run, start), **who)
            if echo is None:
                return mine
            return mine.again(beat=echo.ms, beaten=echo.name, _loser=echo._owner)

        echo = self.best.change(id, faster)
        assert echo is not None
        # True as well if the page, which got no answer, says again that it has arrived.
        won = (echo._owner, echo._at) == (me.owner, at)
        other = (echo.beat, echo.beaten, echo._loser) if won else (echo.ms, echo.name, echo._owner)
        if not won:
            me.refund()
        elif echo._loser != me.owner:
            self._note(me.owner, "echo", echo, echo.beaten)
            if echo._loser:
                self._note(echo._loser, "beaten", echo, me.name)
        me.send("arrived", column, row, side, ms, won, *other[:2], other[2] == me.owner)

    def _run(self, me: Me, plot: Tile, side: int) -> tuple[list[Point], Place, int]:
        """Return the run of a player at the end of a course, where the course begins, and the node
        time in ms at which the recording began. Raises Refused."""
        way = me.recorded()
        if not way:
            raise Refused("race", "the race is off: the server did not see your whole run")
        run = None
        # Looking for a signpost takes a moment.
        if self._posts.may_end(plot, side, me.tile):
            course = self._posts.course(plot, side)
            if course is None:
                raise Refused("race", "no path leads from there to a signpost")
            start, goal = map(middle_of, course)
            run = between(way, start, goal)
        if run is None:
            raise Refused("far", "you have not arrived there yet", None)
        if run[0][0] > WAITS:
            # By now it may have been faster on a road.
            raise Refused("race", f"a race is off after {WAITS // 1000} s at its start: begin anew")
        if run[-1][0] - run[0][0] > LONGEST:
            raise Refused("race", f"a race counts only if you arrive within {LONGEST // 1000} s")
        return run, start, self.now() - way[-1][0]

    def _note(self, owner: str, kind: str, echo: Echo, who: str) -> None:
        """Add a line about a course to somebody's book, once a day."""
        plot, _, side = echo.id.partition("/")
        (x, y), n = map(int, plot.split(":")), echo.ms * len(SIDES) + int(side)
        once = f"{echo.id} {self.now() // DAY}"
        self.notes.add(note(owner, kind, self.now(), who=who, n=n, x=x, y=y, once=once), LINES)


#: What is shown of an echo.
_SHOWN: Final = ("ms", "name", "player", "look", "way")
