"""Lets the players of a server go on elsewhere: when an operator drains it, and when it stops.

A server that is drained goes on until it is stopped, and so do its pages. All workers of a
supervisor are drained together. Clients are sent away a few at a time, since they must not all come
back at once. This module never ends the process.
"""

import logging
import os
import random
import time
from collections.abc import Callable, Sized

import gevent

from flatlands.server.clients.sessions import Sessions, send_away
from flatlands.server.messages.peer_protocol import ALIVE
from flatlands.server.messages.peer_protocol import DRAINING as DRAINS
from flatlands.server.node import Node
from flatlands.server.runtime.loop import run_in_batches
from flatlands.server.storage.client import StoreUnavailable
from flatlands.server.web.metrics import Reports
from flatlands.server.workers.migration import Migration
from flatlands.stores.base import Claimed, Item, Store

log = logging.getLogger("flatlands")

#: The least number of clients that are sent away in one turn.
CLIENTS_AT_ONCE = 20

#: The most turns in which all clients are sent away.
TURNS = 50

#: The pause between two of these turns.
PAUSE_S = 0.1

#: The queue whose only item is leased by the server that drains.
DRAIN_QUEUE = "drain"

#: How long it is leased. By then all nodes have received from each of its workers that it drains,
#: or count it as lost.
DRAIN_LEASE_MS = 10_000

#: How long clients have to go to another machine when they are asked to.
SENT_WITHIN_S = 10

#: The file among the reports by which all workers of a supervisor find out that they are drained.
DRAINED_FILE = "drained"

#: The reasons why a server that is drained, or stops, is not ready for players.
DRAINED = "this server is drained: stop it once /stats shows no residents"
STOPS = "this server is stopping"

#: How long the clients of a server that stops have to answer, and then its game to finish.
FINISH_WITHIN_S = 2

#: How long other nodes then have to ask for its players.
TAKEOVERS_WITHIN_S = 3

#: How long the broker has to send what was published last.
LAST_WORDS_S = 0.1


class Draining:
    """Sends the clients of this server to others when it is drained or stops. `reports` are those
    of all workers, and `folder` is where they are, None if there is one worker."""

    def __init__(
        self,
        node: Node,
        sessions: Sessions,
        migration: Migration | None,
        reports: Reports,
        folder: str | None,
    ) -> None:
        self._node = node
        self._sessions = sessions
        self._migration = migration
        self._reports = reports
        self._file = folder and os.path.join(folder, DRAINED_FILE)
        #: Whether its players are passed on to other servers.
        self.drained = False
        #: Whether it is about to stop.
        self.stopping = False

    def drain(self) -> str:
        """Let nobody in any more, and pass all players on to other servers of the world. All
        workers of this server do so, until it is stopped. Return "", or a sentence that says why
        nothing was done. It waits for the reports of the other workers, and for the store."""
        if self._is_drained():
            return ""
        workers = len(self._reports.total()[0])
        if sum(peer.state == ALIVE for peer in self._node.peers.peers.values()) < workers:
            return (
                "No other server of this world takes players. If one has just started, try again "
                "in a second; otherwise stop this one instead."
            )
        if not self._may_drain():
            return (
                f"Another server is being drained: try again in {DRAIN_LEASE_MS // 1000} seconds."
            )
        if self._file:
            with open(self._file, "w"):
                pass
        self._drain()
        return ""

    def poll(self) -> None:
        """Drain if another worker of this server was told to. This should be called once a
        second."""
        if self._is_drained():
            self._drain()

    def _is_drained(self) -> bool:
        """Return whether this worker, or another one of this server, was told to drain."""
        return self.drained or bool(self._file and os.path.exists(self._file))

    def _may_drain(self) -> bool:
        """Return whether no other server began to drain a moment ago. All workers of that one may
        still look alive from here: two servers could each take the other for the one that stays."""
        try:
            return bool(self._node.store_client.wait(_claim))
        except StoreUnavailable:
            # A server must be drained above all when something fails.
            return True

    def _drain(self) -> None:
        if not self.drained:
            self.drained = True
            self._let_nobody_in(self._sessions.closing_reason or DRAINED)
            log.warning("%s", DRAINED)
            gevent.spawn(self._node.loop.guarded, self._send_all_away, True)

    def _let_nobody_in(self, why: str) -> None:
        self._sessions.closing_reason = why
        if self._migration is not None:
            self._migration.close()

    def _send_all_away(self, over: bool = False) -> None:
        """Let others go on with what is played here, and close all sessions, a few at a time. With
        `over`, clients are first asked to go on at other machines, if these have addresses."""
        self._node.play.stop()
        self._node.peers.publish(DRAINS)
        router = self._node.router
        if over and router.another() is not None:
            until = time.monotonic() + SENT_WITHIN_S
            while self._sessions.all and time.monotonic() < until:
                residents = list(self._node.residents.by_id.values())
                run_in_batches(residents, _at_once(residents), PAUSE_S, router.send_away)
                _wait(lambda: not self._sessions.all, 1)
        sessions = list(self._sessions.all)
        random.shuffle(sessions)
        run_in_batches(sessions, _at_once(sessions), PAUSE_S, send_away)

    def shut(self) -> None:
        """Let nobody in any more: the server is about to stop."""
        self.stopping = True
        self._let_nobody_in(STOPS)

    def finish(self) -> None:
        """Close all sessions, a few at a time. Return when the clients are gone, other nodes have
        had time to take over their players, and all that this one says was sent."""
        node = self._node
        self._send_all_away()
        _wait(lambda: node.play.has_stopped and not self._sessions.all, FINISH_WITHIN_S)
        if node.peers.peers:
            residents, takeovers = node.residents.by_id, node.takeovers
            # Until all players who are to come back at another node are there.
            _wait(
                lambda: (
                    not takeovers.awaits_publication
                    and all(r.view is not None or r.dimmed for r in residents.values())
                ),
                TAKEOVERS_WITHIN_S,
            )
        node.takeovers.stop()
        node.outbox.publish_all()
        _wait(node.play.finish, FINISH_WITHIN_S)
        node.peers.publish(DRAINS)
        # A broker that is closed drops what waits to be sent.
        gevent.sleep(LAST_WORDS_S)


def _claim(store: Store) -> list[Claimed]:
    """Claim the item of DRAIN_QUEUE; return it, or nothing if another server has it."""
    store.put(DRAIN_QUEUE, [Item("server", 0, "", b"")])
    return store.claim(DRAIN_QUEUE, 1, DRAIN_LEASE_MS)


def _wait(done: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not done() and time.monotonic() < until:
        gevent.sleep(0.02)


def _at_once(some: Sized) -> int:
    """Return how many of these clients are sent away at once."""
    return max(CLIENTS_AT_ONCE, len(some) // TURNS)
