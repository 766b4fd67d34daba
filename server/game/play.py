"""The game of a node and its parts, as the rest of the node uses them.

It calls their hooks, in the order of the parts. A hook that fails does not harm the others.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Final

from flatlands.server.game.cell_layer import CellLayer
from flatlands.server.game.content_moderation import ContentModeration
from flatlands.server.game.declarations import Declarations
from flatlands.server.game.description import describe
from flatlands.server.game.game import (
    WALKING,
    AnyGame,
    AnyPart,
    Game,
    Part,
    class_attributes,
    declared_cells,
    player_view,
    store_name,
    stored_kinds,
)
from flatlands.server.game.game_node import GameNode
from flatlands.server.game.hooks import NEWS, Hook, HookQueues
from flatlands.server.game.me import Guest, Me
from flatlands.server.game.schedule import call_if_leader, call_with_each, one_at_a_time
from flatlands.server.messages.peer_batches import enters
from flatlands.server.messages.peer_protocol import ENTRIES, ENTRIES_WITH_VALUES
from flatlands.server.messages.protocol import FIRST_PERSON_ID, Refused
from flatlands.server.messages.table import Field
from flatlands.server.messages.texts import TEXT_LIMIT, clean
from flatlands.server.movers.encounters import Encounters
from flatlands.server.movers.movers import Movers
from flatlands.server.players.meetings import Meetings
from flatlands.server.players.resident import Resident
from flatlands.server.players.steps import Steps
from flatlands.server.players.touches import Touches
from flatlands.server.players.walls import Walls
from flatlands.server.storage import schema
from flatlands.server.storage.boards import Boards
from flatlands.server.storage.items import THINGS_A_STEP, Items
from flatlands.server.storage.kinds import Event, Mover, Thing, middle_of, mover_row, of_row
from flatlands.server.storage.lease import Lease, StatelessHolder
from flatlands.server.storage.upkeep import Upkeep
from flatlands.world.events import Player
from flatlands.world.grid import Square
from flatlands.world.things import PlacedThing as Row
from flatlands.world.track import UNIT, Tile

#: Makes the game of the node that it is called with.
GameFactory = Callable[[GameNode], AnyGame]

#: The refusals of players who may not say that.
NO_CHAT: Final = "there is no chat in this game"
ONLY_PHRASES: Final = "in this game you can say only what the page offers"

#: The hooks about a player that may wait.
_WAITING: Final = "on_join", "on_leave", "on_enter", "on_meet"


class Play:
    """The game of a node, with its parts and hooks. `make` makes the game."""

    def __init__(self, node: GameNode, make: GameFactory) -> None:
        self._node = node
        self.game = make(node)
        self._parts: list[AnyPart] = [self.game, *[part(self.game) for part in self.game.parts]]
        for part in self._parts:
            if not hasattr(part, "game"):
                kind = type(part).__name__
                raise ValueError(f"{kind}.__init__ must call super().__init__(*args)")
            if not self.game.presence and type(part).on_player_gone is not Part.on_player_gone:
                raise ValueError("a game with on_player_gone needs `presence = True`")
        #: All hooks, each with the name of its part.
        self.hooks: list[tuple[str, Hook]] = []
        #: The calls of hooks about players, which wait for their turn.
        self.hook_queues = HookQueues(node.loop, node.spawn)
        self._me = self.game.me
        name = store_name(type(self.game))
        self.boards = Boards(name, node.store_client, node.loop)
        #: The lease of the node that does what is done once in the world.
        self._leader_lease = Lease(
            f"once {name} {node.channels.ground_id}",
            node.store_client,
            node.loop,
            StatelessHolder(lambda: bool(node.peers.broker_up)),
        )
        self._needs_leader = False
        self._declarations = Declarations(self._parts, node.square_context)
        _declare_player_fields(node, self._me.fields, self._declarations.movers)
        self.actions = self._declarations.actions
        self.check_message = self._declarations.check_message
        #: The name of an action -> the hook that carries it out.
        self._action_hooks: dict[str, Hook] = {}
        #: The number of a kind of things -> the hook that is called when one is touched, and those
        #: of a kind of movers.
        self._touch = self._hooks_of_kinds("on_touch")
        self._arrive, self._near, self._adopt = [
            self._hooks_of_kinds(name) for name in ("on_arrive", "on_near", "on_adopt")
        ]
        self._plants: list[Hook] = []
        for part in self._parts:
            self._add_hooks(part)
        self._waiting = {name: self._hooks(name, waits=True) for name in _WAITING}
        self._steps = self._hooks("on_step", waits=False)
        say = [part for part in self._parts if type(part).on_say is not Part.on_say]
        #: The hook that decides what is said; None if the game has none.
        self._say = (
            self._hook(say[0], "on_say", partial(_said, node, say), waits=True) if say else None
        )
        #: The hooks for players who have gone, which only games with presence have.
        self._gone = [
            self._hook(part, "on_player_gone", partial(_call_player_gone, part), waits=True)
            for part in self._parts
            if type(part).on_player_gone is not Part.on_player_gone
        ]
        self._news = self._hooks("on_news", waits=True)
        #: Says whether an intent is forbidden; None if all are allowed.
        self.forbids_intent = WALKING[self.game.walking]
        #: Returns the place where a newcomer begins, or None. Most games have none.
        self.start_place_hook: Callable[[], tuple[int, int] | None] | None = (
            self._start_place_hook()
        )
        #: The hooks that decide who may play; none if everybody may.
        self.hello_hooks = self._hooks("on_hello", waits=True)
        #: Whether the game has hooks for who has begun to play.
        self.has_join_hooks = bool(self._waiting["on_join"])
        #: Its items in the store, and the upkeep of those that are due.
        self.items = Items(
            schema.GameSchema(name, stored_kinds(self._parts)),
            node.channels.ground_id,
            node.grid,
            node.store_client,
            node.subscriptions,
            node.loop,
            self._declarations.things,
            self._declarations.records,
        )
        #: Its movers; None if it declares none.
        self.movers: Movers | None = None
        if kinds := self._declarations.movers:
            self.movers = Movers(node, name, self.items, kinds, self)
            near = {n: round(kinds[n].reach * UNIT) for n in self._near if n in kinds}
            if near:
                # It looks by itself, by a timer.
                self._encounters = Encounters(
                    node.loop,
                    node.subscriptions.by_square,
                    self.movers.hosting,
                    node.grid.span,
                    near,
                    self.items.thing_of,
                    self.came_near,
                )
        plant = self._plant if self._plants else None
        self.upkeep = Upkeep(self.items, node.grid, node.subscriptions, node.loop, plant)
        self._check = Hook(node, "plant", self.items.check_things)
        self.layers: list[CellLayer] = [
            getattr(part, name).layer
            for part in self._parts
            for name, _ in declared_cells(type(part))
        ]
        self.content = ContentModeration(self.layers, self.items, self.boards, node.store_client)
        declared = self._declarations
        self._kinds: list[list[object]] = describe(
            node, self.game, declared.events, declared.movers, self.layers
        )
        self._enable_sensors(node)

    def _enable_sensors(self, node: GameNode) -> None:
        """Enable only the sensors that this game uses."""
        movement = node.movement
        if self._steps or self._waiting["on_enter"]:
            step = self._step if self._steps else None
            movement.set_steps(Steps(node.loop, step, self._entered, movement.certain_until))
        solid = {each.number: each.options.solid for each in self.layers if each.options.solid}
        if solid:
            walls = Walls(
                node.terrain,
                node.grid,
                node.loop,
                node.subscriptions.by_square,
                node.outbox,
                movement,
                solid,
            )
            node.set_terrain(walls)
        reaches = {
            n: round(self._declarations.things[n].reach * UNIT)
            for n in self._touch
            if n not in self._declarations.movers
        }
        if reaches:
            touches = Touches(
                node.loop,
                node.grid,
                node.outbox.players_by_square,
                node.subscriptions.by_square,
                node.residents.by_id,
                reaches,
                self._touched,
                movement.certain_until,
            )
            movement.set_touches(touches)
        things, movers = self._declarations.things, self._declarations.movers
        walking = {n: round(things[n].reach * UNIT) for n in self._touch if n in movers}
        if self._waiting["on_meet"] or walking:
            reach = round(self.game.meets * UNIT) if self._waiting["on_meet"] else 0
            squares, residents = node.subscriptions.by_square, node.residents.by_id
            # It looks for meetings by itself, by a timer.
            self._meetings = Meetings(node.loop, squares, residents, reach, walking, self._met)

    def _add_hooks(self, part: AnyPart) -> None:
        """Add the hooks of a part for actions and plants, and start those that have `every`."""
        node = self._node
        for name in part._declared_actions:
            self._action_hooks[name] = self._hook(part, name, waits=True)
        if type(part).plant is not Part.plant:
            self._plants.append(self._hook(part, "plant", partial(_planted, part)))
        for name, method in class_attributes(type(part)):
            if seconds := getattr(method, "every_seconds", 0):
                call: Callable[..., object] = self._hook(part, name, waits=method.waits)
                self._needs_leader |= method.once
                if method.once:
                    call = partial(call_if_leader, self._leader_lease, call)
                if method.each:
                    call = partial(call_with_each, node, call, waits=method.waits)
                if method.waits:
                    call = one_at_a_time(node.spawn, call)
                node.loop.every(round(seconds * 1000), call, can_wait=True)

    def _hook(
        self,
        part: AnyPart,
        name: str,
        call: Callable[..., object] | None = None,
        *,
        waits: bool = False,
    ) -> Hook:
        """Return the hook of a part with a name: its method, or `call`."""
        hook = Hook(self._node, name, getattr(part, name) if call is None else call, waits=waits)
        self.hooks.append((store_name(type(part)), hook))
        return hook

    def _start_place_hook(self) -> Hook | None:
        """Return the hook that chooses where a newcomer begins; None if the game has none."""
        if type(self.game).begin is Game.begin:
            return None
        return self._hook(self.game, "begin", partial(_start_place, self.game))

    def _hooks_of_kinds(self, name: str) -> dict[int, Hook]:
        """Return a hook for each number of a kind of things whose part has it."""
        return {
            number: self._hook(part, name, waits=True)
            for number, part in self._declarations.part_of_thing.items()
            if getattr(type(part), name) is not getattr(Part, name)
        }

    def _hooks(self, name: str, *, waits: bool) -> list[Hook]:
        """Return the hooks with this name, of those parts that have it."""
        return [
            self._hook(part, name, waits=waits)
            for part in self._parts
            if getattr(type(part), name) is not getattr(Part, name)
        ]

    # Hooks about players.

    def _step(self, resident: Resident, tiles: list[Tile]) -> None:
        for hook in self._steps:
            hook.call_for(self._me(self._node, resident), list(tiles))

    def _call(self, name: str, resident: Resident, *arguments: object) -> None:
        for hook in self._waiting[name]:
            self.hook_queues.put(resident.id, hook, self._me(self._node, resident), *arguments)

    def _entered(self, resident: Resident, before: Square) -> None:
        # A player that crosses a border again and again must not make a hook fall behind for ever.
        if self.hook_queues.full(resident.id):
            self._node.stats["hooks_left_out"] += 1
        else:
            self._call("on_enter", resident, resident.square, before)

    def _touched(self, resident: Resident, square: Square, row: Row) -> bool:
        if self.hook_queues.full(resident.id):
            self._node.stats["hooks_left_out"] += 1
            return False
        thing = of_row(self._declarations.things[row.kind], row, square, self._node.grid.side)
        me = self._me(self._node, resident)
        self.hook_queues.put(resident.id, self._touch[row.kind], me, thing)
        return True

    def _met(self, resident: Resident, other: Player) -> bool:
        if self.hook_queues.full(resident.id):
            self._node.stats["hooks_left_out"] += 1
            return False
        if other.id < FIRST_PERSON_ID and self.movers is not None:
            hook, me = self._touch[other.values[0]], self._me(self._node, resident)
            self.hook_queues.put(resident.id, hook, me, self.movers.hosting.view(other))
            return True
        self._call("on_meet", resident, player_view(self.game, other))
        return True

    # Movers.

    def is_on_map(self, mover: Player) -> bool:
        """Return whether the map of everybody counts a mover of this node."""
        return self._declarations.movers[mover.values[0]].on_map

    def arrived(self, mover: Mover) -> bool:
        """Note that a mover of this node has come to the end of its way, or cannot go on; return
        False if its hook is busy."""
        return self._call_for_mover(self._arrive, mover)

    def adopted(self, mover: Mover) -> None:
        """Note that this node moves a mover that another one has moved."""
        self._call_for_mover(self._adopt, mover)

    def came_near(self, mover: Mover, other: Thing) -> bool:
        """Note that a mover of this node has come near a thing or mover; return False if its hook
        is busy."""
        return self._call_for_mover(self._near, mover, other)

    def _call_for_mover(self, hooks: Mapping[int, Hook], mover: Mover, *others: object) -> bool:
        """Call the hook of the mover's kind, if there is one; return False if it is busy."""
        hook = hooks.get(self._declarations.number_of[type(mover)])
        if hook is None:
            return True
        if self.hook_queues.full(mover.number):
            self._node.stats["hooks_left_out"] += 1
            return False
        self.hook_queues.put(mover.number, hook, None, mover, *others)
        return True

    def emit(self, square: Square, player: int, event: Event) -> None:
        """Publish an event of a player in a square. Raises ValueError."""
        number = self._declarations.events.get(type(event))
        if number is None:
            raise ValueError(f"{event!r}: the game's `events` do not list this class")
        row = event._row(number, player, *event._shows())
        self._node.residents.emit(square, row)

    def _plant(self, plot: Tile) -> list[Thing] | None:
        """Return the things for a plot; None if one of the hooks has failed."""
        found = [hook(plot) for hook in self._plants]
        if None in found:
            return None
        some: list[Thing] | None = self._check(chain(*found), plot)
        return some

    def ask(self, guest: Guest, ticket: str) -> None:
        """Ask the game whether a client may play, and as whom. It waits."""
        for hook in self.hello_hooks:
            if guest.refused is None:
                hook.call_for(guest, ticket)

    def player_joined(self, resident: Resident, back: bool) -> None:
        """Note that a player plays from now on; `back`: it has played before."""
        self._call("on_join", resident, back)

    def player_left(self, resident: Resident) -> None:
        """Note that a player has left the game."""
        if resident.id >= FIRST_PERSON_ID:
            self._call("on_leave", resident)
            if self.game.presence and not self.game.has_store:
                self._node.spawn(self.player_gone, resident.id, resident.owner)

    def say(self, resident: Resident, text: str) -> None:
        """Let a player say a clean text, if the game allows it. Raises Refused."""
        chat = self.game.chat
        if chat == "off" or (chat != "on" and text not in chat):
            raise Refused("say", NO_CHAT if chat == "off" else ONLY_PHRASES, None)
        if self._say is None:
            self._node.residents.say(resident, text)
        elif self.hook_queues.full(resident.id):
            raise Refused("crowded", "wait a moment: your last message is still being sent", None)
        else:
            me = self._me(self._node, resident)
            self.hook_queues.put(resident.id, self._say, me, text)

    def do(
        self,
        resident: Resident,
        action: str,
        fields: Sequence[object],
        refund: Callable[[], object],
        answer: Callable[[Refused | None], object] | None,
    ) -> None:
        """Do what a player's page has asked for; `refund` is called if that is not to count for its
        address, and `answer` with the refusal, or None if it was done, once the method has ended.
        Raises Refused."""
        if self.hook_queues.full(resident.id):
            refund()
            raise Refused("crowded", "wait a moment: your last action is still being done", None)
        me = self._me(self._node, resident, refund)
        then = None if answer is None else lambda: answer(me._refused)
        self.hook_queues.put(resident.id, self._action_hooks[action], me, *fields, then=then)

    def news(self, name: str, fields: list[object]) -> None:
        """Give the game what a node has published."""
        if self._news and self.hook_queues.full(NEWS):
            self._node.stats["hooks_left_out"] += 1
            return
        for hook in self._news:
            self.hook_queues.put(NEWS, hook, None, name, list(fields))

    def player_gone(self, player: int, owner: str) -> bool:
        """Call the game since a player has gone; return whether no hook failed. It waits."""
        return all([hook(player, owner) for hook in self._gone])

    def kinds(self) -> list[list[object]]:
        """Return the description of the game that pages get when they join, in the welcome's
        `kinds`."""
        ahead = self._node.world_clock.ahead
        return [*self._kinds, ["clock", 0, ahead, []]] if ahead else self._kinds

    # What the server does.

    def start(self) -> None:
        """Begin, once the node receives others."""
        for part in self._parts:
            part._on_start()
        self._node.world_clock.start()
        if self._needs_leader:
            self._leader_lease.start()
        if self.movers is not None:
            self.movers.start()
        if self.game.presence:
            self._node.presence.start(store_name(type(self.game)))

    def stop(self) -> None:
        """End what other nodes can go on with, since the server stops."""
        for part in self._parts:
            self._node.loop.guarded(part._on_stop)
        if self._needs_leader:
            self._node.loop.guarded(self._leader_lease.stop)
        if self.movers is not None:
            self._node.loop.guarded(self.movers.stop)

    def finish(self) -> bool:
        """Put what was written on the ground into the store, since the server is about to close it;
        return whether that is done. Call it until it is."""
        self._node.square_context.layer_registry.finish()
        return all([layer.finish() for layer in self.layers])

    @property
    def has_stopped(self) -> bool:
        """Whether other nodes may go on with all that `stop` ends."""
        moves = self.movers is not None and not self.movers.has_stopped
        leads = self._leader_lease.held
        return not (moves or leads) and all(part._has_stopped for part in self._parts)

    def identity_changed(self, player: int, name: str, owner: str) -> None:
        """Note that a player of this node has another name, or another owner: the hash of its
        key."""
        if owner:
            self.boards.rename(owner, player, name)
        self._node.loop.guarded(self.game._on_renamed, player, name, owner)

    def player_silenced(self, player: int) -> None:
        """Note that an operator has sent away or muted a player."""
        self._node.loop.guarded(self.game._on_silenced, player)


def _declare_player_fields(
    node: GameNode, fields: Sequence[Field], movers: Mapping[int, type[Mover]]
) -> None:
    """Give the players of a node the fields of a game, and its movers theirs."""
    node.residents.declare(fields)
    entries = ENTRIES_WITH_VALUES if fields or movers else ENTRIES
    rows = {number: mover_row(number, kind) for number, kind in movers.items()}
    node.square_context.declare_players(enters(fields, rows), entries)


def _planted(part: AnyPart, plot: Tile) -> list[Thing]:
    """Return what a part plants in a plot, up to one thing more than is allowed."""
    return list(islice(part.plant(plot), THINGS_A_STEP + 1))


def _said(node: GameNode, parts: Sequence[AnyPart], me: Me, text: str) -> None:
    """Publish what parts make of a text, unless one of them returns None. Raises ValueError, and
    what they raise."""
    for part in parts:
        answer: object = part.on_say(me, text)
        if answer is None:
            return
        cleaned = clean(answer, TEXT_LIMIT) if isinstance(answer, str) else None
        if cleaned is None:
            raise ValueError(
                f"on_say must return None or a text of 1 to {TEXT_LIMIT} characters, not {answer!r}"
            )
        text = cleaned
    if me.is_local:
        node.residents.say(me._resident, text)


def _call_player_gone(part: AnyPart, player: int, owner: str) -> bool:
    """Call a part for a player who has gone; return True if that does not fail."""
    part.on_player_gone(player, owner)
    return True


def _start_place(game: AnyGame) -> tuple[int, int] | None:
    """Return where a game lets a newcomer begin, in units, or None. Raises ValueError."""
    tile = game.begin()
    if tile is None:
        return None
    place = middle_of(tile)
    if game.node.terrain.blocked(*tile):
        raise ValueError(f"nobody can stand on {tile!r}")
    return place
