"""What the screens of this node are shown of one square: its snapshot, its batches, its things.

Batches are passed on as they are, or in a crowd as crowds.py has them; the rest of the node is told
of them too. This module never changes a replica: heard.py does.
"""

from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import Tail
from flatlands.server.squares.crowds import CROWD_UNTIL, Crowd
from flatlands.server.squares.surroundings import Surroundings
from flatlands.server.websocket.frames import frame
from flatlands.world.batches import Content
from flatlands.world.grid import Square
from flatlands.world.replica import Replica
from flatlands.world.things import Things


class Shown:
    """See the module. `replica` and `things` are those of the square. Times are node time in ms."""

    __slots__ = ("ready", "_square", "_around", "_replica", "_things", "_snapshot", "_crowd")

    def __init__(
        self, square: Square, around: Surroundings, replica: Replica, things: Things
    ) -> None:
        #: Whether screens may see the square.
        self.ready = False
        self._square = square
        self._around = around
        self._replica = replica
        self._things = things
        #: The frames of the square's snapshot, or None if the replica or the things have changed
        #: since they were made.
        self._snapshot: bytes | None = None
        self._crowd: Crowd | None = None

    def end(self) -> None:
        """Cancel what is due, because the node is not subscribed any more."""
        self._around.due.drop((self, Shown.get_ready))

    def get_ready_at(self, due: int) -> None:
        """Let screens see the square from the time `due` on."""
        self._around.due.put((self, Shown.get_ready), due)

    def get_ready(self, _due: int = 0) -> None:
        """Let screens see the square from now on."""
        if not self.ready:
            self.ready = True
            self.show_anew()

    def snapshot(self) -> bytes:
        """Return the WebSocket frames of the square's snapshot, and of the things that lie in it.

        Call it only once `ready` is set.
        """
        if self._snapshot is None:
            now = self._around.loop.now()
            players = self._replica.snapshot(now, self._around.peers.source)
            self._snapshot = frame(protocol.snapshot(self._square, now, players))
            if things := self._things.all():
                self._snapshot += frame(protocol.things(self._square, things))
        return self._snapshot

    def show_anew(self) -> None:
        """Note that the replica has changed, and show it to screens if it is ready."""
        self._snapshot = None
        if self.ready:
            self._around.show_anew(self._square)

    def tell_things(self) -> None:
        """Send what lies in the square now to its screens, with the next flush."""
        self._snapshot = None
        self._around.hub.tell(self._square, protocol.things(self._square, self._things.all()))

    def tell(self, node: int, sent: int, content: Content, tail: Tail) -> None:
        """Tell screens and node of a batch, which the replica has just applied."""
        around, square = self._around, self._square
        self._snapshot = None
        self._show(node, sent, content, tail)
        if content.others:
            around.loop.guarded(around.on_events, square, content.others)
        if square in around.followed:
            around.loop.guarded(around.on_moves, square)

    def _show(self, node: int, sent: int, content: Content, tail: Tail) -> None:
        around, crowd, source = self._around, self._crowd, self._around.peers.source(node)
        if crowd is None:
            around.hub.deliver(self._square, source, sent, tail)
            if len(self._replica.players) >= around.crowd_from:
                self._crowd = Crowd(
                    self._square,
                    around.span,
                    around.node,
                    self._replica,
                    int(around.crowd_from * CROWD_UNTIL),
                    around.peers.source,
                    around.screen,
                    self._end_crowd,
                )
            return
        besides = crowd.besides(content)
        if besides is not None:
            around.hub.deliver(self._square, source, sent, besides)
        if not around.hub.stir(self._square, crowd):
            crowd.forget()

    def _end_crowd(self) -> None:
        self._crowd = None
