"""The status of a server: whether it is well and ready, what it counts, and its name and version.

It is shown by /healthz (pages.py), /readyz, /stats and /metrics (admin.py), and reported to the
supervisor. This module only reads.
"""

import time
from collections.abc import Callable
from dataclasses import asdict

from flatlands import __version__, compiled
from flatlands.server.clients.admission import Admission
from flatlands.server.clients.sessions import Sessions
from flatlands.server.game.game import store_name
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.node import Node
from flatlands.server.runtime.histogram import summarize
from flatlands.server.runtime.limits import Limits
from flatlands.server.settings import Settings
from flatlands.server.web.exposition import exposition
from flatlands.server.web.metrics import Report, Reports, of_process

#: The most ms that the loop may be late while the node counts as ready for more players.
LAG_LIMIT = 1000


class Status:
    """Reads the parts of one server whenever it is asked."""

    def __init__(
        self,
        node: Node,
        sessions: Sessions,
        admission: Admission,
        limits: Limits,
        settings: Settings,
    ) -> None:
        self.node = node
        self._sessions = sessions
        self._admission = admission
        self._limits = limits
        self._settings = settings
        self._started = time.monotonic()
        #: The numbers of all workers.
        self.reports = Reports(settings.reports, self._report)

    def health(self) -> dict[str, object]:
        """Return what /healthz shows."""
        return {"status": "ok", "uptime": round(time.monotonic() - self._started, 1)}

    def readiness(self) -> list[str]:
        """Return the reasons why no more players should be sent here; none if it is ready."""
        reasons = []
        if self._sessions.closing_reason:
            reasons.append(self._sessions.closing_reason)
        if self.node.loop.lag_ms > LAG_LIMIT:
            reasons.append("the event loop is late")
        if self._admission.full:
            reasons.append("this node is full")
        return reasons + self.node.peers.why_not_ready()

    def warnings(self) -> list[str]:
        """Return what is wrong even though players may come."""
        full = [layer.name for layer in self.node.play.layers if layer.tiles >= layer.options.most]
        return [
            *self.node.peers.warnings(),
            *filter(None, [self.node.store_client.trouble]),
            *[f"the cells {name} are full: nothing more can be written there" for name in full],
        ]

    def about(self) -> dict[str, str | int]:
        """Return what is served, and by whom."""
        return {
            "version": __version__,
            "commit": self._settings.commit,
            "game": store_name(type(self.node.game)),
            "node": self.node.id,
            "worker": self._settings.worker or 1,
            **({"address": self._settings.address} if self._settings.address else {}),
        }

    def stats(self, sleep: Callable[[float], object]) -> dict[str, object]:
        """Return what /stats shows: the gauges and counters of all workers together. `sleep` waits
        for some seconds."""
        living, report = self.reports.total(sleep)
        return {
            **self.about(),
            "workers": len(living),
            "compiled": "yes" if compiled.used() else "no",
            **report.gauges,
            "each": [{**one.about, **one.gauges} for one in living],
            "times": {name: summarize(counts) for name, counts in report.lately.items()},
            "broker": report.broker,
            "counted": dict(sorted(report.counted.items())),
        }

    def metrics(self, sleep: Callable[[float], object]) -> bytes:
        """Return what /metrics shows: the same numbers for Prometheus."""
        return exposition(*self.reports.total(sleep))

    def _report(self) -> Report:
        """Return this worker's gauges and counters."""
        links = self.node.bus.broker.links()
        uptime = time.monotonic() - self._started
        gauges: dict[str, float] = {
            "connections": len(self._sessions.all),
            "players": self.node.hub.sessions_holding,
            "players_most": self._admission.capacity,
            "residents": len(self.node.residents.by_id),
            "squares": len(self.node.subscriptions.by_square),
            "deaf": len(self.node.peers.deaf),
            "nodes": len(self.node.peers.peers) + 1,
            "clocks_apart_ms": self.node.peers.clocks_apart,
            "ready": not self.readiness(),
            "computer_players": sum(id < FIRST_PERSON_ID for id in self.node.residents.by_id),
            "actions_in_force": len(self.node.moderation),
            "maps": len(self.node.views),
            "strangers": len(self._limits.strangers),
            "store": self.node.store_client.trouble is None,
            "store_waiting": self.node.store_client.waiting,
            "tiles": sum(layer.tiles for layer in self.node.play.layers),
            "flush_interval_ms": round(self.node.hub.interval, 1),
            "lag_ms": self.node.loop.lag_ms,
            # The age of a link that was never proven is infinite, which JSON cannot express.
            "broker_age_s": round(max((min(link.seconds, uptime) for link in links), default=0), 1),
            "uptime_s": round(uptime, 1),
            **of_process(),
            "watchers": self.node.loop.watchers(),
        }
        counted = {**self.node.stats, "cpu_ms": round(time.process_time() * 1000)}
        broker = asdict(self.node.bus.broker.counters)
        times = {name: one.counts.copy() for name, one in self.node.loop.times.items()}
        lately = {name: one.lately() for name, one in self.node.loop.times.items()}
        now, about = time.monotonic(), self.about()
        return Report(now, gauges, counted, broker, about, times, lately)
