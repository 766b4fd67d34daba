"""The server as a whole: makes all its parts, connects them, and starts and stops them."""

from collections import Counter
from itertools import count

import gevent
from gevent import socket

from flatlands.brokers.base import Broker, bare
from flatlands.server.clients.admission import Admission
from flatlands.server.clients.sessions import Sessions
from flatlands.server.clients.tokens import Tokens
from flatlands.server.cluster.districts import WorkerLoad
from flatlands.server.game import faults
from flatlands.server.game.chunks import Chunks
from flatlands.server.game.game import store_name
from flatlands.server.game.loader import GameMaker
from flatlands.server.messages import protocol
from flatlands.server.net.hosts import Hosts, is_local
from flatlands.server.net.listener import WebSocketServer
from flatlands.server.net.socket_passing import Passage
from flatlands.server.node import Node
from flatlands.server.runtime import logs
from flatlands.server.runtime.limits import Limits
from flatlands.server.runtime.loop import Loop
from flatlands.server.runtime.port import listen
from flatlands.server.settings import (
    KEPT_BACK,
    NO_STORE,
    SPARE_DESCRIPTORS,
    Settings,
    raise_descriptor_limit,
)
from flatlands.server.web.admin import operator_pages
from flatlands.server.web.inspect_pages import BODIES_AT, inspect_pages
from flatlands.server.web.inspector import Inspector
from flatlands.server.web.pages import make_pages
from flatlands.server.web.status import Status
from flatlands.server.workers.draining import Draining
from flatlands.server.workers.load_meter import LoadMeter
from flatlands.server.workers.migration import Migration
from flatlands.stores.base import Store
from flatlands.world.grid import Grid


class Server:
    """A node with its web pages and its clients' connections."""

    def __init__(self, settings: Settings, broker: Broker, store: Store | None = None) -> None:
        self.settings = settings
        self.stats: Counter[str] = Counter()

        # The node, and what is played there.
        game = GameMaker(settings.game, settings.of_game, alone=settings.worker in (None, 1))
        ground = game.ground(settings.seed)
        self.node = Node(
            grid=Grid(settings.side),
            terrain=ground,
            broker=broker,
            loop=Loop(self.stats, settings.clock),
            spread=settings.spread,
            ring=settings.spread_ring,
            world=settings.world,
            store=store,
            game=game,
            game_fingerprint=game.fingerprint,
            address=settings.address,
            flush_every=settings.flush_every,
        )

        # Its clients.
        descriptors = raise_descriptor_limit()
        self._capacity = capacity = _capacity(settings.max_players, descriptors)
        world = f"{settings.seed} {settings.world}"
        name = store_name(type(self.node.game))
        tokens = Tokens(settings.secret, world, settings.secret_old, game=name)
        limits = Limits(
            self.stats,
            per_address=settings.max_per_address,
            most=descriptors - KEPT_BACK,
            any_rate=settings.any_rate,
            proxies=settings.trusted_proxies,
            now=self.node.loop.now,
        )
        self._admission = admission = Admission(self.node, tokens, limits, capacity)
        self._sessions = Sessions(self.node, admission, tokens, limits)

        # The other workers of this machine, if there are any that gather neighbours.
        self._load_meter = LoadMeter(self.node, capacity)
        self._migration: Migration | None = None
        if settings.worker is not None and settings.reports is not None and settings.gather:
            self._migration = Migration(
                settings.worker - 1,
                Passage(settings.reports),
                self.node,
                self._load_meter,
                limits,
                self._sessions,
            )
            admission.other_workers = self._migration
            self._sessions.placements = (self._migration, self.node.router)

        # What operators see and do, and the pages.
        self.status = Status(self.node, self._sessions, admission, limits, settings)
        self._draining = Draining(
            self.node, self._sessions, self._migration, self.status.reports, settings.reports
        )
        operators = operator_pages(
            self.status,
            self._draining.drain,
            self.node.moderation,
            self.node.play,
            settings.admin_token,
        )
        latest = faults.collect() if settings.author else None
        for_author = []
        if latest is not None and settings.inspected:
            inspector = Inspector(self.node, latest, self.status.warnings)
            for_author.append(inspect_pages(inspector, workers=settings.worker is not None))
        pages = make_pages(
            self.status.health,
            operators,
            *for_author,
            forgets="always" if store is None else "restart" if settings.forgets else "",
            page=game.page,
            ground=ground if isinstance(ground, Chunks) else None,
            faults=latest,
            machines=lambda: self.node.router.addresses,
        )
        if settings.listen_fd is None:
            self._listener = listen(settings.host, settings.port)
        else:
            self._listener = socket.socket(fileno=settings.listen_fd)
        self._http = WebSocketServer(
            self._listener,
            pages,
            self._sessions.accept,
            protocol=protocol.SUBPROTOCOL,
            limits=limits,
            hosts=Hosts(
                settings.allowed_origins,
                settings.allowed_hosts,
                local=is_local(self._listener.getsockname()[0]),
                machines=lambda: self.node.router.addresses,
            ),
            share=settings.http_share / 100,
            full=lambda: settings.worker is not None and admission.full,
        )
        self._http.max_message = protocol.MESSAGE_LIMIT
        self._http.bodies_at = BODIES_AT if for_author else ()
        self._http.access_log = settings.access_log
        self._http.drained = lambda: self._draining.drained
        self._http.no_room = lambda: admission.full_for_newcomers

    @property
    def port(self) -> int:
        """The port of the listener."""
        return int(self._listener.getsockname()[1])

    @property
    def loop(self) -> Loop:
        """The event loop."""
        return self.node.loop

    def start(self) -> None:
        """Begin to serve, and return at once. A worker lets newcomers in only after `open`."""
        loop = self.node.loop
        loop.keep_running("the broker's receiver", self.node.listen)
        loop.keep_running("the beat", self._every_second)
        loop.keep_running("the round", self._sessions.keep_checking)
        loop.keep_running("the reports", self.status.reports.keep_writing)
        self.node.moderation.start()
        self.node.peers.start()
        self.node.router.start()
        self.node.play.start()
        about, chosen = self.status.about(), self.settings
        logs.log_line(
            "serve",
            **{name: it for name, it in about.items() if name != "worker"},
            seed=chosen.seed,
            side=chosen.side,
            broker=bare(chosen.broker) or "memory://",
            store=bare(chosen.store or NO_STORE),
            workers=chosen.workers,
            players=self._capacity,
            per_address=chosen.max_per_address,
        )
        if self.settings.listen_fd is None:
            self.open()

    def _every_second(self) -> None:
        """Once a second, measure how busy this process is and how late its loop, and look for what
        is overdue."""
        loop = self.node.loop
        for second in count(1):
            if second % 60 == 0:
                for histogram in loop.times.values():
                    histogram.turn()
            self._draining.poll()
            self._load_meter.measure()
            self.node.peers.set_load(self._load_meter.of_node(len(self._sessions.all)))
            gevent.sleep(1)
            # It comes before anything else: by the times of these beats the loop finds its stalls.
            loop.beat()
            logs.log_left_out()
            self.stats["late_ms"] += loop.lag_ms
            self._sessions.close_silent_connections()

    @property
    def full(self) -> bool:
        """Whether there is no room for one more player."""
        return self._admission.full

    def readiness(self) -> list[str]:
        """Return the reasons why no more players should be sent here; none if it is ready."""
        return self.status.readiness()

    def load(self) -> WorkerLoad | None:
        """Return how busy this server is if it is one of several workers that gather players."""
        return None if self._migration is None else self._migration.load()

    def open(self) -> None:
        """Let newcomers in, unless the server was shut: a worker may get that order first.

        Further calls change nothing: a worker that replaces another one gets the order twice.
        """
        if not self._draining.stopping:
            if self._migration is not None and not self._draining.drained:
                self._migration.open()
            self._http.start()

    def shut(self) -> None:
        """Let nobody in any more."""
        self._draining.shut()
        self._http.close()

    def stop(self) -> None:
        """Shut the server, and close all sessions, a few at a time.

        Returns when the clients are gone and other nodes have had time to take over their players.
        """
        self.shut()
        self._draining.finish()
        # The loop ends first: what is due later could not be published any more.
        self.node.loop.end()
        self.status.reports.close()
        self.node.bus.broker.close()
        self.node.store_client.close()


def _capacity(players: int, descriptors: int) -> int:
    """Return how many players a process accepts: `players`, or as many as it can if that is 0. It
    may have this many descriptors. Raises ValueError if they are too few."""
    most = descriptors - SPARE_DESCRIPTORS
    if most < 1 or players > most:
        least = players or 1
        raise ValueError(
            f"{least} players need {least + SPARE_DESCRIPTORS} file descriptors, and "
            f"this process may have only {descriptors}: raise the limit (ulimit -n, LimitNOFILE=) "
            "or allow fewer players"
        )
    return players or most
