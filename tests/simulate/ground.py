"""The ground of a simulated world, on which players write in layers of every kind.

Whatever goes wrong, in a quiet world nobody stands in a wall; all nodes, all screens and the store
have the same values; the counts match the tiles; and nothing is lost that a living node has heard
from another one, or that was written more than a second before its node died.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from flatlands.server.game.actions import number
from flatlands.server.game.cell_layer import CellLayer
from flatlands.server.game.cells import Cells
from flatlands.server.game.me import Me
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.storage.reach import square_of
from flatlands.server.storage.reader import SQUARE_AGAIN_MS
from flatlands.stores.base import NEVER_DUE_MS, Store
from flatlands.testkit.host import Host
from flatlands.world.grid import Square
from flatlands.world.tiles import RULE_LAST, RULE_SUM, WRITE
from flatlands.world.track import Tile, tile_at
from tests.bare import Game
from tests.server.harness import Harness
from tests.simulate.rule import Broken, is_unpublished, is_untold

#: ms within which the written ground is the same everywhere, once nobody walks and
#: nothing goes wrong: a node without a sign that something is missing asks once a minute.
WRITTEN_WITHIN = SQUARE_AGAIN_MS + 5000

#: ms within which a node forgets old values.
FADED_WITHIN = 500

#: ms after which the store has what a living node wrote.
KEPT_WITHIN = 1000


class Painter(Me):
    """A walker, with the last number that it left."""

    mark = number(0, 255)


class Writing:
    """What makes each walker of a game leave a number on each tile, and go as fast as it says: for
    a class that inherits from this and from the game."""

    node: Any
    floor, me = Cells(), Painter
    claims, tide, worn = (
        Cells("first", persist="write-through"),
        Cells("most", persist=False),
        Cells("sum"),
    )
    walls, smoke = Cells(solid=128), Cells(persist=False, forget=3)

    def on_step(self, me: Painter, tiles: list[Tile]) -> None:
        """Write on them."""
        me.mark = self.floor[tiles] = (me.id + self.node.loop.now()) % 255 + 1
        self.claims[tiles] = self.tide[tiles] = self.smoke[tiles] = me.mark
        self.worn[tiles] = 1
        if me.mark % 32 == 1:
            column, row = tiles[-1]
            self.walls[column + me.mark % 5 - 2, row + me.mark % 7 - 3] = me.mark
        if me.mark % 4 == 0:
            me.pace(0.25 + me.mark / 100, lasts=me.mark / 50 if me.mark % 8 else None)


class Painted(Writing, Game):
    """The bare game, where players write on the ground."""


#: A tile of a layer: the layer's number, the square, and the tile's number there.
_Place = tuple[int, Square, int]


class Ground:
    """The ground of a world. `store` opens what the nodes share; None if they have no store."""

    def __init__(self, harness: Harness, store: Store | None) -> None:
        self._harness, self._store = harness, store
        #: What each node has heard from others: tile -> the latest stamp.
        self._heard: dict[Host, dict[_Place, int]] = {}
        #: What each node wrote within KEPT_WITHIN ms: tile -> how often.
        self._fresh: dict[Host, Counter[_Place]] = {}
        #: What must be in the store: tile -> the latest stamp.
        self._safe: dict[_Place, int] = {}
        #: How much was added to a tile at least, and at most.
        self._least, self._most = Counter[_Place](), Counter[_Place]()
        self._note_begun()

    def _note_begun(self) -> None:
        """Note what computer players added while the world began."""
        layers = [layer for host in self._harness.hosts for layer in host.node.play.layers]
        sums = [layer for layer in layers if layer.rule == RULE_SUM]
        for layer in sums:
            for square in layer._node.subscriptions.by_square:
                known = layer.received_tiles(square)
                for place, value in enumerate(known.values if known else b""):
                    key = layer.number, square, place
                    self._least[key] = self._most[key] = max(value, self._least[key])
        for layer in sums:
            for square, writes in layer._unsaved.items():
                for place, write in writes.items():
                    self._most[layer.number, square, place] += write.value

    def serve(self, host: Host) -> None:
        """From now on note what a node hears and writes."""
        heard = self._heard[host] = defaultdict(int)
        adoption, layers = host.node.square_context.layer_registry, host.node.play.layers
        note_received = adoption.note_received

        def hear(node: int, square: Square, writes: Any) -> None:
            for layer, some in zip(writes[::2], writes[1::2], strict=True):
                for place, _value, at in WRITE.iter_unpack(some):
                    key = layer, square, place
                    heard[key] = max(heard[key], at)
            note_received(node, square, writes)

        adoption.note_received = hear  # type: ignore[method-assign]
        due = TimerQueue(host.loop, lambda key, _due: self._note(host, *key))
        self._fresh[host] = Counter()
        for layer in layers:
            self._watch(host, layer, due)

    def _watch(self, host: Host, layer: CellLayer, due: "TimerQueue[Any]") -> None:
        write, fresh = layer.write, self._fresh[host]

        def wrote(square: Square, places: Sequence[int], value: int, *more: Any) -> None:
            before = dict(layer._unsaved.get(square, {}))
            write(square, places, value, *more)
            for place in places:
                written = layer._unsaved.get(square, {}).get(place)
                if written is before.get(place) or written is None:
                    # The node could not count.
                    continue
                key, at = (layer.number, square, place), written.at
                due.put((key, at, self._most[key]), host.loop.now() + KEPT_WITHIN)
                self._most[key] += value
                fresh[key] += 1

        layer.write = wrote  # type: ignore[method-assign]

    def _note(self, host: Host, key: _Place, at: int, _nth: int) -> None:
        """Note that a node is still alive KEPT_WITHIN ms after it wrote."""
        self._fresh[host][key] -= 1
        self._safe[key] = max(self._safe.get(key, 0), at)
        self._least[key] += 1

    def _is_fresh(self, key: _Place) -> bool:
        """Return whether a living node has just written on a tile, which may not be kept yet."""
        return any(self._fresh[host][key] for host in self._harness.hosts)

    def check(self) -> None:
        """Raise Broken unless all agree, in a world that has been quiet for WRITTEN_WITHIN
        ms."""
        for host in self._harness.hosts:
            for resident in host.node.residents.by_id.values():
                tile = tile_at(resident.track, host.loop.now())
                if host.node.terrain._is_wall(*tile):
                    raise Broken(f"a player stands in a wall, at {tile}")
        for layer in self._harness.node.play.layers:
            if layer.options.forget < NEVER_DUE_MS:
                # Each node forgets by its own clock, not at the same moment as others.
                self._check_old(layer)
                continue
            known = self._alike(layer.number)
            if self._store is not None and layer.options.persist:
                self._check_store(layer, known)

    def _check_old(self, layer: CellLayer) -> None:
        """Raise Broken if a node still has something that it should have forgotten."""
        for host in self._harness.hosts:
            its: CellLayer = host.node.play.layers[layer.number]
            oldest = its.forgotten_before() - FADED_WITHIN
            for square in host.node.subscriptions.by_square:
                known = its.received_tiles(square)
                if known is not None and any(known.values) and known.pack(before=oldest):
                    raise Broken(f"{layer.name}: what is old is still there in {square}")

    def _alike(self, number: int) -> dict[Square, bytes]:
        """Return what all nodes have of a layer. Raises Broken if a node or a screen differs."""
        nothing = bytes(self._harness.node.grid.side**2)
        known: dict[Square, bytes] = {}
        for host in self._harness.hosts:
            for square, heard in host.node.subscriptions.by_square.items():
                if not heard.view.ready or is_unpublished(self._harness, square):
                    continue
                tiles = heard.layers.tiles.get(number)
                values = nothing if tiles is None else bytes(tiles.values)
                if known.setdefault(square, values) != values:
                    raise Broken(f"two nodes have not the same in layer {number} of {square}")
        for client in self._harness.clients:
            if client.connection.open:
                for square in known:
                    values = bytes(client.model.cells.get((*square, number), nothing))
                    if not client.model.holds(square) or is_untold(client, square):
                        continue
                    if values != known[square]:
                        raise Broken(f"a screen has another layer {number} of {square}")
        return known

    def _check_store(self, layer: CellLayer, known: dict[Square, bytes]) -> None:
        """Raise Broken unless the store has what nodes know, and nothing that was safe is lost."""
        assert self._store is not None
        there: dict[_Place, tuple[int, int]] = {}
        squares = {square_of(item.group) for item in self._store.each(layer.rows.queue)}
        for square, tile in layer.rows.read(self._store, sorted(squares)):
            there[layer.number, square, tile.tile_index] = tile.value, tile.at
        for square, values in known.items():
            for place, value in enumerate(values):
                key = layer.number, square, place
                kept = there.get(key, (0, 0))[0]
                if kept != value and not self._is_fresh(key):
                    raise Broken(f"{layer.name}: {value} at {square}, {place}; the store: {kept}")
        counted = {int(n): many for n, many in self._store.top(layer.rows.queue, 300) if many}
        values_there = Counter(value for value, _ in there.values() if value)
        if counted != values_there:
            raise Broken(f"{layer.name}: counted are {counted}, and there are {values_there}")
        safe = dict(self._safe)
        for host in self._harness.hosts:
            for key, at in self._heard.get(host, {}).items():
                safe[key] = max(at, safe.get(key, 0))
        for key, at in safe.items():
            if self._is_fresh(key):
                continue
            if (
                key[0] == layer.number
                and layer.rule == RULE_LAST
                and there.get(key, (0, 0))[1] < at
            ):
                raise Broken(f"{layer.name}: what was written at {key[1:]} is lost")
            if key[0] == layer.number and key not in there:
                raise Broken(f"{layer.name}: nothing is left at {key[1:]}")
        if layer.rule == RULE_SUM:
            for key, (value, _) in there.items():
                if not min(self._least[key], 255) <= value <= min(self._most[key], 255):
                    least, most = self._least[key], self._most[key]
                    raise Broken(f"{layer.name}: {value} at {key[1:]}, not {least} to {most}")
