"""What an author sees of a running game, and does to it: players, things, records, tiles, hooks.

Nothing here is counted or kept while nobody looks: hooks are wrapped, and squares received, until
LOOKED_AT_MS after the last look. This module knows no HTTP (inspect_pages.py does).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from heapq import nsmallest
from itertools import islice
from time import perf_counter
from typing import Any, Final, NamedTuple

import gevent
from gevent.event import AsyncResult

from flatlands.server.clients.handlers import cleaned_fields
from flatlands.server.game import loader
from flatlands.server.game.cell_layer import CellLayer
from flatlands.server.game.game import store_name
from flatlands.server.game.hooks import PlayerGone
from flatlands.server.messages.protocol import FIRST_PERSON_ID, Refused
from flatlands.server.messages.table import Field
from flatlands.server.node import Node
from flatlands.server.players.resident import Resident
from flatlands.server.runtime.loop import Loop
from flatlands.server.storage.items import NewerVersion, group_of
from flatlands.server.storage.kinds import Mover, Record, Thing
from flatlands.server.storage.records import Records
from flatlands.server.web.square_events import SquareTaps
from flatlands.stores.base import Item, Store
from flatlands.world.events import Player
from flatlands.world.grid import Rect, Square
from flatlands.world.track import UNIT, Tile, tile_at

#: How long after a look hooks are counted, and the squares that were looked at received.
LOOKED_AT_MS: Final = 5000

#: How many tiles are shown, around the one that is looked at.
COLUMNS_SHOWN: Final = 41
ROWS_SHOWN: Final = 25

#: Of how many tiles the kind is kept, since to compute it takes 0.1 ms.
TILES_KEPT: Final = 2 * COLUMNS_SHOWN * ROWS_SHOWN

#: The most things and records that are shown at a time.
THINGS_SHOWN: Final = 50
RECORDS_SHOWN: Final = 50

#: How many clients are pinged at a look, of those whose latency is not known yet.
PINGED_AT_ONCE: Final = 50

#: How long an action is waited for.
ACTION_WITHIN_S: Final = 10.0

#: An object as it is sent.
Shown = dict[str, object]


class Unable(Exception):
    """What is asked cannot be done: the `status` of the answer, a `code`, and a sentence."""

    def __init__(self, status: int, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.code = status, code


class Look(NamedTuple):
    """What is looked at: the tiles around one, or around a player `follow`; the `most` first of the
    players that `find` finds, in an order. `node` is the node that is known already, and `ground`
    the tile around which the ground is."""

    tile: Tile
    follow: int
    find: str
    order: str
    most: int
    node: int
    ground: Tile | None


@dataclass
class HookCalls:
    """What the calls of a hook were like while somebody looked. `ms` is the sum, and includes what
    a hook waits. `error` says how it failed last, and where, at the node time `failed_at`."""

    part: str
    name: str
    calls: int = 0
    ms: float = 0.0
    longest_ms: float = 0.0
    refused: int = 0
    failed: int = 0
    failed_at: int = 0
    error: str = ""

    def counted(self, loop: Loop, call: Callable[..., object]) -> Callable[..., object]:
        """Return what calls a method, and counts that."""

        def run(*arguments: object) -> object:
            begun = perf_counter()
            try:
                return call(*arguments)
            except Refused:
                self.refused += 1
                raise
            except PlayerGone:
                raise
            except Exception as error:
                self.failed, self.failed_at = self.failed + 1, loop.now()
                self.error = loader.where(error)
                raise
            finally:
                ms = (perf_counter() - begun) * 1000
                self.calls, self.ms = self.calls + 1, self.ms + ms
                self.longest_ms = max(self.longest_ms, ms)

        return run


class Inspector:
    """Looks into the game of a node. `faults` are its latest, each as what has failed and where,
    and `warnings` returns sentences on what is wrong besides.

    What it is asked to do raises Unable, ValueError for values that no field has, Refused if the
    game refuses it, and StoreUnavailable.
    """

    def __init__(
        self,
        node: Node,
        faults: Collection[tuple[str, str]],
        warnings: Callable[[], list[str]],
    ) -> None:
        self._node, self._faults, self._warnings = node, faults, warnings
        self._play, self._loop = node.play, node.loop
        self._hooks = [(HookCalls(part, hook.name), hook) for part, hook in self._play.hooks]
        self._counts = False
        #: The squares that are received because they are looked at.
        self._squares: frozenset[Square] = frozenset()
        self._forgetting = self._loop.timer(self._look_away)
        self.taps = SquareTaps(node)
        self._value_of_ground = _ground_of(node.terrain)

    # Looking, which costs something only while it lasts.

    def _look_at(self, squares: Iterable[Square]) -> None:
        """Count the calls of hooks, and receive these squares, until nobody looks any more."""
        if not self._counts:
            self._counts = True
            for calls, hook in self._hooks:
                hook.wrap(partial(calls.counted, self._loop))
        before, self._squares = self._squares, frozenset(squares)
        self._node.subscriptions.need(self._squares - before)
        self._node.subscriptions.let_go(before - self._squares)
        self._forgetting.set(self._loop.now() + LOOKED_AT_MS)

    def _look_away(self) -> None:
        self._counts = False
        for _, hook in self._hooks:
            hook.wrap(None)
        self._node.subscriptions.let_go(self._squares)
        self._squares = frozenset()

    def state(self, look: Look, rest: Callable[[], object] = lambda: None) -> Shown:
        """Return what there is to see. `rest` is called again and again while something takes long,
        and may wait."""
        node = self._node
        column, row = tile = self._tile_of(look.follow) or look.tile
        left, top = column - COLUMNS_SHOWN // 2, row - ROWS_SHOWN // 2
        side = node.grid.side
        last = (left + COLUMNS_SHOWN - 1) // side, (top + ROWS_SHOWN - 1) // side
        squares = Rect(left // side, top // side, *last).squares()
        self._look_at(squares)
        shown: Shown = {
            "node": node.id,
            "now": self._loop.now(),
            "at": tile,
            "ready": all(node.subscriptions.by_square[square].view.ready for square in squares),
            "players": self._players(look, tile),
            "things": self._things(squares, left, top),
            "tiles": self._tiles(squares, left, top),
            "hooks": [asdict(calls) for calls, _ in self._hooks],
            "faults": list(self._faults),
            "warnings": self._warnings(),
        }
        is_new = look.node != node.id
        if is_new:
            shown["about"] = self._about()
        if is_new or look.ground != tile:
            # It comes last: all else is of one moment.
            shown["ground"] = self._values_of_ground(left, top, rest)
        return shown

    def _about(self) -> Shown:
        """Return what does not change while the node runs: what the game declares."""
        play, node = self._play, self._node
        fields = {name: action.row.fields for name, action in play.actions.items()}
        return {
            "game": store_name(type(play.game)),
            "side": node.grid.side,
            "has_store": node.store_client.store is not None,
            "player": _declared(play.game.me.fields),
            "actions": {name: _declared(some) for name, some in fields.items()},
            "things": {kind.__name__: _declared(kind.fields) for kind in self._thing_kinds()},
            "records": {kind.__name__: _declared(kind.fields) for kind in play.items.records},
            "layers": [_name(layer) for layer in play.layers],
        }

    def _thing_kinds(self) -> Iterable[type[Thing]]:
        return self._play.items.numbered.values()

    # Players.

    def _tile_of(self, id: int) -> Tile | None:
        player = self._node.residents.by_id.get(id) or self._node.subscriptions.player(id)
        return None if player is None else tile_at(player.track, self._loop.now())

    def _everybody(self) -> Collection[Player]:
        """Return the players of this node, and those of other nodes in the squares that it
        receives."""
        known: dict[int, Player] = dict(self._node.residents.by_id)
        for subscription in self._node.subscriptions.by_square.values():
            for id, player in subscription.replica.players.items():
                if player.node != self._node.id and known.setdefault(id, player).seq < player.seq:
                    # Between two squares it may be known in both.
                    known[id] = player
        return known.values()

    def _players(self, look: Look, tile: Tile) -> Shown:
        everybody = self._everybody()
        found = [player for player in everybody if self._is_found(player, look.find)]
        first = nsmallest(look.most, found, key=self._order(look.order, tile))
        self._ping(first)
        return {
            "known": len(everybody),
            "found": len(found),
            "shown": [self._shown(player) for player in first],
        }

    def _is_found(self, player: Player, find: str) -> bool:
        """Return whether a player has a text in its name, an id, or a value, as in "team=2"."""
        name, equals, value = find.partition("=")
        if equals:
            return str(self._values(player).get(name)).casefold() == value.casefold()
        return find.casefold() in player.name.casefold() or find == str(player.id)

    def _order(self, order: str, tile: Tile) -> Callable[[Player], Any]:
        """Return the key by which players are sorted. Raises Unable."""
        names = [field.name for field in self._play.game.me.fields]
        if order == "near":
            x, y, now = tile[0] * UNIT + UNIT // 2, tile[1] * UNIT + UNIT // 2, self._loop.now()

            def distance(player: Player) -> int:
                at = player.track.at(now)
                return (at[0] - x) ** 2 + (at[1] - y) ** 2

            return distance
        if order == "name":
            return lambda player: (player.name.casefold(), player.id)
        if order == "latency":
            return lambda player: -(self._latency(player) or -1)
        if order in names:
            at = names.index(order)

            def value(player: Player) -> tuple[bool, object, int]:
                # Movers have other fields, and come last.
                mover = player.id < FIRST_PERSON_ID
                return mover, 0 if mover else player.values[at], player.id

            return value
        known = ", ".join(["near", "name", "latency", *names])
        raise Unable(400, "order", f"players are sorted by one of {known}, not by {order!r:.40}")

    def _ping(self, shown: Collection[Player]) -> None:
        """Let clients tell their latency by the next look: those shown, and some that never did."""
        residents = self._node.residents.by_id
        some = [residents[player.id] for player in shown if player.id in residents]
        new = (one for one in residents.values() if one.session and one.session.latency_ms is None)
        for resident in {*some, *islice(new, PINGED_AT_ONCE)}:
            if resident.session is not None:
                resident.session.ping()

    def _latency(self, player: Player) -> int | None:
        resident = self._node.residents.by_id.get(player.id)
        return resident.session.latency_ms if resident and resident.session else None

    def _values(self, player: Player) -> dict[str, object]:
        movers = self._play.movers
        if movers is not None and player.id < FIRST_PERSON_ID:
            return _shown_values(movers.hosting.view(player))
        names = [field.name for field in self._play.game.me.fields]
        return dict(zip(names, player.values, strict=True))

    def _shown(self, player: Player) -> Shown:
        x, y = player.track.at(self._loop.now())
        return {
            "id": player.id,
            "name": player.name,
            "at": [round(x / UNIT, 2), round(y / UNIT, 2)],
            "here": player.id in self._node.residents.by_id,
            "computer": player.id < FIRST_PERSON_ID,
            "dimmed": player.dimmed,
            "latency_ms": self._latency(player),
            "owner": player.owner if isinstance(player, Resident) else None,
            "values": self._values(player),
        }

    # What lies around.

    def _things(self, squares: Iterable[Square], left: int, top: int) -> Shown:
        """Return the things on the tiles that are shown, those next to the middle first."""
        found = [
            thing
            for square in squares
            for thing in self._play.items.things_in(square)
            if 0 <= thing.tile[0] - left < COLUMNS_SHOWN and 0 <= thing.tile[1] - top < ROWS_SHOWN
        ]
        column, row = left + COLUMNS_SHOWN // 2, top + ROWS_SHOWN // 2

        def distance(thing: Thing) -> tuple[int, str]:
            return (thing.tile[0] - column) ** 2 + (thing.tile[1] - row) ** 2, thing.id

        first = nsmallest(THINGS_SHOWN, found, key=distance)
        return {"found": len(found), "shown": list(map(_thing, first))}

    def _values_of_ground(
        self, left: int, top: int, rest: Callable[[], object]
    ) -> list[int | None]:
        """Return the value of the ground of each tile that is shown, row by row."""
        values: list[int | None] = []
        for y in range(top, top + ROWS_SHOWN):
            values += [self._value_of_ground(x, y) for x in range(left, left + COLUMNS_SHOWN)]
            rest()
        return values

    def _tiles(self, squares: Iterable[Square], left: int, top: int) -> Shown:
        """Return the tiles, row by row: two digits for each in each layer, and "1" if nobody can
        stand there."""
        terrain = self._node.terrain
        tiles = [
            (x, y) for y in range(top, top + ROWS_SHOWN) for x in range(left, left + COLUMNS_SHOWN)
        ]
        return {
            "left": left,
            "top": top,
            "columns": COLUMNS_SHOWN,
            "blocked": "".join("1" if terrain.blocked(*tile) else "0" for tile in tiles),
            "layers": {
                _name(layer): self._layer(layer, squares, left, top) for layer in self._play.layers
            },
        }

    def _layer(self, layer: CellLayer, squares: Iterable[Square], left: int, top: int) -> str:
        side, shown = self._node.grid.side, bytearray(COLUMNS_SHOWN * ROWS_SHOWN)
        for column, row in squares:
            known = layer.received_tiles((column, row))
            if known is None:
                continue
            first, last = max(left, column * side), min(left + COLUMNS_SHOWN, (column + 1) * side)
            for y in range(max(top, row * side), min(top + ROWS_SHOWN, (row + 1) * side)):
                there, here = (
                    y % side * side + first % side,
                    (y - top) * COLUMNS_SHOWN + first - left,
                )
                shown[here : here + last - first] = known.values[there : there + last - first]
        return shown.hex()

    # Records.

    def records(self, name: str, id: str) -> Shown:
        """Return the records of a kind whose ids begin with `id`, which must have their whole
        group; or the first ones, for an id "". It waits for the store."""
        kind, items = self._record_kind(name), self._play.items
        queue = items.records[kind]

        def operation(store: Store) -> tuple[list[Item], int]:
            some = store.group(queue, group_of(id)) if id else store.each(queue)
            fit = (item for item in some if item.id.startswith(id))
            return list(islice(fit, RECORDS_SHOWN)), store.count(queue)

        found, count = items.wait(operation)
        shown: list[Shown] = []
        for item in found:
            try:
                record = items.read_record(kind, item)
            except NewerVersion as error:
                shown.append({"id": item.id, "unreadable": str(error)})
            else:
                if record is not None:
                    shown.append({"id": record.id, "values": record.values})
        return {"count": count, "shown": shown}

    def change_record(
        self,
        name: str,
        id: str,
        before: Mapping[str, object] | None,
        after: Mapping[str, object] | None,
    ) -> Shown | None:
        """Replace a record that has the values `before`, or is not there if that is None, with one
        that has those of `after`; None: remove it. Return the values that it has then."""
        kind = self._record_kind(name)
        records = Records(kind)._of(lambda: self._play.items)

        def check(there: Record | None) -> None:
            if (None if there is None else there.values) != before:
                is_now = "is not there" if there is None else f"is {there!r} now"
                raise Unable(409, "changed", f"the record has changed meanwhile: it {is_now}")

        if after is None:
            old = records.read(id)
            check(old)
            if old is not None and not records.forget(old):
                raise Unable(409, "changed", "the record has changed meanwhile: read it again")
            return None
        new: Record = _made(kind, id, after)

        def how(there: Record | None) -> Record:
            check(there)
            return new

        changed = records.change(id, how)
        return None if changed is None else changed.values

    def _record_kind(self, name: str) -> type[Record]:
        return _named("record", name, self._play.items.records)

    # What is done.

    def act(self, player: int, name: str, given: Mapping[str, object]) -> None:
        """Do an action as a player of this node, with fields by their names. It waits until the
        action has ended."""
        resident = self._resident(player)
        action = self._play.actions.get(name)
        if action is None:
            known = ", ".join(sorted(self._play.actions)) or "none"
            raise Unable(404, "action", f"the game has no action {name!r:.40}: it has {known}")
        names = [field.name for field in action.row.fields]
        if set(given) != set(names):
            raise Unable(400, "fields", f"{name} takes these fields: {', '.join(names) or 'none'}")
        fields = cleaned_fields(action.row, [given[each] for each in names])
        ended: AsyncResult[Refused | None] = AsyncResult()
        self._play.do(resident, name, fields, lambda: None, ended.set)
        try:
            refused = ended.get(timeout=ACTION_WITHIN_S)
        except gevent.Timeout:
            sentence = f"{name} has not ended within {ACTION_WITHIN_S:g} s, and goes on"
            raise Unable(504, "late", sentence) from None
        if refused is not None:
            raise refused
        self._resident(player)

    def _resident(self, player: int) -> Resident:
        resident = self._node.residents.by_id.get(player)
        if resident is None:
            sentence = f"no player {player} is at this node: it has left, or plays at another one"
            raise Unable(404, "player", sentence)
        if player < FIRST_PERSON_ID:
            raise Unable(
                404, "player", f"{resident.name} is a computer player, which does no actions"
            )
        return resident

    def put_thing(
        self, name: str, tile: Sequence[int], values: Mapping[str, object], player: int | None
    ) -> None:
        """Put a new thing on a tile, for the person of a player if there is one. It waits for the
        store."""
        thing: Thing = _made(_named("thing", name, self._thing_kinds()), tuple(tile), values)
        owner = "" if player is None else self._resident(player).owner
        if isinstance(thing, Mover):
            self._play.game.spawn(thing)
        else:
            self._play.items.put([thing], owner)


def _ground_of(terrain: Any) -> Callable[[int, int], int | None]:
    """Return what returns the value of a tile of the ground, or its kind: 0 on a plain."""
    if hasattr(terrain, "value"):
        value: Callable[[int, int], int | None] = terrain.value
        return value
    return lru_cache(TILES_KEPT)(terrain.kind) if hasattr(terrain, "kind") else lambda x, y: 0


def _declared(fields: Iterable[Field]) -> list[Shown]:
    """Return what a form must know of fields."""
    types = {int: "number", str: "text", bool: "flag"}
    return [
        {"name": one.name, "type": types[one.type], "low": one.low, "high": one.high}
        for one in fields
    ]


def _name(layer: CellLayer) -> str:
    """Return the name of a layer as pages know it."""
    return layer.name.partition(".")[2]


def _shown_values(thing: Thing) -> dict[str, object]:
    return {field.name: getattr(thing, field.name) for field in thing._shown}


def _thing(thing: Thing) -> Shown:
    return {
        "kind": type(thing).__name__,
        "id": thing.id,
        "version": thing.version,
        "tile": list(thing.tile),
        "values": _shown_values(thing),
    }


def _named(what: str, name: str, kinds: Iterable[type[Any]]) -> type[Any]:
    """Return the kind with a name. Raises Unable."""
    by_name = {kind.__name__: kind for kind in kinds}
    if name not in by_name:
        known = ", ".join(by_name) or "none"
        raise Unable(404, "kind", f"the game has no {what} of a kind {name!r:.40}: it has {known}")
    return by_name[name]


def _made(kind: type[Any], of: object, values: Mapping[str, object]) -> Any:
    """Return a thing on a tile, or a record with an id. Raises Unable, and ValueError."""
    for name in values:
        # Python would take some names for other parameters.
        if name not in [field.name for field in kind.fields]:
            raise Unable(400, "value", f"{kind.__name__} has no field {name:.40}")
    return kind(of, **values)
