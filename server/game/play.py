"""What a node plays: a game and its parts, as the rest of the node sees them.

It calls their hooks, in the order of the parts, and has all that they declare. A hook that fails
does not harm the others.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, Final

from flatlands.server.game.actions import Action
from flatlands.server.game.cells import CellLayer, undo, wipe, writers
from flatlands.server.game.game import (
    WALKING,
    AnyGame,
    AnyPart,
    Game,
    Part,
    Present,
    declared,
    kept_as,
    lasting,
    methods,
    recorded,
)
from flatlands.server.game.hooks import Hook, Lines
from flatlands.server.game.me import Guest
from flatlands.server.game.node import GameNode
from flatlands.server.messages.peer_batches import Kind, enters
from flatlands.server.messages.peer_protocol import ENTRIES, ENTRIES_WITH_VALUES
from flatlands.server.messages.protocol import OTHERS_FROM, Refused
from flatlands.server.messages.table import Field
from flatlands.server.players.meetings import Meetings
from flatlands.server.players.resident import Resident
from flatlands.server.players.steps import Steps
from flatlands.server.players.touches import Touches
from flatlands.server.players.walls import Walls
from flatlands.server.storage import schema
from flatlands.server.storage.boards import Boards
from flatlands.server.storage.items import THINGS_A_STEP, Items
from flatlands.server.storage.lease import Lease, StatelessHolder
from flatlands.server.storage.things import Event, Record, Thing, declare, middle_of, of_row
from flatlands.server.storage.upkeep import Upkeep
from flatlands.world.events import Player
from flatlands.world.grid import Rect, Square
from flatlands.world.track import UNIT, Tile, Track, tile_at

#: Makes the game of the node that it is called with.
Make = Callable[[GameNode], AnyGame]

#: A hook of all players is called with so many at once.
EACH_AT_ONCE = 500
#: Between two such calls lies so much time.
EACH_PAUSE_MS = 5

#: The hooks about a player that may wait.
_WAITING: Final = "on_join", "on_leave", "on_enter", "on_meet"


class Play:
    """The game of a node. `node` is the Node whose game `make` makes."""

    def __init__(self, node: GameNode, make: Make) -> None:
        self._node = node
        self.game = make(node)
        self._parts: list[AnyPart] = [self.game, *[part(self.game) for part in self.game.parts]]
        #: The calls of hooks about players, which wait for their turn.
        self.lines = Lines(node.loop, node.spawn)
        self._me = self.game.me
        _have(node, self._me.fields)
        name = kept_as(type(self.game))
        self.boards = Boards(name, node.store_client, node.loop)
        #: The lease of the node that does what is done once in the world.
        self._sole = Lease(
            f"once {name} {node.channels.ground}",
            node.store_client,
            node.loop,
            StatelessHolder(lambda: bool(node.peers.linked)),
        )
        self._once = False
        #: The kinds of things by their numbers, and the hooks that are called when one is touched.
        self._things: dict[int, type[Thing]] = {}
        self._touch: dict[int, Hook] = {}
        self._plants: list[Hook] = []
        #: The kinds of events -> their numbers.
        self._events: dict[type[Event], int] = {}
        #: The kinds of records that it has in the store.
        self._records: list[type[Record]] = []
        self.actions: dict[str, Action] = {}
        #: The name of an action -> the hook that carries it out.
        self._obey: dict[str, Hook] = {}
        for part in self._parts:
            self._take(part)
        self._waiting = {name: self._hooks(name, waits=True) for name in _WAITING}
        self._steps = self._hooks("on_step", waits=False)
        #: Says whether an intent is forbidden; None if all are allowed.
        self.bars = WALKING[self.game.walking]
        #: Returns the place where a newcomer begins, or None. Most games do not say.
        self.begin: Callable[[], Any] | None = _begin(self.game)
        #: The hooks that decide who may play.
        self.guards = self._hooks("on_hello", waits=True)
        #: Whether anybody wants to know who has begun to play.
        self.greets = bool(self._waiting["on_join"])
        #: What it has in the store, and what is done with that when it is due.
        self.items = Items(
            schema.Fields(name, lasting(self._parts)),
            node.channels.ground,
            node.grid,
            node.store_client,
            node.replicas,
            node.loop,
            self._things,
            self._records,
        )
        plant = self._plant if self._plants else None
        self.upkeep = Upkeep(self.items, node.grid, node.replicas, node.loop, plant)
        self._check = Hook(node.loop, "plant", self.items.checked)
        self.layers: list[CellLayer] = [
            getattr(part, name).layer for part in self._parts for name, _ in declared(type(part))
        ]
        #: What pages are told of it.
        self.kinds = _shown(node, self.game, self._events, self.layers)
        self._notice(node)

    def _notice(self, node: GameNode) -> None:
        """Enable only the sensors that this game uses."""
        movement = node.movement
        if self._steps or self._waiting["on_enter"]:
            step = self._step if self._steps else None
            movement.set_steps(Steps(node.loop, step, self._entered, movement.certain))
        solid = {each.number: each.declared.solid for each in self.layers if each.declared.solid}
        if solid:
            walls = Walls(
                node.terrain,
                node.grid,
                node.loop,
                node.replicas.squares,
                node.outbox,
                movement,
                solid,
            )
            node.set_terrain(walls)
        if self._touch:
            touches = Touches(
                node.loop,
                node.grid,
                node.outbox.present,
                node.replicas.squares,
                node.residents.by_id,
                {n: round(self._things[n].reach * UNIT) for n in self._touch},
                self._touched,
                movement.certain,
            )
            movement.set_touches(touches)
        if self._waiting["on_meet"]:
            reach = round(self.game.meets * UNIT)
            residents = node.residents.by_id
            Meetings(node.loop, node.replicas.squares, residents, reach, self._met)

    def _take(self, part: AnyPart) -> None:
        """Take what a part declares. Raises ValueError."""
        loop = self._node.loop
        for event in part.events:
            self._events[event] = self._node.square_context.declare_event(declare(event))
        for name, action in part.actions.items():
            if name in self.actions:
                raise ValueError(f"two parts of the game have an action called {name}")
            self.actions[name] = action
            self._obey[name] = _hook(loop, part, name, waits=True)
        self._take_things(part)
        self._records += [records.kind for _, records in recorded(type(part))]
        for name, method in methods(type(part)):
            if seconds := getattr(method, "every_seconds", 0):
                call: Callable[..., object] = _hook(loop, part, name, waits=method.waits)
                self._once |= method.once
                if method.once:
                    call = partial(_if_sure, self._sole, call)
                if method.waits:
                    call = one_at_a_time(self._node.spawn, call)
                if method.each:
                    call = partial(_with_each, self._node, call)
                loop.every(round(seconds * 1000), call, can_wait=True)

    def _take_things(self, part: AnyPart) -> None:
        """Take the kinds of things that a part declares. Raises ValueError."""
        loop = self._node.loop
        hooks = type(part).on_touch is not Part.on_touch
        for kind in part.things:
            if kind.__name__ in [one.__name__ for one in self._things.values()]:
                raise ValueError(f"the game has two classes of things called {kind.__name__}")
            number = len(self._things)
            self._things[number] = kind
            if hooks:
                self._touch[number] = _hook(loop, part, "on_touch", waits=True)
        if type(part).plant is not Part.plant:
            self._plants.append(_hook(loop, part, "plant", partial(_planted, part)))

    def _hooks(self, name: str, *, waits: bool) -> list[Hook]:
        """Return the hooks with this name, of those parts that have it."""
        return [
            _hook(self._node.loop, part, name, waits=waits)
            for part in self._parts
            if getattr(type(part), name) is not getattr(Part, name)
        ]

    # Hooks about players.

    def _step(self, resident: Resident, tiles: list[Tile]) -> None:
        for hook in self._steps:
            hook(self._me(self._node, resident), list(tiles))

    def _call(self, name: str, resident: Resident, *arguments: Any) -> None:
        for hook in self._waiting[name]:
            self.lines.put(resident.id, hook, self._me(self._node, resident), *arguments)

    def _entered(self, resident: Resident, before: Square) -> None:
        # A player that crosses a border again and again must not make a hook fall behind for ever.
        if self.lines.full(resident.id):
            self._node.stats["hooks_left_out"] += 1
        else:
            self._call("on_enter", resident, resident.square, before)

    def _touched(self, resident: Resident, square: Square, row: Any) -> bool:
        if self.lines.full(resident.id):
            self._node.stats["hooks_left_out"] += 1
            return False
        thing = of_row(self._things[row.kind], row, square, self._node.grid.side)
        me = self._me(self._node, resident)
        self.lines.put(resident.id, self._touch[row.kind], me, thing)
        return True

    def _met(self, resident: Resident, other: Player) -> bool:
        if self.lines.full(resident.id):
            self._node.stats["hooks_left_out"] += 1
            return False
        self._call("on_meet", resident, self.game.seen(other))
        return True

    def emit(self, square: Square, player: int, event: Event) -> None:
        """Publish an event of a player in a square. Raises ValueError."""
        number = self._events.get(type(event))
        if number is None:
            raise ValueError(f"{event!r}: the game's `events` do not list this class")
        row = event.row(number, player, *event.shows())
        self._node.residents.tell(square, row)

    def _plant(self, cell: Tile) -> list[Thing] | None:
        """Return what is to lie in a cell; None if one of the hooks has failed."""
        found = [hook(cell) for hook in self._plants]
        if None in found:
            return None
        some: list[Thing] | None = self._check(chain(*found), cell)
        return some

    def ask(self, guest: Guest, ticket: str) -> None:
        """Ask the game whether a client may play, and as whom. It waits."""
        for hook in self.guards:
            if guest.refused is None:
                hook(guest, ticket)

    def joined(self, resident: Resident, back: bool) -> None:
        """Note that a player plays from now on; `back`: it has played before."""
        self._call("on_join", resident, back)

    def left(self, resident: Resident) -> None:
        """Note that a player has left the game."""
        if resident.id >= OTHERS_FROM:
            self._call("on_leave", resident)

    def do(
        self,
        resident: Resident,
        action: str,
        fields: Sequence[Any],
        refund: Callable[[], object],
    ) -> None:
        """Do what a player's page has asked for; `refund` is called if that is not to count for
        its address. Raises Refused."""
        if self.lines.full(resident.id):
            refund()
            raise Refused("crowded", "wait a moment: your last action is still being done", None)
        me = self._me(self._node, resident, refund)
        self.lines.put(resident.id, self._obey[action], me, *fields)

    # What the server does.

    def start(self) -> None:
        """Begin, once the node hears others."""
        for part in self._parts:
            part.start()
        if self._once:
            self._sole.start()

    def stop(self) -> None:
        """End what other nodes can go on with, since the server stops."""
        for part in self._parts:
            self._node.loop.guarded(part.stop)
        if self._once:
            self._node.loop.guarded(self._sole.stop)

    def finish(self) -> bool:
        """Put what was written on the ground into the store, since the server is about to close it;
        return whether that is done. Call it until it is."""
        self._node.square_context.ground.finish()
        return all([layer.finish() for layer in self.layers])

    @property
    def stopped(self) -> bool:
        """Whether other nodes may go on with all that `stop` ends."""
        return not self._sole.held and all(part.stopped for part in self._parts)

    def renamed(self, player: int, name: str, owner: str) -> None:
        """Note that a player of this node has another name; `owner` is the hash of its key."""
        if owner:
            self.boards.note(owner, player, name)
        self._node.loop.guarded(self.game.renamed, player, name, owner)

    def silenced(self, player: int) -> None:
        """Note that an operator has sent away or muted a player."""
        self._node.loop.guarded(self.game.silenced, player)

    def clear(self, square: Square) -> None:
        """Remove what players have written in a square, because an operator wants it. It waits for
        the store. Raises StoreUnavailable."""
        for layer in self.layers:
            wipe(layer, square)
        if self._node.store_client.store is not None:
            self.items.clear(square)

    def undo(self, owner: str | None, squares: Rect) -> dict[str, int]:
        """Restore the tiles of some squares on which `owner` wrote last to what was there before;
        return how many, by owner. If `owner` is None, only count those of all people. It waits for
        the store. Raises StoreUnavailable."""
        found = Counter[str]()
        for layer in self.layers:
            if owner is None:
                found += writers(layer, squares)
            elif n := undo(layer, owner, squares):
                found[owner] += n
        return dict(found.most_common(THINGS_A_STEP))

    def clear_name(self, name: str) -> None:
        """Forget a name wherever it is kept, because an operator wants it. It waits for the store.
        Raises StoreUnavailable."""
        if self._node.store_client.store is not None:
            self.boards.clear(name)
            self.items.clear_name(name)
        self.game.clear_name(name)


def _hook(
    loop: Any,
    part: AnyPart,
    name: str,
    call: Callable[..., object] | None = None,
    *,
    waits: bool = False,
) -> Hook:
    """Return the hook of a part with a name: its method, or `call`."""
    call = getattr(part, name) if call is None else call
    return Hook(loop, name, call, waits=waits)


def _have(node: GameNode, fields: Sequence[Field]) -> None:
    """Give the players of a node the fields of a game."""
    node.residents.declare(fields)
    entries = ENTRIES_WITH_VALUES if fields else ENTRIES
    node.square_context.declare_players(enters(fields), entries)


def _if_sure(sole: Lease, hook: Callable[[], object]) -> None:
    """Call a hook if this node has a lease, and no other node can have it."""
    if sole.valid:
        hook()


def _with_each(node: GameNode, hook: Callable[..., object]) -> None:
    """Call a hook with the players of a node, some in each turn of the event loop."""
    residents = node.residents.by_id

    def call(some: list[int]) -> None:
        now, ids = node.loop.now(), [id for id in some if id in residents]
        tracks: list[Track] = [residents[id].track for id in ids]
        tiles = [tile_at(track, now) for track in tracks]
        hook(Present(ids, tiles, [now < track.end for track in tracks]))

    all = [id for id in residents if id >= OTHERS_FROM]
    parts = [all[at : at + EACH_AT_ONCE] for at in range(0, len(all), EACH_AT_ONCE)]
    node.loop.in_turns(parts, 1, EACH_PAUSE_MS, call)


def one_at_a_time(spawn: Callable[..., object], hook: Callable[[], object]) -> Callable[[], object]:
    """Return what calls a hook in a greenlet, unless its last call is still running."""
    running = False

    def run() -> None:
        nonlocal running
        try:
            hook()
        finally:
            running = False

    def begin() -> None:
        nonlocal running
        if not running:
            running = True
            spawn(run)

    return begin


def _planted(part: AnyPart, cell: Tile) -> list[Thing]:
    """Return what a part plants in a cell, up to one thing more than is allowed."""
    return list(islice(part.plant(cell), THINGS_A_STEP + 1))


def _begin(game: AnyGame) -> Hook | None:
    """Return the hook that says where a newcomer begins; None if the game has none."""
    if type(game).begin is Game.begin:
        return None
    return _hook(game.node.loop, game, "begin", partial(_beginning, game))


def _beginning(game: AnyGame) -> tuple[int, int] | None:
    """Return where a game lets a newcomer begin, in units, or None. Raises ValueError."""
    tile = game.begin()
    if tile is None:
        return None
    place = middle_of(tile)
    if game.node.terrain.blocked(*tile):
        raise ValueError(f"nobody can stand on {tile!r}")
    return place


def _shown(
    node: GameNode, game: AnyGame, events: Mapping[type[Event], int], layers: Sequence[CellLayer]
) -> list[list[Any]]:
    """Return what pages are told of a game: its kinds of things and events, its cells, what players
    have, and how they walk on which ground."""
    things, known = node.square_context.things, node.square_context.events
    shown: list[list[Any]] = [
        *[["thing", n, kind.make.__name__, _names(kind, 5)] for n, kind in things.items()],
        *[["event", n, kind.__name__, _names(known[n], 2)] for kind, n in events.items()],
        *[["cells", n, layer.name.partition(".")[2], []] for n, layer in enumerate(layers)],
        *[
            ["solid", n, layer.declared.solid, []]
            for n, layer in enumerate(layers)
            if layer.declared.solid
        ],
    ]
    if game.walking != "free":
        shown.append(["walking", 0, game.walking, []])
    if stamp := getattr(node.terrain, "stamp", ""):
        shown.append(["ground", 0, stamp, []])
    if game.me.fields:
        shown.append(["player", 0, game.me.__name__, [field.name for field in game.me.fields]])
    return shown


def _names(kind: Kind, since: int) -> list[str]:
    """Return the names of the fields of a kind from number `since` on."""
    return list(kind.make._fields[since:])
