"""What this node's clients see of the map of everybody.

What is known is added up elsewhere (hearing.py). Once a second clients are shown what has changed.
Dots are joined to larger ones until there are few enough of them (layers.py).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from flatlands.brokers.base import Broker, Reset
from flatlands.server.atlas.hearing import EVERYWHERE, Asked, Hearing
from flatlands.server.atlas.layers import Layer
from flatlands.server.atlas.sheets import COARSEST, Sheet, patches_within
from flatlands.server.loop import Loop
from flatlands.server.messages import protocol
from flatlands.server.messages.channels import Channels
from flatlands.server.websocket.frames import frame
from flatlands.world.grid import Rect

#: ms between two messages to a client.
SHOW_EVERY: Final = 1000

#: ms between two steps down the sheets while somebody waits for a first picture, and the most ms
#: that anybody waits for an answer that may never come.
STEP: Final = 30
PATIENCE: Final = 1500

#: A client is shown so many dots at most, which bounds what it is sent. Finer ones are tried again
#: every TRY_FINER seconds, and shown if they are fewer than FINER.
DOTS_MOST: Final = 180
FINER: Final = 140
TRY_FINER: Final = 5

#: The most views that differ. Whoever asks for one more sees the whole world.
VIEWS_MOST: Final = 256

#: The totals are shown when they have changed, and every so many seconds as a sign of life.
ALIVE_EVERY: Final = 5


class Viewer(Protocol):
    """A client that looks at the map."""

    def show_map(self, data: bytes) -> bool:
        """Send WebSocket frames; return False if that is not possible now."""


class View:
    """What some clients see: all that have asked for the same. `grain` is that of the dots that
    they are shown, and `behind` are those that need the whole picture."""

    __slots__ = ("asked", "viewers", "behind", "grain", "since")

    def __init__(self, asked: Asked, now: int) -> None:
        self.asked = asked
        self.viewers: set[Viewer] = set()
        self.behind: set[Viewer] = set()
        self.grain = asked.grain
        self.since = now


class Watching:
    """See the module. `others` returns the ids of the other nodes that are alive, and `walked` some
    names of who has walked here within a day, and their number. `seed` and `side` are those of the
    world."""

    def __init__(
        self,
        node: int,
        channels: Channels,
        broker: Broker,
        loop: Loop,
        others: Callable[[], Iterable[int]],
        seed: int,
        side: int,
        walked: Callable[[], tuple[Sequence[str], int]],
    ) -> None:
        self._walked = walked
        self._broker = broker
        self._loop = loop
        self._others = others
        self._ground = seed, side
        self._hearing = Hearing(node, channels, broker, loop, others)
        self._views: dict[Asked, View] = {}
        self._by_viewer: dict[Viewer, View] = {}
        #: Grain -> the dots that clients are shown.
        self._layers: dict[int, Layer] = {}
        self._totals = b""
        #: How often clients were shown something, in seconds since somebody looks.
        self._seconds = 0
        #: Whether `_show` is planned.
        self._running = False
        self._showing = loop.alarm(self._show)
        self._stepping = loop.alarm(self._step)
        self._stepping_at: int | None = None

    def __len__(self) -> int:
        """Return how many clients look."""
        return len(self._by_viewer)

    # Who looks, and at what.

    def shows(self, viewer: Viewer) -> bool:
        """Say whether a client looks."""
        return viewer in self._by_viewer

    def watch(self, viewer: Viewer, grain: int, squares: Rect) -> None:
        """Let a client look at some squares, in dots of `grain` or coarser, and no more at what it
        looked at before. Without any squares it is told the totals only."""
        self.leave(viewer)
        now = self._loop.now()
        asked = Asked(grain, squares) if squares.c0 <= squares.c1 else Asked(0, None)
        if asked not in self._views and len(self._views) >= VIEWS_MOST:
            asked = Asked(0, EVERYWHERE)
        if not self._running:
            self._running = True
            self._showing.set(now + SHOW_EVERY)
        view = self._views.get(asked)
        if view is None:
            view = self._views[asked] = View(asked, now)
        view.viewers.add(viewer)
        view.behind.add(viewer)
        self._by_viewer[viewer] = view
        self._hurry(0)

    def leave(self, viewer: Viewer) -> None:
        """Show a client nothing more. One that does not look is no error."""
        view = self._by_viewer.pop(viewer, None)
        if view is None:
            return
        view.viewers.discard(viewer)
        view.behind.discard(viewer)
        if not view.viewers:
            del self._views[view.asked]

    # What nodes say.

    @property
    def channels(self) -> Mapping[str, Sheet]:
        """The channels to which this node is subscribed, and the sheet of each."""
        return self._hearing.channels

    def asked(self, node: int, flat: list[int]) -> None:
        """Note that a node asks for sheets: `flat` is level, column, row, level, column ..."""
        self._hearing.asked(node, flat)

    def receive(self, channel: str, payload: bytes) -> None:
        """Apply what a node tells of a sheet, on the sheet's channel. Raises Malformed."""
        if self._hearing.receive(channel, payload) and self._by_viewer:
            self._hurry(STEP)

    def reset(self, lost: Reset) -> None:
        """Ask again for the sheets of which messages may have been lost."""
        self._hearing.reset(lost)
        if self._by_viewer:
            self._hurry(STEP)

    # Steps down the sheets.

    def _hurry(self, wait: int) -> None:
        """Go down the sheets in so many ms, or sooner if that is planned."""
        at = self._loop.now() + wait
        if self._stepping_at is None or at < self._stepping_at:
            self._stepping_at = at
            self._stepping.set(at)

    def _step(self) -> None:
        """Go one step down the sheets, and show the picture to those who wait if that was the last
        one."""
        self._stepping_at = None
        if not self._by_viewer:
            return
        now = self._loop.now()
        settled = self._hearing.descend(now, self._views.keys())
        waits = False
        for view in self._views.values():
            if view.behind:
                if settled or now - view.since > PATIENCE:
                    self._show_whole(view)
                else:
                    waits = True
        if waits:
            self._hurry(STEP)

    # What clients are shown.

    def _show(self) -> None:
        """Show what has changed in the last second."""
        now = self._loop.now()
        if not self._by_viewer:
            self._hearing.descend(now, self._views.keys())
            self._layers.clear()
            self._totals = b""
            self._running = False
            return
        self._showing.set(now + SHOW_EVERY)
        self._seconds += 1
        self._hearing.forget(now)
        self._hearing.descend(now, self._views.keys())
        for grain, layer in self._layers.items():
            layer.update(self._hearing.dots(grain))
        self._hearing.forget_batches()
        totals = self._pack_totals()
        if totals != self._totals or self._seconds % ALIVE_EVERY == 0:
            self._totals = totals
        else:
            totals = b""
        for view in self._views.values():
            self._show_view(view, totals)
        used = {view.grain for view in self._views.values() if view.asked.squares is not None}
        self._layers = {g: layer for g, layer in self._layers.items() if g in used}

    def _show_view(self, view: View, totals: bytes) -> None:
        squares = view.asked.squares
        data = totals
        if squares is not None:
            if self._grain(view) != view.grain:
                view.behind |= view.viewers
            else:
                some = self._layer(view.grain).changed(patches_within(squares, view.grain))
                if some:
                    data += frame(protocol.dots(view.grain, False, some))
        for viewer in view.viewers - view.behind if data else ():
            if not viewer.show_map(data):
                view.behind.add(viewer)
        # Those who have just come wait for the last step down.
        if self._loop.now() - view.since > PATIENCE:
            self._show_whole(view)

    def _show_whole(self, view: View) -> None:
        """Show the whole picture to those who are behind."""
        if not view.behind:
            return
        data = self._pack_totals()
        if view.asked.squares is not None:
            grain = self._grain(view)
            if grain != view.grain:
                view.grain = grain
                view.behind |= view.viewers
            picture = self._layer(grain).picture(patches_within(view.asked.squares, grain))
            data += frame(protocol.dots(grain, True, picture))
        for viewer in tuple(view.behind):
            if viewer.show_map(data):
                view.behind.discard(viewer)

    def _pack_totals(self) -> bytes:
        """Return the frame of the totals."""
        people, computers = self._hearing.totals()
        shown = any(asked.squares is not None for asked in self._views)
        squares = self._hearing.squares() if shown else None
        nodes = 1 + len(list(self._others()))
        scheme = self._broker.url.partition(":")[0].partition("+")[0]
        return frame(
            protocol.totals(
                people, computers, squares, nodes, scheme, *self._ground, *self._walked()
            )
        )

    def _grain(self, view: View) -> int:
        """Return the grain of the dots that a view shows from now on."""
        squares, grain = view.asked.squares, view.grain
        assert squares is not None
        level = self._hearing.reached(view.asked)
        finest = max(view.asked.grain, 4 * level)
        grain = max(grain, finest)
        while grain < COARSEST and self._count(squares, grain) > DOTS_MOST:
            grain += 1
        if grain == view.grain and self._seconds % TRY_FINER == 0:
            while grain > finest and self._count(squares, grain - 1) <= FINER:
                grain -= 1
        return grain

    def _count(self, squares: Rect, grain: int) -> int:
        return self._layer(grain).count(patches_within(squares, grain))

    def _layer(self, grain: int) -> Layer:
        layer = self._layers.get(grain)
        if layer is None:
            layer = self._layers[grain] = Layer(self._hearing.dots(grain))
        return layer
