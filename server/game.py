"""What a node knows of the game that is played on it, and what the game knows of the node.

A game's module `game` has a class `Game` that inherits from this one, of which each node makes one
object when all its own parts are there. This class is the game in which there is nothing but
players.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from flatlands.server.actions import Action
from flatlands.server.actions import declared as declared_action
from flatlands.server.cells import Cells
from flatlands.server.hooks import Hook, Lines
from flatlands.server.kept.reader import Fetch
from flatlands.server.messages import protocol
from flatlands.server.messages.peer_protocol import Kind
from flatlands.server.messages.protocol import OTHERS_FROM, Refused
from flatlands.server.messages.table import Row
from flatlands.server.players.resident import Resident
from flatlands.server.players.steps import Steps
from flatlands.world.grid import Square
from flatlands.world.plain import Plain
from flatlands.world.terrain import Terrain
from flatlands.world.track import Ground, Tile, tile_at


class GroundKind(NamedTuple):
    """A kind of ground: its name, and what makes it from the seed of a world."""

    name: str
    make: Callable[[int], Ground]


_TERRAIN, _PLAIN = GroundKind("terrain", Terrain), GroundKind("plain", Plain)

_F = TypeVar("_F", bound=Callable[..., None])


class Walked(NamedTuple):
    """The names of those who came last, the last one first, and how many came in all."""

    names: list[str]
    people: int


class Gone(Exception):
    """The player is not at this node any more: it has left, or gone on at another node."""


class Me:
    """A player of this node, as its game knows it. Positions are tiles: (column, row).

    What it is can always be asked, as it was last. What it does raises Gone once the player is not
    at this node any more. Two of these are equal if they are of the same player.
    """

    __slots__ = ("_node", "_resident")

    def __init__(self, node: Any, resident: Resident) -> None:
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
    def square(self) -> Square:
        """The square in which the player is published: (column, row)."""
        return self._resident.square

    def tell(self, name: str, *fields: Any) -> None:
        """Tell the player's page something, as `Game.tell_all` tells all; nothing happens while its
        connection is lost. Raises Gone."""
        if self._node.residents.by_id.get(self.id) is not self._resident:
            raise Gone(f"{self.name} is not here any more")
        if self._resident.screen is not None:
            self._resident.screen.answer(protocol.told(name, fields))


class Game:
    """See the module. `node` is the Node (node.py), and `options` the game's own object with the
    values of its options, or None. `alone` says whether this node may keep, without a store, what
    only one node of the machine may."""

    #: The ground, as `terrain()` and `plain()` return it.
    ground = _TERRAIN

    #: The folder of its page, beside its module: its files are laid over those of static/.
    page: str | None = None

    #: Kind of a client's message, one of OF_GAMES in protocol.py -> its row; and what obeys it,
    #: which is called with the session and the fields and may raise Refused.
    rows: Mapping[int, Row] = {}
    handlers: Mapping[int, Callable[..., None]] = {}

    #: Its kinds of events, and of things that lie in squares.
    events: Mapping[int, Kind] = {}
    things: Mapping[int, Kind] = {}

    #: Computer players with ids from there on are no people: the map of everybody leaves them out.
    wild_from = OTHERS_FROM

    #: What its page may ask, by name: see actions.py.
    actions: Mapping[str, Action] = {}

    #: What reads the things that lie in squares.
    fetches: Sequence[Fetch] = ()

    def __init__(self, node: Any, options: Any = None, alone: bool = True) -> None:
        self.node = node
        node.replicas.events.update(self.events)
        node.replicas.things.update(self.things)
        for name, cells in declared(type(self)):
            setattr(self, name, cells.of(node, f"{_module(type(self))}.{name}"))
        for name, method in _methods(type(self)):
            if seconds := getattr(method, "every_seconds", 0):
                hook = Hook(node.loop, name, getattr(self, name))
                node.loop.every(round(seconds * 1000), hook)
        self._lines = Lines(node.loop, node.spawn)
        self._waiting = {
            name: Hook(node.loop, name, getattr(self, name), waits=True)
            for name in ("on_join", "on_leave", "on_enter", *self.actions)
            if getattr(type(self), name) is not getattr(Game, name, None)
        }
        #: Whether it wants to know who has begun to play.
        self.greets = "on_join" in self._waiting
        steps = type(self).on_step is not Game.on_step
        if steps or "on_enter" in self._waiting:
            step = Hook(node.loop, "on_step", self._step) if steps else None
            node.movement.steps = Steps(node.loop, step, self._entered)

    def __init_subclass__(cls) -> None:
        """Find the actions of a game. Raises ValueError, with a sentence for its author."""
        super().__init_subclass__()
        for name in vars(cls):
            if name.startswith("on_") and not hasattr(Game, name):
                known = ", ".join(hook for hook in dir(Game) if hook.startswith("on_"))
                raise ValueError(f"there is no hook {name}: there are {known}")
        marked = [(name, method) for name, method in _methods(cls) if hasattr(method, "action")]
        for name, _method in marked:
            if hasattr(Game, name):
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

    def _step(self, resident: Resident, tiles: list[Tile]) -> None:
        self.on_step(Me(self.node, resident), tiles)

    def _call(self, name: str, resident: Resident, *arguments: Any) -> None:
        """Call a hook about a player that may wait, if the game has it."""
        if hook := self._waiting.get(name):
            self._lines.put(resident.id, hook, Me(self.node, resident), *arguments)

    def _entered(self, resident: Resident, before: Square) -> None:
        self._call("on_enter", resident, resident.square, before)

    def joined(self, resident: Resident, back: bool) -> None:
        """Take that a player plays from now on; `back`: it played before."""
        self._call("on_join", resident, back)

    def left(self, resident: Resident) -> None:
        """Take that a player has left the game."""
        if resident.id >= OTHERS_FROM:
            self._call("on_leave", resident)

    def do(self, resident: Resident, action: Action, fields: Sequence[Any]) -> None:
        """Obey what a player's page has asked. Raises Refused."""
        if self._lines.full(resident.id):
            raise Refused("crowded", "what was asked before is still to be done", None)
        self._call(action.method, resident, *fields)

    def pinned(self, resident: Resident) -> bool:
        """Say whether a player may not be passed to another worker just now."""
        return self._lines.pinned(resident.id)

    def start(self) -> None:
        """Begin, once the node hears others."""

    def stop(self) -> None:
        """End what other nodes can go on with, since the server stops."""

    @property
    def stopped(self) -> bool:
        """Whether other nodes may go on with all that."""
        return True

    def walked(self) -> Walked:
        """Return who has walked here today, as the title of the page tells it."""
        return Walked([], 0)

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
        message = protocol.told(name, fields)
        self.node.residents.tell_all(lambda screen: screen.answer(message))


def every(seconds: float) -> Callable[[_F], _F]:
    """Let a method of a game be called every so many seconds, at each node."""

    def mark(method: _F) -> _F:
        method.every_seconds = seconds  # type: ignore[attr-defined]
        return method

    return mark


def plain() -> GroundKind:
    """Return the ground on which everybody can walk everywhere."""
    return _PLAIN


def terrain() -> GroundKind:
    """Return the ground of Flatlands: woods, lakes, plateaus, and paths between them."""
    return _TERRAIN


def _module(kind: type[Game]) -> str:
    """Return the name of the file or folder in which a game is, for what it keeps in the store."""
    *folders, name = kind.__module__.split(".")
    # games.py names the modules of one's own.
    return (folders[-1] if name == "game" else name).removeprefix("flatlands_game_")


def _methods(kind: type[Any]) -> list[tuple[str, Any]]:
    """Return what a game has in its classes, by name, the first class that has a name first."""
    found: dict[str, Any] = {}
    for each in kind.__mro__:
        for name, value in vars(each).items():
            found.setdefault(name, value)
    return sorted(found.items())


def declared(kind: type[Game]) -> list[tuple[str, Cells]]:
    """Return the layers of cells that a game declares, in the order of their names: that is the
    order of their numbers."""
    return [(name, value) for name, value in _methods(kind) if isinstance(value, Cells)]


#: Makes the game of a node, which it is called with.
Make = Callable[[Any], Game]
