"""How many messages of each kind one client may send.

Rates belong to the player and not to the session, so a player that comes back does not have full
buckets again: server/limits.py keeps them meanwhile.
"""

from typing import Any, Final

from flatlands.server.limits import Bucket, Limits, Rates
from flatlands.server.loop import Loop
from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import MESSAGES, Refused

#: Messages over their rate that a client may send, at once and a second, before it is closed.
PATIENCE: Final = 40
PATIENCE_RATE: Final = 2.0


class Allowance:
    """See the module."""

    __slots__ = ("rates", "_limits", "_loop", "_id")

    def __init__(self, limits: Limits, loop: Loop) -> None:
        self._limits = limits
        self._loop = loop
        self.rates = Rates(Bucket(PATIENCE_RATE, PATIENCE, loop.now()))
        #: The id of the player that these rates belong to, or None while it is unknown.
        self._id: int | None = None

    def spend(self, kind: int) -> None:
        """Note a message of this kind. Raises Refused if there were too many of them lately."""
        if self._limits.any_rate:
            return
        now = self._loop.now()
        bucket = self.rates.buckets.get(kind)
        if bucket is None:
            bucket = self._new(kind, now)
        if bucket.spend(now):
            return
        # Messages that waited while this server stood still all come at once, which is no fault of
        # the client's.
        late = self._loop.late()
        if late and bucket.spend(now, late=late):
            return
        patient = self.rates.patience.spend(now)
        row = MESSAGES[kind]
        raise Refused(
            "flood",
            f"too many messages of kind {row.name}: at most {row.rate:g} a second",
            None if patient else protocol.POLICY,
        )

    def _new(self, kind: int, now: int) -> Bucket:
        row = MESSAGES[kind]
        bucket = self.rates.buckets[kind] = Bucket(row.rate, row.burst, now)
        return bucket

    def belongs_to(self, id: int) -> None:
        """Note whose rates these are: a newcomer's."""
        self._id = id

    def go_on_with(self, id: int) -> None:
        """Use the rates that this player had, since the client has shown the player's token."""
        self._id = id
        rates = self._limits.take_rates(id)
        if rates is not None:
            self.rates = rates
        else:
            # It may have used up its chat messages at another node a moment ago.
            now = self._loop.now()
            self._new(protocol.SAY, now).spend(now, MESSAGES[protocol.SAY].burst - 1)

    def keep(self) -> None:
        """Keep the rates in case the player comes back, since its session ends."""
        if self._id is not None:
            self._limits.keep_rates(self._id, self.rates)
            self._id = None

    def forget(self) -> None:
        """Keep nothing: another worker goes on with the rates."""
        self._id = None

    def state(self) -> list[Any]:
        """Return what another worker needs to go on with these rates; see `take_over`."""
        buckets = [[kind, bucket.full_at] for kind, bucket in self.rates.buckets.items()]
        return [buckets, self.rates.patience.full_at]

    def take_over(self, id: int, state: list[Any]) -> None:
        """Go on with the rates that this player had at another worker."""
        self._id = id
        buckets, self.rates.patience.full_at = state
        for kind, full_at in buckets:
            self._new(kind, self._loop.now()).full_at = full_at
