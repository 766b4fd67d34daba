"""A broker that seals messages with a keyed hash, so that only messages of those who have a secret
are received.

A seal is SEAL_SIZE bytes of BLAKE2b behind each payload, over the channel's name and the payload,
with a key made of the secret. A message with a wrong seal, or without one, is counted (`forged`),
logged at most once a minute, and dropped. This keeps out those who do not have the secret, and
reveals that a node has another one. It does not encrypt, and it never prevents those who reach the
broker from repeating sealed messages or holding them back.
"""

import hashlib
import hmac
import logging
import time

from flatlands.brokers.base import (
    Broker,
    Counters,
    LinkHealth,
    Message,
    Reset,
    SummedCounters,
    check_payload,
)
from flatlands.brokers.guard import Throttle

log = logging.getLogger("flatlands")

#: Bytes of a seal. To guess one takes 2^63 messages on average, and each wrong guess is counted.
SEAL_SIZE = 8


class SealedBroker(Broker):
    """A broker that passes messages on to another one, and seals them: see above."""

    def __init__(self, broker: Broker, secret: str) -> None:
        super().__init__(broker.url)
        self._broker = broker
        self.identity = broker.identity
        self._own = Counters()
        self.counters = SummedCounters([self._own, broker.counters])
        self.payload_limit = broker.payload_limit - SEAL_SIZE
        key = hashlib.blake2b(secret.encode(), digest_size=32, person=b"flatlands broker").digest()
        # It is copied for each message, which costs less than making it again from the key.
        self._keyed = hashlib.blake2b(key=key, digest_size=SEAL_SIZE)
        self._warnings = Throttle()

    def subscribe(self, *channels: str) -> None:
        self._broker.subscribe(*channels)

    def unsubscribe(self, *channels: str) -> None:
        self._broker.unsubscribe(*channels)

    def renew(self, channel: str) -> None:
        self._broker.renew(channel)

    def publish(self, channel: str, payload: bytes) -> bool:
        check_payload(payload, self.payload_limit)
        return self._broker.publish(channel, payload + self._seal(channel, payload))

    def receive(self, timeout: float | None = None) -> Message | Reset | None:
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            item = self._broker.receive(timeout)
            if not isinstance(item, Message):
                return item
            payload = item.payload[:-SEAL_SIZE]
            seal = item.payload[len(payload) :]
            if hmac.compare_digest(seal, self._seal(item.channel, payload)):
                return Message(item.channel, payload)
            self._refuse(item.channel)
            if until is not None:
                timeout = max(until - time.monotonic(), 0)

    def links(self) -> list[LinkHealth]:
        return self._broker.links()

    def close(self) -> None:
        self._broker.close()

    def _seal(self, channel: str, payload: bytes) -> bytes:
        seal = self._keyed.copy()
        # No channel's name holds a NUL, so no two messages are the same bytes here.
        seal.update(b"%b\0%b" % (channel.encode(), payload))
        return seal.digest()

    def _refuse(self, channel: str) -> None:
        self._own.forged += 1
        if self._warnings.allows(time.monotonic()):
            log.warning(
                "dropped a message on %r that is not sealed with this server's SECRET_KEY: "
                "a server has a different key or none, or another program uses this broker",
                channel,
            )
