"""`redis://[[user]:password@]host[:port][/db]`: Redis publish-subscribe; `rediss://` is the same
over TLS; `valkey://` and `valkeys://` are aliases of the two.

A link speaks RESP3, which Redis knows from version 6 on, so that one connection both publishes and
is subscribed. Certificates are checked as `open_broker` describes, unless the URL says otherwise:
`?ssl_cert_reqs=none` accepts any certificate, and `?ssl_ca_certs=PATH` trusts those in the file. In
Redis, channels do not belong to a db: brokers of one server receive each other's messages whatever
`/db` their URLs name.
"""

import logging
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from hiredis import PushNotification, ReplyError

from flatlands.brokers.base import Counters, Message
from flatlands.brokers.inbox import Inbox
from flatlands.brokers.redis import wire
from flatlands.brokers.redis.wire import HELLO_COMMAND, REDIS_KIND, REDIS_PORT, pack
from flatlands.brokers.stream import Endpoint, StreamBroker, StreamLink

log = logging.getLogger("flatlands")


class Commands(NamedTuple):
    """The commands to publish, subscribe and unsubscribe, and the kinds of what the server pushes:
    confirmations and messages."""

    publish: bytes
    subscribe: bytes
    unsubscribe: bytes
    subscribed: bytes
    unsubscribed: bytes
    message: bytes
    #: Channels that one command may name.
    channels: int


class RedisLink(StreamLink):
    """A link to a Redis server, alone or in a cluster, which publishes and is subscribed.

    A subscription may be lost with the connection, or because the server dropped it. When the
    server confirms such a channel again, a Reset of it goes into the inbox at once. Confirmations
    come in order with messages, so no message of that channel can overtake its Reset.
    """

    words = Commands(
        b"PUBLISH", b"SUBSCRIBE", b"UNSUBSCRIBE", b"subscribe", b"unsubscribe", b"message", 512
    )

    #: Each message has its own reply.
    batches_end_with_ping = False

    _parse = staticmethod(wire.parse)

    def __init__(self, endpoint: Endpoint, counters: Counters, inbox: Inbox) -> None:
        super().__init__(endpoint, counters, inbox)
        #: The desired state. Channel as bytes, as the server names it -> channel as text.
        self._wanted: dict[bytes, str] = {}
        #: Channels that were subscribed on this connection and that the server has not dropped.
        self._asked: set[bytes] = set()
        #: Channels in which these two may differ, in the order of the changes.
        self._to_update: dict[bytes, None] = {}
        #: Wanted channels that may have missed messages: their confirmations bring a Reset.
        self._missed: set[bytes] = set()
        #: The changes and probes that are still to be answered, in order, as (channel, or None for
        #: a probe; how many messages were sent before on this connection); and how many were sent
        #: until now.
        self._asking: deque[tuple[bytes | None, int]] = deque()
        self._sent = 0
        self._complained = False
        self._message = self.words.message

    def put(self, channel: str, payload: bytes) -> bool:
        return self._queue_up(pack((self.words.publish, channel, payload)))

    def add(self, channels: Iterable[str], missed: bool = False) -> None:
        """Subscribe to these channels too. `missed`: another link was subscribed to them before, so
        messages may be lost."""
        for channel in channels:
            name = channel.encode()
            if name not in self._wanted:
                self._wanted[name] = channel
                self._to_update[name] = None
                if missed:
                    self._missed.add(name)
        self._wake.set()

    def remove(self, channels: Iterable[str]) -> None:
        for channel in channels:
            name = channel.encode()
            if self._wanted.pop(name, None) is not None:
                self._to_update[name] = None
                self._missed.discard(name)
        self._wake.set()

    def ask_again(self) -> None:
        """Subscribe again to the wanted channels that the server has dropped."""
        self._to_update.update(dict.fromkeys(self._wanted.keys() - self._asked))
        self._wake.set()

    def _log_in(self) -> None:
        wire.refuse_replica(wire.log_in(self._connection, self._items))

    def _begin(self, again: bool) -> None:
        self._asked.clear()
        self._asking.clear()
        self._sent = 0
        self._to_update = dict.fromkeys(self._wanted)
        if again:
            self._missed.update(self._wanted)

    def _ping(self, number: int) -> bytes:
        self._asking.append((None, self._sent))
        return pack(HELLO_COMMAND)

    def _next_commands(self) -> bytes:
        names, self._to_update = self._to_update, {}
        old = [n for n in names if n in self._asked and n not in self._wanted]
        # A channel that was removed and added again in one turn is subscribed to once more: that
        # loses nothing, and the server may have lost the subscription.
        new = [n for n in names if n in self._wanted]
        self._asked.difference_update(old)
        self._asked.update(new)
        self._asking += [(name, self._sent) for name in old + new]
        return self._pack(self.words.unsubscribe, old) + self._pack(self.words.subscribe, new)

    def _pack(self, command: bytes, names: list[bytes]) -> bytes:
        many = self.words.channels
        return b"".join(
            pack((command, *names[at : at + many])) for at in range(0, len(names), many)
        )

    def _next_batch(self) -> list[bytes]:
        batch = super()._next_batch()
        self._sent += len(batch)
        return batch

    def _accept(self, item: Any) -> None:
        kind = type(item)
        if kind is PushNotification:
            if item[0] == self._message:
                channel = self._wanted.get(item[1])
                if channel is not None:
                    self._inbox.put(Message(channel, item[2]))
            else:
                self._answered()
                self._on_confirmation(item[0], item[1])
        elif kind is int and self._in_flight:
            self._took_one()
        elif self._asking and self._asking[0][1] == self._sent - self._in_flight:
            # All messages that were sent before are answered.
            name, _ = self._asking.popleft()
            if name is None:
                wire.refuse_replica(item)
                self._answered()
            else:
                self._on_refusal(name, str(item))
        elif kind is ReplyError and self._in_flight:
            self._took_one()
            self._counters.dropped += 1
            self._refused(str(item))
        else:
            raise ConnectionError(f"it sent a reply without a command: {item!r}")

    def _took_one(self) -> None:
        """Note that a message is answered."""
        self._in_flight -= 1
        if not self._in_flight:
            self._answered()
            self._landed()

    def _on_confirmation(self, kind: bytes, name: bytes) -> None:
        """Note that the server has subscribed or unsubscribed a channel, asked to or not."""
        asked = bool(self._asking) and self._asking[0][0] == name
        if asked:
            self._asking.popleft()
        if kind == self.words.subscribed:
            if name in self._missed:
                self._missed.discard(name)
                self._inbox.reset((self._wanted[name],))
        elif kind == self.words.unsubscribed and not asked:
            self._on_drop([name])

    def _on_drop(self, names: Iterable[bytes]) -> None:
        """Note that the server has dropped these subscriptions without being asked to."""
        for name in names:
            self._asked.discard(name)
            if name in self._wanted:
                self._missed.add(name)
        self._resubscribe()

    def _resubscribe(self) -> None:
        """Subscribe again to what the server has dropped."""
        self.ask_again()

    def _on_refusal(self, name: bytes, error: str) -> None:
        """Give the connection up: the server refused to subscribe or unsubscribe channels."""
        raise ConnectionError(error)

    def _refused(self, error: str) -> None:
        """Log, once, that the server refused a message, which is lost."""
        if not self._complained:
            self._complained = True
            log.warning("%s refuses messages: %s", self.name, error)


class RedisBroker(StreamBroker):
    """A broker of one Redis or Valkey server."""

    kind = REDIS_KIND
    port = REDIS_PORT
    tls_port = REDIS_PORT
    link = RedisLink
