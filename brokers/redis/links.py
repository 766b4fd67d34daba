"""What a Redis broker does on its links: one link publishes, the other is subscribed."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hiredis import ReplyError

from brokers.base import Counters, Message
from brokers.inbox import Inbox
from brokers.redis import wire
from brokers.redis.wire import pack
from brokers.stream import Endpoint, StreamLink

log = logging.getLogger("flatlands")

#: Channels in one command.
CHANNELS_A_COMMAND = 512

PING = pack((b"PING",))


class RedisLink(StreamLink):
    """The base of both."""

    #: Each command has its own reply.
    batches_end_with_ping = False

    _parse = staticmethod(wire.parse)

    def _enter(self) -> None:
        wire.enter(self._connection, self._items)

    def _ping(self, number: int) -> bytes:
        return PING


class PublishLink(RedisLink):
    """Publishes.

    `restored` is called whenever the link is back: only then can those repair what was lost who
    were told by a Reset of the other link.
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

    def _take(self, item: Any) -> None:
        if item == b"PONG":
            self._answered()
            return
        if self._in_flight == 0:
            raise ConnectionError(f"nothing was asked, the answer is {item!r}")
        self._in_flight -= 1
        if self._in_flight == 0:
            self._answered()
            self._landed()
        if isinstance(item, ReplyError):
            self._counters.dropped += 1
            self._refused(str(item))

    def _refused(self, error: str) -> None:
        """The server did not take a message, which is lost."""
        if not self._complained:
            self._complained = True
            log.warning("%s refuses messages: %s", self.name, error)


class Words(NamedTuple):
    """The names of the commands of subscribing, and of the replies to them."""

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
    """Holds the subscriptions that are wanted, and puts what comes into the inbox.

    A channel that was lost, with the connection or because the server let go of it, is put into the
    inbox as a Reset at the moment at which the server confirms it again: in the server's own order,
    so no message of that channel can come between.
    """

    def __init__(
        self, endpoint: Endpoint, counters: Counters, inbox: Inbox, words: Words = PLAIN
    ) -> None:
        super().__init__(endpoint, counters, inbox)
        self._words = words
        #: The desired state: channels as the server names them, and as their users do.
        self._wanted: dict[bytes, str] = {}
        #: What the server was asked for on this connection, and has not let go.
        self._asked: set[bytes] = set()
        #: Where the two may differ, in the order of asking.
        self._changed: dict[bytes, None] = {}
        #: Wanted, with messages missed: a Reset is due when it is confirmed.
        self._missed: set[bytes] = set()
        #: How often the server was asked to let go of a channel and has not confirmed it.
        self._leaving: Counter[bytes] = Counter()

    def add(self, channels: Iterable[str], missed: bool = False) -> None:
        """Subscribe to these too, which were `missed` if another link was to bring them."""
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
        """Put a Reset into the inbox, of all but those whose own is still to come."""
        live = self._wanted.keys() - self._missed if self.connected else ()
        if live:
            self._inbox.reset(self._wanted[name] for name in live)

    def ask_again(self) -> None:
        """Ask for what is wanted and the server has let go."""
        self._changed.update(dict.fromkeys(self._wanted.keys() - self._asked))
        self._wake.set()

    def _begin(self, again: bool) -> None:
        self._asked.clear()
        self._leaving.clear()
        self._changed = dict.fromkeys(self._wanted)
        if again:
            self._missed.update(self._wanted)

    def _commands(self) -> bytes:
        changed, self._changed = self._changed, {}
        leave = [n for n in changed if n in self._asked and n not in self._wanted]
        enter = [n for n in changed if n in self._wanted and n not in self._asked]
        self._asked.difference_update(leave)
        self._asked.update(enter)
        self._leaving.update(leave)
        return self._pack(self._words.unsubscribe, leave) + self._pack(self._words.subscribe, enter)

    def _pack(self, command: bytes, names: list[bytes]) -> bytes:
        many = self._words.channels
        return b"".join(
            pack((command, *names[at : at + many])) for at in range(0, len(names), many)
        )

    def _take(self, item: Any) -> None:
        if type(item) is not list:
            # A pong, while nothing is subscribed; or an error.
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
            # An entry for every channel ever left would be a leak.
            del self._leaving[name]
        else:
            self._leaving[name] -= 1

    def _drop(self, names: Iterable[bytes]) -> None:
        """The server has let go of these without being asked to."""
        for name in names:
            self._asked.discard(name)
            if name in self._wanted:
                self._missed.add(name)
        self._dropped()

    def _dropped(self) -> None:
        """Some channels were dropped: ask for them again."""
        self.ask_again()

    def _refused(self, error: str) -> None:
        """The server refuses a command, and does not say which: only a new beginning is safe."""
        raise ConnectionError(error)
