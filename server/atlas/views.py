"""Shows this node's clients the map of everybody.

What nodes publish is added up in counts.py. Once a second clients are shown what has changed. Dots
are joined to larger ones until there are few enough of them (dot_layer.py).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from flatlands.server.atlas.counts import PlayerCounts
from flatlands.server.atlas.dot_layer import DotLayer
from flatlands.server.atlas.dots import (
    WORLD_DOTS,
    WORLD_TOTALS,
    MapArea,
    areas_around,
    patches_within,
)
from flatlands.server.messages import protocol
from flatlands.server.messages.channels import Bus
from flatlands.server.messages.protocol import GRAIN_MOST
from flatlands.server.net.frames import frame
from flatlands.world.grid import Rect

#: Time between two messages to a client.
SHOW_EVERY_MS: Final = 1000

#: Time between two looks at whether a first picture is ready.
FIRST_LOOK_MS: Final = 50

#: The most dots that a client is shown, which bounds what it is sent. Finer ones are tried again
#: every TRY_FINER_S, and shown if they are no more than FINER_DOTS_MOST.
DOTS_MOST: Final = 180
FINER_DOTS_MOST: Final = 140
TRY_FINER_S: Final = 5

#: The most different views. Whoever asks for one more sees the whole world.
VIEWS_MOST: Final = 256

#: The totals are shown when they have changed, and every ALIVE_EVERY_S as a sign of life.
ALIVE_EVERY_S: Final = 5

EVERYWHERE: Final = Rect(-(2**31), -(2**31), 2**31, 2**31)


class MapViewer(Protocol):
    """A client that looks at the map."""

    def show_map(self, data: bytes) -> bool:
        """Send WebSocket frames; return False if that is not possible now."""


class MapRequest(NamedTuple):
    """The part of the map that a client asks to see: dots of `grain` or coarser, in some squares.
    Without squares it gets the totals only."""

    grain: int
    squares: Rect | None


class MapView:
    """A part of the map, with all clients that have asked for it. `grain` is that of the dots that
    they get, and `behind` are those clients that need the whole picture."""

    __slots__ = ("asked", "viewers", "behind", "grain")

    def __init__(self, asked: MapRequest) -> None:
        self.asked = asked
        self.viewers: set[MapViewer] = set()
        self.behind: set[MapViewer] = set()
        self.grain = asked.grain


class MapViews:
    """The views of the map that this node's clients have open.

    `nodes` returns the ids of all nodes that are alive, and `walked` some names of people who
    walked here within two days, and the number of these people. `seed_and_side` are those of the
    world.
    """

    def __init__(
        self,
        counts: PlayerCounts,
        bus: Bus,
        nodes: Callable[[], Iterable[int]],
        seed_and_side: tuple[int, int],
        walked: Callable[[], tuple[Sequence[str], int]],
    ) -> None:
        self._counts = counts
        self._bus = bus
        self._loop = loop = bus.loop
        self._nodes = nodes
        self._seed_and_side = seed_and_side
        self._walked = walked
        self._views: dict[MapRequest, MapView] = {}
        self._by_viewer: dict[MapViewer, MapView] = {}
        #: Grain -> the dots that clients are shown.
        self._layers: dict[int, DotLayer] = {}
        self._totals = b""
        #: How often clients were shown something, in seconds since somebody looks.
        self._seconds = 0
        #: Whether `_show` is planned.
        self._running = False
        self._showing = loop.timer(self._show)
        self._looking = loop.timer(self._show_all)

    def __len__(self) -> int:
        """Return how many clients look."""
        return len(self._by_viewer)

    # Who looks, and at what.

    def shows(self, viewer: MapViewer) -> bool:
        """Return whether a client looks."""
        return viewer in self._by_viewer

    def watch(self, viewer: MapViewer, grain: int, squares: Rect) -> None:
        """Let a client look at some squares, in dots of `grain` or coarser, and no longer at what
        it looked at before. Without any squares it gets the totals only."""
        self.leave(viewer)
        asked = MapRequest(grain, squares) if squares.c0 <= squares.c1 else MapRequest(0, None)
        if asked not in self._views and len(self._views) >= VIEWS_MOST:
            asked = MapRequest(0, EVERYWHERE)
        now = self._loop.now()
        if not self._running:
            self._running = True
            # Between two counts of the nodes, if this is the first request for them.
            self._showing.set(now + SHOW_EVERY_MS * 3 // 2)
        view = self._views.setdefault(asked, MapView(asked))
        view.viewers.add(viewer)
        view.behind.add(viewer)
        self._by_viewer[viewer] = view
        self._looking.set(now)

    def leave(self, viewer: MapViewer) -> None:
        """Show a client nothing more. One that does not look is no error."""
        view = self._by_viewer.pop(viewer, None)
        if view is None:
            return
        view.viewers.discard(viewer)
        view.behind.discard(viewer)
        if not view.viewers:
            del self._views[view.asked]

    # Which areas of the world are needed.

    def _areas(self, asked: MapRequest) -> list[MapArea]:
        """Return the areas that show what a client asks to see, as far as that can be found out
        now."""
        if asked.squares is None:
            return [WORLD_TOTALS]
        if self._counts.grain(WORLD_DOTS) <= asked.grain:
            return [WORLD_TOTALS, WORLD_DOTS]
        return [WORLD_TOTALS, WORLD_DOTS, *areas_around(asked.squares, asked.grain)]

    def _need(self) -> None:
        """Receive the areas that clients look at."""
        self._counts.need({area for asked in self._views for area in self._areas(asked)})

    def _is_settled(self, asked: MapRequest) -> bool:
        return all(map(self._counts.settled, self._areas(asked)))

    def _show_all(self) -> None:
        """Show the whole picture to those who need it, as soon as there is one."""
        self._need()
        behind = [view for view in self._views.values() if view.behind]
        totals = self._pack_totals() if behind else b""
        for view in behind:
            if self._is_settled(view.asked):
                self._show_whole(view, totals)
            else:
                self._looking.set(self._loop.now() + FIRST_LOOK_MS)

    # What clients are shown.

    def _show(self) -> None:
        """Show what has changed in the last second."""
        self._need()
        if not self._by_viewer:
            self._layers.clear()
            self._totals = b""
            self._running = False
            return
        self._showing.set(self._loop.now() + SHOW_EVERY_MS + self._loop.deferral_ms())
        self._seconds += 1
        for grain in self._layers:
            self._layer(grain, anew=True)
        self._counts.forget_batches()
        totals = self._pack_totals()
        if totals == self._totals and self._seconds % ALIVE_EVERY_S:
            totals = b""
        else:
            self._totals = totals
        for view in self._views.values():
            self._show_changes(view, totals)
        used = {view.grain for view in self._views.values() if view.asked.squares is not None}
        self._layers = {g: layer for g, layer in self._layers.items() if g in used}
        self._show_all()

    def _show_changes(self, view: MapView, data: bytes) -> None:
        """Show a view's clients `data` and what has changed, or note that they need all."""
        squares = view.asked.squares
        if squares is not None:
            if self._grain(view) != view.grain:
                view.behind |= view.viewers
            elif some := self._layer(view.grain).changed(patches_within(squares, view.grain)):
                data += frame(protocol.dots(view.grain, False, some))
        for viewer in view.viewers - view.behind if data else ():
            if not viewer.show_map(data):
                view.behind.add(viewer)

    def _show_whole(self, view: MapView, data: bytes) -> None:
        """Show `data` and the whole picture to those who are behind."""
        if view.asked.squares is not None:
            grain = self._grain(view)
            if grain != view.grain:
                view.grain = grain
                view.behind |= view.viewers
            picture = self._layer(grain).picture(patches_within(view.asked.squares, grain))
            data += frame(protocol.dots(grain, True, picture))
        view.behind -= {viewer for viewer in view.behind if viewer.show_map(data)}

    def _pack_totals(self) -> bytes:
        """Return the frame of the totals."""
        shown = self._counts.squares(WORLD_DOTS)
        nodes = len(list(self._nodes()))
        scheme = self._bus.broker.url.partition(":")[0].partition("+")[0]
        return frame(
            protocol.totals(
                self._counts.totals(),
                None if shown is None else len(shown),
                nodes,
                scheme,
                self._seed_and_side,
                self._walked(),
            )
        )

    def _grain(self, view: MapView) -> int:
        """Return the grain of the dots that a view shows from now on."""
        asked, grain = view.asked, view.grain
        areas = self._areas(asked)[2:] if self._is_settled(asked) else []
        finest = max([asked.grain, *map(self._counts.grain, areas or [WORLD_DOTS])])
        grain = max(grain, finest)
        while grain < GRAIN_MOST and self._count(view, grain) > DOTS_MOST:
            grain += 1
        if grain == view.grain and self._seconds % TRY_FINER_S == 0:
            while grain > finest and self._count(view, grain - 1) <= FINER_DOTS_MOST:
                grain -= 1
        return grain

    def _count(self, view: MapView, grain: int) -> int:
        assert view.asked.squares is not None
        return self._layer(grain).count(patches_within(view.asked.squares, grain))

    def _layer(self, grain: int, anew: bool = False) -> DotLayer:
        """Return the dots of a grain as they were when clients were shown them last, or, if they
        were not or with `anew`, as they are now."""
        layer = self._layers.get(grain)
        if layer is None or anew:
            dots = self._counts.dots(
                grain, {id: number for number, id in enumerate(sorted(self._nodes()))}
            )
            if layer is None:
                self._layers[grain] = layer = DotLayer(dots)
            else:
                layer.update(dots)
        return layer
