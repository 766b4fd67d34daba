"""One node: makes its parts, connects them, and passes them what the broker delivers.

What a resident does is published on its square's channel. Everybody, including neighbours on the
same node, gets it only when it comes back from the broker. A node never touches a socket, and waits
for nothing but the broker.
"""

import logging
import random
from collections.abc import Callable
from typing import Any, cast

import gevent

from flatlands.brokers.base import Broker, BrokerClosed, Message, Reset
from flatlands.server.atlas.census import Census
from flatlands.server.atlas.counts import PlayerCounts
from flatlands.server.atlas.views import MapViews
from flatlands.server.cluster.router import Router
from flatlands.server.cluster.split_brain import SplitBrainDetector
from flatlands.server.game.cell_layer import CellLayer
from flatlands.server.game.delivery import Delivery
from flatlands.server.game.game import Game, store_name
from flatlands.server.game.play import GameFactory, Play
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import DEFAULT_WORLD, Bus, Channels
from flatlands.server.messages.peer_protocol import Malformed, Watch
from flatlands.server.players.invitations import Invitations
from flatlands.server.players.moderation import Moderation
from flatlands.server.players.movement import Movement
from flatlands.server.players.names import NameSearch
from flatlands.server.players.presence import Presence
from flatlands.server.players.residents import Residents
from flatlands.server.players.spots import Spots
from flatlands.server.players.takeovers import Takeovers
from flatlands.server.runtime.loop import Loop
from flatlands.server.squares.context import SquareContext
from flatlands.server.squares.crowds import CROWD_FROM
from flatlands.server.squares.hub import ClientSession, Hub
from flatlands.server.squares.outbox import Outbox
from flatlands.server.squares.peers import Peers
from flatlands.server.squares.subscription import Subscription
from flatlands.server.squares.subscriptions import Subscriptions
from flatlands.server.storage.client import StoreClient
from flatlands.server.storage.reader import SquareReader
from flatlands.server.storage.world_clock import WorldClock
from flatlands.stores.base import Store
from flatlands.world.grid import Grid, Square
from flatlands.world.terrain import Terrain
from flatlands.world.track import Land

log = logging.getLogger("flatlands")


class Node:
    """A node of a world. Everything runs in the event loop's thread.

    `spread` is the number of squares over which newcomers are spread (0: they begin on the plaza),
    and `ring` the radius in tiles of the circle on which these lie (0: they are at the origin).
    `world` is the world's name. `store` keeps what lasts; without one nothing does. `game` makes
    what is played, and `game_fingerprint` names its version in a few letters: all nodes of a world
    must have the same. `spawn` begins a greenlet. `address` is that of its machine, "" if it has
    none. `flush_every` is the least number of ms between two flushes, and `crowd_from` the number
    of players from which on a square is a crowd.
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        grid: Grid,
        terrain: Terrain | Any,
        broker: Broker,
        loop: Loop,
        spread: int = 0,
        ring: int = 0,
        world: str = DEFAULT_WORLD,
        store: Store | None = None,
        game: GameFactory = Game,
        game_fingerprint: str = "",
        spawn: Callable[..., object] = gevent.spawn,
        address: str = "",
        flush_every: int = 0,
        crowd_from: int = CROWD_FROM,
    ) -> None:
        self.id = id = random.getrandbits(32)
        self.grid = grid
        self.terrain = terrain
        self.loop = loop
        self.stats = loop.stats
        self.channels = Channels(world, terrain.seed, grid.side, game_fingerprint)
        self.bus = bus = Bus(id, self.channels, broker, loop)

        # What lasts.
        self.spawn = spawn
        self.store_client = StoreClient(store, loop, spawn)
        self.world_clock = WorldClock(self.store_client, loop)

        # Screens, squares and other nodes.
        self.hub = Hub(loop, flush_every)
        squares: dict[Square, Subscription] = {}
        self.outbox = Outbox(bus, grid.span, self.hub, squares)
        self.peers = peers = Peers(bus)
        self.square_context = SquareContext(
            bus, grid.span, self.hub, self.outbox, peers, self, crowd_from
        )
        self.subscriptions = Subscriptions(self.square_context, grid, squares)

        # Players.
        spots = Spots(grid, terrain, spread, ring)
        self.movement = Movement(
            grid, terrain, spots, loop, self.hub, self.outbox, self.subscriptions
        )
        self.residents = Residents(bus, grid, spots, self.outbox, self.movement)
        self.router = Router(address, bus, self.residents, peers, self.store_client)
        self.takeovers = Takeovers(bus, self.residents, peers, self.router.was_sent)
        self.invitations = Invitations(
            bus, self.residents, peers, spots, self.movement, self.subscriptions
        )
        self.moderation = Moderation(self.store_client, loop, self.residents)
        self.names = NameSearch(bus, grid, self.residents, peers, self.moderation)

        self.presence = Presence(bus, self.residents, self.store_client, spawn)
        self.delivery = Delivery(bus, self.residents, self.presence)

        # What is played, and the things that it has in squares.
        self.play = Play(self, game)
        self.game = played = self.play.game
        name, ground_id = store_name(type(played)), self.channels.ground_id
        self.split_brain = SplitBrainDetector(id, name, ground_id, self.store_client, loop, peers)
        registry = self.square_context.layer_registry
        self.reader = SquareReader(
            self.store_client,
            self.subscriptions,
            loop,
            self.play.upkeep.fetch_and_seed,
            cast("list[CellLayer]", registry.layers),
            registry.tiles,
        )

        # The map of everybody.
        self.census = Census(bus, self.outbox, self.play.is_on_map)
        self.counts = PlayerCounts(bus, lambda node: node == id or node in peers.peers)
        self.views = MapViews(
            self.counts,
            bus,
            lambda: (id, *peers.peers),
            (terrain.seed, grid.side),
            lambda: played._recent_visitors(),
        )

        # Listeners: parts made later, which an earlier part notifies.
        self.store_client.set_recovered_listener(self.reader.read_all)
        self.square_context.set_player_listener(self.takeovers)
        self.square_context.set_reader(self.reader.read)
        peers.set_listeners(
            self.subscriptions.node_dead, self.subscriptions.node_forgotten, self._send_link
        )
        self.residents.set_listeners(self.play.player_left, self.presence.player_changed)
        self.moderation.set_silenced_listener(self.play.player_silenced)
        self.delivery.set_news_listener(self.play.news)
        self.presence.set_gone_listener(self.play.player_gone)

        #: Message between nodes -> the method that gets it.
        self._handlers: dict[type[object], Callable[[Any], None]] = {
            peer_protocol.Heartbeat: self.peers.on_heartbeat,
            peer_protocol.Echo: self.peers.on_echo,
            peer_protocol.Takeover: self.takeovers.on_takeover,
            peer_protocol.Handover: self.takeovers.on_handover,
            peer_protocol.Hosted: self.takeovers.on_hosted,
            peer_protocol.Left: self.takeovers.on_left,
            peer_protocol.HostQuery: self.invitations.on_host_query,
            peer_protocol.HostAnswer: self.invitations.on_host_answer,
            peer_protocol.Watch: self._on_watch,
            peer_protocol.Broadcast: self.delivery.on_broadcast,
            peer_protocol.News: self.delivery.on_news,
            peer_protocol.SendToOwner: self.delivery.on_send_to_owner,
            peer_protocol.Send: self.delivery.on_send,
            peer_protocol.Delivered: self.delivery.on_delivered,
            peer_protocol.PresenceQuery: self.presence.on_presence_query,
            peer_protocol.PresenceAnswer: self.presence.on_presence_answer,
            **self._mover_handlers(),
            peer_protocol.Plan: self.router.on_plan,
            peer_protocol.NameQuery: self.names.on_name_query,
            peer_protocol.NameAnswer: self.names.on_name_answer,
        }

    def _mover_handlers(self) -> dict[type[object], Callable[[Any], None]]:
        """Return the methods that get messages about movers; none if the game has no movers."""
        movers = self.play.movers
        if movers is None:
            return dict.fromkeys(peer_protocol.OF_MOVERS, lambda _message: None)
        return {
            peer_protocol.MoverSpawned: movers.on_mover_spawned,
            peer_protocol.MoverGo: movers.on_mover_go,
            peer_protocol.MoverChanged: movers.on_mover_changed,
            peer_protocol.MoverSwap: movers.swaps.on_mover_swap,
            peer_protocol.MoverSwapped: movers.swaps.on_mover_swapped,
            peer_protocol.TrackQuery: movers.adoption.on_track_query,
            peer_protocol.TrackAnswer: movers.adoption.on_track_answer,
        }

    def listen(self) -> None:
        """Receive from the broker until it is closed. No other method waits."""
        broker = self.bus.broker
        while True:
            try:
                item = broker.receive()
            except BrokerClosed:
                return
            if item is not None:
                # A fault must cause no pause, in which the other nodes would seem to be dead.
                self.loop.guarded(self.receive, item)

    def receive(self, item: Message | Reset) -> None:
        """Pass a message or a Reset of the broker to the part that it is for."""
        if isinstance(item, Reset):
            self.subscriptions.reset(item)
            return
        try:
            receiver = self.bus.receivers.get(item.channel)
            if receiver is not None:
                receiver(item.payload)
            else:
                self._dispatch_peer_message(item)
        except Malformed as error:
            # It is logged once, since whoever publishes such messages will go on.
            if not self.stats["malformed"]:
                log.warning("dropped a malformed message on %r: %s", item.channel, error)
            self.stats["malformed"] += 1
            if item.channel == self.channels.nodes:
                self.peers.note_incompatible()

    def _dispatch_peer_message(self, item: Message) -> None:
        """Pass on a message for all nodes, for this one, or for those that have or had a player."""
        if self.channels.is_of_ground(item.channel):
            # This node has just unsubscribed from it, or from an area of the map.
            return
        message = peer_protocol.read(item.payload)
        handler = self._handlers.get(type(message))
        if handler is None or isinstance(message, list):
            raise Malformed("it belongs to a square")
        is_compatible = message.node not in self.peers.incompatible
        if is_compatible or isinstance(message, peer_protocol.Heartbeat):
            handler(message)

    def _on_watch(self, watch: Watch) -> None:
        self.census.on_watch(watch.new, watch.areas)
        self.counts.on_watch(watch.areas)

    def set_terrain(self, terrain: Land) -> None:
        """Play on another ground from now on."""
        self.terrain = terrain
        self.movement.set_terrain(terrain)

    @property
    def store_identity(self) -> str:
        """The identity of its store, "" if there is none."""
        return self.store_client.identity

    def things_changed(self, square: Square) -> None:
        """Note that the things in a square have changed."""
        if self.movement.touches is not None:
            self.movement.touches.things_changed(square)

    def last_seq(self, id: int) -> int:
        """Return the highest seq that this node has of a player that is not here; -1 if it has
        none."""
        seq, _place = self.residents.departed.get(id, (-1, None))
        return max(seq, self.subscriptions.seq(id))

    def session(self, id: int) -> ClientSession | None:
        """Return the session of one of its players, if it has one."""
        resident = self.residents.by_id.get(id)
        return resident.session if resident is not None else None

    def _send_link(self) -> None:
        self.residents.each_session(lambda session: session.send_link())
