"""`rediscluster://[[user]:password@]host:port[,host:port...]`: sharded publish-subscribe over a
Redis Cluster, for worlds that outgrow one server; `redisclusters://` is the same over TLS.

Every channel belongs to a slot, and every slot to a master. The hosts of the URL are only asked
which masters there are. Certificates are checked as in broker.py.
"""

import logging
import random
import time
from binascii import crc_hqx
from collections.abc import Callable, Iterable
from functools import partial

import gevent
from gevent.event import Event

from flatlands.brokers.base import LONG_AGO, Counters, LinkHealth
from flatlands.brokers.guard import keep_running
from flatlands.brokers.inbox import Inbox
from flatlands.brokers.link import LinkedBroker, await_links
from flatlands.brokers.redis import wire
from flatlands.brokers.redis.broker import Commands, RedisLink
from flatlands.brokers.redis.wire import REDIS_KIND, REDIS_PORT
from flatlands.brokers.stream import CONNECT_WITHIN, Endpoint, StreamConnection, endpoints

log = logging.getLogger("flatlands")

SLOTS = 16384

#: Seconds between two requests for the table of masters and slots, if nothing has moved.
REFRESH_EVERY = 10

#: The least seconds between two such requests.
REFRESH_PAUSE = 0.1


def slot_of(channel: bytes) -> int:
    """Return the slot of a channel. If its name holds `{...}`, only what is inside is hashed."""
    before, _, rest = channel.partition(b"{")
    inside, closed, _ = rest.partition(b"}")
    return crc_hqx(inside if inside and closed else channel, 0) % SLOTS


class _ShardLink(RedisLink):
    """A link to one master of a cluster. It calls `moved` when channels have moved to another
    master."""

    # A command names one channel, since all channels of one command would have to be of one slot.
    words = Commands(
        b"SPUBLISH", b"SSUBSCRIBE", b"SUNSUBSCRIBE", b"ssubscribe", b"sunsubscribe", b"smessage", 1
    )

    def __init__(
        self, endpoint: Endpoint, counters: Counters, inbox: Inbox, moved: Callable[[], None]
    ) -> None:
        super().__init__(endpoint, counters, inbox)
        self._moved = moved

    def _resubscribe(self) -> None:
        self._moved()

    def _on_refusal(self, name: bytes, error: str) -> None:
        if not error.startswith("MOVED"):
            super()._on_refusal(name, error)
        self._on_drop([one for one in self._asked if slot_of(one) == slot_of(name)])

    def _refused(self, error: str) -> None:
        if error.startswith(("MOVED", "CLUSTERDOWN")):
            self._moved()
        else:
            super()._refused(error)


class RedisClusterBroker(LinkedBroker):
    """A broker with links to each master, and a table of which master has which slot.

    It never waits for a master: a dead master affects its own channels only.
    """

    @classmethod
    def check(cls, url: str, tls: str | None = None) -> None:
        endpoints(url, REDIS_KIND, REDIS_PORT, tls)

    def __init__(self, url: str, tls: str | None = None) -> None:
        """Open the links; wait until the cluster has answered, for CONNECT_WITHIN at most."""
        super().__init__(url)
        self._put = self._put_at_owner
        self._seeds = endpoints(url, REDIS_KIND, REDIS_PORT, tls)
        #: Channel -> its slot: the desired state.
        self._channels: dict[str, int] = {}
        self._nodes: dict[Endpoint, _ShardLink] = {}
        #: Slot -> the master that has it, or None if it was not found out.
        self._table: list[Endpoint | None] = [None] * SLOTS
        #: The master to ask first: the last one that said that a slot has moved.
        self._informed: Endpoint | None = None
        self._asking: StreamConnection | None = None
        self._trouble = ""
        self._stale = Event()
        self._attempted = Event()
        self._greenlet = keep_running(
            "the topology of a redis cluster", self.counters.count_error, self._follow
        )
        until = time.monotonic() + CONNECT_WITHIN
        self._attempted.wait(CONNECT_WITHIN)
        await_links(self._links(), until - time.monotonic())

    def _links(self) -> list[_ShardLink]:
        return list(self._nodes.values())

    def subscribe(self, *channels: str) -> None:
        self._inbox.check_open()
        for channel in channels:
            if channel not in self._channels:
                slot = self._channels[channel] = slot_of(channel.encode())
                owner = self._owner(slot)
                if owner:
                    owner.add((channel,))

    def unsubscribe(self, *channels: str) -> None:
        self._inbox.check_open()
        for channel in channels:
            slot = self._channels.pop(channel, None)
            if slot is not None and (owner := self._owner(slot)):
                owner.remove((channel,))

    def _link_of(self, channel: str) -> _ShardLink | None:
        return self._owner(slot_of(channel.encode()))

    def _put_at_owner(self, channel: str, payload: bytes) -> bool:
        owner = self._owner(slot_of(channel.encode()))
        return owner is not None and owner.put(channel, payload)

    def links(self) -> list[LinkHealth]:
        nowhere = LinkHealth(f"the cluster of {self._seeds[0]}", time.monotonic() - LONG_AGO)
        return super().links() or [nowhere]

    def close(self) -> None:
        self._greenlet.kill(block=False)
        if self._asking is not None:
            self._asking.close()
        super().close()

    def _owner(self, slot: int) -> _ShardLink | None:
        endpoint = self._table[slot]
        return None if endpoint is None else self._nodes[endpoint]

    def _moved(self, informed: Endpoint) -> None:
        self._informed = informed
        self._stale.set()

    def _follow(self) -> None:
        """Keep the table up to date: ask when a slot has moved, and while a master is missing."""
        while True:
            self._stale.clear()
            self._refresh()
            self._attempted.set()
            # Slots move one after the other: the pause gathers several moves into one request.
            gevent.sleep(REFRESH_PAUSE)
            for _ in range(REFRESH_EVERY):
                if self._stale.wait(1.0) or not self._is_whole():
                    break

    def _is_whole(self) -> bool:
        """Return whether every slot has a master, and all links are connected."""
        return None not in self._table and all(link.connected for link in self._links())

    def _refresh(self) -> None:
        """Ask one node after the other for the table, and adopt the first answer."""
        trouble = ""
        for endpoint in self._whom_to_ask():
            try:
                table = self._ask(endpoint)
            except OSError as error:
                trouble = f"{endpoint}: {error}"
                continue
            self._adopt(table)
            self._trouble = ""
            return
        if trouble != self._trouble:
            self._trouble = trouble
            log.warning("no node of the Redis cluster knows the cluster's slots; %s", trouble)

    def _whom_to_ask(self) -> Iterable[Endpoint]:
        """Return the nodes to ask, the likeliest to answer first, since dead ones cost time."""
        known = sorted(self._nodes, key=lambda endpoint: -self._nodes[endpoint].proven)
        if self._informed is not None:
            known.insert(0, self._informed)
            self._informed = None
        seeds = random.sample(self._seeds, len(self._seeds))
        return dict.fromkeys(known + seeds)

    def _ask(self, endpoint: Endpoint) -> list[Endpoint | None]:
        """Return a node's table: for each slot the master that has it. Raises OSError."""
        self._asking = connection = StreamConnection(endpoint)
        try:
            return connection.open(partial(self._slots, connection))
        finally:
            connection.close()

    def _slots(self, connection: StreamConnection) -> list[Endpoint | None]:
        replies, endpoint = wire.parse(connection.chunks()), connection.endpoint
        wire.log_in(connection, replies)
        answer = wire.call(connection, replies, "CLUSTER", "SLOTS")
        if not answer:
            raise ConnectionError("it is not part of a cluster")
        table: list[Endpoint | None] = [None] * SLOTS
        for first, last, (host, port, *_), *_replicas in answer:
            # An empty host stands for the node that was asked, which does not know its own name.
            owner = endpoint._replace(host=host.decode() if host else endpoint.host, port=port)
            for slot in range(max(first, 0), min(last + 1, SLOTS)):
                table[slot] = owner
        return table

    def _adopt(self, table: list[Endpoint | None]) -> None:
        """Make the links fit a new table, and move the channels that now have another master."""
        before, owners = self._table, set(table)
        for endpoint in owners - self._nodes.keys():
            if endpoint is not None:
                moved = partial(self._moved, endpoint)
                self._nodes[endpoint] = _ShardLink(endpoint, self.counters, self._inbox, moved)
        if table != before:
            for channel, slot in self._channels.items():
                old, new = before[slot], table[slot]
                if old != new:
                    if old is not None:
                        self._nodes[old].remove((channel,))
                    if new is not None:
                        self._nodes[new].add((channel,), missed=True)
            self._table = table
        for endpoint in self._nodes.keys() - owners:
            self._nodes.pop(endpoint).close()
        for node in self._nodes.values():
            node.ask_again()
