"""What a node knows of the game that is played on it, and what the game knows of the node.

A game's module `game` has a class `Game` that inherits from this one, of which each node makes one
object when all its own parts are there. This class is the game in which there is nothing but
players.
"""

import inspect
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from flatlands.server.actions import Action
from flatlands.server.actions import declared as declared_action
from flatlands.server.cells import Cells
from flatlands.server.hooks import Gone
from flatlands.server.kept.boards import Place
from flatlands.server.kept.reader import Fetch
from flatlands.server.limits import HAPPENINGS, HAPPENINGS_EACH
from flatlands.server.messages import protocol
from flatlands.server.messages.peer_protocol import Kind
from flatlands.server.messages.protocol import OTHERS_FROM, Refused
from flatlands.server.messages.table import NUMBER
from flatlands.server.players.resident import Resident
from flatlands.server.things import Event, Thing
from flatlands.stores.base import Rank
from flatlands.world.grid import Square
from flatlands.world.plain import Plain
from flatlands.world.terrain import CELL, Terrain
from flatlands.world.track import Tile, Track, tile_at

_F = TypeVar("_F", bound=Callable[..., None])

#: How many tiles are looked at to find one on which one can stand.
TRIES = 16


def _nothing() -> None:
    """Do nothing."""


class Walked(NamedTuple):
    """The names of those who came last, the last one first, and how many came in all."""

    names: list[str]
    people: int


class Me:
    """A player of this node, as its game knows it. Positions are tiles: (column, row).

    What it is can always be asked, as it was last. What it does raises Gone once the player is not
    at this node any more. Two of these are equal if they are of the same player.
    """

    __slots__ = ("_node", "_resident", "_give_back")

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
        if self._node.residents.by_id.get(self.id) is not self._resident:
            raise Gone(f"{self.name} is not here any more")


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


def methods(kind: type[Any]) -> list[tuple[str, Any]]:
    """Return what a class has, by name, the first of its base classes that has a name first."""
    found: dict[str, Any] = {}
    for each in kind.__mro__:
        for name, value in vars(each).items():
            found.setdefault(name, value)
    return sorted(found.items())


def _check(name: str, value: Any) -> None:
    """Raise ValueError, with a sentence for its author, if a part cannot have this attribute."""
    if name.startswith("on_") or name == "plant":
        hook = getattr(Part, name, None)
        if hook is None:
            known = ", ".join(hook for hook in dir(Part) if hook.startswith("on_"))
            raise ValueError(f"there is no hook {name}: there are {known}")
        wanted = list(inspect.signature(hook).parameters)
        _check_takes(name, value, wanted)
    elif hasattr(value, "every_seconds"):
        _check_takes(name, value, ["self"])
    elif isinstance(value, Cells) and hasattr(Game, name):
        raise ValueError(f"cells cannot have the name {name}, which every game has")


def _check_takes(name: str, method: Any, wanted: list[str]) -> None:
    signature = inspect.signature(method)
    try:
        signature.bind(*wanted)
    except TypeError:
        raise ValueError(f"{name}{signature} must be {name}({', '.join(wanted)})") from None
    if inspect.iscoroutinefunction(method):
        raise ValueError(f"{name} must be a plain function: here nothing awaits one")


class Part:
    """A part of a game, which any game may have. `game` is the one that has it.

    Its hooks are called beside those of the game and of other parts, in the order of the parts.
    """

    #: Its kinds of events.
    events: Sequence[type[Event]] = ()

    #: Its kinds of things.
    things: Sequence[type[Thing]] = ()

    #: Things that it keeps in the store by itself: their kinds by their numbers, and what reads
    #: them.
    kinds: Mapping[int, Kind] = {}
    fetches: Sequence[Fetch] = ()

    #: What its page may ask, by name: see actions.py.
    actions: Mapping[str, Action] = {}

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.node: Any = game.node
        for name, cells in declared(type(self)):
            setattr(self, name, cells.of(self.node, f"{kept_as(type(self))}.{name}"))

    def __init_subclass__(cls) -> None:
        """Find the actions of a part. Raises ValueError, with a sentence for its author."""
        super().__init_subclass__()
        for name, value in vars(cls).items():
            _check(name, value)
        for name, base in (("things", Thing), ("events", Event)):
            some = getattr(cls, name)
            fit = isinstance(some, list | tuple)
            if not fit or not all(isinstance(one, type) and issubclass(one, base) for one in some):
                raise ValueError(f"{name} is a list of classes that inherit from {base.__name__}")
        marked = [(name, method) for name, method in methods(cls) if hasattr(method, "action")]
        for name, _method in marked:
            if hasattr(Part, name):
                raise ValueError(f"an action cannot have the name {name}, which every game has")
        cls.actions = {name: declared_action(name, method) for name, method in marked}

    # What the engine calls.

    def on_join(self, me: Me, back: bool) -> None:
        """A player has begun to play; `back`: it was here before, and its connection is new.

        It is called once in the world, at the player's node, and may wait. It is not called when a
        worker passes the player to another one.
        """

    def on_leave(self, me: Me) -> None:
        """A player has left the game: it has closed its page, or its connection is lost for long.

        It is called at the player's node, and may wait. It is not called if that node dies.
        """

    def on_enter(self, me: Me, square: Square, before: Square) -> None:
        """A player has come from one square into another. It is called once in the world, at the
        player's node, and may wait."""

    def on_step(self, me: Me, tiles: list[Tile]) -> None:
        """A player has come to these tiles, one after the other, since the last call.

        It is called once in the world, at the player's node, for a player that walks some five
        times a second, and ten times at most. Without this hook nobody looks for it.
        """

    def on_touch(self, me: Me, thing: Any) -> None:
        """A player has come near to a thing of one of the kinds in `things`.

        It is called once in the world for each time, at the player's node, and may wait: the thing
        may be another one's meanwhile.
        """

    def plant(self, cell: Tile) -> Iterable[Thing]:
        """Return what is to lie in a cell of the ground, of 64 x 64 tiles, which somebody has come
        near to for the first time, or for the first time since a day.

        What it returns is put there once, though it may be called more than once. It must not wait.
        """
        return ()

    def start(self) -> None:
        """Begin, once the node hears others."""

    def stop(self) -> None:
        """End what other nodes can go on with, since the server stops."""

    @property
    def stopped(self) -> bool:
        """Whether other nodes may go on with all that."""
        return True

    def renamed(self, player: int, name: str, owner: str) -> None:
        """Take that a player of this node has another name. `owner` is the hash of its key."""

    def silenced(self, player: int) -> None:
        """Take that an operator has sent away or muted a player."""

    def clear(self, square: Square) -> None:
        """Remove what players have written in a square, because an operator wants it."""

    def clear_name(self, name: str) -> None:
        """Forget a name wherever it is kept, because an operator wants it."""

    # What games call.

    def tell_all(self, name: str, *fields: Any) -> None:
        """Tell the pages of this node's players something, under a name of the game's own. Fields
        are None, booleans, whole numbers, texts, and lists of these."""
        message = told(name, fields)
        self.node.residents.tell_all(lambda screen: screen.answer(message))

    def leave(self, *things: Thing) -> None:
        """Let things lie somewhere. It waits for the store. Raises Away if that does not answer,
        and ValueError."""
        self.node.play.lying.leave(things)

    def top(self, board: str, most: int) -> list[Place]:
        """Return up to `most` people with the most points on a board, each with `name`, `points`
        and `owner`, as they were some seconds ago. It waits for the store. Raises Away."""
        top: list[Place] = self.node.play.boards.top(board, most)
        return top

    def somewhere(self, cell: Tile) -> Tile | None:
        """Return a tile of a cell, at random, on which one can stand; None if none was found."""
        for _ in range(TRIES):
            column, row = (at * CELL + random.randrange(CELL) - CELL // 2 for at in cell)
            if not self.node.terrain.blocked(column, row):
                return column, row
        return None


class Game(Part):
    """See the module. `node` is the Node (node.py), and `options` the game's own object with the
    values of its options, or None. `alone` says whether this node may keep, without a store, what
    only one node of the machine may."""

    #: The ground, as `terrain()` and `plain()` return it: it is made from the seed of the world.
    ground: type[Terrain | Plain] = Terrain

    #: The folder of its page, beside its module: its files are laid over those of static/.
    page: str | None = None

    #: What is added to it: classes, or whatever makes a part when it is called with the game.
    parts: Sequence[Callable[["Game"], Part]] = ()

    #: Computer players with ids from there on are no people: the map of everybody leaves them out.
    wild_from = OTHERS_FROM

    def __init_subclass__(cls) -> None:
        """Raise ValueError, with a sentence for its author, if it cannot be a game."""
        super().__init_subclass__()
        if not isinstance(cls.ground, type):
            raise ValueError("the ground of a game is plain() or terrain(), with the brackets")

    def __init__(self, node: Any, options: Any = None, alone: bool = True) -> None:
        self.node, self.options, self.alone = node, options, alone
        super().__init__(self)

    def walked(self) -> Walked:
        """Return who has walked here today, as the title of the page tells it."""
        return Walked([], 0)


def every(seconds: float) -> Callable[[_F], _F]:
    """Let a method of a game be called every so many seconds, 0.05 at least, at each node. Raises
    ValueError."""
    if not isinstance(seconds, int | float) or seconds < 0.05:
        raise ValueError("write @every(seconds), with a number from 0.05 on")

    def mark(method: _F) -> _F:
        vars(method)["every_seconds"] = seconds
        return method

    return mark


def plain() -> type[Plain]:
    """Return the ground on which everybody can walk everywhere."""
    return Plain


def terrain() -> type[Terrain]:
    """Return the ground of Flatlands: woods, lakes, plateaus, and paths between them."""
    return Terrain


def kept_as(kind: type[Part]) -> str:
    """Return the name under which the store has what a part keeps: that of the game's file or
    folder, and that of the part's class if it is not the game itself."""
    *folders, name = kind.__module__.split(".")
    # games.py names the modules of one's own.
    module = (folders[-1] if name == "game" else name).removeprefix("flatlands_game_")
    return module if issubclass(kind, Game) else f"{module}.{kind.__name__}"


def declared(kind: type[Part]) -> list[tuple[str, Cells]]:
    """Return the layers of cells that a part declares, in the order of their names: that is the
    order of their numbers."""
    return [(name, value) for name, value in methods(kind) if isinstance(value, Cells)]


def schema(kind: type[Game]) -> list[Any]:
    """Return what nodes must have alike that play one game: the layers and the kinds of things of
    each part."""
    parts: list[Any] = [kind, *(one for one in kind.parts if isinstance(one, type))]
    return [
        [
            *[(layer, cells.rule, cells.counted) for layer, cells in declared(part)],
            *[(kind.__name__, *map(str, kind.fields)) for kind in (*part.things, *part.events)],
        ]
        for part in parts
    ]
