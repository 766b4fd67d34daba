"""Notices when players of this node step onto other tiles, for games that ask.

The moment of the next tile is computed when a leg begins, so nothing ever runs over all players.
Movers and computer players take no steps.
"""

from collections.abc import Callable
from typing import Any, Final

from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.players.resident import Resident
from flatlands.server.runtime.loop import Loop
from flatlands.server.runtime.timers import TimerQueue
from flatlands.world.grid import Square
from flatlands.world.track import Tile, Track, next_tile_at, tile_at, tiles_between

#: The least time between two calls about one player: several tiles may come in one.
STEPS_EVERY_MS: Final = 100


#: Steps of many players are reported together, at multiples of this.
STEPS_TOGETHER_MS: Final = 20


class _Way:
    """The part of a resident's walk that was searched for new tiles: until the node time `until` in
    ms, and the tile `last`. `waiting` are the tiles that were not reported yet, and `reported_at`
    is when some last were."""

    __slots__ = ("until", "last", "waiting", "reported_at")

    def __init__(self, until: int, last: Tile) -> None:
        self.until = until
        self.last = last
        self.waiting: list[Tile] = []
        self.reported_at = 0


class Steps:
    """Computes when residents reach their next tiles, and reports these.

    `on_step` is called with a resident and the tiles to which it has come since the last call, one
    after the other, and `on_enter` with one that has come into another square, and its square
    before. Without `on_step` no tile is looked for. `certain` returns the node time in ms up to
    which a resident's walk is certain.
    """

    def __init__(
        self,
        loop: Loop | Any,
        on_step: Callable[[Resident, list[Tile]], object] | None,
        on_enter: Callable[[Resident, Square], object],
        certain: Callable[[Resident], int],
    ) -> None:
        self._loop = loop
        self._certain = certain
        self._on_step = on_step
        self._on_enter = on_enter
        self._ways: dict[Resident, _Way] = {}
        self._due = TimerQueue(loop, self._report, STEPS_TOGETHER_MS)

    def begin(self, resident: Resident) -> None:
        """Note that a resident is at this node from now on, if that is new."""
        person = resident.id >= FIRST_PERSON_ID
        if self._on_step is not None and person and resident not in self._ways:
            now, track = self._loop.now(), resident.track
            way = self._ways[resident] = _Way(now, tile_at(track, now))
            self._plan(resident, way, track)

    def square_entered(self, resident: Resident, before: Square) -> None:
        """Note that a resident has come into another square."""
        if resident.id >= FIRST_PERSON_ID:
            self._on_enter(resident, before)

    def follow(self, resident: Resident, track: Track) -> None:
        """Note that a resident is about to follow a new track in place of its own."""
        way, start = self._ways.get(resident), track.start
        if way is None:
            return
        self._walk(way, resident.track, start)
        # Its intent may be late: what it walked since on the old track is not undone.
        way.until = start
        self._come(way, tile_at(track, start))
        self._plan(resident, way, track)

    def skip(self, resident: Resident, since: int, until: int) -> None:
        """Note that a resident stood still from one time to another, against its track."""
        if (way := self._ways.get(resident)) is not None:
            self._walk(way, resident.track, since)
            way.until = until

    def drop(self, resident: Resident) -> None:
        """Report a resident's last steps here, and forget it: it is not at this node any more."""
        if resident in self._ways:
            self._report(resident, 0)
            self._due.drop(resident)
            del self._ways[resident]

    def _walk(self, way: _Way, track: Track, until: int) -> None:
        """Note the tiles to which a track leads until a time."""
        if until > way.until:
            for tile in tiles_between(track, way.until, until):
                self._come(way, tile)
            way.until = until

    def _come(self, way: _Way, tile: Tile) -> None:
        if tile != way.last:
            way.last = tile
            way.waiting.append(tile)

    def _plan(self, resident: Resident, way: _Way, track: Track) -> None:
        at = way.until if way.waiting else next_tile_at(track, way.until)
        if at is None:
            self._due.drop(resident)
        else:
            self._due.put(
                resident, max(at, way.reported_at + STEPS_EVERY_MS + self._loop.deferral_ms())
            )

    def _report(self, resident: Resident, _due: int) -> None:
        way = self._ways[resident]
        self._walk(way, resident.track, self._certain(resident))
        tiles, way.waiting, way.reported_at = way.waiting, [], self._loop.now()
        self._plan(resident, way, resident.track)
        if tiles and self._on_step is not None:
            self._on_step(resident, tiles)
