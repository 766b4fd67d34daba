"""The server as a whole: pages, connections and the node behind them, from start to stop."""

import logging
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import gevent
from gevent import socket

from brokers import Broker
from server import logs
from server.clients.admission import Admission
from server.clients.session import STUCK_AFTER, Session
from server.clients.tokens import Tokens
from server.limits import Limits
from server.loop import Loop
from server.messages import protocol
from server.messages.peer_protocol import DRAINING
from server.messages.protocol import Refused
from server.node import Node
from server.players.walkers import Walker, start_walkers
from server.settings import KEPT_BACK, SPARE_DESCRIPTORS, Settings, raise_descriptor_limit
from server.web import metrics
from server.web.admin import operator_pages
from server.web.pages import make_pages
from server.websocket.connection import Connection
from server.websocket.frames import frame
from server.websocket.handshake import websocket_server
from server.websocket.hosts import Hosts, is_local
from world.grid import Grid
from world.terrain import Terrain

log = logging.getLogger("flatlands")

#: A connection says hello within so many ms.
HELLO_WITHIN = 5000

#: Ping a client that was silent for this many seconds; let go of one silent for the latter.
PING_AFTER, DEAD_AFTER = 25, 60

#: Every session is looked after once in ROUND seconds, a few of them up to ROUND_TURNS times in it.
#: All at once, they would keep the loop from everything else for a tenth of a second.
ROUND, ROUND_TURNS = 10, 200

#: A server that stops closes so many sessions at a time, or more so that all are told in time, and
#: waits so many seconds between: not all of them shall come back at once.
DRAIN_AT_ONCE, DRAIN_TURNS, DRAIN_PAUSE = 20, 50, 0.1

#: What they are told.
STOPPING = "the server restarts"

#: Seconds that it gives clients to answer, and the other nodes to ask for its players.
STOP_WITHIN, CLAIMS_WITHIN = 2, 3

#: Seconds that the broker gets to send what was published last.
LAST_WORDS = 0.1

#: So many clients at a time are told what an operator has to say; the others have to wait so many
#: seconds.
NOTICE_AT_ONCE, NOTICE_PAUSE = 200, 0.05

#: A loop that was late by more than so many ms is not ready for more players.
LAG_LIMIT = 1000

#: Connections that may wait to be accepted: a crowd may come all at once.
BACKLOG = 1024


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address. Raises OSError."""
    [(family, kind, proto, _, address), *_] = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    listener = socket.socket(family, kind, proto)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted sockets inherit it: without it every second answer on a connection that is kept
        # waits 40 ms for the client's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


class Server:
    """One node, its pages and its connections."""

    def __init__(self, settings: Settings, broker: Broker) -> None:
        self.stats: Counter[str] = Counter()
        self.settings = settings
        self.broker = broker
        self.node = Node(
            grid=Grid(settings.side),
            terrain=Terrain(settings.seed),
            broker=broker,
            loop=Loop(self.stats),
            spread=settings.spread,
            world=settings.world,
        )
        self.sessions: set[Session] = set()
        self._greeting: set[Session] = set()
        self._tokens = Tokens(settings.secret)
        descriptors = raise_descriptor_limit()
        capacity = settings.max_players or descriptors - SPARE_DESCRIPTORS
        if capacity > descriptors - SPARE_DESCRIPTORS:
            raise ValueError(
                f"--max-players {settings.max_players} needs {SPARE_DESCRIPTORS} file descriptors "
                f"more than that, and this process may have {descriptors}: raise the limit "
                "(ulimit -n, LimitNOFILE=) or ask for fewer players"
            )
        self.limits = Limits(
            self.stats,
            per_address=settings.max_per_address,
            most=descriptors - KEPT_BACK,
            proxies=settings.trusted_proxies,
            now=self.node.loop.now,
        )
        self._admission = Admission(self.node, self._tokens, self.limits, capacity)
        self._started = time.monotonic()
        self._lag = 0.0
        self._walkers: list[Walker] = []
        self._draining = False
        if settings.listen_fd is None:
            self._listener = listen(settings.host, settings.port)
        else:
            self._listener = socket.socket(fileno=settings.listen_fd)
        self._reports = metrics.Reports(settings.reports, self._report)
        self._http = websocket_server(
            self._listener,
            make_pages(self.health, operator_pages(self, self.node.orders, settings.admin_token)),
            self.accept,
            protocol=protocol.SUBPROTOCOL,
            max_message=protocol.MESSAGE_LIMIT,
            limits=self.limits,
            hosts=Hosts(
                settings.allowed_origins,
                settings.allowed_hosts,
                local=is_local(self._listener.getsockname()[0]),
            ),
            share=settings.http_share / 100,
            access_log=settings.access_log,
        )

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._listener.getsockname()[1])

    def start(self) -> None:
        """Begin to serve; returns at once. A worker lets newcomers in when it is told to."""
        loop = self.node.loop
        loop.keep_running("the broker's receiver", self.node.listen)
        loop.keep_running("the watch", self._watch)
        loop.keep_running("the round", self._go_round)
        loop.keep_running("the reports", self._reports.keep_writing)
        self.node.orders.on_notice = self._spread
        self.node.peers.start()
        self._walkers = start_walkers(
            self.node.loop, self.node.residents, self.node.movement, self.settings.walkers
        )
        if self.settings.listen_fd is None:
            self.open()

    def open(self) -> None:
        """Let newcomers in, unless it has been shut: a worker may be told to stop first."""
        if not self._draining:
            self._http.start()

    def shut(self) -> None:
        """Let nobody in any more, for good."""
        self._draining = True
        self._http.close()

    def stop(self) -> None:
        """Let nobody in any more, send all clients away a few at a time, and return once they are
        gone and other nodes had time to take them over."""
        self.shut()
        for walker in self._walkers:
            walker.leave()
        self.node.peers.publish(DRAINING)
        sessions = list(self.sessions)
        random.shuffle(sessions)
        at_once = max(DRAIN_AT_ONCE, len(sessions) // DRAIN_TURNS)
        for start in range(0, len(sessions), at_once):
            if start:
                gevent.sleep(DRAIN_PAUSE)
            for session in sessions[start : start + at_once]:
                if session.resident is not None:
                    session.renew_token(anyway=True)
                session.connection.close(protocol.RESTART, STOPPING)
        self._wait(lambda: not self.sessions, STOP_WITHIN)
        if self.node.peers.peers:
            self._wait(lambda: not self._awaited(), CLAIMS_WITHIN)
        self.node.outbox.publish_all()
        self.node.peers.publish(DRAINING)
        # A broker that is closed drops what waits: let the last words go out.
        gevent.sleep(LAST_WORDS)
        # In this order: whatever is due after it could not be published any more.
        self.node.loop.end()
        self._reports.close()
        self.broker.close()

    def _awaited(self) -> bool:
        """Whether a player that is to come back at another node is still here."""
        return any(r.view is None and not r.dimmed for r in self.node.residents.by_id.values())

    def _wait(self, done: Callable[[], bool], seconds: float) -> None:
        until = time.monotonic() + seconds
        while not done() and time.monotonic() < until:
            gevent.sleep(0.02)

    def accept(self, connection: Connection, _environ: dict[str, Any]) -> None:
        """Begin a session on a connection whose handshake is done."""
        session = Session(
            connection, self.node, self._admission, self._tokens, self.limits
        )
        self.sessions.add(session)
        self._greeting.add(session)
        self.stats["connections"] += 1
        guest = connection.guest
        assert guest is not None

        def evict() -> bool:
            return session.resident is None and connection.abort()

        guest.close = evict

        def closed(code: int, _reason: str) -> None:
            self.sessions.discard(session)
            self._greeting.discard(session)
            # A client may say any number: not each gets a counter.
            self.stats[f"closed_{code if code in protocol.CLOSE_CODES else 'other'}"] += 1
            session.closed(code)
            self._tell_end(session, code)

        def closing(code: int, _reason: str) -> None:
            session.closed(code)
            self._tell_end(session, code)

        connection.on_closing = closing
        connection.on_close = closed
        if self._draining:
            # Its handshake had begun before.
            connection.close(protocol.RESTART, STOPPING)

    def _tell_end(self, session: Session, code: int) -> None:
        """Write a line, the first time, for who leaves or was refused before it could join."""
        if session.player is None and session.error is None:
            return
        if session.error == "kicked":
            how = "kicked"
        elif session.error is not None:
            how = "refused"
        elif code == protocol.RESTART and self._draining:
            how = "sent away"
        else:
            how = _HOW.get(code, "lost")
        logs.log_line(
            "refused" if session.player is None else "leave", player=session.player, how=how,
            error=session.error, code=code, address=session.address, node=self.node.id,
        )  # fmt: skip
        session.player = session.error = None

    def _spread(self, text: str) -> None:
        gevent.spawn(self._tell_all, text)

    def _tell_all(self, text: str) -> None:
        """Tell all who play here what an operator has to say, some at a time."""
        notice = frame(protocol.error("notice", text))
        sessions = list(self.sessions)
        for start in range(0, len(sessions), NOTICE_AT_ONCE):
            for session in sessions[start : start + NOTICE_AT_ONCE]:
                if session.resident is not None:
                    session.connection.send_control(notice)
            gevent.sleep(NOTICE_PAUSE)

    def _watch(self) -> None:
        """Each second, note how late the loop is, and send away who has not said hello."""
        while True:
            before = time.monotonic()
            gevent.sleep(1)
            self._lag = (time.monotonic() - before - 1) * 1000
            self.stats["late_ms"] += max(round(self._lag), 0)
            logs.log_left_out()
            self.node.loop.beat()
            # What they sent while we stood still is read after this.
            now = self.node.loop.now() - self.node.loop.late()
            for session in list(self._greeting):
                if session.resident is not None:
                    self._greeting.discard(session)
                    if session.connection.guest is not None:
                        session.connection.guest.stay()
                elif now - session.opened >= HELLO_WITHIN:
                    # A page that stood still for a while may try again.
                    session.refuse(Refused("hello", "no hello came in time", protocol.FULL))
                    self._greeting.discard(session)

    def _go_round(self) -> None:
        while True:
            sessions = list(self.sessions)
            # An idle server sleeps all the round.
            turns = min(max(len(sessions), 1), ROUND_TURNS)
            for turn in range(turns):
                gevent.sleep(ROUND / turns)
                late = self.node.loop.late()
                now, heard_now = self.node.loop.now() - late, time.monotonic() - late / 1000
                for session in sessions[turn::turns]:
                    if session in self.sessions:
                        self._look_after(session, now, heard_now)

    def _look_after(self, session: Session, now: int, heard_now: float) -> None:
        connection = session.connection
        silent = heard_now - connection.last_heard
        stuck = session.lagging_since is not None and now - session.lagging_since > STUCK_AFTER
        if silent > DEAD_AFTER or stuck:
            self.stats["given_up"] += 1
            connection.abort()
        elif silent > PING_AFTER:
            connection.ping()
        if session.resident is not None:
            session.renew_token()

    def health(self) -> dict[str, Any]:
        """Return what /healthz shows: that this process answers."""
        return {"status": "ok", "uptime": round(time.monotonic() - self._started, 1)}

    def readiness(self) -> list[str]:
        """Return why no more players should be sent here; nothing when they should."""
        reasons = []
        if self._draining:
            reasons.append("this server is stopping")
        if self._lag > LAG_LIMIT:
            reasons.append("the event loop is late")
        if self._admission.full:
            reasons.append("this node is full")
        return reasons + self.node.peers.why_not_ready()

    def _report(self) -> metrics.Report:
        """Return what this worker has and has counted."""
        links = self.broker.links()
        uptime = time.monotonic() - self._started
        gauges: dict[str, float] = {
            "connections": len(self.sessions),
            "residents": len(self.node.residents.by_id),
            "squares": len(self.node.replicas.squares),
            "nodes": len(self.node.peers.peers) + 1,
            "ready": not self.readiness(),
            "orders": len(self.node.orders),
            "flush_interval_ms": round(self.node.hub.interval, 1),
            "lag_ms": round(self._lag, 1),
            # One that has never answered is for ever old, of which JSON knows nothing.
            "broker_age_s": round(max((min(link.seconds, uptime) for link in links), default=0), 1),
            "uptime_s": round(uptime, 1),
            **metrics.of_process(),
            "watchers": self.node.loop.watchers(),
        }
        counted = {**self.stats, "cpu_ms": round(time.process_time() * 1000)}
        return metrics.Report(time.monotonic(), gauges, counted, asdict(self.broker.counters))

    def show_stats(self, sleep: Callable[[float], object]) -> dict[str, Any]:
        """Return what /stats shows: what all workers have now, and have counted since the start."""
        workers, report = self._reports.total(sleep)
        return {
            "node": self.node.id,
            "workers": workers,
            **report.gauges,
            "broker": report.broker,
            "counted": dict(sorted(report.counted.items())),
        }

    def show_metrics(self, sleep: Callable[[float], object]) -> bytes:
        """Return what /metrics shows: the same for Prometheus."""
        return metrics.exposition(*self._reports.total(sleep))


#: What the log calls an end by its close code; by any other the connection was lost.
_HOW = {
    1000: "goodbye",
    1002: "refused",
    1007: "refused",
    1009: "refused",
    protocol.TAKEN_OVER: "taken over",
}
