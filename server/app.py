"""The server as a whole: makes all its parts, connects them, and starts and stops them."""

from collections import Counter
from itertools import count

import gevent
from gevent import socket

from flatlands.brokers.base import Broker
from flatlands.server.clients.admission import Admission
from flatlands.server.clients.sessions import Sessions
from flatlands.server.clients.tokens import Tokens
from flatlands.server.cluster.districts import WorkerLoad
from flatlands.server.game import faults
from flatlands.server.game.chunks import Chunks
from flatlands.server.game.games import Maker
from flatlands.server.messages import protocol
from flatlands.server.net.hosts import Hosts, is_local
from flatlands.server.net.listener import WebSocketServer
from flatlands.server.net.socket_passing import Passage
from flatlands.server.node import Node
from flatlands.server.runtime import logs
from flatlands.server.runtime.limits import Limits
from flatlands.server.runtime.loop import Loop
from flatlands.server.runtime.port import listen
from flatlands.server.settings import KEPT_BACK, SPARE_DESCRIPTORS, Settings, raise_descriptor_limit
from flatlands.server.web.admin import operator_pages
from flatlands.server.web.pages import make_pages
from flatlands.server.web.status import Status
from flatlands.server.workers.burden import Burden
from flatlands.server.workers.draining import Draining
from flatlands.server.workers.migration import Migration
from flatlands.stores.base import Store
from flatlands.world.grid import Grid


class Server:
    """One node with its pages and connections."""

    def __init__(self, settings: Settings, broker: Broker, store: Store | None = None) -> None:
        self.settings = settings
        self.stats: Counter[str] = Counter()

        # The node, and what is played there.
        game = Maker(settings.game, settings.of_game, alone=settings.worker in (None, 1))
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
            plays=game.plays,
            address=settings.address,
            flush_every=settings.flush_every,
        )
        self.sessions: set[Session] = set()
        self._greeting: set[Session] = set()
        self._tokens = Tokens(settings.secret, f"{settings.seed} {settings.world}")
        descriptors = raise_descriptor_limit()
        capacity = _capacity(settings.max_players, descriptors)
        tokens = Tokens(settings.secret, f"{settings.seed} {settings.world}")
        limits = Limits(
            self.stats,
            per_address=settings.max_per_address,
            most=descriptors - KEPT_BACK,
            any_rate=settings.any_rate,
            proxies=settings.trusted_proxies,
            now=self.node.loop.now,
        )
        admission = Admission(self.node, tokens, limits, capacity)
        self._sessions = Sessions(self.node, admission, tokens, limits)

        # The other workers of this machine, if there are any that gather neighbours.
        self._burden = Burden(self.node, capacity)
        self._migration: Migration | None = None
        if settings.worker is not None and settings.reports is not None and settings.gather:
            self._migration = Migration(
                settings.worker - 1,
                Passage(settings.reports),
                self.node,
                self._burden,
                limits,
                self._sessions,
            )
            admission.passing = self._migration
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
        pages = make_pages(
            self.status.health,
            operators,
            forgets="always" if store is None else "restart" if settings.forgets else "",
            page=game.page,
            ground=ground if isinstance(ground, Chunks) else None,
            faults=faults.collect() if settings.author else None,
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
        self._http.access_log = settings.access_log
        self._http.drained = lambda: self._draining.drained

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
        loop.keep_running("the watch", self._watch)
        loop.keep_running("the round", self._sessions.keep_checking)
        loop.keep_running("the reports", self.status.reports.keep_writing)
        self.node.moderation.start()
        self.node.peers.start()
        self.node.router.start()
        self.node.play.start()
        about = self.status.about()
        logs.log_line("serve", **{name: it for name, it in about.items() if name != "worker"})
        if self.settings.listen_fd is None:
            self.open()

    def _watch(self) -> None:
        """Once a second, measure how busy this process is and how late its loop, and look for what
        is overdue."""
        loop = self.node.loop
        for second in count(1):
            if second % 60 == 0:
                for one in loop.times.values():
                    one.turn()
            self._draining.look()
            self._burden.look()
            self.node.peers.load = self._burden.of_node(len(self._sessions.all))
            gevent.sleep(1)
            logs.log_left_out()
            loop.beat()
            self.stats["late_ms"] += loop.lag
            self._sessions.check_greetings()

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

    def accept(self, connection: Connection, _environ: dict[str, Any]) -> None:
        """Begin a session on a connection whose handshake is done."""
        self.stats["connections"] += 1
        self.begin(connection)
        if self._draining or self._drained:
            # Its handshake had begun before the server was shut.
            connection.close(protocol.RESTART, STOPPING)

    def begin(self, connection: Connection) -> Session:
        """Begin a session on a connection, which may have had one at another worker."""
        session = Session(connection, self.node, self._admission, self._tokens, self.limits, KINDS)
        self.sessions.add(session)
        self._greeting.add(session)
        guest = connection.guest
        assert guest is not None

        def evict() -> bool:
            return session.resident is None and connection.abort()

        guest.close = evict

        def closing(code: int, _reason: str) -> None:
            session.closed(code)
            self._log_end(session, code)

        def closed(code: int, reason: str) -> None:
            self.forget(session)
            # A client may send any code, and not every code gets a counter.
            self.stats[f"closed_{code if code in protocol.CLOSE_CODES else 'other'}"] += 1
            closing(code, reason)

        connection.on_closing = closing
        connection.on_close = closed
        return session

    def forget(self, session: Session) -> None:
        """Forget a session that has ended, or goes on at another worker."""
        self.sessions.discard(session)
        self._greeting.discard(session)

    def _log_end(self, session: Session, code: int) -> None:
        """Log, once, that a player has left, or that a client was refused before it joined."""
        if session.player is None and session.error is None:
            return
        how = _HOW.get(code, "lost")
        if session.error is not None:
            how = "kicked" if session.error == "kicked" else "refused"
        elif code == protocol.RESTART and (self._draining or self._drained):
            how = "sent away"
        logs.log_line(
            "refused" if session.player is None else "leave",
            player=session.player,
            how=how,
            error=session.error,
            code=code,
            address=session.address,
            node=self.node.id,
        )
        session.player = session.error = None

    def _watch(self) -> None:
        """Once a second, measure how late the loop is, and close connections without a hello."""
        for second in count(1):
            if second % 60 == 0:
                for one in self.node.loop.times.values():
                    one.turn()
            if self._is_drained():
                self._drain()
            self._burden.look()
            self.node.peers.set_load(self._load())
            gevent.sleep(1)
            logs.log_left_out()
            self.node.loop.beat()
            self.stats["late_ms"] += self.node.loop.lag
            # What clients sent while this process stood still is read only later.
            now = self.node.loop.now() - self.node.loop.late()
            for session in list(self._greeting):
                if session.resident is not None:
                    self._greeting.discard(session)
                    if session.connection.guest is not None:
                        session.connection.guest.stay()
                elif session.owes_hello and now - session.opened >= HELLO_WITHIN:
                    # With this code the page tries again, since it may itself have stood still.
                    session.refuse(Refused("hello", "no hello came in time", protocol.FULL))
                    self._greeting.discard(session)

    def _go_round(self) -> None:
        while True:
            sessions = list(self.sessions)
            at_once = len(sessions) // ROUND_TURNS + 1
            # An idle server sleeps for the whole round.
            pause = ROUND / max(-(-len(sessions) // at_once), 1)
            in_turns(sessions, at_once, pause, self._check_session)
            gevent.sleep(pause)

    def _check_session(self, session: Session) -> None:
        if session not in self.sessions:
            return
        late = self.node.loop.late()
        now, heard_now = self.node.loop.now() - late, time.monotonic() - late / 1000
        connection = session.connection
        silent = heard_now - connection.last_heard
        stuck = session.lags_since is not None and now - session.lags_since > STUCK_AFTER
        # On a busy node a round takes longer: no client is given up that was not pinged.
        unanswered = session.pinged == connection.last_heard
        if (silent > DEAD_AFTER and unanswered) or stuck:
            self.stats["given_up"] += 1
            connection.abort()
        elif silent > PING_AFTER:
            session.pinged = connection.last_heard
            connection.ping()
        if session.resident is not None:
            session.renew_token()
            if self.migration is not None:
                self.migration.relocate(session.resident)
            self.node.router.relocate(session.resident)

    def health(self) -> dict[str, Any]:
        """Return what /healthz shows."""
        return {"status": "ok", "uptime": round(time.monotonic() - self._started, 1)}

    def readiness(self) -> list[str]:
        """Return the reasons why no more players should be sent here; none if it is ready."""
        reasons = []
        if self._draining:
            reasons.append("this server is stopping")
        elif self._drained:
            reasons.append(DRAINED)
        if self.node.loop.lag > LAG_LIMIT:
            reasons.append("the event loop is late")
        if self._admission.full:
            reasons.append("this node is full")
        return reasons + self.node.peers.why_not_ready()

    def warnings(self) -> list[str]:
        """Return what is wrong even though players may come."""
        full = [layer.name for layer in self.node.play.layers if layer.tiles >= layer.declared.most]
        return [
            *self.node.peers.warnings(),
            *filter(None, [self.node.store_client.trouble]),
            *[f"the cells {name} are full: nothing more can be written there" for name in full],
        ]

    def _load(self) -> NodeLoad:
        """Return the load of this process, for its heartbeats."""
        burden, router = self._burden, self.node.router
        machine = router.machine(burden.busy, burden.line(router.belongs))
        squares = len(self.node.replicas.squares)
        return NodeLoad(metrics.memory(), len(self.sessions), squares, machine)

    def _report(self) -> metrics.Report:
        """Return this worker's gauges and counters."""
        links = self.node.bus.broker.links()
        uptime = time.monotonic() - self._started
        gauges: dict[str, float] = {
            "connections": len(self.sessions),
            "residents": len(self.node.residents.by_id),
            "squares": len(self.node.replicas.squares),
            "deaf": len(self.node.peers.deaf),
            "nodes": len(self.node.peers.peers) + 1,
            "ready": not self.readiness(),
            "herd": sum(id < OTHERS_FROM for id in self.node.residents.by_id),
            "orders": len(self.node.orders),
            "maps": len(self.node.views),
            "strangers": len(self.limits.strangers),
            "store": self.node.store_client.trouble is None,
            "store_waiting": self.node.store_client.waiting,
            "tiles": sum(layer.tiles for layer in self.node.play.layers),
            "flush_interval_ms": round(self.node.hub.interval, 1),
            "lag_ms": self.node.loop.lag,
            # The age of a link that was never proven is infinite, which JSON cannot express.
            "broker_age_s": round(max((min(link.seconds, uptime) for link in links), default=0), 1),
            "uptime_s": round(uptime, 1),
            **metrics.of_process(),
            "watchers": self.node.loop.watchers(),
        }
        counted = {**self.stats, "cpu_ms": round(time.process_time() * 1000)}
        broker = asdict(self.node.bus.broker.counters)
        times = {name: one.counts.copy() for name, one in self.node.loop.times.items()}
        lately = {name: one.lately() for name, one in self.node.loop.times.items()}
        now, about = time.monotonic(), self.about()
        return metrics.Report(now, gauges, counted, broker, about, times, lately)

    def about(self) -> dict[str, str | int]:
        """Return what is served, and by whom."""
        return {
            "version": __version__,
            "commit": self.settings.commit,
            "game": kept_as(type(self.node.game)),
            "node": self.node.id,
            "worker": self.settings.worker or 1,
            **({"address": self.settings.address} if self.settings.address else {}),
        }

    def show_stats(self, sleep: Callable[[float], object]) -> dict[str, Any]:
        """Return what /stats shows: the gauges and counters of all workers together."""
        living, report = self._reports.total(sleep)
        return {
            **self.about(),
            "workers": len(living),
            "compiled": "yes" if compiled.used() else "no",
            **report.gauges,
            "each": [{**one.about, **one.gauges} for one in living],
            "times": {name: told(counts) for name, counts in report.lately.items()},
            "broker": report.broker,
            "counted": dict(sorted(report.counted.items())),
        }

    def show_metrics(self, sleep: Callable[[float], object]) -> bytes:
        """Return what /metrics shows: the same numbers for Prometheus."""
        return exposition(*self._reports.total(sleep))


def _claim_drain(store: Store) -> list[Claimed]:
    """Claim the item of DRAIN_QUEUE; return it, or nothing if another server has it."""
    store.put(DRAIN_QUEUE, [Item("server", 0, "", b"")])
    return store.claim(DRAIN_QUEUE, 1, DRAIN_LEASE)


def _wait(done: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not done() and time.monotonic() < until:
        gevent.sleep(0.02)


def _at_once(some: list[Any]) -> int:
    """Return how many of these clients are sent away at once."""
    return max(DRAIN_AT_ONCE, len(some) // DRAIN_TURNS)


def _send_away(session: Session) -> None:
    """Close a client's connection, after sending it a token with its place."""
    if session.resident is not None:
        session.renew_token()
    session.connection.close(protocol.RESTART, STOPPING)


def _capacity(players: int, descriptors: int) -> int:
    """Return how many players a process accepts: `players`, or as many as it can if that is 0. It
    may have this many descriptors. Raises ValueError if they are too few."""
    most = descriptors - SPARE_DESCRIPTORS
    if players > most:
        raise ValueError(
            f"--max-players {players} needs {players + SPARE_DESCRIPTORS} file descriptors, and "
            f"this process may have only {descriptors}: raise the limit (ulimit -n, LimitNOFILE=) "
            "or allow fewer players"
        )
    return players or most
