"""A player of this node, as its game uses it: what it is, and what the game lets it do.

A game may declare fields of its players, which everybody sees.
"""

from collections.abc import Callable, Iterable
from typing import ClassVar, TypeVar

from flatlands.server.game.cells import Cells, writer_of
from flatlands.server.game.delivery import pack_message
from flatlands.server.game.game_node import GameNode
from flatlands.server.game.hooks import PlayerGone
from flatlands.server.messages import protocol
from flatlands.server.messages.peer_protocol import VALUES_MOST
from flatlands.server.messages.protocol import Refused
from flatlands.server.messages.table import Field
from flatlands.server.messages.texts import BAD_NAME, PLAYER_NAME_LIMIT, clean
from flatlands.server.players.recording import until
from flatlands.server.players.resident import Resident
from flatlands.server.runtime.limits import GAME_EVENTS, GAME_EVENTS_EACH, WRITES_EACH
from flatlands.server.runtime.logs import log_line
from flatlands.server.storage.boards import owner_of
from flatlands.server.storage.kinds import Event, Record, Thing, allowed, fields_of, middle_of
from flatlands.server.storage.reach import reaches
from flatlands.stores.base import Rank
from flatlands.world.grid import Square
from flatlands.world.track import PACE_LEAST, PACE_MOST, PACE_USUAL, UNIT, Tile, Track, tile_at

_T = TypeVar("_T", bound=Thing)

#: The most characters in all texts of a player's fields, since each enter event carries them.
ENTER_CHARS_MOST = 40

#: Bytes of a token, which has 512 characters, for the names and values of the fields that persist.
TOKEN_FIELDS_BYTES = 250


def _nothing() -> None:
    """Do nothing."""


class _FieldsOnly(type):
    """The metaclass of Me: objects of its subclasses have no attributes except fields, since each
    call gets a new object."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], having: dict[str, object]
    ) -> "_FieldsOnly":
        having.setdefault("__slots__", ())
        return super().__new__(cls, name, bases, having)


class PlayerInfo(metaclass=_FieldsOnly):
    """The state of a player of this node. It can be read even when the player is gone, and is then
    as it was last. Two of these objects are equal if they are of the same player."""

    __slots__ = ("_node", "_resident")

    def __init__(self, node: GameNode, resident: Resident) -> None:
        self._node = node
        self._resident = resident

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Me) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"Me({self.id}, {self.name!r})"

    @property
    def id(self) -> int:
        """The player's id, which stays the same as long as the player comes back with its token."""
        return self._resident.id

    @property
    def name(self) -> str:
        """The player's present name, which proves nothing."""
        return self._resident.name

    @property
    def look(self) -> int:
        """How the player looks, as its page has chosen: a number that means whatever pages take it
        to mean."""
        return self._resident.look

    @property
    def tile(self) -> Tile:
        """The tile on which the player is now."""
        return tile_at(self._resident.track, self._node.loop.now())

    @property
    def track(self) -> Track:
        """The player's present track, as in world/track.py."""
        return self._resident.track

    @property
    def square(self) -> Square:
        """The square in which the player is published: (column, row)."""
        return self._resident.square

    @property
    def owner(self) -> str:
        """The owner of the points that it earns: a text that is the same whenever this person
        plays, and that nobody else has; "" if its page has sent no key."""
        return self._resident.owner

    @property
    def is_local(self) -> bool:
        """Whether the player is still at this node, so that what it does will not raise
        PlayerGone."""
        return self._node.residents.by_id.get(self.id) is self._resident

    def near(self, tile: Tile, reach: float) -> bool:
        """Return whether the player is, or was a moment ago, within `reach` tiles of the middle of
        a tile."""
        return reaches(self.track, self._node.loop.now(), *middle_of(tile), round(reach * UNIT))

    def recorded(self) -> list[tuple[int, int, int]]:
        """Return the player's way since `record` was called, as points (ms since then, x, y) in
        1/1024 tile: where each straight piece began, and where the player is now; [] if nothing is
        recorded any more."""
        certain = self._node.movement.certain_until(self._resident)
        points = until(self._resident.recorded, self._resident.track, certain)
        return [(t - points[0][0], x, y) for t, x, y in points]


class Me(PlayerInfo):
    """A player of this node, as its game gets it. Positions are tiles: (column, row).

    What it does raises PlayerGone once the player is no longer at this node. A game, but no part,
    may have a class that inherits from this one, with up to 8 fields that everybody sees:

        class Painter(Me):
            colour = number(0, 7)
            team = number(0, 2, persist=True)  # has it still when it comes back

    The class may have methods, but no attributes except the fields: each call gets a new object.
    """

    __slots__ = ("_refund", "_refused")

    #: The fields that a game's own class has.
    fields: ClassVar[tuple[Field, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Find the fields. Raises ValueError, with a sentence for its author."""
        if cls.__base__ is not Me:
            raise ValueError(f"{cls.__name__} must inherit from Me itself")
        cls.fields = fields_of(cls, dir(Me), VALUES_MOST, ENTER_CHARS_MOST)
        persistent = [field for field in cls.fields if field.persist]
        if sum(len(field.name) + _longest(field) + 4 for field in persistent) > TOKEN_FIELDS_BYTES:
            raise ValueError(
                f"{cls.__name__} keeps more than a token can hold: shorten the names of its fields"
            )
        for at, field in enumerate(cls.fields):
            setattr(cls, field.name, _value(at, field))

    def __init__(
        self, node: GameNode, resident: Resident, refund: Callable[[], object] = _nothing
    ) -> None:
        super().__init__(node, resident)
        self._refund = refund
        #: The refusal that its page was sent.
        self._refused: Refused | None = None

    def send(self, name: str, *fields: object) -> None:
        """Send a message to the player's page, as `Game.broadcast` does to all pages. While its
        connection is lost, nothing happens. Raises PlayerGone and ValueError."""
        self._check()
        self._node.play.check_message(name, fields)
        message = pack_message(name, fields)
        if self._resident.session is not None:
            self._resident.session.answer(message)

    def take(
        self,
        thing: Thing,
        then: Iterable[Thing | Record] = (),
        scores: Iterable[tuple[str, int]] = (),
    ) -> bool:
        """Take a thing away; return whether it was still there: that is so for one caller only.

        In the same step, the store puts all things of `then` on their tiles, adds its records,
        except those whose ids it has already, and gives the person, if it has an owner, the points
        of `scores`, as (board, points). It waits for the store. Raises PlayerGone, StoreUnavailable
        if the store does not answer, and ValueError.
        """
        self._check()
        play = self._node.play
        points = [play.boards.score(board, self.owner, n) for board, n in scores if self.owner]
        names = [play.boards.entry(self.owner, self.id, self.name)] if points else []
        some = list(then)
        taken = play.items.take(thing, some, points, names)
        for one in some if taken else ():
            if isinstance(one, Thing) and one.id == thing.id and not one.after:
                # What it has pushed out of its reach it can touch there.
                if one.tile == thing.tile or self.near(one.tile, type(one).reach):
                    self._note_own_thing(one)
        return taken

    def put(self, *things: Thing) -> None:
        """Put things on their tiles. The log says who has put one with a text. It waits for the
        store. Raises PlayerGone, unless the player has left the game here; StoreUnavailable if the
        store does not answer; Refused if no more can lie there (`room`), if the person has as many
        as it may have (`most`), or if they are counted per owner and it has none (`key`); and
        ValueError. Those before the one that is refused then lie there."""
        if self.id not in self._node.residents.departed:
            self._check()
        done: list[Thing] = []
        try:
            self._node.play.items.put(things, self.owner, done)
        finally:
            for thing in done:
                if thing._wordy:
                    log_line("thing", player=self.id, id=thing.id, tile=str(thing.tile))

    def write(self, cells: Cells, tiles: Tile | Iterable[Tile], value: int) -> None:
        """Write on tiles as `cells[tiles] = value` does, in the name of the person: the store knows
        who wrote there last, so that an operator can undo it. Raises PlayerGone; Refused if too
        much is written from its address (`crowded`), if the person or the layer has as many tiles
        as it may have (`full`), or if tiles are counted per owner and it has none (`key`); and
        ValueError."""
        self._check()
        some, session = [tiles] if isinstance(tiles, tuple) else list(tiles), self._resident.session
        if cells.options.per_owner is not None and not self.owner:
            raise Refused(
                "key", "send a key first, so that the server can tell what is yours", None
            )
        if cells.options.persist and session is not None:
            if not session.limits.allow_address(WRITES_EACH, session.address, count=len(some)):
                raise Refused(
                    "crowded",
                    "too many tiles are being changed from your address: wait a moment",
                    None,
                )
        cells.write(some, value, writer_of(self.owner, self.id))

    def change(self, thing: _T, how: Callable[[_T], _T]) -> _T | None:
        """Replace a thing by what `how` makes of it with `again`, on the same tile; return the new
        thing, or None if the old one does not lie there any more.

        `how` is called with the thing as the store has it, including fields that are not shown, and
        once more whenever another player was faster. It may raise Refused, and must not wait. This
        method waits for the store. Raises PlayerGone, StoreUnavailable, what `how` raises, and
        ValueError.
        """
        self._check()
        changed = self._node.play.items.change(thing, how)
        if changed is not None:
            self._note_own_thing(changed)
        return changed

    def _note_own_thing(self, thing: Thing) -> None:
        """Note that the player has made this version of a thing, and does not touch it."""
        touches = self._node.movement.touches
        if touches is not None and self.is_local:
            touches.ignore_own(self._resident, thing.id, thing.version)

    def record(self) -> None:
        """Record the player's way from now on, for `recorded`, and forget what was recorded before.
        The recording moves with the player to another node. It ends with its 256th point, when the
        player is put elsewhere, and with its node. Raises PlayerGone."""
        self._check()
        now = self._node.loop.now()
        self._resident.recorded = ((now, *self._resident.track.at(now)),)

    def rank(self, board: str) -> Rank:
        """Return the person's place on a board: `place` from 1, among `of`, with `n` points; all
        are 0 for a person without points there. It waits for the store. Raises PlayerGone and
        StoreUnavailable."""
        self._check()
        return self._node.play.boards.rank(board, self.owner)

    def emit(self, event: Event) -> None:
        """Publish an event of the player in its square. Raises PlayerGone; Refused if more than 50
        a second (250 at once) come from there, or 10 (120) from its address; and ValueError."""
        self._check()
        session, square = self._resident.session, self.square
        if session is not None and not session.limits.allow_there(
            GAME_EVENTS, GAME_EVENTS_EACH, session.address, square
        ):
            raise Refused("crowded", "too much is happening here: try again in a moment", None)
        self._node.play.emit(square, self.id, event)

    def pace(self, pace: float, lasts: float | None = None) -> None:
        """Let the player walk `pace` times as fast as others, 0.25 to 4, from the end of this turn
        of the event loop on: for `lasts` seconds, or until the next call if that is None. Everybody
        sees it. Raises PlayerGone, and ValueError."""
        self._check()
        if not (isinstance(pace, int | float) and PACE_LEAST <= pace * PACE_USUAL <= PACE_MOST):
            raise ValueError(f"a pace must be a number from 0.25 to 4, not {pace!r}")
        if lasts is not None and not (isinstance(lasts, int | float) and 0 < lasts <= 10**9):
            raise ValueError(
                f"lasts must be more than 0 and at most {10**9} seconds, not {lasts!r}"
            )
        node, percent = self._node, round(pace * PACE_USUAL)
        ms = 0 if lasts is None else max(round(lasts * 1000), 1)

        def go() -> None:
            # A hook may be called in the middle of a move.
            if self.is_local:
                node.movement.set_pace(self._resident, percent, ms and node.loop.now() + ms)

        node.loop.call_soon(go)

    def teleport(self, tile: Tile) -> None:
        """Put the player on a tile at the end of this turn of the event loop; it then stands there.
        Raises PlayerGone, and ValueError if nobody can stand there."""
        self._check()
        node, place = self._node, middle_of(tile)
        if node.terrain.blocked(*tile):
            raise ValueError(f"nobody can stand on {tile!r}")

        def leap() -> None:
            # A hook may be called in the middle of a move.
            if self.is_local:
                node.movement.put(self._resident, place)

        node.loop.call_soon(leap)

    def refund(self) -> None:
        """Do not count the player's last request against its address."""
        self._refund()

    def refuse(self, refused: Refused) -> None:
        """Send the player's page a refusal, and do not count the action for its address."""
        self.refund()
        self._refused = refused
        if self._resident.session is not None:
            refused.close = None
            self._resident.session.refuse(refused)

    def _check(self) -> None:
        """Raise PlayerGone if the player is not at this node any more."""
        if not self.is_local:
            raise PlayerGone(f"{self.name} has left")


class Guest:
    """A client that has sent hello, as its game gets it: who it is to be if it may play."""

    def __init__(self, name: str) -> None:
        self._name, self._owner = name, ""
        #: Why it may not play; None if it may.
        self.refused: Refused | None = None

    @property
    def name(self) -> str:
        """The name that it asks for; the game may set another one. Raises Refused if nobody can
        have that name."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        cleaned = clean(name, PLAYER_NAME_LIMIT)
        if cleaned is None:
            raise Refused("name", BAD_NAME)
        self._name = cleaned

    @property
    def owner(self) -> str:
        """The owner of the points that it earns, as `Me.owner` will be. Set it to any text by which
        the game knows a person: it is then a hash of that text."""
        return self._owner

    @owner.setter
    def owner(self, person: str) -> None:
        # No key has a space in it.
        self._owner = owner_of(f"owner {person}")

    def refuse(self, refused: Refused) -> None:
        """Do not let it play: for good, or until its page tries again if the game has failed."""
        refused.close = refused.close or protocol.TRY_LATER
        self.refused = refused


def _longest(field: Field) -> int:
    """Return the most bytes that a value of a field takes in a token."""
    if field.type is str:
        return 4 * field.high + 2
    return max(len(str(field.low)), len(str(field.high)), len("false"))


def _value(at: int, field: Field) -> property:
    """Return the attribute of a player that is the value of a field."""

    def take(me: Me, value: object) -> None:
        value = allowed(type(me).__name__, field, value)
        me._check()
        values = list(me._resident.values)
        values[at] = value
        me._node.residents.set_values(me._resident, values)

    return property(lambda me: me._resident.values[at], take, doc=str(field))
