"""The server as a whole: puts a node, pages and connections together, and starts and stops them."""

import logging
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from typing import Any

import gevent
from gevent import socket

from flatlands import __version__, compiled
from flatlands.brokers.base import Broker
from flatlands.server.clients.admission import Admission
from flatlands.server.clients.handlers import KINDS
from flatlands.server.clients.session import STUCK_AFTER, Session
from flatlands.server.clients.tokens import Tokens
from flatlands.server.cluster import districts
from flatlands.server.game import faults
from flatlands.server.game.chunks import Chunks
from flatlands.server.game.game import kept_as
from flatlands.server.game.games import Maker
from flatlands.server.messages import protocol
from flatlands.server.messages.peer_protocol import ALIVE, DRAINING
from flatlands.server.messages.protocol import OTHERS_FROM, Refused
from flatlands.server.net.connection import Connection
from flatlands.server.net.hosts import Hosts, is_local
from flatlands.server.net.listener import WebSocketServer
from flatlands.server.net.socket_passing import Passage
from flatlands.server.node import Node
from flatlands.server.runtime import logs
from flatlands.server.runtime.histogram import told
from flatlands.server.runtime.limits import Limits
from flatlands.server.runtime.loop import Loop, in_turns
from flatlands.server.runtime.port import listen
from flatlands.server.settings import KEPT_BACK, SPARE_DESCRIPTORS, Settings, raise_descriptor_limit
from flatlands.server.squares.peers import NodeLoad
from flatlands.server.storage.client import StoreUnavailable
from flatlands.server.web import metrics
from flatlands.server.web.admin import operator_pages
from flatlands.server.web.exposition import exposition
from flatlands.server.web.pages import make_pages
from flatlands.server.workers.burden import Burden
from flatlands.server.workers.migration import Migration
from flatlands.stores.base import Claimed, Item, Store
from flatlands.world.grid import Grid

log = logging.getLogger("flatlands")

#: ms within which a new connection must send hello.
HELLO_WITHIN = 5000

#: Seconds of silence after which a client is pinged, and after which its connection is ended.
PING_AFTER, DEAD_AFTER = 25, 60

#: Seconds within which every session is checked once, and the number of turns in which that is
#: done. To check all at once would keep the loop from everything else for a tenth of a second.
ROUND, ROUND_TURNS = 10, 200

#: A server that stops closes this many sessions in a turn, or more, so that the turns are at most
#: the second number; the third is the seconds between two. Its clients must not all return at once.
DRAIN_AT_ONCE, DRAIN_TURNS, DRAIN_PAUSE = 20, 50, 0.1

#: The queue whose only item is leased by the server that drains, and for how many ms. By then all
#: nodes have heard from each of its workers that it drains, or count it as lost.
DRAIN_QUEUE = "drain"
DRAIN_LEASE = 10_000

#: Seconds that clients have to go to another machine when they are asked to.
SENT_WITHIN = 10

#: The reason in the close frames of a server that stops.
STOPPING = "the server restarts"

#: The file among the reports by which all workers of a supervisor know that they are drained, and
#: the reason why they are not ready.
DRAINED_FILE = "drained"
DRAINED = "this server is drained: stop it once /stats shows no residents"

#: Seconds that clients have to answer, and that other nodes have to ask for their players.
STOP_WITHIN, TAKEOVERS_WITHIN = 2, 3

#: Seconds that the broker has to send what was published last.
LAST_WORDS = 0.1

#: The most ms that the loop may be late while the node counts as ready for more players.
LAG_LIMIT = 1000


class Server:
    """One node with its pages and connections."""

    def __init__(self, settings: Settings, broker: Broker, store: Store | None = None) -> None:
        self.stats: Counter[str] = Counter()
        self.settings = settings
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
        )
        self.node.hub.least = settings.flush_every
        self.sessions: set[Session] = set()
        self._greeting: set[Session] = set()
        self._tokens = Tokens(settings.secret, f"{settings.seed} {settings.world}")
        descriptors = raise_descriptor_limit()
        capacity = _capacity(settings.max_players, descriptors)
        self.limits = Limits(
            self.stats,
            per_address=settings.max_per_address,
            most=descriptors - KEPT_BACK,
            any_rate=settings.any_rate,
            proxies=settings.trusted_proxies,
            now=self.node.loop.now,
        )
        self._burden = Burden(self.node, capacity)
        #: Set if this is one of several workers that gather neighbours.
        self.migration: Migration | None = None
        if settings.worker is not None and settings.reports is not None and settings.gather:
            self.migration = Migration(
                settings.worker - 1,
                Passage(settings.reports),
                self.node,
                self._burden,
                self.limits,
                self,
            )
        self._admission = Admission(self.node, self._tokens, self.limits, capacity, self.migration)
        self._started = time.monotonic()
        self._draining = False
        #: Whether its players are passed on to other servers, and the file that says so.
        self._drained = False
        self._drained_file = settings.reports and os.path.join(settings.reports, DRAINED_FILE)
        if settings.listen_fd is None:
            self._listener = listen(settings.host, settings.port)
        else:
            self._listener = socket.socket(fileno=settings.listen_fd)
        self._reports = metrics.Reports(settings.reports, self._report)
        self._http = WebSocketServer(
            self._listener,
            make_pages(
                self.health,
                operator_pages(self, self.node.moderation, self.node.play, settings.admin_token),
                forgets="always" if store is None else "restart" if settings.forgets else "",
                page=game.page,
                ground=ground if isinstance(ground, Chunks) else None,
                faults=faults.collect() if settings.author else None,
                machines=lambda: self.node.router.addresses,
            ),
            self.accept,
            protocol=protocol.SUBPROTOCOL,
            limits=self.limits,
            hosts=Hosts(
                settings.allowed_origins,
                settings.allowed_hosts,
                local=is_local(self._listener.getsockname()[0]),
                machines=lambda: self.node.router.addresses,
            ),
            share=settings.http_share / 100,
            full=lambda: settings.worker is not None and self._admission.full,
        )
        self._http.max_message = protocol.MESSAGE_LIMIT
        self._http.access_log = settings.access_log

    @property
    def port(self) -> int:
        """The port of the listener."""
        return int(self._listener.getsockname()[1])

    def start(self) -> None:
        """Begin to serve, and return at once. A worker lets newcomers in only after `open`."""
        loop = self.node.loop
        loop.keep_running("the broker's receiver", self.node.listen)
        loop.keep_running("the watch", self._watch)
        loop.keep_running("the round", self._go_round)
        loop.keep_running("the reports", self._reports.keep_writing)
        self.node.moderation.start()
        self.node.peers.start()
        self.node.router.start()
        self.node.play.start()
        logs.log_line(
            "serve", **{name: it for name, it in self.about().items() if name != "worker"}
        )
        if self.settings.listen_fd is None:
            self.open()

    @property
    def loop(self) -> Loop:
        """The event loop."""
        return self.node.loop

    def load(self) -> districts.WorkerLoad | None:
        """Return how busy this server is if it is one of several workers that gather players."""
        return None if self.migration is None else self.migration.load()

    def open(self) -> None:
        """Let newcomers in, unless the server was shut: a worker may get that order first.

        Further calls change nothing: a worker that replaces another one gets the order twice.
        """
        if not self._draining:
            if self.migration is not None and not self._drained:
                self.migration.open()
            self._http.start()

    def shut(self) -> None:
        """Let nobody in any more."""
        self._draining = True
        if self.migration is not None:
            self.migration.close()
        self._http.close()

    def drain(self, sleep: Callable[[float], object] = gevent.sleep) -> str:
        """Let nobody in any more, and pass all players on to other servers of the world. All
        workers of this server do so, until it is stopped. Return "", or a sentence that says why
        nothing was done. `sleep` waits."""
        if self._is_drained():
            return ""
        workers = len(self._reports.total(sleep)[0])
        if sum(peer.state == ALIVE for peer in self.node.peers.peers.values()) < workers:
            return "No other server of this world can take the players: stop this one instead."
        if not self._may_drain():
            return f"Another server is being drained: try again in {DRAIN_LEASE // 1000} seconds."
        if self._drained_file:
            with open(self._drained_file, "w"):
                pass
        self._drain()
        return ""

    def _is_drained(self) -> bool:
        """Return whether this worker, or another one of this server, was told to drain."""
        return self._drained or bool(self._drained_file and os.path.exists(self._drained_file))

    def _may_drain(self) -> bool:
        """Return whether no other server began to drain a moment ago. All workers of that one may
        still look alive from here: two servers could each take the other for the one that stays."""
        try:
            return bool(self.node.store_client.wait(_claim_drain))
        except StoreUnavailable:
            # A server must be drained above all when something fails.
            return True

    def _drain(self) -> None:
        if not self._drained:
            self._drained = self._http.drained = True
            if self.migration is not None:
                self.migration.close()
            log.warning("%s", DRAINED)
            gevent.spawn(self.node.loop.guarded, self._send_all_away, True)

    def _send_all_away(self, over: bool = False) -> None:
        """Let others go on with what is played here, and close all sessions, a few at a time. With
        `over`, clients are first asked to go on at other machines, if these have addresses."""
        self.node.play.stop()
        self.node.peers.publish(DRAINING)
        router = self.node.router
        if over and router.another() is not None:
            until = time.monotonic() + SENT_WITHIN
            while self.sessions and time.monotonic() < until:
                residents = list(self.node.residents.by_id.values())
                in_turns(residents, _at_once(residents), DRAIN_PAUSE, router.send_away)
                _wait(lambda: not self.sessions, 1)
        sessions = list(self.sessions)
        random.shuffle(sessions)
        in_turns(sessions, _at_once(sessions), DRAIN_PAUSE, _send_away)

    def stop(self) -> None:
        """Shut the server, and close all sessions, a few at a time.

        Returns when the clients are gone and other nodes have had time to take over their players.
        """
        self.shut()
        self._send_all_away()
        _wait(lambda: self.node.play.stopped and not self.sessions, STOP_WITHIN)
        if self.node.peers.peers:
            residents, takeovers = self.node.residents.by_id, self.node.takeovers
            # Until all players who are to come back at another node are there.
            _wait(
                lambda: (
                    not takeovers.expects
                    and all(r.view is not None or r.dimmed for r in residents.values())
                ),
                TAKEOVERS_WITHIN,
            )
        self.node.takeovers.stop()
        self.node.outbox.publish_all()
        _wait(self.node.play.finish, STOP_WITHIN)
        self.node.peers.publish(DRAINING)
        # A broker that is closed drops what waits to be sent.
        gevent.sleep(LAST_WORDS)
        # The loop ends first: what is due later could not be published any more.
        self.node.loop.end()
        self._reports.close()
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
        limited = connection.limited
        assert limited is not None

        def evict() -> bool:
            return session.resident is None and connection.abort()

        limited.close = evict

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
            self.node.peers.load = self._load()
            gevent.sleep(1)
            logs.log_left_out()
            self.node.loop.beat()
            self.stats["late_ms"] += self.node.loop.lag
            # What clients sent while this process stood still is read only later.
            now = self.node.loop.now() - self.node.loop.late()
            for session in list(self._greeting):
                if session.resident is not None:
                    self._greeting.discard(session)
                    if session.connection.limited is not None:
                        session.connection.limited.stay()
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
            "actions_in_force": len(self.node.moderation),
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


#: Close code -> the word for it in the log. With any other code the connection was lost.
_HOW = {
    1000: "goodbye",
    1002: "refused",
    1007: "refused",
    1009: "refused",
    protocol.TAKEN_OVER: "taken over",
}
