"""The ember: a relay. It is taken from a fire, goes from hand to hand, and lights dark landmarks.

One record says who carries it, and until when. It is changed by compare-and-take: of two who reach
for it one gets it, whatever dies. Whether it has burnt out follows from the time, and is never
written. Then, and while there is no record, it is at the fires: at the hearth on the plaza, which
always burns, and at the landmarks that were lit within a day. Lighting one is one step of the
store: the ember is gone, the fire burns, and each hand has a line in its book.

Pages see who comes near whom, and ask. This module never looks at players by itself: those who do
not play with the ember pay nothing for it.
"""

from collections.abc import Callable
from functools import partial
from math import dist
from typing import Final, NamedTuple

from flatlands import Me, Part, Record, Records, Refused, action, number, text
from flatlands.games.flatlands.clockwork import Accompanied, Walker
from flatlands.games.flatlands.ground.landmarks import PART, Landmarks
from flatlands.games.flatlands.ground.landmarks import REACH as AT_LANDMARK
from flatlands.games.flatlands.notes import MARK, Note, note
from flatlands.games.flatlands.pace import FASTER
from flatlands.server.game.hooks import Hook
from flatlands.server.messages.protocol import TIME_MOST
from flatlands.server.messages.table import NUMBER
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT
from flatlands.world.track import SPEED, UNIT, Tile

#: ms for which it burns in one hand: enough for 150 tiles. The median distance of the next landmark
#: is 107 tiles, in one case of ten it is 155, and no way is straight: one player alone seldom gets
#: there, two do. None of the last HANDS gets it again until it has been out for as long, so that
#: nobody keeps it by running around a fire.
BURNS: Final = 30_000
HANDS: Final = 4

#: Clockwork takes it from a carrier that is alone, and gives it back to whoever had it, when it has
#: less than so many ms left.
LATE: Final = BURNS // 2
#: Clockwork takes it from so many tiles away, since who runs keeps ahead of who follows; and nobody
#: else is within so many of its carrier then.
BEARER_REACH: Final = 5
ALONE_WITHIN: Final = 24
#: What stands for clockwork among the books of hands: these have MARK characters.
CLOCKWORK: Final = "clockwork"

#: Tiles that its carrier may be ahead of its fastest walk, since the clocks of nodes differ. One
#: that is farther away has jumped.
AHEAD: Final = 15

#: Seconds for which a landmark burns.
DAY: Final = 24 * 3600

#: The tile of the hearth on the plaza, and the tiles within which a player reaches it, or the
#: carrier of the ember. A landmark's hearth is beside it, so it is reached from where the landmark
#: is found. Pages ask from nearer.
HEARTH: Final = -4, 4
REACH: Final = 3

#: The id of the only ember.
EMBER_ID = "ember"
#: The group of all fires.
FIRE_GROUP = "fires"

#: The fields with the names of the last hands: one for each, so that an operator can clear one.
_NAMES: Final = "first", "second", "third", "fourth"


class _Hand(NamedTuple):
    """A player or mover that gets the ember, on a tile; `mark` is its book."""

    id: int
    mark: str
    name: str
    tile: Tile


class Ember(Record):
    """The ember, which player `carrier` has `until` a node time in ms, since it was on the tile (x,
    y). `marks` are the books of its last hands, the carrier's last, and the other fields are the
    names of these hands."""

    carrier = number(0, NUMBER)
    until = number(0, TIME_MOST)
    marks = text(0, HANDS * (MARK + 1))
    first = second = third = fourth = text(0, PLAYER_NAME_LIMIT)
    x = number(-NUMBER, NUMBER)
    y = number(-NUMBER, NUMBER)

    def left(self, now: int) -> int:
        """Return for how many more ms it burns: less than 0 once it is out."""
        left = int(self.until - now)
        # A wrong clock lets nobody have it for long.
        return left if left <= 2 * BURNS else -BURNS

    def jumped(self, tile: Tile, now: int) -> bool:
        """Return whether its carrier, which is on a tile, cannot have walked there."""
        walked = (now - self.until + BURNS) / 1000 * SPEED / UNIT * FASTER
        return bool(dist((self.x, self.y), tile) > max(walked, 0) + AHEAD)

    def comes_back(self, now: int) -> bool:
        """Return whether clockwork has it, and gives it back."""
        return self.marks.split()[-1:] == [CLOCKWORK] and 0 < self.left(now) < LATE

    def passed(self, hand: _Hand, now: int) -> "Ember":
        """Return the ember after it has passed to a hand."""
        burns, mine = self.left(now) > 0, (hand.mark, hand.name)
        # One to whom it comes back is its last hand, and not an earlier one, too.
        before = [one for one in hands_of(self) if one[0] != hand.mark] if burns else []
        marks, names = zip(*[*before, mine][-HANDS:], strict=True)
        # A later carrier has it for longer, even if clocks differ.
        until = max(now + BURNS, self.until + 1) if burns else now + BURNS
        named, (x, y) = dict(zip(_NAMES, names, strict=False)), hand.tile
        kept = " ".join(marks)
        return Ember(EMBER_ID, carrier=hand.id, until=until, marks=kept, x=x, y=y, **named)


class Fire(Record, lasts=DAY):
    """The fire of the landmark on the tile (x, y), which burns `until` a node time, in ms, as long
    as the record lasts. The other fields are the names of the people that brought the ember."""

    x = number(-NUMBER, NUMBER)
    y = number(-NUMBER, NUMBER)
    until = number(0, TIME_MOST)
    first = second = third = fourth = text(0, PLAYER_NAME_LIMIT)


class Relay(Part):
    """The ember: it is taken from a fire, goes from hand to hand, and lights dark landmarks."""

    embers = Records(Ember)
    lit = Records(Fire)
    notes = Records(Note)

    def __init__(self, game: Accompanied) -> None:
        super().__init__(game)
        self._landmarks = Landmarks(self.node.terrain)
        hook = Hook(self.node, "bear", self._bear, waits=True)

        def bear(number: int, guest: int, tell: Callable[[bool], None]) -> None:
            self.node.spawn(partial(hook, number, guest, tell))

        game.bearings.append(bear)

    @action(rate=0.2, burst=3)
    def fires(self, me: Me) -> None:
        """Answer with who carries the ember, and with all landmarks that burn."""
        ember = self.embers.read(EMBER_ID)
        me.send("ember", *_fields_of(ember))
        me.send("fires", list(map(_row, self.lit.all(FIRE_GROUP))))

    @action(rate=1, burst=5, address=(1 / 2, 20))
    def take(self, me: Me, carrier: int = number(0, NUMBER)) -> None:
        """Give a player the ember: from its carrier, or from a fire if `carrier` is 0.

        Raises Refused if the player has no key, is not close, had it just now, or was not first; or
        if its carrier has jumped, and so it goes out.
        """
        if not me.owner:
            raise Refused("ember", "send a key first, so that the server can tell who you are")
        at = self._beside(me, carrier) if carrier else me.tile
        if at is None or not (carrier or self._is_at_fire(me)):
            raise Refused("far", "you are too far away from it")

        def how(found: Ember | None) -> Ember:
            now, ember = self.now(), found or Ember(EMBER_ID)
            left = ember.left(now)
            if carrier != (ember.carrier if left > 0 else 0):
                raise Refused("missed", "the ember is no longer there")
            # Its carrier is the same player under another key, too.
            had_it = me.owner[:MARK] in ember.marks and left > -BURNS
            if carrier == me.id or (had_it and not ember.comes_back(now)):
                raise Refused("ember", "you have just had the ember: it is somebody else's turn")
            return ember.passed(_Hand(me.id, me.owner[:MARK], me.name, me.tile), now)

        if carrier and (ember := self.embers.read(EMBER_ID)) and ember.carrier == carrier:
            self._check_walk(ember, at)
        self.broadcast("ember", *_fields_of(self.embers.change(EMBER_ID, how)))

    @action(rate=1, burst=5)
    def light(self, me: Me) -> None:
        """Light the landmark that a player has brought the ember to.

        Raises Refused if the player is close to none or has no ember, or if the landmark burns; or
        if the player has jumped, and so the ember goes out.
        """
        tile = self._landmark(me)
        if tile is None:
            raise Refused("far", "you are too far away from a landmark")
        ember, now = self.embers.read(EMBER_ID), self.now()
        if ember is None or ember.carrier != me.id or ember.left(now) <= 0:
            raise Refused("missed", "you are not carrying the ember")
        if known := self._fires(tile):
            me.send("fires", list(map(_row, known)))
            raise Refused("missed", "this landmark is already burning")
        self._check_walk(ember, me.tile)
        (x, y), id = tile, f"{FIRE_GROUP}/{tile[0]}:{tile[1]} {now}"
        people = [hand for hand in hands_of(ember) if hand[0] != CLOCKWORK]
        hands = [name for _, name in people]
        names = dict(zip(_NAMES, hands, strict=False))
        fire = Fire(id, x=x, y=y, until=now + DAY * 1000, **names)
        # The line of each hand names the last hand, and that one's line names the hand before it.
        whos = [*hands[-1:] * (len(hands) - 1), *hands[-2:][:1]]
        lines = [
            note(mark, "hand", now, who=who, n=len(hands), x=x // PART, y=y // PART, once=id)
            for (mark, _), who in zip(people, whos, strict=True)
        ]
        if not self.embers.forget(ember, [fire, *lines]):
            raise Refused("missed", "somebody else has taken the ember")
        self.broadcast("ember", 0, ember.until, "")
        self.broadcast("fires", [_row(fire)])

    def _bear(self, number: int, guest: int, tell: Callable[[bool], None]) -> None:
        """Let clockwork carry the ember for a player that it walks with; see Bearing."""
        ember, now = self.embers.read(EMBER_ID), self.now()
        if ember is None or ember.left(now) <= 0 or ember.carrier not in (number, guest):
            return
        if ember.carrier == number:
            tell(True)
            return
        one = next((one for one in self.movers_here(Walker) if one.number == number), None)
        near = [] if one is None else self.players_near(one.tile, ALONE_WITHIN)
        if one is None or [each.id for each in near] != [guest] or CLOCKWORK in ember.marks.split():
            return
        [carrier], hand = near, _Hand(number, CLOCKWORK, one.name, one.tile)
        late = ember.left(now) < LATE and dist(carrier.tile, one.tile) <= BEARER_REACH
        tell(late and not ember.jumped(carrier.tile, now) and self._pass(ember, hand))

    def _pass(self, ember: Ember, hand: _Hand) -> bool:
        """Let the ember pass to a hand, and return whether it has; not if it has just passed to
        somebody else."""
        passed = ember.passed(hand, self.now())
        if not self.embers.forget(ember, [passed]):
            return False
        self.broadcast("ember", *_fields_of(passed))
        return True

    def _check_walk(self, ember: Ember, tile: Tile) -> None:
        """Let the ember go out if its carrier, on this tile, has jumped. Raises Refused then."""
        now = self.now()
        if ember.left(now) <= 0 or not ember.jumped(tile, now):
            return
        if self.embers.forget(ember, [ember.again(until=now)]):
            self.broadcast("ember", 0, ember.until, "")
        # Pages show this one to their players.
        raise Refused("ember", "the ember has gone out: carry it all the way on foot")

    def _beside(self, me: Me, player: int) -> Tile | None:
        """Return the tile of another player, or of clockwork, or None if a player does not touch
        it."""
        near = [(one.id, one.tile) for one in self.players_near(me.tile, REACH + 1)]
        near += [(one.number, one.tile) for one in self.movers_near(me.tile, REACH + 1)]
        return next((tile for id, tile in near if id == player and me.near(tile, REACH)), None)

    def _is_at_fire(self, me: Me) -> bool:
        tile = self._landmark(me)
        return me.near(HEARTH, REACH) or (tile is not None and bool(self._fires(tile)))

    def _landmark(self, me: Me) -> Tile | None:
        """Return the tile of the landmark that a player is close to, dark or not, or None. No
        landmark is near the border of its part. Looking for one takes a moment, once."""
        tile = self._landmarks.of(me.tile[0] // PART, me.tile[1] // PART)
        return tile if tile is not None and me.near(tile, AT_LANDMARK) else None

    def _fires(self, tile: Tile) -> list[Fire]:
        return [fire for fire in self.lit.all(FIRE_GROUP) if (fire.x, fire.y) == tile]


def hands_of(ember: Ember) -> list[tuple[str, str]]:
    """Return the mark and the name of each hand, in the order in which they had the ember."""
    return list(zip(ember.marks.split(), names_of(ember), strict=True))


def names_of(record: Ember | Fire) -> list[str]:
    """Return the names of the hands, in the order in which they had the ember."""
    return [name for each in _NAMES if (name := getattr(record, each))]


def _fields_of(ember: Ember | None) -> list[int | str]:
    """Return the fields of the message `ember`: the carrier, until when, and the carrier's name; or
    [0, 0, ""] if nobody has had it."""
    return [0, 0, ""] if ember is None else [ember.carrier, ember.until, names_of(ember)[-1]]


def _row(fire: Fire) -> list[int | list[str]]:
    """Return the item of the message `fires` for a fire."""
    return [fire.x, fire.y, fire.until, names_of(fire)]
