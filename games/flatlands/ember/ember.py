"""The ember: a relay. It is taken from a fire, goes from hand to hand, and lights dark landmarks.

Who carries it, and until when, is one record, which is changed by compare-and-take: of two who
reach for it one has it, whatever dies. That it has burnt out is a function of time, which nobody
writes. Then, and while there is no record, it is at the fires: at the hearth on the plaza, which
always burns, and at the landmarks that were lit within a day. To light one is one step of the
store: the ember is gone, the fire burns, and each hand has a line in its book.

Pages see who comes near to whom, and ask. This module never looks at players by itself: nobody
who does not play with the ember pays for it.
"""

from typing import Final

from flatlands import Me, Part, Record, Records, Refused, action, number, text
from flatlands.games.flatlands.book.notes import MARK, Note, note
from flatlands.games.flatlands.landmarks import finders
from flatlands.games.flatlands.landmarks.landmarks import PART, Landmarks
from flatlands.server.game import Game
from flatlands.server.messages.protocol import TIME_MOST
from flatlands.server.messages.table import NUMBER
from flatlands.server.messages.texts import NAME_LIMIT
from flatlands.world.track import Tile

#: ms for which it burns in one hand: for 150 tiles. The next landmark stands 107 tiles away in the
#: middle, and 155 in one case of ten, and no way is straight: one alone seldom gets there, two do.
#: None of the last HANDS has it again before it has been out for as long, so that nobody keeps it
#: by running around a fire.
BURNS: Final = 30_000
HANDS: Final = 4

#: Seconds for which a landmark burns.
DAY: Final = 24 * 3600

#: The tile of the hearth on the plaza, and from how many tiles one reaches that, and who carries
#: the ember. A landmark's hearth is beside it, so it is reached as the landmark is found. Pages ask
#: from nearer.
HEARTH: Final = -4, 4
REACH: Final = 3

#: The id of the only ember, and the group of all fires.
EMBER, FIRES = "ember", "fires"

#: The fields with the names of the last hands, so that an operator can clear one.
_NAMES: Final = "first", "second", "third", "fourth"


class Ember(Record):
    """Player `carrier` has the ember until a node time, in ms. `marks` are the books of its last
    hands, that of the carrier last, and the others are their names."""

    carrier = number(0, NUMBER)
    until = number(0, TIME_MOST)
    marks = text(0, HANDS * (MARK + 1))
    first = second = third = fourth = text(0, NAME_LIMIT)

    def left(self, now: int) -> int:
        """Return for how many ms it burns still: less than 0 once it is out."""
        left = int(self.until - now)
        # Nobody has it for long by a clock that is wrong.
        return left if left <= 2 * BURNS else -BURNS

    def passed(self, me: Me, now: int) -> "Ember":
        """Return the ember once a player has it next."""
        burns, mine = self.left(now) > 0, (me.owner[:MARK], me.name)
        before = zip(self.marks.split(), names_of(self), strict=True) if burns else ()
        marks, names = zip(*[*before, mine][-HANDS:], strict=True)
        # Who has it later has it for longer, also if clocks differ.
        until = max(now + BURNS, self.until + 1) if burns else now + BURNS
        named = dict(zip(_NAMES, names, strict=False))
        return Ember(EMBER, carrier=me.id, until=until, marks=" ".join(marks), **named)


class Fire(Record, lasts=DAY):
    """The landmark on the tile (x, y) burns until a node time, in ms, as long as the record lasts.
    The others are the names of the hands that brought the ember."""

    x = number(-NUMBER, NUMBER)
    y = number(-NUMBER, NUMBER)
    until = number(0, TIME_MOST)
    first = second = third = fourth = text(0, NAME_LIMIT)


class Relay(Part):
    """The ember: it is taken from a fire, goes from hand to hand, and lights dark landmarks."""

    embers, lit, notes = Records(Ember), Records(Fire), Records(Note)

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._landmarks = Landmarks(self.node.terrain)

    @action(rate=0.2, burst=3)
    def fires(self, me: Me) -> None:
        """Answer with who carries the ember, and with all landmarks that burn."""
        ember = self.embers.read(EMBER)
        me.tell("ember", *_told(ember))
        me.tell("fires", list(map(_row, self.lit.all(FIRES))))

    @action(rate=1, burst=5, address=(1 / 2, 20))
    def take(self, me: Me, carrier: int = number(0, NUMBER)) -> None:
        """Let a player have the ember next: from its carrier, or (0) from a fire.

        Raises Refused if it has no key, is not close, had it just now, or somebody was faster.
        """
        if not me.owner:
            raise Refused("ember", "send a key first, by which your hands are known")
        if not (self._is_beside(me, carrier) if carrier else self._is_at_fire(me)):
            raise Refused("far", "you are not close to it")

        def how(found: Ember | None) -> Ember:
            now, ember = self.now(), found or Ember(EMBER)
            left = ember.left(now)
            if carrier != (ember.carrier if left > 0 else 0):
                raise Refused("missed", "somebody else has the ember, or nobody")
            if me.owner[:MARK] in ember.marks and left > -BURNS:
                raise Refused("ember", "you had the ember just now: it is somebody else's turn")
            return ember.passed(me, now)

        self.tell_world("ember", *_told(self.embers.change(EMBER, how)))

    @action(rate=1, burst=5)
    def light(self, me: Me) -> None:
        """Light the landmark to which a player has brought the ember.

        Raises Refused if it is not close to one, has no ember, or if the landmark burns.
        """
        tile = self._landmark(me)
        if tile is None:
            raise Refused("far", "you are not close to a landmark")
        ember, now = self.embers.read(EMBER), self.now()
        if ember is None or ember.carrier != me.id or ember.left(now) <= 0:
            raise Refused("missed", "you have no ember")
        if known := self._fires(tile):
            me.tell("fires", list(map(_row, known)))
            raise Refused("missed", "this landmark burns already")
        (x, y), id = tile, f"{FIRES}/{tile[0]}:{tile[1]} {now}"
        names = {name: getattr(ember, name) for name in _NAMES}
        fire = Fire(id, x=x, y=y, until=now + DAY * 1000, **names)
        hands = names_of(ember)
        # Each is told of the last one, and that one of the one before.
        whos = [*hands[-1:] * (len(hands) - 1), *hands[-2:][:1]]
        lines = [
            note(mark, "hand", now, who=who, n=len(hands), x=x // PART, y=y // PART, once=id)
            for mark, who in zip(ember.marks.split(), whos, strict=True)
        ]
        if not self.embers.forget(ember, [fire, *lines]):
            raise Refused("missed", "somebody else has the ember by now")
        self.tell_world("ember", 0, ember.until, "")
        self.tell_world("fires", [_row(fire)])

    def _is_beside(self, me: Me, player: int) -> bool:
        near = self.players_near(me.tile, REACH + 1)
        return any(one.id == player and me.near(one.tile, REACH) for one in near)

    def _is_at_fire(self, me: Me) -> bool:
        tile = self._landmark(me)
        return me.near(HEARTH, REACH) or (tile is not None and bool(self._fires(tile)))

    def _landmark(self, me: Me) -> Tile | None:
        """Return the tile of the landmark to which a player is close, dark or not, or None. A
        landmark is not near the border of its part. To look for one takes a moment, once."""
        tile = self._landmarks.of(me.tile[0] // PART, me.tile[1] // PART)
        return tile if tile is not None and me.near(tile, finders.REACH) else None

    def _fires(self, tile: Tile) -> list[Fire]:
        return [fire for fire in self.lit.all(FIRES) if (fire.x, fire.y) == tile]


def names_of(record: Ember | Fire) -> list[str]:
    """Return the names of the hands, in the order in which they had it."""
    return [name for each in _NAMES if (name := getattr(record, each))]


def _told(ember: Ember | None) -> list[int | str]:
    """Return what pages are told of the ember: the carrier, until when, and its name; nothing but
    zeros if nobody has had it."""
    return [0, 0, ""] if ember is None else [ember.carrier, ember.until, names_of(ember)[-1]]


def _row(fire: Fire) -> list[int | list[str]]:
    """Return what pages are told of a fire."""
    return [fire.x, fire.y, fire.until, names_of(fire)]
