"""The base class of games: all that a node uses of its game, and a game of its node.

A game's module `game` has a class `Game` that inherits from the one here. Each node makes one
object of it when all the node's own parts exist. The class here is itself a game: one with nothing
but players.
"""

import inspect
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

from flatlands.server.game.actions import Action, declared_action
from flatlands.server.game.cells import Cells
from flatlands.server.game.chunks import Chunks
from flatlands.server.game.delivery import pack_message
from flatlands.server.game.game_node import GameNode
from flatlands.server.game.game_store import NO_MOVERS, GameStore
from flatlands.server.game.me import Me
from flatlands.server.game.page_messages import Messages
from flatlands.server.game.page_messages import check as check_messages
from flatlands.server.game.part_hooks import _M, PartHooks, PlayerView
from flatlands.server.messages.peer_protocol import OWNER_CHARS_MOST
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.messages.texts import TEXT_LIMIT, clean
from flatlands.server.movers.movers import Movers
from flatlands.server.players.residents import ID_MOST
from flatlands.server.storage.boards import BoardEntry
from flatlands.server.storage.kinds import (
    NAME_CHARS_MOST,
    NOWHERE,
    Event,
    Mover,
    Record,
    Thing,
    check_tile,
)
from flatlands.server.storage.records import Records
from flatlands.world.events import Player
from flatlands.world.grid import Square
from flatlands.world.plain import Plain
from flatlands.world.terrain import PLOT_SIDE, Terrain
from flatlands.world.track import UNIT, Heading, Intent, Tile

_F = TypeVar("_F", bound=Callable[..., None])
_Mover = TypeVar("_Mover", bound=Mover)

#: How many tiles `somewhere` tries to find one that a player can stand on.
SOMEWHERE_TRIES = 16

#: The most texts that players may choose from, if they may say nothing else.
PHRASES_MOST = 50

#: The largest distance that a game may give for `meets`.
MEETS_MOST_TILES = 6

#: The largest distance that a game may give for `players_near`.
NEAR_MOST_TILES = 32

#: The largest distance that a game may give for `broadcast`.
BROADCAST_MOST_TILES = 1000

#: The values of `walking` -> what says whether an intent is forbidden; None: all are allowed.
WALKING: dict[str, Callable[[Intent], bool] | None] = {
    "free": None,
    "straight": lambda intent: type(intent) is not Heading or intent.x != 0 != intent.y,
    "none": lambda intent: True,
}


class RecentVisitors(NamedTuple):
    """The names of the people who came last, the latest first, and how many came in all."""

    names: list[str]
    people: int


class Present(NamedTuple):
    """Players of a node at one moment, as lists of the same length: the ids, the tiles on which
    they are, and whether they walk."""

    ids: list[int]
    tiles: list[Tile]
    walk: list[bool]


def player_view(game: "AnyGame", player: Player) -> PlayerView:
    """Return a player as the node of a game sees it."""
    values = zip([field.name for field in game.me.fields], player.values, strict=True)
    x, y = player.track.at(game.now())
    has, place = SimpleNamespace(**dict(values)), (x / UNIT, y / UNIT)
    return PlayerView(player.id, player.name, (x // UNIT, y // UNIT), has, place)


def class_attributes(kind: type[object]) -> list[tuple[str, Any]]:
    """Return the attributes of a class, sorted by name, inherited ones included."""
    found: dict[str, Any] = {}
    for each in kind.__mro__:
        for name, value in vars(each).items():
            found.setdefault(name, value)
    return sorted(found.items())


def _are_phrases(chat: object) -> bool:
    return (
        isinstance(chat, list | tuple)
        and 0 < len(chat) <= PHRASES_MOST
        and all(isinstance(text, str) and clean(text, TEXT_LIMIT) == text for text in chat)
    )


def _check_id(player: object) -> None:
    """Raise ValueError, with a sentence for its author, if this is not a player's id."""
    if type(player) is not int or not 0 <= player <= ID_MOST:
        raise ValueError(f"name a player by its id, such as me.id, not by {player!r}")


def _check_name(name: str) -> None:
    """Raise ValueError if a message between nodes cannot have this name."""
    if type(name) is not str or not 0 < len(name) <= NAME_CHARS_MOST:
        raise ValueError(f"the name of a message must have 1 to {NAME_CHARS_MOST} characters")


def _check(name: str, value: Any) -> None:
    """Raise ValueError, with a sentence for its author, if a part cannot have this attribute."""
    if name.startswith("on_") or name == "plant":
        hook = getattr(PartHooks, name, None)
        if hook is None:
            hooks = ", ".join(hook for hook in dir(PartHooks) if hook.startswith("on_"))
            raise ValueError(f"no hook is called {name}: there are {hooks}")
        wanted = list(inspect.signature(hook).parameters)
        _check_takes(name, value, wanted)
    elif hasattr(value, "every_seconds"):
        _check_takes(name, value, ["self", "players"] if value.each else ["self"])
    elif isinstance(value, Cells | Records) and hasattr(Game, name):
        what = type(value).__name__.lower()
        raise ValueError(
            f"{what} cannot be called {name}: every game has an attribute of that name"
        )
    elif isinstance(value, list | tuple) and name not in ("things", "events"):
        _check_lists_nothing(name, value)


def _check_lists_nothing(name: str, value: Sequence[object]) -> None:
    if any(isinstance(one, type) and issubclass(one, (Thing, Event)) for one in value):
        raise ValueError(f"a game has no list {name}: it can have things and events")


def _check_takes(name: str, method: Any, wanted: list[str]) -> None:
    signature = inspect.signature(method)
    try:
        signature.bind(*wanted)
    except TypeError:
        raise ValueError(f"{name}{signature} must be {name}({', '.join(wanted)})") from None
    if inspect.iscoroutinefunction(method):
        raise ValueError(f"{name} must be a plain function, not async")


class Part(PartHooks[_M]):
    """A part of a game, which any game may have. `game` is the game that has it.

    Its hooks are called in addition to those of the game itself, in the order of the parts. For
    editors and type checkers, a game whose players have a class of their own says so in brackets:
    `class Game(flatlands.Game[Painter])`.
    """

    #: Its kinds of events.
    events: Sequence[type[Event]] = ()

    #: Its kinds of things.
    things: Sequence[type[Thing]] = ()

    #: Its messages to pages, with the types of their fields: `{"board": {"rows": list[tuple[str,
    #: int]]}}`. A game that has any sends no others.
    messages: Messages = {}

    #: The actions that the game's page may ask for, by name: see actions.py.
    _declared_actions: Mapping[str, Action] = {}

    def __init__(self, game: "Game[_M]") -> None:
        self.game = game
        self.node: GameNode = game.node
        #: Returns node time in ms, the time that pages have too; in the test kit, the test's time.
        self.now: Callable[[], int] = self.node.loop.now
        #: What it may change in the store without a player.
        self.store = GameStore(self.node)
        for name, cells in declared_cells(type(self)):
            setattr(self, name, cells._of(self.node, f"{store_name(type(self))}.{name}"))
        for name, records in declared_records(type(self)):
            setattr(self, name, records._of(lambda: self.node.play.items))

    def __init_subclass__(cls) -> None:
        """Find the actions of a part. Raises ValueError, with a sentence for its author."""
        super().__init_subclass__()
        for name, value in vars(cls).items():
            _check(name, value)
        for name, base in (("things", Thing), ("events", Event)):
            some = getattr(cls, name)
            fit = isinstance(some, list | tuple)
            if not fit or not all(isinstance(one, type) and issubclass(one, base) for one in some):
                raise ValueError(
                    f"{name} must be a list of classes that inherit from {base.__name__}"
                )
        check_messages(cls.messages)
        marked = [
            (name, method) for name, method in class_attributes(cls) if hasattr(method, "action")
        ]
        for name, _method in marked:
            if hasattr(Part, name):
                raise ValueError(
                    f"an action cannot be called {name}: every game has an attribute of that name"
                )
        cls._declared_actions = {name: declared_action(name, method) for name, method in marked}

    # What Flatlands itself overrides besides. It changes with the server.

    def _on_start(self) -> None:
        """Begin, once the node receives others."""

    def _on_stop(self) -> None:
        """End what other nodes can go on with, because the server is stopping."""

    @property
    def _has_stopped(self) -> bool:
        """Whether other nodes may go on with all that `_on_stop` ends."""
        return True

    # What games call.

    @property
    def side(self) -> int:
        """The length of a square's side, in tiles."""
        return self.node.grid.side

    @property
    def has_store(self) -> bool:
        """Whether the world has a store, so that things, boards and records can be used. It may be
        out of reach all the same."""
        return self.node.store_client.store is not None

    def _check_message(self, name: str, fields: Sequence[object]) -> None:
        """Raise ValueError if the game sends pages no such message."""
        _check_name(name)
        self.node.play.check_message(name, fields)

    def broadcast_local(self, name: str, *fields: object) -> None:
        """Send a message to the pages of this node's players, and no others, under a name that the
        game chooses. Fields are None, booleans, whole numbers, texts, and lists of these. Raises
        ValueError."""
        self.node.play.check_message(name, fields)
        message = pack_message(name, fields)
        self.node.residents.each_session(lambda session: session.answer(message))

    def broadcast(self, name: str, *fields: object, near: tuple[Tile, int] | None = None) -> None:
        """Send a message to the pages of all players in the world, as `broadcast_local` does to
        those of this node. With `near`, a tile and a number of tiles, only players at most that far
        away along either axis get it. A page that cannot be reached now never gets it. Raises
        ValueError."""
        self._check_message(name, fields)
        around: list[int] = []
        if near is not None:
            tile, reach = near
            if type(reach) is not int or not 0 <= reach <= BROADCAST_MOST_TILES:
                raise ValueError(
                    f"near must be within 0 to {BROADCAST_MOST_TILES} tiles, not {reach!r}"
                )
            around = [*check_tile(tile), reach]
        self.node.delivery.broadcast(name, list(fields), around)

    def send(self, player: int, name: str, *fields: object) -> None:
        """Send a message to the page of one player, by its id, at whichever node it is, as
        `broadcast_local` does to all of this node. It does not wait. A page that cannot be reached
        now never gets it. Raises ValueError."""
        self._check_message(name, fields)
        _check_id(player)
        self.node.delivery.send(player, name, list(fields))

    def deliver(self, player: int, name: str, *fields: object) -> bool:
        """Send a message to the page of one player, as `send` does, and return whether a node has
        written it to an open connection of that player. It waits until the player's node answers,
        and asks again if that takes long; after a second nobody has. If the player changes its node
        meanwhile, its page may get the message twice. Raises ValueError."""
        self._check_message(name, fields)
        _check_id(player)
        return self.node.delivery.deliver(player, name, list(fields))

    def send_to_owner(self, owner: str, name: str, *fields: object) -> None:
        """Send a message to all pages on which a person plays, by its `owner`, at whichever nodes,
        as `broadcast_local` does to all of this node. It does not wait. A page that cannot be
        reached now never gets it. Nobody gets what is sent to the owner "". Only games with
        `presence = True` have this. Raises ValueError."""
        self._check_message(name, fields)
        self._check_presence()
        if type(owner) is not str or len(owner) > OWNER_CHARS_MOST:
            raise ValueError(f"name a person by its owner, such as me.owner, not by {owner!r}")
        if owner:
            self.node.delivery.send_to_owner(owner, name, list(fields))

    def world_now(self) -> int:
        """Return world time in ms: the clock of the store, which all nodes and pages have to within
        some ms, and which never goes back. Until the store has answered for the first time, and
        without a store, it is node time."""
        return self.node.world_clock.now()

    def online(self) -> int:
        """Return how many play in the world, as the store knew a second ago. Without a store, only
        those of this node are counted. It waits for the store. Only games with `presence = True`
        have this. Raises StoreUnavailable."""
        self._check_presence()
        return self.node.presence.count()

    def is_online(self, player: int) -> bool:
        """Return whether a player, by its id, plays in the world, as `online` counts. A player
        whose connection is lost counts until it has left. It waits for the store. Raises
        StoreUnavailable."""
        self._check_presence()
        _check_id(player)
        return self.node.presence.is_online(player)

    def _check_presence(self) -> None:
        if not self.game.presence:
            raise RuntimeError("a game knows who is online if its class says: presence = True")

    def publish(self, name: str, *fields: object) -> None:
        """Send news to all nodes of the world, this one included: each calls `on_news`. A node that
        does not receive this one now never gets them. Fields are as for messages to pages. Raises
        ValueError."""
        _check_name(name)
        self.node.delivery.publish(name, list(fields))

    def things_in(self, square: Square) -> list[Thing]:
        """Return the things in a square, as far as this node has them: none where none of its
        players is near. Fields that are not shown have their lowest values."""
        return self.node.play.items.things_in(square)

    def players_in(self, square: Square) -> list[PlayerView]:
        """Return the players in a square, as this node has received them, without computer
        players."""
        subscription = self.node.subscriptions.by_square.get(square)
        players = [] if subscription is None else subscription.replica.players.values()
        return [
            player_view(self.game, player) for player in players if player.id >= FIRST_PERSON_ID
        ]

    def players_near(self, tile: Tile, reach: int) -> list[PlayerView]:
        """Return the players at most `reach` tiles from a tile, along either axis, the nearest
        first, as `players_in` returns them. Raises ValueError."""
        if type(reach) is not int or not 0 <= reach <= NEAR_MOST_TILES:
            raise ValueError(f"reach must be 0 to {NEAR_MOST_TILES} tiles, not {reach!r}")
        ends = [[(at + far) // self.side for at in check_tile(tile)] for far in (-reach, reach)]
        columns, rows = (range(first, last + 1) for first, last in zip(*ends, strict=True))
        players = [one for c in columns for r in rows for one in self.players_in((c, r))]
        away = {one.id: max(abs(one.tile[n] - tile[n]) for n in (0, 1)) for one in players}
        near = [one for one in players if away[one.id] <= reach]
        return sorted(near, key=lambda one: (away[one.id], one.id))

    # Movers.

    @property
    def _movers(self) -> Movers:
        movers = self.node.play.movers
        if movers is None:
            raise RuntimeError(NO_MOVERS)
        return movers

    @overload
    def spawn(self, mover: _Mover, to: Tile | list[Tile] | None = None) -> _Mover: ...

    @overload
    def spawn(self, mover: list[_Mover], to: Tile | list[Tile] | None = None) -> list[_Mover]: ...

    def spawn(
        self, mover: _Mover | list[_Mover], to: Tile | list[Tile] | None = None
    ) -> _Mover | list[_Mover]:
        """Put a new mover into the world, at its tile, and let it go to a tile, or over a list of
        50 at most; return it, with its id. Or do so with a list of movers, 100 at most, in one step
        of the store. It waits for the store, unless the class has `persist=False`. Raises
        StoreUnavailable, Refused if there are too many, and ValueError."""
        movers = self._movers
        way = NOWHERE if to is None else movers.way(to)
        if isinstance(mover, list):
            return movers.spawn(mover, way)
        return movers.spawn([mover], way)[0]

    def go(
        self, mover: Mover, to: Tile | list[Tile] | None = None, *, heading: Tile | None = None
    ) -> None:
        """Let a mover go to a tile, or over a list of 50 at most, from where it is now; or in a
        direction, as (1, 0), until something bars it. It does not wait. If another node moves it,
        that node is told; a message that is lost has no effect. Raises ValueError."""
        movers = self._movers
        if (heading is None) == (to is None):
            raise ValueError("go() takes a tile, a list of tiles, or heading=")
        movers.go(mover, movers.way(to) if heading is None else movers.direction(heading))

    def stop(self, mover: Mover) -> None:
        """Let a mover stand where it is now. It does not wait; otherwise it is as `go`."""
        self._movers.go(mover, NOWHERE)

    def movers_here(self, kind: type[_Mover]) -> list[_Mover]:
        """Return the movers of a kind that this node moves, as they are now."""
        return self._movers.here(kind)

    def movers_near(self, tile: Tile, reach: float) -> list[Mover]:
        """Return the movers within `reach` tiles (0 to 32) of the middle of a tile, as this node
        knows them, the nearest first: none where none of its players or movers is near, and none
        in a game without movers. Raises ValueError."""
        if type(reach) not in (int, float) or not 0 <= reach <= NEAR_MOST_TILES:
            raise ValueError(f"reach must be 0 to {NEAR_MOST_TILES} tiles, not {reach!r}")
        movers, tile = self.node.play.movers, check_tile(tile)
        return [] if movers is None else movers.near(tile, reach)

    def top(self, board: str, most: int) -> list[BoardEntry]:
        """Return up to `most` people with the most points on a board, each with `name`, `points`
        and `owner`, as they were some seconds ago. It waits for the store. Raises
        StoreUnavailable."""
        return self.node.play.boards.top(board, most)

    def blocked(self, tile: Tile) -> bool:
        """Return whether nobody can stand on a tile."""
        return bool(self.node.terrain.blocked(*tile))

    def player(self, id: int) -> _M | None:
        """Return a player of this node by its id, as `me` in hooks; None if it is not here."""
        resident = self.node.residents.by_id.get(id)
        return None if resident is None else self.game.me(self.node, resident)

    def somewhere(self, plot: Tile) -> Tile | None:
        """Return a random tile of a plot that a player can stand on, or None if none was found."""
        first = -(PLOT_SIDE // 2)
        for _ in range(SOMEWHERE_TRIES):
            column, row = (at * PLOT_SIDE + random.randrange(PLOT_SIDE) + first for at in plot)
            if not self.node.terrain.blocked(column, row):
                return column, row
        return None


class Game(Part[_M]):
    """A game: what is played in a world.

    An author's game is a class, also called Game, that inherits from this one and has the game's
    hooks as methods (docs/games/). Its own attributes begin in `__init__(self, *args)`, after
    `super().__init__(*args)`. `node` is what it may use of its node (game_node.py), and `options`
    the game's own object with the values of its options, or None. `alone` says whether this node,
    without a store, may keep what only one node of the machine may.
    """

    #: The class of its players, and of what they do: Me, or a class that inherits from it.
    me: type[_M] = Me  # type: ignore[assignment]

    #: The ground, as `terrain()`, `plain()` and `chunks(make)` return it: it is made from the seed
    #: of the world.
    ground: type[Terrain | Plain | Chunks] = Terrain

    #: Within how many tiles of each other players meet, up to 6.
    meets: float = 1

    #: How its players walk: "free"; "straight", along rows and columns only; or "none", not at all.
    walking = "free"

    #: What players may say: "on", anything; "off", nothing; or a list of texts, one of these.
    chat: str | Sequence[str] = "on"

    #: Whether players can be found who are online: see `online` and `on_player_gone`. Each node
    #: then writes to the store once a second, and whenever somebody comes or goes.
    presence = False

    #: The folder of its page, beside its module: its files take the place of those in static/,
    #: which are the page of a game without one.
    page: str | None = None

    #: What is added to it: classes, or anything that returns a part when called with the game.
    parts: Sequence[Callable[..., "AnyPart"]] = ()

    # What Flatlands itself overrides besides, with the methods at the end of this class.

    def __init_subclass__(cls) -> None:
        """Raise ValueError, with a sentence for its author, if it cannot be a game."""
        super().__init_subclass__()
        if not isinstance(cls.ground, type):
            raise ValueError("ground must be plain(), terrain() or chunks(function), with brackets")
        if not (isinstance(cls.me, type) and issubclass(cls.me, Me)):
            raise ValueError("`me` must be a class that inherits from Me")
        if not isinstance(cls.meets, int | float) or not 0 < cls.meets <= MEETS_MOST_TILES:
            raise ValueError(
                f"meets must be more than 0 and at most {MEETS_MOST_TILES} tiles, not {cls.meets!r}"
            )
        if cls.chat not in ("on", "off") and not _are_phrases(cls.chat):
            raise ValueError(
                f'`chat` must be "on", "off", or a list of up to {PHRASES_MOST} texts, each as '
                f"players see it, with 1 to {TEXT_LIMIT} characters"
            )
        if cls.walking not in WALKING:
            raise ValueError(f"`walking` must be one of {', '.join(WALKING)}")

    def __init__(self, node: GameNode, options: Any = None, alone: bool = True) -> None:
        self.node, self.options, self.alone = node, options, alone
        super().__init__(self)

    def begin(self) -> Tile | None:
        """Return the tile on which a newcomer begins. If that is None, if nobody can stand there,
        or if this fails, it begins near the origin, apart from others. An invitation takes
        precedence. It must not wait."""
        return None

    def _on_renamed(self, player: int, name: str, owner: str) -> None:
        """Note that a player of this node has another name. `owner` is the hash of its key."""

    def _on_silenced(self, player: int) -> None:
        """Note that an operator has sent away or muted a player."""

    def _recent_visitors(self) -> RecentVisitors:
        """Return who has walked here within two days, as the title of the page shows it."""
        return RecentVisitors([], 0)


#: A part or a game, whatever the class of its players.
AnyPart: TypeAlias = Part[Any]
AnyGame: TypeAlias = Game[Any]


def every(
    seconds: float, *, once: bool = False, waits: bool = False, each: bool = False
) -> Callable[[_F], _F]:
    """Have a method of a game called every `seconds` seconds, 0.05 at least, at each node; with
    `once`, at one node of the world at a time, or at each if there is no store. If it `waits`, it
    may wait, and is not called again before it has returned. With `each` it is called with the
    players of the node, as Present, including those whose connection is lost: if there are many,
    several times, each time with some of them. If it waits too, these calls come one after the
    other, and a player may have left before its turn comes. Raises ValueError."""
    if not isinstance(seconds, int | float) or seconds < 0.05:
        raise ValueError("write @every(seconds), with 0.05 or more")
    if each and once:
        raise ValueError("@every takes once or each, not both: `each` has the players of each node")

    def mark(method: _F) -> _F:
        vars(method).update(every_seconds=seconds, once=once, waits=waits, each=each)
        return method

    return mark


def plain() -> type[Plain]:
    """Return the ground on which everybody can walk everywhere."""
    return Plain


def terrain() -> type[Terrain]:
    """Return the ground of Flatlands: woods, lakes, plateaus, and paths between them."""
    return Terrain


def store_name(kind: type[AnyPart]) -> str:
    """Return the name under which the store has what a part keeps: that of the game's file or
    folder, followed by that of the part's class if the part is not the game itself."""
    *folders, name = kind.__module__.split(".")
    # loader.py gives this prefix to a game named by its path.
    module = (folders[-1] if name == "game" else name).removeprefix("flatlands_game_")
    return module if issubclass(kind, Game) else f"{module}.{kind.__name__}"


def declared_cells(kind: type[AnyPart]) -> list[tuple[str, Cells]]:
    """Return the layers of cells that a part declares, in the order of their names: that is the
    order of their numbers."""
    return [(name, value) for name, value in class_attributes(kind) if isinstance(value, Cells)]


def declared_records(kind: type[AnyPart]) -> list[tuple[str, Records[Any]]]:
    """Return the records that a part declares, by name."""
    return [(name, value) for name, value in class_attributes(kind) if isinstance(value, Records)]


def stored_kinds(parts: Iterable[AnyPart | type[AnyPart]]) -> list[type[Thing] | type[Record]]:
    """Return what some parts have in the store: their kinds of things and of records. Raises
    ValueError if two have the same name."""
    found: list[type[Thing] | type[Record]] = []
    for part in parts:
        kind = part if isinstance(part, type) else type(part)
        found += [*part.things, *[records.kind for _, records in declared_records(kind)]]
    named = {one.__name__: one for one in found}
    for one in found:
        if named[one.__name__] is not one:
            raise ValueError(f"the game has two classes called {one.__name__} in the store")
    return list(named.values())


def known_parts(kind: type[AnyGame]) -> list[type[AnyPart]]:
    """Return the class of a game and those of its parts. What is not a class is a part only when it
    is made."""
    return [kind, *(one for one in kind.parts if isinstance(one, type))]


def schema(kind: type[AnyGame]) -> list[object]:
    """Return what must be the same at all nodes that play a game: the fields of players, and the
    layers and kinds of each part."""
    return [
        *map(str, kind.me.fields),
        *[
            [
                *[
                    (layer, cells.options.rule, cells.options.persist)
                    for layer, cells in declared_cells(part)
                ],
                *[(one.__name__, *map(str, one.fields)) for one in (*part.things, *part.events)],
            ]
            for part in known_parts(kind)
        ],
    ]
