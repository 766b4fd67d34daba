"""The state that all squares of a node share, and the interfaces of the rest of the node."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from flatlands.brokers.guard import Throttle
from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_batches import EVENTS, TupleKind
from flatlands.server.messages.peer_protocol import ENTRIES
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.hub import ClientSession, Hub
from flatlands.server.squares.layers import LayerRegistry
from flatlands.server.squares.outbox import Outbox
from flatlands.server.squares.peers import Peers
from flatlands.world.events import ENTER, EnterEvent, Event, GoneEvent, LeaveEvent, Player
from flatlands.world.grid import Square
from flatlands.world.replica import PlayerIndex, Replica, Tombstones
from flatlands.world.track import UNIT

#: At most once in this many seconds the link is renewed for a square from which nothing comes: that
#: costs a sync request for every other square on the link, and it may not help.
RENEW_EVERY: Final = 600.0


class PlayerListener(Protocol):
    """A listener to what other nodes publish about players."""

    def player_entered(self, node: int, square: Square, id: int, seq: int) -> None:
        """`node`, another node, has published that a player has come into a square or is in it."""

    def player_exited(self, square: Square, id: int, seq: int) -> None:
        """Another node has published that a player left a square, or is gone from it."""

    def enter_ignored(self, id: int, seq: int) -> None:
        """Another node has published an enter of a player whose seq is too low to be believed.

        `seq` is the higher one, which this node believes instead: that with which the player was
        removed, or that which it has at a node that is dead or stopping, in any square.
        """


class SquareObserver(Protocol):
    """An observer of what happens in the squares that this node is subscribed to."""

    def events_applied(self, square: Square, events: Sequence[Event]) -> None:
        """A batch with these events, and perhaps tracks, was applied in a square."""


class NodeServices(Protocol):
    """The rest of the node, as its squares use it."""

    @property
    def store_identity(self) -> str:
        """The identity of the store, "" if there is none."""

    def session(self, id: int) -> ClientSession | None:
        """Return the session of a player of this node, if it has one."""

    def things_changed(self, square: Square) -> None:
        """Note that the things in a square have changed."""


class SquareContext:
    """The state that all Subscriptions of a node share, and the parts of the node that they use. It
    finds all replicas with a player, and never changes a replica.

    `span` is the length of a square's side in units, and `crowd_from` the number of players from
    which on a square is a crowd. `events` and `things` are all kinds, including those of the game.
    """

    def __init__(
        self,
        bus: Bus,
        span: int,
        hub: Hub | Any,
        outbox: Outbox,
        peers: Peers,
        services: NodeServices,
        crowd_from: int,
    ) -> None:
        self.bus = bus
        self.node = bus.node
        self.services = services
        self.player_listener: PlayerListener
        self.observer: SquareObserver | None = None
        self.read_square: Callable[[Square], None]
        self.events: dict[int, TupleKind] = dict(EVENTS)
        self.things: dict[int, TupleKind] = {}
        #: The most entries in a page of a full state.
        self.entries: int = ENTRIES
        #: The time up to which certainly no messages were lost, and when the broker last reported
        #: that some may have been.
        self.missed = 0, 0
        #: The layers on which the game writes.
        self.layer_registry = LayerRegistry(bus.loop, hub, peers, (span // UNIT) ** 2)
        self.span = span
        self.loop = loop = bus.loop
        self.hub = hub
        self.outbox = outbox
        self.peers = peers
        self.crowd_from = crowd_from
        #: The seqs of players that were removed not long ago, in any square.
        self.tombstones = Tombstones()
        self.player_index = PlayerIndex()
        #: Players that two living nodes have; this node believes the one with the higher seq. If
        #: that one gives up its player, the other must begin the next incarnation.
        self._contested: set[int] = set()
        self.renewals = Throttle(seconds=RENEW_EVERY)
        #: Node -> the squares in which its messages were received lately, or in which it has
        #: players.
        self.squares_by_node: dict[int, set[Square]] = {}
        #: The tasks of squares that are due later: the keys are (object, method), the method gets
        #: `due`.
        self.due = TimerQueue(loop, lambda key, due: key[1](key[0], due))

    def set_player_listener(self, players: PlayerListener) -> None:
        """Notify `players` of other nodes' players from now on."""
        self.player_listener = players

    def set_observer(self, observer: SquareObserver) -> None:
        """Notify `observer` of what happens in squares from now on."""
        self.observer = observer

    def set_reader(self, read: Callable[[Square], None]) -> None:
        """Call `read` from now on with each square that must be read from the store: this node has
        just begun to receive it, or may have missed changes of its things."""
        self.read_square = read

    def declare_event(self, kind: TupleKind) -> int:
        """Take a kind of events of the game, and return its number."""
        number = max(self.events) + 1
        self.events[number] = kind
        return number

    def declare_players(self, enters: TupleKind, entries: int) -> None:
        """Take the kind of the game's enters. `entries` of them fit a page of a full state."""
        self.events[ENTER] = enters
        self.entries = entries

    def note_missed(self) -> None:
        """Note that the broker reports that messages may have been lost."""
        self.missed = self.peers.echoed_until, self.loop.now()

    def node_appeared(self, node: int, square: Square) -> None:
        """Note that this node receives messages of a node in a square from now on."""
        self.squares_by_node.setdefault(node, set()).add(square)

    def node_vanished(self, node: int, square: Square) -> None:
        """Note that nothing more is expected from a node in a square."""
        squares = self.squares_by_node[node]
        squares.discard(square)
        if not squares:
            del self.squares_by_node[node]

    def notify_player_changes(
        self, node: int, replica: Replica, events: Sequence[Event], now: int
    ) -> list[Event]:
        """Report to the listener which players entered, left or are gone according to what a node
        has published, before it is applied to the replica.

        Returns the enters whose seqs are not above that with which their player was removed.
        """
        old: list[Event] = []
        for event in events:
            if isinstance(event, EnterEvent):
                if not self._report_enter(node, replica.square, event, now):
                    old.append(event)
            elif isinstance(event, LeaveEvent | GoneEvent):
                self._report_exit(node, replica.square, event)
        return old

    def _report_enter(self, node: int, square: Square, enter: EnterEvent, now: int) -> bool:
        """Report an enter; return whether its seq is higher than that of the player's removal."""
        id, seq = enter.id, enter.seq
        self.player_listener.player_entered(node, square, id, seq)
        removed_at = self.tombstones.seq(id, now)
        others = self._elsewhere(node, id)
        left_behind = [player.seq for player in others if not self.peers.is_alive(player.node)]
        last_seq = max(removed_at, *left_behind, -1)
        if seq <= last_seq:
            self.player_listener.enter_ignored(id, last_seq)
        elif any(seq <= player.seq for player in others):
            self._contested.add(id)
        return seq > removed_at

    def _report_exit(self, node: int, square: Square, event: LeaveEvent | GoneEvent) -> None:
        """Report a leave or a gone."""
        id, seq = event.id, event.seq
        self.player_listener.player_exited(square, id, seq)
        if id in self._contested or any(one.seq <= seq for one in self._elsewhere(node, id)):
            self._contested.discard(id)
            self.player_listener.enter_ignored(id, seq)

    def _elsewhere(self, node: int, id: int) -> list[Player]:
        """Return a player as the replicas have it from nodes other than `node` and this one."""
        found = [replica.players[id] for replica in self.player_index.of(id)]
        return [player for player in found if player.node not in (node, self.node)]

    def forget_contested(self, ids: Iterable[int]) -> None:
        """Note that players were removed from some replica, though nobody published that they
        left."""
        self._contested.difference_update(ids)

    def show_again(self, ids: list[int], besides: Square) -> None:
        """Show again, after all other changed squares, those that have any of these players, except
        `besides`.

        A client believes an entry with a lower seq only while it has the player in no square. So
        the squares that lost the player must be shown first, and these after them.
        """
        for id in ids:
            for replica in self.player_index.of(id):
                if replica.square != besides:
                    self.hub.invalidate(replica.square, again=True)
