"""The kinds that a game declares by classes: things, which lie in the world, each on one tile,
until a player takes them; events, which happen to a player; and records, which the store has by an
id.

This module never reads the store (items.py does), and publishes nothing.
"""

import logging
from collections import namedtuple
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Final, NamedTuple, Self, TypeVar

from flatlands.server.messages import peer_batches
from flatlands.server.messages.peer_batches import TupleKind
from flatlands.server.messages.peer_protocol import THING_ID, THING_VERSION
from flatlands.server.messages.table import Field
from flatlands.server.messages.table import Row as ValuesRow
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT, clean
from flatlands.world.events import Player
from flatlands.world.grid import Square
from flatlands.world.terrain import plot_index
from flatlands.world.things import PlacedThing as Row
from flatlands.world.track import PACE_LEAST, PACE_MOST, PACE_USUAL, SPEED, UNIT, Tile, tile_at

log = logging.getLogger("flatlands")

#: The names of kinds whose upgrade has failed.
_failed: set[str] = set()

#: The fields of every thing on the wire before its own ones, and those of every event.
_ALWAYS = "kind", "id", "version", "x", "y"
_EVENT = "kind", "id"

#: Tiles from the origin along each axis: the ground ends before that.
FAR = 2**31

#: The longest reach of a thing, in tiles: the thing must be visible on the smallest of screens.
REACH_MOST = 6

# These limits make a thing fit the store, and several fit one message between nodes.

#: The most characters of the name of a kind, and of a field.
NAME_CHARS_MOST = 20

#: The most fields of a thing.
FIELDS_MOST = 16

#: The most characters of all texts of a thing.
TEXTS_CHARS_MOST = 2000

#: The most fields of a mover, and the most characters of all its texts: everybody who sees it gets
#: them with each track of a newcomer, as those of players.
MOVER_FIELDS_MOST = 6
MOVER_CHARS_MOST = 40

#: The speeds of movers, in tiles a second, that a pace (world/track.py) can have.
SLOWEST = PACE_LEAST * SPEED / PACE_USUAL / UNIT
FASTEST = PACE_MOST * SPEED / PACE_USUAL / UNIT

#: Names that no field can have, in addition to those of what every thing has.
_NOT_FIELDS = {"tile", "after", "quota_ids"}

#: The highest limit that a game can set for the things of a kind in a square, or of a person.
COUNT_MOST = 100

#: The most characters of a record's id.
RECORD_ID_CHARS = 120


_T = TypeVar("_T", bound="Thing")
_M = TypeVar("_M", bound="Mover")


def _text(what: object, first: str, **values: object) -> str:
    """Return how an author reads a thing or a record."""
    return (
        f"{type(what).__name__}({', '.join([first, *(f'{n}={v!r}' for n, v in values.items())])})"
    )


class _Fields:
    """The base of all kinds. `_row` is the named tuple as which nodes publish one: what all have,
    and the fields that are `_shown`. A kind is `_wordy` if one of these is a text."""

    fields: ClassVar[tuple[Field, ...]] = ()
    _shown: ClassVar[tuple[Field, ...]] = ()
    _wordy: ClassVar[bool] = False
    _row: ClassVar[Any] = None

    @classmethod
    def _declare(cls, always: Sequence[str]) -> None:
        """Find the fields of a class. Raises ValueError, with a sentence for its author."""
        name = cls.__name__
        if len(name) > NAME_CHARS_MOST:
            raise ValueError(
                f"the name {name} is too long: use at most {NAME_CHARS_MOST} characters"
            )
        if cls.__base__ is None or cls.__base__.__module__ != __name__:
            raise ValueError(f"{name} must inherit from Thing, Mover, Event or Record itself")
        taken = {*always, *_NOT_FIELDS, *dir(cls.__base__)}
        cls.fields = fields_of(cls, taken, FIELDS_MOST, TEXTS_CHARS_MOST)
        if any(field.persist for field in cls.fields):
            raise ValueError(f"a field of {name} has persist=True: only fields of players can")
        cls._shown = tuple(field for field in cls.fields if field.name[0] != "_")
        cls._wordy = any(field.type is str for field in cls._shown)
        make: Any = namedtuple  # its fields are data
        cls._row = make(name, [*always, *[field.name for field in cls._shown]])

    @classmethod
    def upgrade(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Return what an older version of the game has put into the store, as this version has it.

        `values` has the values by the names of their fields, of any earlier version. Of what this
        returns, names that are no field, and values that do not fit, are left out. It may not wait.
        It is called when values of an older version are read. If it fails, fields whose values do
        not fit get the lowest. The store keeps the old values until somebody changes them.

            @classmethod
            def upgrade(cls, values):  # colour was a number
                return {**values, "colour": ["red", "green", "gold"][values["colour"]]}
        """
        return values

    def _set(self, values: dict[str, object]) -> None:
        """Set all fields; those that are left out get their lowest values. Raises ValueError."""
        for field in self.fields:
            value = values.pop(field.name, field.lowest)
            setattr(self, field.name, allowed(type(self).__name__, field, value))
        if values:
            raise ValueError(f"{type(self).__name__} has no field {next(iter(values))}")

    @property
    def values(self) -> dict[str, object]:
        """The values of its fields."""
        return {field.name: getattr(self, field.name) for field in self.fields}

    def _shows(self) -> list[object]:
        """Return the values of the fields that are shown."""
        return [getattr(self, field.name) for field in self._shown]

    def _named(self, name: str, instead: str) -> dict[str, Any]:
        """Return `instead` by field, for each that has the value `name` and allows `instead`."""
        texts = [field.name for field in self.fields if field.allows(instead)]
        return {each: instead for each in texts if getattr(self, each) == name}


class Event(_Fields):
    """A kind of events: something that happens to a player, and is then over. Its fields are as
    those of a Thing. Everybody who sees the player's square then gets it, and nobody later."""

    def __init_subclass__(cls) -> None:
        """Find the fields. Raises ValueError, with a sentence for its author."""
        super().__init_subclass__()
        cls._declare(_EVENT)

    def __init__(self, **values: object) -> None:
        """Make an event with these values of its fields; those left out get their lowest. Raises
        ValueError."""
        self._set(values)


class Key(NamedTuple):
    """The thing or record of a kind with an id, whether or not there is one."""

    kind: "type[Thing] | type[Record]"
    id: str


class Thing(_Fields):
    """A kind of things. Its fields are declared as those of an action are (actions.py):

        class Mushroom(Thing, reach=1, lasts=3600):
            colour = number(0, 7)

    A player touches a thing if the middle of its tile is within `reach` tiles, 6 at most. After
    `lasts` seconds a thing is gone, unless it was taken or changed before; None: it lies until
    somebody takes it. `per_square` and `per_owner` limit how many of those that players leave can
    lie there, up to 100; None: there is no limit but that of 500 things in a square.

    Its name, and those of its up to 16 fields, have 20 characters at most; all its texts have 2,000
    together. A field with a name that begins with an underscore is kept in the store and shown to
    nobody. Things of a kind that the game no longer has stay in the store unseen. An object is one
    thing as it was when it was read, and never changes. It has `tile`, `id`, `version`, which grows
    whenever it is put somewhere, and the fields.
    """

    reach: ClassVar[float] = 1
    lasts: ClassVar[float | None] = None
    per_square: ClassVar[int | None] = None
    per_owner: ClassVar[int | None] = None

    def __init_subclass__(
        cls,
        *,
        reach: float = 1,
        lasts: float | None = None,
        per_square: int | None = None,
        per_owner: int | None = None,
    ) -> None:
        """Find the fields. Raises ValueError, with a sentence for its author."""
        super().__init_subclass__()
        name = cls.__name__
        for most in (per_square, per_owner):
            if not (most is None or (type(most) is int and 1 <= most <= COUNT_MOST)):
                limits = f"per_square and per_owner of {name} must be 1 to {COUNT_MOST}, or None"
                raise ValueError(f"{limits}, not {most!r}")
        if not isinstance(reach, int | float) or not 0 < reach <= REACH_MOST:
            raise ValueError(
                f"the reach of {name} must be more than 0 and at most {REACH_MOST} tiles"
            )
        _check_lasts(name, lasts)
        cls._declare(_ALWAYS)
        cls.reach, cls.lasts = reach, lasts
        cls.per_square, cls.per_owner = per_square, per_owner

    def __init__(self, tile: Tile, **values: object) -> None:
        """Make a thing that is to lie on a tile, with these values of its fields; those left out
        get their lowest. Raises ValueError."""
        self.id, self.version = "", 0
        self.tile = check_tile(tile)
        self._set(values)
        #: ms until it is to lie there; and the ids of its units of quota (items.py).
        self.after, self.quota_ids = 0, list[Any]()

    def __repr__(self) -> str:
        return _text(self, str(self.tile), id=self.id, version=self.version, **self.values)

    @classmethod
    def _is_counted(cls) -> bool:
        """Return whether there is a limit to the number of these things."""
        return (cls.per_square, cls.per_owner) != (None, None)

    @property
    def plot(self) -> Tile:
        """The plot of 64 x 64 tiles in which it lies."""
        column, row = self.tile
        return plot_index(column), plot_index(row)

    @classmethod
    def key(cls, id: str) -> Key:
        """Return what names the thing with an id in a transaction, which reads it wherever it lies,
        if there is one."""
        return Key(cls, id)

    def again(self, tile: Tile | None = None, after: float = 0, **values: object) -> Self:
        """Return what this thing becomes: it lies on another tile, or the same one, `after` seconds
        later, with other values of some of its fields. Raises ValueError."""
        if not isinstance(after, int | float) or not 0 <= after <= 10**9:
            raise ValueError(f"after must be 0 to {10**9} seconds, not {after!r}")
        following = type(self)(self.tile if tile is None else tile, **{**self.values, **values})
        following.id, following.version = self.id, self.version + 1
        following.quota_ids = self.quota_ids
        following.after = round(after * 1000)
        return following


class Record(_Fields):
    """A kind of records: what the store has by an id. Its fields are declared as those of a Thing:

        class Run(Record, lasts=30 * 24 * 3600):
            ms = number(0, 10**6)

    After `lasts` seconds a record is gone, unless it was changed before; None: it stays. An object
    is one record as it was read, and never changes.
    """

    lasts: ClassVar[float | None] = None

    def __init_subclass__(cls, *, lasts: float | None = None) -> None:
        """Find the fields. Raises ValueError, with a sentence for its author."""
        super().__init_subclass__()
        _check_lasts(cls.__name__, lasts)
        cls._declare(("id", "body"))
        cls.lasts = lasts

    def __init__(self, id: str, **values: object) -> None:
        """Make a record with an id, 1 to 120 characters, and values of its fields; those left out
        get their lowest. What stands before a slash in the id is its group. Raises ValueError."""
        if not isinstance(id, str) or not 0 < len(id) <= RECORD_ID_CHARS or not id.isprintable():
            raise ValueError(
                f"the id of a record must have 1 to {RECORD_ID_CHARS} characters, not {id!r}"
            )
        self.id = id
        # Its bytes in the store, if it was read from there.
        self.body = b""
        self._set(values)

    def __repr__(self) -> str:
        return _text(self, repr(self.id), **self.values)

    @classmethod
    def key(cls, id: str) -> Key:
        """Return what names the record with an id in a transaction, which reads it, if there is
        one."""
        return Key(cls, id)

    def again(self, **values: object) -> Self:
        """Return what this record becomes, with other values for some of its fields. Raises
        ValueError."""
        return type(self)(self.id, **{**self.values, **values})


def _check_lasts(name: str, lasts: object) -> None:
    """Raise ValueError if a kind cannot last for this many seconds."""
    if not (lasts is None or (isinstance(lasts, int | float) and 1 <= lasts <= 10**9)):
        raise ValueError(f"lasts of {name} must be 1 second or more, or None for ever")


#: What an author meant by a field with a value of this type; and what a class takes in brackets.
_INSTEAD = {bool: "flag()", int: "number(low, high)", str: "text(low, high)"}
_IN_BRACKETS = {"reach", "lasts", "per_square", "per_owner"}


def _check_plain(name: str, having: Mapping[str, object]) -> None:
    """Raise ValueError if a class has an attribute that its author may have meant as a field."""
    for key, value in having.items():
        if key[0] == "_" or not key.islower() or type(value) not in _INSTEAD:
            continue
        if key in _IN_BRACKETS:
            raise ValueError(f"write {key} in brackets: class {name}(..., {key}={value!r})")
        raise ValueError(
            f"{key} of {name} is {value!r}, which is not a field: write {key} = "
            f"{_INSTEAD[type(value)]}, or give a constant a name in CAPITALS"
        )


def fields_of(
    kind: type[object], taken: Collection[str], most: int, text_most: int
) -> tuple[Field, ...]:
    """Return the fields that a class declares: `most` at most, with `text_most` characters at most
    in all their texts. Raises ValueError, with a sentence for its author."""
    name, own = kind.__name__, vars(kind).items()
    fields = [replace(value, name=key) for key, value in own if isinstance(value, Field)]
    _check_plain(name, vars(kind))
    hides = issubclass(kind, Thing | Record)
    for field in fields:
        hidden = field.name[0] == "_" and not hides
        if field.name in taken or hidden or len(field.name) > NAME_CHARS_MOST:
            raise ValueError(f"a field of {name} cannot be called {field.name}")
    if len(fields) > most or sum(f.high for f in fields if f.type is str) > text_most:
        limit = f"at most {most} fields, and {text_most} characters in all its texts"
        raise ValueError(f"{name} is too large: it may have {limit}")
    return tuple(fields)


def allowed(of: str, field: Field, value: object) -> object:
    """Return a value as a field has it. Raises ValueError if the field of `of` cannot have it."""
    # Others see it, as they see a chat text.
    shown = clean(value, field.high) if isinstance(value, str) and value else value
    if not field.allows(shown):
        raise ValueError(f"{of}: {field}, not {value!r}")
    return shown


def usable(fields: Iterable[Field], values: Mapping[str, object]) -> dict[str, object]:
    """Return those values that their fields can have: an older version of the game may have had
    others, and whoever reaches the broker or the store may put anything there."""
    found = {}
    for field in fields:
        with suppress(ValueError):
            found[field.name] = allowed("", field, values.get(field.name))
    return found


def stored(kind: type[_Fields], values: Mapping[str, object], old: bool) -> dict[str, object]:
    """Return those of the values in the store that a kind can have. They are upgraded if they are
    `old`, of an earlier version of it."""
    fit = usable(kind.fields, values)
    if not old:
        return fit
    try:
        return usable(kind.fields, kind.upgrade(dict(values)))
    except Exception:
        if kind.__name__ not in _failed:
            _failed.add(kind.__name__)
            log.exception(
                "upgrade of %s failed: values that do not fit become the lowest ones", kind.__name__
            )
        return fit


def check_tile(tile: object) -> Tile:
    """Return a tile, (column, row). Raises ValueError if this is not one."""
    if isinstance(tile, tuple) and [type(number) for number in tile] == [int, int]:
        column, row = tile
        if -FAR < column < FAR and -FAR < row < FAR:
            return column, row
    raise ValueError(f"a tile must be two whole numbers within 2^31 of zero, not {tile!r}")


def middle_of(tile: object) -> tuple[int, int]:
    """Return the middle of a tile, in units. Raises ValueError if this is not a tile."""
    column, row = check_tile(tile)
    return column * UNIT + UNIT // 2, row * UNIT + UNIT // 2


def declare(kind: type[Thing] | type[Event]) -> TupleKind:
    """Return a kind of things or events as nodes publish it."""
    always = (THING_ID, THING_VERSION) if issubclass(kind, Thing) else ()
    return peer_batches.declare(kind._row, *always, *kind._shown)


class Way(NamedTuple):
    """Where a mover goes: over these places, as (x, y) in units, or in a direction. Without either
    it stands."""

    path: tuple[tuple[int, int], ...] = ()
    heading: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, heading: Sequence[int], flat: Sequence[int]) -> Self:
        """Return a way with a direction (or nothing), or over places as x, y, x, y ..."""
        direction = (heading[0], heading[1]) if heading else (0, 0)
        return cls(tuple(zip(flat[::2], flat[1::2], strict=True)), direction)

    def flat(self) -> list[int]:
        """Return its places as x, y, x, y ..."""
        return [n for at in self.path for n in at]


#: The way of a mover that stands.
NOWHERE: Final = Way()


class Mover(Thing):
    """A kind of movers: things that walk. Its fields are declared as those of a Thing, 6 at most,
    with 40 characters in all texts:

        class Monster(Mover, speed=2, reach=1.5):
            health = number(0, 9)

    It walks `speed` tiles a second, 1.25 to 20. `reach` is the distance at which players touch it,
    and at which it comes near to others, from the middle of one to the middle of the other. With
    `persist` it is in the store: it survives the death of its node, and a restart of everything.
    Without it, or without a store, it lives and dies with its node. With `together`, one node moves
    all movers of the kind in the store, so that they can be led as a whole; a world has at most 400
    of them. With `on_map` the map of everybody counts it, as a computer player.

    An object is one mover as it was when it was read. `tile` is where it was then.
    """

    speed: ClassVar[float]
    persist: ClassVar[bool]
    together: ClassVar[bool]
    on_map: ClassVar[bool]

    def __init_subclass__(
        cls,
        *,
        speed: float = 5,
        reach: float = 1,
        persist: bool = True,
        together: bool = False,
        on_map: bool = False,
    ) -> None:
        """Find the fields. Raises ValueError, with a sentence for its author."""
        super().__init_subclass__(reach=reach)
        name = cls.__name__
        if type(speed) not in (int, float) or not SLOWEST <= speed <= FASTEST:
            raise ValueError(
                f"the speed of {name} must be {SLOWEST:g} to {FASTEST:g} tiles a second"
            )
        for word, flag in (("persist", persist), ("together", together), ("on_map", on_map)):
            if type(flag) is not bool:
                raise ValueError(f"{word} of {name} must be True or False, not {flag!r}")
        if together and not persist:
            raise ValueError(
                f"{name} cannot be together without persist: each stays where it began"
            )
        chars = sum(field.high for field in cls.fields if field.type is str)
        if len(cls.fields) > MOVER_FIELDS_MOST or chars > MOVER_CHARS_MOST:
            raise ValueError(
                f"{name} is too large: a mover may have at most {MOVER_FIELDS_MOST} fields, and "
                f"{MOVER_CHARS_MOST} characters in all its texts"
            )
        for field in cls.fields:
            if not persist and field.name[0] == "_":
                raise ValueError(f"{field.name} of {name} is hidden, but no store keeps it")
            if field.name == "name" and not (
                field.type is str and 1 <= field.low and field.high <= PLAYER_NAME_LIMIT
            ):
                raise ValueError(
                    f"name of {name} must be text(1, {PLAYER_NAME_LIMIT}): it is shown as the name "
                    "of a player is"
                )
        cls.speed, cls.persist, cls.together, cls.on_map = speed, persist, together, on_map

    @property
    def _first_way(self) -> Way:
        """The way that it went when it was spawned."""
        return Way.of(self.quota_ids[:2], self.quota_ids[2:])

    @_first_way.setter
    def _first_way(self, way: Way) -> None:
        # It is where other things have their quotas, which a mover never has.
        self.quota_ids = [] if way == NOWHERE else [*way.heading, *way.flat()]

    @property
    def number(self) -> int:
        """The number by which pages and bots know it; 0 before it was spawned."""
        return int(self.id.partition(":")[2] or 0)


def mover_row(number: int, kind: type[Mover]) -> ValuesRow:
    """Return the row of the values that nodes publish of a mover of the kind with a number: that
    number, its version, and its fields that are shown."""
    own = Field("kind", int, number, number)
    return ValuesRow("values", (own, THING_VERSION, *kind._shown))


def mover_of(kind: type[_M], player: Player, now: int) -> _M:
    """Return the mover that nodes publish as a player, as it is at the node time `now`."""
    _, version, *shown = player.values
    values = dict(zip([field.name for field in kind._shown], shown, strict=True))
    id, tile = f"{kind.__name__}:{player.id}", tile_at(player.track, now)
    return read(kind, id, version, tile, usable(kind.fields, values))


def read(kind: type[_T], id: str, version: int, tile: Tile, values: Mapping[str, object]) -> _T:
    """Return a thing that lies on a tile. Fields without a value get their lowest one."""
    thing = kind(tile, **values)
    thing.id, thing.version = id, version
    return thing


def of_row(kind: type[_T], row: Row, square: Square, side: int) -> _T:
    """Return the thing that a node has published by `_row`, a tuple as in world/things.py. `side`
    is that of squares in tiles."""
    tile = square[0] * side + row.x // UNIT, square[1] * side + row.y // UNIT
    values = dict(zip([field.name for field in kind._shown], row[len(_ALWAYS) :], strict=True))
    return read(kind, row.id, row.version, tile, usable(kind.fields, values))
