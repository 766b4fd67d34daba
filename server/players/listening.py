"""The players' channels to which this node is subscribed: there others ask about these players.

They are the players that this node has, those that it handed over a moment ago, and those whose
last seq and place it remembers. A subscription may not hold yet when somebody asks: what follows
from that is repaired as after any other loss (takeovers.py). This module never reads a message.
"""

from typing import Final

from flatlands.brokers.base import Broker
from flatlands.server.agenda import Agenda
from flatlands.server.loop import Loop
from flatlands.server.messages.channels import Channels
from flatlands.server.players.residents import Residents

#: ms for which this node stays subscribed to the channel of a player that it handed over. By then
#: it knows whether another node has the player; if none has, it remembers it as one that left.
LINGER: Final = 4000


class Listening:
    """See the module."""

    def __init__(
        self, channels: Channels, broker: Broker, loop: Loop, residents: Residents
    ) -> None:
        self._channels = channels
        self._broker = broker
        self._loop = loop
        self._residents = residents
        #: The ids of the players to whose channels this node is subscribed.
        self._heard: set[int] = set()
        self._ending = Agenda(loop, self._end)
        residents.on_known = self._begin
        residents.on_handed_over = self._linger
        residents.on_forgotten = self._forget

    def _begin(self, id: int) -> None:
        self._ending.drop(id)
        if id not in self._heard:
            self._heard.add(id)
            self._broker.subscribe(self._channels.player(id))

    def _linger(self, id: int) -> None:
        if id not in self._residents.left:
            self._ending.put(id, self._loop.now() + LINGER)

    def _forget(self, id: int) -> None:
        if id not in self._residents.by_id:
            self._ending.drop(id)
            self._end(id, 0)

    def _end(self, id: int, _due: int) -> None:
        self._heard.discard(id)
        self._broker.unsubscribe(self._channels.player(id))
