"""The residents of this node: how they come, lose and find their clients again, and go.

It remembers for a minute who has left. It never moves anybody: movement.py does.
"""

import random

from server.agenda import Agenda
from server.loop import Loop
from server.players.movement import Movement
from server.players.resident import Resident
from server.players.spots import Place, Spots
from server.squares.hub import Screen
from server.squares.outbox import Outbox
from world.grid import Grid, Viewport
from world.track import stand

#: Who lost the connection stays this long, in ms.
DIMMED_FOR = 10_000

#: Who has neither walked nor spoken before stays so long: to come and go fills no world.
GLANCED_FOR = 1000

#: Who left is remembered for this many ms, in case its token is shown again: its place in it may be
#: an older one, and a seq that went back would make the player invisible.
LEFT_FOR = 60_000


class Residents:
    """See the module. `by_id` are those who are here; `left` has the last seq and place of those
    who left a while ago."""

    def __init__(
        self, node: int, grid: Grid, spots: Spots, loop: Loop, outbox: Outbox, movement: Movement
    ) -> None:
        self._node = node
        self._grid = grid
        self._spots = spots
        self._loop = loop
        self._outbox = outbox
        self._movement = movement
        self.by_id: dict[int, Resident] = {}
        self.left: dict[int, tuple[int, Place]] = {}
        self._partings = Agenda(loop, lambda resident, _due: self.leave(resident))
        self._oblivion = Agenda(loop, self._forget)

    # Coming and going.

    def spot(self, near: int | Place | None = None) -> Place:
        """Return where somebody begins: beside a place, or the player `near` if it is known here,
        else where newcomers do."""
        if isinstance(near, int):
            friend = self.by_id.get(near)
            near = None if friend is None else friend.track.at(self._loop.now())
        return self._spots.newcomer() if near is None else self._spots.beside(*near)

    def join(self, name: str, place: Place, *, id: int | None = None, seq: int = 0) -> Resident:
        """Let a new resident begin at a place; with `id` one that comes back as somebody, and goes
        on from `seq`."""
        while id is None or id in self.by_id:
            id = random.getrandbits(52)
        track = stand(*place, self._loop.now())
        resident = Resident(self._node, id, seq, name, track, self._grid.square(*place))
        self.by_id[id] = resident
        self._movement.enter(resident)
        self._loop.stats["joins"] += 1
        return resident

    def leave(self, resident: Resident) -> None:
        """Let a resident leave the game."""
        self._remove(resident)
        self._movement.leave(resident)
        self.remember(resident)
        self._loop.stats["leaves"] += 1

    def hand_over(self, resident: Resident) -> None:
        """Let a resident go on at another node, which tells of it from now on."""
        if resident.screen is not None:
            resident.screen.give_up()
        self._remove(resident)
        self._movement.hand_over(resident)

    def _remove(self, resident: Resident) -> None:
        del self.by_id[resident.id]
        self._partings.drop(resident)

    def remember(self, resident: Resident) -> None:
        """Remember for a minute where somebody was who has left, and how much was told of it."""
        now = self._loop.now()
        self.left[resident.id] = resident.seq, resident.track.at(now)
        self._oblivion.put(resident.id, now + LEFT_FOR)

    def _forget(self, id: int, _due: int) -> None:
        self.left.pop(id, None)

    # Their clients.

    def attach(self, resident: Resident, screen: Screen, view: Viewport) -> None:
        """Give a resident a screen, instead of none."""
        resident.screen = screen
        resident.view = view
        self._partings.drop(resident)
        if resident.dimmed or resident.ack:
            resident.dimmed = False
            resident.ack = 0
            self.renew(resident)
        self._movement.look(resident, view)

    def detach(self, resident: Resident) -> None:
        """Take a resident's screen away: it holds nothing any more, and stands."""
        self._movement.hold(resident, None)
        resident.screen = resident.view = None
        self._movement.stop(resident)

    def lose(self, resident: Resident, *, dimmed: bool = True) -> None:
        """A resident's connection is lost: it stays for DIMMED_FOR or GLANCED_FOR. Without `dimmed`
        it was sent away to come back, here or at another node: it stands, as if in thought."""
        self.detach(resident)
        if dimmed:
            resident.dimmed = True
            self.renew(resident)
        stays = DIMMED_FOR if resident.acted or not dimmed else GLANCED_FOR
        self._partings.put(resident, self._loop.now() + stays)

    # What is told of them, and to them.

    def renew(self, resident: Resident) -> None:
        """Tell all of a resident anew, for something other than its track has changed."""
        self._outbox.renew(resident, resident.square)

    def say(self, resident: Resident, text: str) -> None:
        """Let a resident say something to all who hear its square."""
        self._outbox.say(resident, resident.square, text)

    def tell_gone(self, resident: Resident) -> None:
        """Tell that somebody who is not here any more is not in its square."""
        self._outbox.tell_gone(resident, resident.square)

    def screens(self) -> list[Screen]:
        """Return the screens of all who have one."""
        return [r.screen for r in self.by_id.values() if r.screen is not None]
