"""The residents of this node: how they join, lose their connection, get another one, and leave.

It remembers for a minute who has left. It keeps this node subscribed to the channels of all players
that it has, had, or remembers: there others ask about them. If somebody asks before a subscription
holds, that is repaired like any other loss (takeovers.py).
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from flatlands.server.messages.channels import Bus
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.messages.table import Field, Row
from flatlands.server.players.movement import Movement
from flatlands.server.players.resident import Resident, State
from flatlands.server.players.spots import Position, Spots
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.hub import ClientSession
from flatlands.server.squares.outbox import Outbox
from flatlands.world.events import Event
from flatlands.world.grid import Grid, Square, Viewport
from flatlands.world.track import Tile, stand, tile_at

#: Ids of players are below it, so that JavaScript can represent them.
ID_MOST = 2**52

#: How long a player stays in the world, dimmed, after its connection is lost.
DIMMED_FOR_MS = 10_000

#: The same for a player that has neither walked nor spoken. It is short, so that clients that
#: connect and leave at once do not fill the world.
GLANCED_FOR_MS = 1000

#: How long the last seq and place of a player that left are remembered. If its client shows a token
#: again, the token may be an older one. With a seq that went back the player would be invisible.
LEFT_FOR_MS = 60_000

#: How many clients are sent at once what all must be sent, and how long the next ones wait. To send
#: it to ten thousand at once would hold up all else for a tenth of a second.
SENT_AT_ONCE = 200
SEND_PAUSE_MS = 5

#: Time between two times at which clients get new tokens because persistent fields have changed.
TOKENS_EVERY_MS: Final = 1000

#: How long this node stays subscribed to the channel of a player that it handed over. By then
#: another node has published that it has the player; if none has, the player counts as one that
#: left.
HANDED_OVER_MS: Final = 4000


def new_id() -> int:
    """Return an id for a player that is new to the world."""
    return random.randrange(FIRST_PERSON_ID, ID_MOST)


class Residents:
    """The players of this node: they join, change and leave here. Places are positions (x, y) in
    units. `set_listeners` must be called before anybody joins."""

    def __init__(
        self,
        bus: Bus,
        grid: Grid,
        spots: Spots,
        outbox: Outbox,
        movement: Movement,
    ) -> None:
        self._node = bus.node
        self._grid = grid
        self._spots = spots
        self._loop = loop = bus.loop
        self._outbox = outbox
        self._movement = movement
        self._left_listener: Callable[[Resident], None]
        self._changed_listener: Callable[[int], None]
        self._channels = bus.channels
        self._bus = bus
        #: All residents, by their ids.
        self.by_id: dict[int, Resident] = {}
        #: The fields that the game has of each player, and a new one's values.
        self.fields = Row("values", ())
        self.values: Sequence[object] = ()
        #: Players who left within LEFT_FOR_MS: id -> (last seq, last place).
        self.departed: dict[int, tuple[int, Position]] = {}
        self._partings = TimerQueue(loop, lambda resident, _due: self.leave(resident))
        self._oblivion = TimerQueue(loop, self._forget)
        #: Those whose values have changed since the last time at which tokens were renewed.
        self._changed: set[Resident] = set()
        loop.every(TOKENS_EVERY_MS, self._renew_tokens)

    def set_listeners(
        self, left: Callable[[Resident], None], changed: Callable[[int], None]
    ) -> None:
        """Call `left` with each resident that has left the game, and `changed` with the id of each
        player that has come here or has gone."""
        self._left_listener, self._changed_listener = left, changed

    def declare(self, fields: Sequence[Field]) -> None:
        """Give each player these fields of the game."""
        self.fields = Row("values", tuple(fields))
        self.values = tuple([field.lowest for field in fields])

    # Coming and going.

    def choose_spot(self, near: int | Position | None = None) -> Position:
        """Return a place for a player to begin: beside `near`, or else where newcomers begin.

        `near` is a place or the id of a player. An id that is not at this node counts as None.
        """
        if isinstance(near, int):
            friend = self.by_id.get(near)
            near = None if friend is None else friend.track.at(self._loop.now())
        return self._spots.newcomer() if near is None else self._spots.beside(*near)

    def join(self, name: str, place: Position, *, id: int | None = None, seq: int = 0) -> Resident:
        """Return a new resident, which begins at `place`.

        `id` and `seq` are given for a player that comes back. A newcomer gets a random id.
        """
        while id is None or id in self.by_id:
            id = new_id()
        now = self._loop.now()
        self._loop.stats["joins"] += 1
        square = self._grid.square(*place)
        return self.take_in(
            State(id, seq, name, stand(*place, now), square, now, values=self.values)
        )

    def take_in(self, state: State) -> Resident:
        """Return a new resident in this state: a newcomer, or one that another node or worker has
        given up."""
        resident = self.by_id[state.id] = Resident(self._node, state)
        self._bus.subscribe(self._channels.player(state.id))
        self._movement.enter(resident)
        if resident.pace_until:
            self._movement.set_pace(resident, resident.pace, resident.pace_until)
        self._changed_listener(resident.id)
        return resident

    def leave(self, resident: Resident) -> None:
        """Let a resident leave the game, and publish that it is gone."""
        self._remove(resident)
        self._movement.leave(resident)
        self.remember(resident)
        self._loop.stats["leaves"] += 1
        self._left_listener(resident)

    def hand_over(self, resident: Resident, *, walks: bool = False) -> None:
        """Give up a resident, whose player goes on at another node; if it `walks`, it walks on
        there. Nothing is published about it."""
        if resident.session is not None:
            resident.session.supersede(walks=walks)
        self._remove(resident)
        self._movement.leave(resident, handed_over=True)
        self.departed.pop(resident.id, None)
        self._oblivion.put(resident.id, self._loop.now() + HANDED_OVER_MS)
        self._changed_listener(resident.id)

    def _remove(self, resident: Resident) -> None:
        del self.by_id[resident.id]
        self._partings.drop(resident)

    def remember(self, resident: Resident) -> None:
        """Remember the last seq and place of a player that is here no longer, for LEFT_FOR_MS."""
        now = self._loop.now()
        self.departed[resident.id] = resident.seq, resident.track.at(now)
        self._bus.subscribe(self._channels.player(resident.id))
        self._oblivion.put(resident.id, now + LEFT_FOR_MS)
        self._changed_listener(resident.id)

    def _forget(self, id: int, _due: int) -> None:
        self.departed.pop(id, None)
        if id not in self.by_id:
            self._bus.unsubscribe(self._channels.player(id))

    # Their clients.

    def attach(
        self, resident: Resident, session: ClientSession, view: Viewport, *, resumed: bool = False
    ) -> None:
        """Give a session to a resident that has none: it is no longer dimmed and will not leave.

        If its client `resumed`, it continues numbering its intents; otherwise it starts over.
        """
        resident.session = session
        resident.view = view
        self._partings.drop(resident)
        if not resumed and (resident.dimmed or resident.ack):
            resident.dimmed = False
            resident.ack = 0
            self.renew(resident)
        self._movement.set_viewport(resident, view)

    def detach(self, resident: Resident) -> None:
        """Take away a resident's session, which then holds no squares. The resident walks on."""
        self._movement.hold(resident, None)
        resident.session = resident.view = None

    def detach_and_stop(self, resident: Resident) -> None:
        """Take away a resident's session, and let the resident stand still."""
        self.detach(resident)
        self._movement.stop(resident)

    def connection_lost(self, resident: Resident, *, dimmed: bool = True) -> None:
        """Let a resident whose connection is lost stay for DIMMED_FOR_MS or GLANCED_FOR_MS.

        Without `dimmed` the client was sent away to come back, here or at another node: the player
        stays for DIMMED_FOR_MS and looks as usual.
        """
        self.detach_and_stop(resident)
        if dimmed:
            resident.dimmed = True
            self.renew(resident)
        stays = DIMMED_FOR_MS if resident.has_acted or not dimmed else GLANCED_FOR_MS
        self._partings.put(resident, self._loop.now() + stays)

    # What is published of them.

    def renew(self, resident: Resident) -> None:
        """Publish everything about a resident, because something other than its track changed."""
        self._outbox.renew(resident, resident.square)

    def say(self, resident: Resident, text: str) -> None:
        """Publish a chat message of a resident in its square."""
        self._outbox.say(resident, resident.square, text)

    def emit(self, square: Square, event: Event) -> None:
        """Publish an event of one of the game's kinds in a square."""
        self._outbox.emit(square, event)

    def set_name_and_look(self, resident: Resident, name: str, look: int) -> None:
        """Give a resident a name and a look, and publish it if it had others."""
        if (name, look) != (resident.name, resident.look):
            resident.name, resident.look = name, look
            self.renew(resident)

    def set_pace_and_values(
        self, resident: Resident, pace: int, lasts: int, values: Sequence[object]
    ) -> None:
        """Let a resident go at a pace for `lasts` ms (0: for good), and have these values."""
        self._movement.set_pace(resident, pace, lasts and self._loop.now() + lasts)
        if values != resident.values and self.fields.fault(values) is None:
            self.set_values(resident, values)

    def set_values(self, resident: Resident, values: Sequence[object]) -> None:
        """Give a resident values of the game, and publish it if it had others."""
        if tuple(values) != tuple(resident.values):
            resident.values = tuple(values)
            self.renew(resident)
            self._changed.add(resident)

    def persistent(self, resident: Resident) -> dict[str, object]:
        """Return the fields of a player that its token has, by name."""
        fields = zip(self.fields.fields, resident.values, strict=False)
        return {field.name: value for field, value in fields if field.persist}

    def restore(self, resident: Resident, fields: Mapping[str, object]) -> None:
        """Give a player that comes back those of its persistent fields that the game still has."""
        values = list(resident.values)
        for at, field in enumerate(self.fields.fields):
            if field.persist and field.allows(fields.get(field.name)):
                values[at] = fields[field.name]
        self.set_values(resident, values)

    def _renew_tokens(self) -> None:
        """Give clients tokens with what has changed: if this node is killed, these are all that is
        left of it."""
        changed, self._changed = self._changed, set()
        for resident in changed:
            if resident.session is not None and self.persistent(resident):
                resident.session.renew_token()

    def publish_gone(self, resident: Resident) -> None:
        """Publish that a player, which is not at this node any more, is gone from its square."""
        self._outbox.publish_gone(resident, resident.square)

    @property
    def has_clients(self) -> bool:
        """Whether any resident has a session."""
        return any(resident.session is not None for resident in self.by_id.values())

    def each_session(
        self, send: Callable[[ClientSession], None], around: Sequence[int] = ()
    ) -> None:
        """Call `send` for the sessions of all clients, or of those within `around`: column, row,
        tiles along either axis. It is called for some of them now, and for the others a moment
        later."""
        self._loop.schedule_batches(self.sessions(around), SENT_AT_ONCE, SEND_PAUSE_MS, send)

    def sessions(self, around: Sequence[int] = ()) -> list[ClientSession]:
        """Return the sessions of all residents that have one, or of those within `around`."""
        now = self._loop.now()
        return [
            r.session
            for r in self.by_id.values()
            if r.session is not None and (not around or _is_within(tile_at(r.track, now), *around))
        ]


def _is_within(tile: Tile, column: int, row: int, reach: int) -> bool:
    """Return whether a tile is at most `reach` tiles from another one, along either axis."""
    return max(abs(tile[0] - column), abs(tile[1] - row)) <= reach
