"""What this node's clients see of the map of everybody.

As long as a client looks, this node asks all nodes for the sheets that it needs, adds up what they
tell, and once a second shows what has changed. It begins with the sheet of the whole world, and
goes down only where somebody is. Dots are joined to larger ones until there are few enough of them,
and each patch of dots is packed once for all clients that look at it. It never learns of a player.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol, TypeVar

from brokers import Broker, Reset
from server.atlas.sheets import (
    COARSEST,
    ROOT,
    TOP,
    Place,
    Sheet,
    dot_of,
    meet,
    patch_of,
    patches_within,
    squares_of,
)
from server.loop import Loop
from server.messages import peer_protocol, protocol
from server.messages.channels import Channels
from server.messages.peer_protocol import COUNTS, DOTS, Malformed
from server.websocket.frames import frame
from world.grid import Rect

#: ms between two messages to a client.
SHOW_EVERY: Final = 1000

#: ms after which a sheet is asked for again, if no node has asked for it meanwhile; and the same
#: while no answer has come, for the first few times.
RENEW_EVERY: Final = 3000
AGAIN_EVERY: Final = 300
TRIES: Final = 4

#: What a node that lives told of a sheet is forgotten after so many ms without news of it.
FORGET_AFTER: Final = 10_000

#: ms between two steps down the sheets while somebody waits for a first picture, and the most ms
#: that anybody waits for an answer that may never come.
STEP: Final = 30
PATIENCE: Final = 1500

#: A client is shown so many dots at most, which bounds what it is sent. Finer ones are tried again
#: every TRY_FINER seconds, and shown if they are fewer than FINER.
DOTS_MOST: Final = 180
FINER: Final = 140
TRY_FINER: Final = 5

#: The most sheets of one level that are asked for to see the whole world, or one view of it; and of
#: all views together.
SHEETS_MOST: Final = 64
SHEETS_IN_ALL: Final = 1024

#: The most views that differ. Whoever asks for one more sees the whole world.
VIEWS_MOST: Final = 256

#: The totals are shown when they have changed, and every so many seconds as a sign of life.
ALIVE_EVERY: Final = 5

EVERYWHERE: Final = Rect(-(2**31), -(2**31), 2**31, 2**31)


class Viewer(Protocol):
    """A client that looks at the map."""

    def show_map(self, data: bytes) -> bool:
        """Send WebSocket frames; return False if that is not possible now."""


class Asked(NamedTuple):
    """What a client asks to see: dots of `grain` or coarser, in some squares. Without squares it
    is told the totals only."""

    grain: int
    squares: Rect | None


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


class Told:
    """What one node told of a sheet: index of a dot -> (people, computer players); and when it
    did last, in ms of node time."""

    __slots__ = ("dots", "at")

    def __init__(self) -> None:
        self.dots: dict[int, tuple[int, int]] = {}
        self.at = 0


class Known:
    """A sheet that this node is subscribed to. `tries` is how often it was asked for without an
    answer."""

    __slots__ = ("channel", "nodes", "delivered", "asked", "tries", "heard", "_places")

    def __init__(self, channel: str) -> None:
        self.channel = channel
        self.nodes: dict[int, Told] = {}
        #: Index of a dot -> batches since the last message to clients.
        self.delivered: dict[int, int] = {}
        self.asked: int | None = None
        self.tries = 0
        self.heard = False
        self._places: dict[int, list[tuple[Place, int]]] = {}

    def places(self, sheet: Sheet, shift: int) -> list[tuple[Place, int]]:
        """Return for each dot of this sheet in which patch of dots it is that are 2^shift as wide,
        and at which index there."""
        places = self._places.get(shift)
        if places is None:
            dots = (dot_of(sheet[1:], index) for index in range(DOTS))
            places = self._places[shift] = [
                patch_of((column >> shift, row >> shift)) for column, row in dots
            ]
        return places

    def inhabited(self) -> set[int]:
        """Return the indexes of the dots in which anybody is."""
        return {index for told in self.nodes.values() for index in told.dots}


#: A dot as clients see it: people, computer players, the number of the node that has most of them,
#: how many these are, and batches.
Dot = list[int]


class Layer:
    """All dots of one grain that are known: patch -> index -> [index, people, computer players,
    node].

    `changes` are packed patches, with what has changed in the second that has just ended.
    """

    __slots__ = ("patches", "changes")

    def __init__(self, dots: dict[Place, dict[int, Dot]]) -> None:
        self.patches: dict[Place, dict[int, list[int]]] = {}
        self.changes: dict[Place, bytes] = {}
        self.update(dots)

    def update(self, dots: dict[Place, dict[int, Dot]]) -> None:
        """Take what is known now, and note what has changed."""
        before, self.patches, self.changes = self.patches, {}, {}
        for place, some in dots.items():
            old = before.pop(place, {})
            shown = self.patches[place] = {}
            flat: list[int] = []
            for index, dot in some.items():
                now = shown[index] = [index, dot[0], dot[1], dot[2]]
                if dot[4] or old.get(index) != now:
                    flat += now
                    flat.append(dot[4])
            for index in old.keys() - shown.keys():
                flat += (index, 0, 0, 0, 0)
            if flat:
                self.changes[place] = protocol.patch(*place, flat)
        for place, old in before.items():
            flat = [number for index in old for number in (index, 0, 0, 0, 0)]
            self.changes[place] = protocol.patch(*place, flat)

    def count(self, patches: Rect) -> int:
        """Return the number of dots in some patches."""
        return sum(map(len, _within(self.patches, patches)))

    def changed(self, patches: Rect) -> list[bytes]:
        """Return what has changed in some patches, packed."""
        return _within(self.changes, patches)

    def picture(self, patches: Rect) -> list[bytes]:
        """Return those of some patches in which anybody is, packed."""
        return [
            protocol.patch(*place, [number for dot in dots.values() for number in (*dot, 0)])
            for place, dots in self.patches.items()
            if patches.holds(place)
        ]


_T = TypeVar("_T")


def _within(some: dict[Place, _T], patches: Rect) -> list[_T]:
    """Return the values of those places that are in a rectangle."""
    c0, r0, c1, r1 = patches
    if (c1 - c0 + 1) * (r1 - r0 + 1) < len(some):
        return [some[place] for place in patches.squares() if place in some]
    return [value for (c, r), value in some.items() if c0 <= c <= c1 and r0 <= r <= r1]


class Watching:
    """See the module. `others` returns the ids of the other nodes that are alive. `seed` and `side`
    are those of the world."""

    def __init__(
        self, node: int, channels: Channels, broker: Broker, loop: Loop,
        others: Callable[[], Iterable[int]], seed: int, side: int,
    ) -> None:  # fmt: skip
        self._node = node
        self._channels = channels
        self._broker = broker
        self._loop = loop
        self._others = others
        self._ground = seed, side
        #: Channel -> the sheet of it that this node is subscribed to.
        self.channels: dict[str, Sheet] = {}
        self._known: dict[Sheet, Known] = {}
        self._views: dict[Asked, View] = {}
        self._by_viewer: dict[Viewer, View] = {}
        #: Grain -> the dots that clients are shown.
        self._layers: dict[int, Layer] = {}
        #: The finest level at which the whole world is known.
        self._level = TOP
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

    def asked(self, _node: int, flat: list[int]) -> None:
        """Note that a node asks for sheets: what they tell, this node hears too."""
        now = self._loop.now()
        for at in range(0, len(flat), 3):
            known = self._known.get(Sheet(*flat[at : at + 3]))
            # Without an answer yet, the subscription may have come too late.
            if known is not None and known.heard:
                known.asked = now

    def receive(self, channel: str, payload: bytes) -> None:
        """Apply what a node tells of a sheet, on the sheet's channel. Raises Malformed."""
        sheet = self.channels[channel]
        kind, *fields = peer_protocol.read(payload)
        if kind != COUNTS or Sheet(*fields[:3]) != sheet:
            raise Malformed("what does not belong to a sheet of the map")
        node, full, flat = fields[3:]
        if node != self._node and node not in self._others():
            return
        known = self._known[sheet]
        told = known.nodes.get(node)
        if told is None or full:
            before = told
            told = known.nodes[node] = Told()
            new = before is None or any(index not in before.dots for index in flat[::4])
        else:
            new = any(index not in told.dots for index in flat[::4])
        told.at = self._loop.now()
        for at in range(0, len(flat), 4):
            index, people, computers, batches = flat[at : at + 4]
            if people or computers:
                told.dots[index] = people, computers
            else:
                told.dots.pop(index, None)
            if batches:
                known.delivered[index] = known.delivered.get(index, 0) + batches
        known.heard = True
        if self._by_viewer and sheet.level and new:
            self._hurry(STEP)

    def reset(self, lost: Reset) -> None:
        """Ask again for the sheets of which messages may have been lost."""
        for channel, sheet in self.channels.items():
            if lost.channels is None or channel in lost.channels:
                self._known[sheet].heard, self._known[sheet].tries = False, 0
        if self._by_viewer:
            self._hurry(STEP)

    # Which sheets this node asks for.

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
        settled = self._descend(now)
        waits = False
        for view in self._views.values():
            if view.behind:
                if settled or now - view.since > PATIENCE:
                    self._show_whole(view)
                else:
                    waits = True
        if waits:
            self._hurry(STEP)

    def _descend(self, now: int) -> bool:
        """Subscribe to the sheets that are needed, unsubscribe from the others, and ask for them.

        Returns whether what is known is complete.
        """
        wanted = {ROOT: None} if self._by_viewer else {}
        looks = [asked for asked in self._views if asked.squares is not None]
        if looks:
            self._level = self._go_down(wanted, EVERYWHERE, 0)
            for asked in looks:
                if asked.grain >> 2 < self._level and len(wanted) < SHEETS_IN_ALL:
                    assert asked.squares is not None
                    self._go_down(wanted, asked.squares, asked.grain >> 2)
        unwanted = [sheet for sheet in self._known if sheet not in wanted]
        for sheet in unwanted:
            del self.channels[self._known.pop(sheet).channel]
        if unwanted:
            self._broker.unsubscribe(*map(self._channels.sheet, unwanted))
        new = [sheet for sheet in wanted if sheet not in self._known]
        for sheet in new:
            known = self._known[sheet] = Known(self._channels.sheet(sheet))
            self.channels[known.channel] = sheet
        if new:
            self._broker.subscribe(*map(self._channels.sheet, new))
        self._ask(now)
        return not new and all(known.heard or known.tries > 1 for known in self._known.values())

    def _go_down(self, wanted: dict[Sheet, None], squares: Rect, floor: int) -> int:
        """Add the sheets to `wanted` that show who is in some squares, from the top down to the
        level `floor`, or as far as there are not too many. Returns the level that was reached."""
        some = [ROOT]
        for level in range(TOP, floor, -1):
            below = [
                Sheet(level - 1, *dot)
                for sheet in some
                for dot in self._inhabited(sheet)
                if meet(squares_of(dot, 4 * level), squares)
            ]
            if len(below) > SHEETS_MOST:
                return level
            wanted.update(dict.fromkeys(below))
            some = below
        return floor

    def _reached(self, asked: Asked) -> int:
        """Return the finest level of sheets that there are for what a client has asked to see."""
        floor = asked.grain >> 2
        if floor >= self._level:
            return floor
        wanted: dict[Sheet, None] = {}
        assert asked.squares is not None
        level = self._go_down(wanted, asked.squares, floor)
        # With too many views of other clients some sheets may not be asked for.
        missing = [sheet.level + 1 for sheet in wanted if sheet not in self._known]
        return min(self._level, max(level, *missing) if missing else level)

    def _inhabited(self, sheet: Sheet) -> list[Place]:
        """Return the dots of a sheet in which anybody is, as far as that is known."""
        known = self._known.get(sheet)
        if known is None:
            return []
        return [dot_of(sheet[1:], index) for index in known.inhabited()]

    def _ask(self, now: int) -> None:
        """Ask for the sheets for which nobody has asked for a while."""
        due: list[int] = []
        for sheet, known in self._known.items():
            fast = not known.heard and known.tries < TRIES
            if known.asked is None or now - known.asked >= (AGAIN_EVERY if fast else RENEW_EVERY):
                known.asked = now
                if not known.heard:
                    known.tries += 1
                due += sheet
        for at in range(0, len(due), 3 * peer_protocol.SHEETS):
            message = peer_protocol.watch(self._node, due[at : at + 3 * peer_protocol.SHEETS])
            self._broker.publish(self._channels.nodes, message)

    # What clients are shown.

    def _show(self) -> None:
        """Show what has changed in the last second."""
        now = self._loop.now()
        if not self._by_viewer:
            self._descend(now)
            self._layers.clear()
            self._totals = b""
            self._running = False
            return
        self._showing.set(now + SHOW_EVERY)
        self._seconds += 1
        self._forget(now)
        self._descend(now)
        for grain, layer in self._layers.items():
            layer.update(self._dots(grain))
        for known in self._known.values():
            known.delivered.clear()
        totals = self._pack_totals()
        if totals != self._totals or self._seconds % ALIVE_EVERY == 0:
            self._totals = totals
        else:
            totals = b""
        for view in self._views.values():
            self._show_view(view, totals)
        used = {view.grain for view in self._views.values() if view.asked.squares is not None}
        self._layers = {g: layer for g, layer in self._layers.items() if g in used}

    def _forget(self, now: int) -> None:
        """Forget what nodes told that are gone, or that have told nothing for too long."""
        alive = {self._node, *self._others()}
        for known in self._known.values():
            known.nodes = {
                node: told
                for node, told in known.nodes.items()
                if node in alive and now - told.at < FORGET_AFTER
            }

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
        # This is a copy, since a write may find a connection dead: its client looks no more.
        for viewer in tuple(view.viewers - view.behind) if data else ():
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
        people = computers = 0
        for told in self._known[ROOT].nodes.values() if ROOT in self._known else ():
            for some, others in told.dots.values():
                people += some
                computers += others
        squares = None
        if not self._level and any(asked.squares is not None for asked in self._views):
            bottom = [known for sheet, known in self._known.items() if not sheet.level]
            squares = sum(len(known.inhabited()) for known in bottom)
        nodes = 1 + len(list(self._others()))
        scheme = self._broker.url.partition(":")[0].partition("+")[0]
        return frame(protocol.totals(people, computers, squares, nodes, scheme, *self._ground))

    def _grain(self, view: View) -> int:
        """Return the grain of the dots that a view shows from now on."""
        squares, grain = view.asked.squares, view.grain
        assert squares is not None
        level = self._reached(view.asked)
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
            layer = self._layers[grain] = Layer(self._dots(grain))
        return layer

    def _dots(self, grain: int) -> dict[Place, dict[int, Dot]]:
        """Return all dots of a grain that are known, by patch and index."""
        level, shift = grain >> 2, grain & 3
        numbers = {id: n for n, id in enumerate(sorted({self._node, *self._others()}))}
        found: dict[Place, dict[int, Dot]] = {}
        for sheet, known in self._known.items():
            if sheet.level != level:
                continue
            places = known.places(sheet, shift)
            # A square is told of by each node that has players there, but its batches count once.
            batches = known.delivered.copy()
            for node, told in known.nodes.items():
                number = numbers.get(node, 0)
                for index, (people, computers) in told.dots.items():
                    place, at = places[index]
                    patch = found.get(place)
                    if patch is None:
                        patch = found[place] = {}
                    dot = patch.get(at)
                    if dot is None:
                        all = people + computers
                        patch[at] = [people, computers, number, all, batches.pop(index, 0)]
                        continue
                    dot[0] += people
                    dot[1] += computers
                    dot[4] += batches.pop(index, 0)
                    if people + computers > dot[3]:
                        dot[2], dot[3] = number, people + computers
        return found
