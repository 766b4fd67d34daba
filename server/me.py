"""A player of this node, as its game knows it: what it is, and what the game lets it do.

A game may declare fields that everybody sees of each player. This module never decides anything.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from flatlands.server.hooks import Gone
from flatlands.server.kept.reach import reaches
from flatlands.server.limits import HAPPENINGS, HAPPENINGS_EACH
from flatlands.server.logs import log_line
from flatlands.server.messages import protocol
from flatlands.server.messages.peer_protocol import VALUES
from flatlands.server.messages.protocol import Refused
from flatlands.server.messages.table import NUMBER, Field
from flatlands.server.players.resident import Resident
from flatlands.server.things import Event, Thing, allowed, check_tile, fields_of
from flatlands.stores.base import Rank
from flatlands.world.grid import Square
from flatlands.world.track import PACE, PACE_LEAST, PACE_MOST, UNIT, Tile, Track, tile_at

#: The most characters in all texts of a player's fields: each enter has them.
TEXT_MOST = 40


def _nothing() -> None:
    """Do nothing."""


class _Fielded(type):
    """The class of Me: objects of those that inherit from it have no attributes but fields, since
    there is a new object for each call."""

    def __new__(cls, name: str, bases: tuple[type, ...], having: dict[str, Any]) -> "_Fielded":
        having.setdefault("__slots__", ())
        return super().__new__(cls, name, bases, having)


class Me(metaclass=_Fielded):
    """A player of this node, as its game knows it. Positions are tiles: (column, row).

    What it is can always be asked, as it was last. What it does raises Gone once the player is not
    at this node any more. Two of these are equal if they are of the same player. A game may have a
    class that inherits from this one, with fields that everybody sees:

        class Painter(Me):
            colour = number(0, 7)
    """

    __slots__ = ("_node", "_resident", "_give_back")

    #: What it has besides.
    fields: ClassVar[tuple[Field, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Find the fields. Raises ValueError, with a sentence for its author."""
        if cls.__base__ is not Me:
            raise ValueError(f"{cls.__name__} must inherit from Me itself")
        cls.fields = fields_of(cls, dir(Me), VALUES, TEXT_MOST)
        for at, field in enumerate(cls.fields):
            setattr(cls, field.name, _value(at, field))

    def __init__(
        self, node: Any, resident: Resident, give_back: Callable[[], object] = _nothing
    ) -> None:
        self._node = node
        self._resident = resident
        self._give_back = give_back

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Me) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"Me({self.id}, {self.name!r})"

    @property
    def id(self) -> int:
        """The player's id: it keeps it as long as it comes back with its token."""
        return self._resident.id

    @property
    def name(self) -> str:
        """The player's present name, which proves nothing."""
        return self._resident.name

    @property
    def tile(self) -> Tile:
        """The tile on which the player is now."""
        return tile_at(self._resident.track, self._node.loop.now())

    @property
    def track(self) -> Track:
        """The way on which the player is, as world/track.py has it."""
        return self._resident.track

    @property
    def square(self) -> Square:
        """The square in which the player is published: (column, row)."""
        return self._resident.square

    @property
    def owner(self) -> str:
        """Whose points it earns: a text that is the same whenever this person plays, and that
        nobody else has; "" if its page has sent no key."""
        return self._resident.owner

    def tell(self, name: str, *fields: Any) -> None:
        """Tell the player's page something, as `Game.tell_all` tells all; nothing happens while its
        connection is lost. Raises Gone."""
        self._check()
        message = told(name, fields)
        if self._resident.screen is not None:
            self._resident.screen.answer(message)

    def take(
        self,
        thing: Thing,
        then: Iterable[Thing] = (),
        scores: Iterable[tuple[str, int]] = (),
    ) -> bool:
        """Take a thing away; say whether it was there still, as it is for one caller in the world.

        In the same step of the store all of `then` is put where it lies, and the person gets
        points, as (board, points), if it has an owner. It waits for the store. Raises Gone, Away if
        the store does not answer, and ValueError.
        """
        self._check()
        boards, lying = self._node.play.boards, self._node.play.lying
        points = [boards.score(board, self.owner, n) for board, n in scores if self.owner]
        also = [boards.entry(self.owner, self.id, self.name)] if points else []
        return bool(lying.take(thing, then, points, also))

    def leave(self, *things: Thing) -> None:
        """Let things lie somewhere. Who has left one with a text is in the log. It waits for the
        store. Raises Gone; Away if the store does not answer; Refused where there are as many as
        there can be (`room`), if the person has as many already (`most`), or if they are counted
        per owner and it has none (`key`); and ValueError."""
        self._check()
        left: list[Thing] = []
        try:
            self._node.play.lying.leave(things, self.owner, left)
        finally:
            for thing in left:
                if thing.wordy:
                    log_line("thing", player=self.id, id=thing.id, tile=str(thing.tile))

    def change(self, thing: Thing, how: Callable[[Any], Thing]) -> Any:
        """Put in place of a thing what `how` makes of it by `again`, on the same tile; return that,
        or None if it does not lie there any more.

        `how` is called with the thing as it is in the store, also with what it does not show, and
        again if another player was faster. It may raise Refused, and must not wait. This method
        waits for the store. Raises Gone, Away, what `how` raises, and ValueError.
        """
        self._check()
        return self._node.play.lying.change(thing, how)

    def near(self, tile: Tile, reach: float) -> bool:
        """Say whether the player is, or was a moment ago, within so many tiles of the middle of a
        tile."""
        x, y = (at * UNIT + UNIT // 2 for at in tile)
        return reaches(self.track, self._node.loop.now(), x, y, round(reach * UNIT))

    def rank(self, board: str) -> Rank:
        """Return the person's place on a board: `place` from 1, among `of`, with `n` points; all of
        them 0 for who has no points there. It waits for the store. Raises Gone and Away."""
        self._check()
        rank: Rank = self._node.play.boards.rank(board, self.owner)
        return rank

    def emit(self, event: Event) -> None:
        """Publish an event of the player in its square. Raises Gone, Refused if too many come from
        there, and ValueError."""
        self._check()
        screen, square = self._resident.screen, self.square
        if screen is not None and not screen.limits.allow_there(
            HAPPENINGS, HAPPENINGS_EACH, screen.address, square
        ):
            raise Refused("crowded", "too much happens here at once: try again soon", None)
        self._node.play.emit(square, self.id, event)

    def pace(self, pace: float, lasts: float | None = None) -> None:
        """Let the player go so many times as fast as others, 0.25 to 4, from the end of this turn
        of the event loop: for `lasts` seconds, or (None) until this is called again. Everybody sees
        it. Raises Gone, and ValueError."""
        self._check()
        if not (isinstance(pace, int | float) and PACE_LEAST <= pace * PACE <= PACE_MOST):
            raise ValueError(f"a pace is a number from 0.25 to 4, and not {pace!r}")
        if lasts is not None and not (isinstance(lasts, int | float) and 0 < lasts <= 10**9):
            raise ValueError(f"a pace cannot last for {lasts!r} seconds")
        node, percent = self._node, round(pace * PACE)
        ms = 0 if lasts is None else max(round(lasts * 1000), 1)

        def go() -> None:
            # A hook may be called in the middle of a move.
            if self._is_here():
                node.movement.pace(self._resident, percent, ms and node.loop.now() + ms)

        node.loop.soon(go)

    def put(self, tile: Tile) -> None:
        """Put the player on a tile, where it stands, at the end of this turn of the event loop.
        Raises Gone, and ValueError if nobody can stand there."""
        self._check()
        node, (column, row) = self._node, check_tile(tile)
        if node.terrain.blocked(column, row):
            raise ValueError(f"nobody can stand on {tile!r}")
        place = column * UNIT + UNIT // 2, row * UNIT + UNIT // 2

        def leap() -> None:
            # A hook may be called in the middle of a move.
            if self._is_here():
                node.movement.put(self._resident, place)

        node.loop.soon(leap)

    def give_back(self) -> None:
        """Do not count for the player's address what it has just asked."""
        self._give_back()

    def refuse(self, refused: Refused) -> None:
        """Tell the player's page why it is not obeyed. For its address that does not count."""
        self.give_back()
        if self._resident.screen is not None:
            refused.close = None
            self._resident.screen.refuse(refused)

    def _check(self) -> None:
        """Raise Gone if the player is not at this node any more."""
        if not self._is_here():
            raise Gone(f"{self.name} is not here any more")

    def _is_here(self) -> bool:
        return self._node.residents.by_id.get(self.id) is self._resident

    def _set(self, at: int, value: Any) -> None:
        """Have another value in a field, and publish that. Raises Gone."""
        self._check()
        values = list(self._resident.values)
        values[at] = value
        self._node.residents.have(self._resident, values)


def _value(at: int, field: Field) -> property:
    """Return the attribute of a player that is the value of a field."""

    def take(me: Me, value: Any) -> None:
        me._set(at, allowed(type(me).__name__, field, value))

    return property(lambda me: me._resident.values[at], take, doc=str(field))


def told(name: str, fields: Sequence[Any]) -> bytes:
    """Pack what a page is told. Raises ValueError if it is nothing that a page can read."""
    _check_told(name, [name, *fields])
    return protocol.told(name, fields)


def _check_told(name: Any, value: Any) -> None:
    if isinstance(value, list | tuple):
        for one in value:
            _check_told(name, one)
    elif not (value is None or isinstance(value, bool | str)) and not (
        isinstance(value, int) and -NUMBER <= value <= NUMBER
    ):
        kinds = "None, booleans, whole numbers, texts, and lists of these"
        raise ValueError(f"{name} tells {value!r}: pages are told {kinds}")
