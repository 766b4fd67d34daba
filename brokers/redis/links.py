"""The two links of a Redis broker: one publishes, the other is subscribed.

In Redis, a connection that is subscribed cannot publish. Neither link knows whether its server is
alone or in a cluster.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hiredis import ReplyError

from flatlands.brokers.base import Counters, Message
from flatlands.brokers.inbox import Inbox
from flatlands.brokers.redis import wire
from flatlands.brokers.redis.wire import pack
from flatlands.brokers.stream import Endpoint, StreamLink

log = logging.getLogger("flatlands")

#: Channels that one command names.
CHANNELS_A_COMMAND = 512

PING = pack((b"PING",))


class RedisLink(StreamLink):
    """The base of both links."""

    #: Each command has a reply of its own.
    batches_end_with_ping = False

    _parse = staticmethod(wire.parse)

    def _log_in(self) -> None:
        wire.log_in(self._connection, self._items)

    def _ping(self, number: int) -> bytes:
        return PING


class PublishLink(RedisLink):
    """The link that publishes.

    `restored` is called whenever the link is back. A Reset of the other link may have come earlier,
    when its receivers could not yet publish what repairs the loss; so they get one more.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        counters: Counters,
        inbox: Inbox,
        restored: Callable[[], None],
        command: bytes = b"PUBLISH",
    ) -> None:
        super().__init__(endpoint, counters, inbox)
        self._command = command
        self._restored = restored
        self._complained = False

    def put(self, channel: str, payload: bytes) -> bool:
        return self._queue_up(pack((self._command, channel, payload)))

    def _begin(self, again: bool) -> None:
        if again:
            self._restored()

    def _accept(self, item: Any) -> None:
        if item == b"PONG":
            self._answered()
            return
        if self._in_flight == 0:
            raise ConnectionError(f"a reply came to no command: {item!r}")
        self._in_flight -= 1
        if self._in_flight == 0:
            self._answered()
            self._landed()
        if isinstance(item, ReplyError):
            self._counters.dropped += 1
            self._refused(str(item))

    def _refused(self, error: str) -> None:
        """Log, once, that the server refused a message, which is lost."""
        if not self._complained:
            self._complained = True
            log.warning("%s refuses messages: %s", self.name, error)


class Words(NamedTuple):
    """The commands to subscribe and unsubscribe, and the kinds of replies to them."""

    subscribe: bytes
    unsubscribe: bytes
    subscribed: bytes
    unsubscribed: bytes
    message: bytes
    #: Channels that one command may name.
    channels: int


PLAIN = Words(
    b"SUBSCRIBE", b"UNSUBSCRIBE", b"subscribe", b"unsubscribe", b"message", CHANNELS_A_COMMAND
)


class SubscribeLink(RedisLink):
    """The link that is subscribed: it asks for the wanted channels, and fills the inbox.

    A subscription may be lost with the connection, or because the server dropped it. When the
    server confirms such a channel again, a Reset of it goes into the inbox at once. Confirmations
    come in order with messages, so no message of that channel can overtake its Reset.
    """

    def __init__(
        self, endpoint: Endpoint, counters: Counters, inbox: Inbox, words: Words = PLAIN
    ) -> None:
        super().__init__(endpoint, counters, inbox)
        self._words = words
        #: The desired state. Channel as bytes, as the server names it -> channel as text.
        self._wanted: dict[bytes, str] = {}
        #: Channels that were subscribed on this connection and that the server has not dropped.
        self._asked: set[bytes] = set()
        #: Channels in which the two may differ, in the order of the changes.
        self._changed: dict[bytes, None] = {}
        #: Wanted channels whose messages were missed: their confirmations bring a Reset.
        self._missed: set[bytes] = set()
        #: Channel -> number of commands to unsubscribe from it that are not yet confirmed.
        self._leaving: Counter[bytes] = Counter()

    def add(self, channels: Iterable[str], missed: bool = False) -> None:
        """Subscribe to these channels too. `missed`: another link was subscribed to them before, so
        messages may be lost."""
        for channel in channels:
            name = channel.encode()
            if name not in self._wanted:
                self._wanted[name] = channel
                self._changed[name] = None
                if missed:
                    self._missed.add(name)
        self._wake.set()

    def remove(self, channels: Iterable[str]) -> None:
        for channel in channels:
            name = channel.encode()
            if self._wanted.pop(name, None) is not None:
                self._changed[name] = None
                self._missed.discard(name)
        self._wake.set()

    def reset(self) -> None:
        """Put a Reset of all channels into the inbox, without those whose own is still to come."""
        live = self._wanted.keys() - self._missed if self.connected else ()
        if live:
            self._inbox.reset(self._wanted[name] for name in live)

    def ask_again(self) -> None:
        """Subscribe again to the wanted channels that the server has dropped."""
        self._changed.update(dict.fromkeys(self._wanted.keys() - self._asked))
        self._wake.set()

    def _begin(self, again: bool) -> None:
        self._asked.clear()
        self._leaving.clear()
        self._changed = dict.fromkeys(self._wanted)
        if again:
            self._missed.update(self._wanted)

    def _next_commands(self) -> bytes:
        changed, self._changed = self._changed, {}
        old = [n for n in changed if n in self._asked and n not in self._wanted]
        new = [n for n in changed if n in self._wanted and n not in self._asked]
        self._asked.difference_update(old)
        self._asked.update(new)
        self._leaving.update(old)
        return self._pack(self._words.unsubscribe, old) + self._pack(self._words.subscribe, new)

    def _pack(self, command: bytes, names: list[bytes]) -> bytes:
        many = self._words.channels
        return b"".join(
            pack((command, *names[at : at + many])) for at in range(0, len(names), many)
        )

    def _accept(self, item: Any) -> None:
        if type(item) is not list:
            # It is an error, or the pong of a connection that is subscribed to nothing.
            if isinstance(item, ReplyError):
                self._refused(str(item))
            self._answered()
            return
        kind = item[0]
        if kind == self._words.message:
            channel = self._wanted.get(item[1])
            if channel is not None:
                self._inbox.put(Message(channel, item[2]))
            return
        self._answered()
        if kind == self._words.subscribed:
            self._confirmed(item[1])
        elif kind == self._words.unsubscribed:
            self._let_go(item[1])

    def _confirmed(self, name: bytes) -> None:
        if name in self._missed:
            self._missed.discard(name)
            self._inbox.reset((self._wanted[name],))

    def _let_go(self, name: bytes) -> None:
        if not self._leaving[name]:
            self._drop([name])
        elif self._leaving[name] == 1:
            # To keep an entry for every channel ever unsubscribed would be a leak.
            del self._leaving[name]
        else:
            self._leaving[name] -= 1

    def _drop(self, names: Iterable[bytes]) -> None:
        """Note that the server has dropped these subscriptions without being asked to."""
        for name in names:
            self._asked.discard(name)
            if name in self._wanted:
                self._missed.add(name)
        self._dropped()

    def _dropped(self) -> None:
        """Do what is to be done after the server dropped subscriptions: subscribe again."""
        self.ask_again()

    def _refused(self, error: str) -> None:
        """Give the connection up: the server refused a command, but does not say which one."""
        raise ConnectionError(error)
