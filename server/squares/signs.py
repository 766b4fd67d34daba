"""The signs of this node: in each square it repeats the number of what it published there last.

The broker may lose messages, and after the last one of a quiet square nothing would show the others
that it was lost. So a node with players in a square says its number again, ever more rarely, as
long as it says nothing else there: whoever hears the square pays for that, and nobody else. When a
node's last player has left a square, it says a few times that it has nobody there. This module
never looks at what other nodes say: heard.py does.
"""

import random
from collections.abc import Callable, Container
from typing import Final

from flatlands.brokers.base import Broker
from flatlands.server.agenda import Agenda
from flatlands.server.loop import Loop
from flatlands.server.messages import peer_protocol
from flatlands.server.messages.channels import Channels
from flatlands.world.grid import Square

#: ms after the last batch or full state in a square until the first sign, from there to the second,
#: and between all that follow; each may come a quarter earlier, so that signs that began together
#: drift apart. Players mostly do something within the first time, and then no sign is needed.
WAITS: Final = (1500, 2000, 3000)

#: ms that a sign waits if a batch of its square is about to be published, which is better.
POSTPONED: Final = 250


class _Said:
    """What this node has said in a square: the `number` of its last batch or full state, when it
    said anything there last, and how many signs it has given since that batch or full state."""

    __slots__ = ("number", "at", "signs")

    def __init__(self) -> None:
        self.number = 0
        self.at = 0
        self.signs = 0


class Signs:
    """See the module. Times are node time in ms.

    `inhabited` are the squares with players of this node. `waits` says of a square whether a batch
    of it is about to be published.
    """

    def __init__(
        self,
        node: int,
        channels: Channels,
        broker: Broker,
        loop: Loop,
        inhabited: Container[Square],
        waits: Callable[[Square], bool],
    ) -> None:
        self._node = node
        self._channels = channels
        self._broker = broker
        self._loop = loop
        self._inhabited = inhabited
        self._waits = waits
        #: Called with a square in which a sign is given, and when.
        self.on_sign: Callable[[Square, int], None] = lambda _square, _now: None
        self._said: dict[Square, _Said] = {}
        #: The squares, with times at which to look whether a sign is due: the batches of a busy
        #: square do not put it off one by one.
        self._due = Agenda(loop, self._look)

    def __contains__(self, square: Square) -> bool:
        """Say whether this node gives signs in a square."""
        return square in self._said

    def said(self, square: Square, number: int) -> None:
        """Note that a batch or full state with this number is published in a square."""
        said = self._said.get(square)
        now = self._loop.now()
        if said is None:
            said = self._said[square] = _Said()
            self._due.put(square, now + _wait(0))
        elif said.signs:
            # The next look is planned for later than the first sign is due now.
            self._due.put(square, now + _wait(0))
        said.number, said.at, said.signs = number, now, 0

    def begin_anew(self, square: Square) -> None:
        """Give the signs in a square from the first one on, because a player is gone from it of
        whom nothing is published."""
        said = self._said.get(square)
        if said is not None:
            said.at, said.signs = self._loop.now(), 0
            self._due.put(square, said.at + _wait(0))

    def repeat(self, square: Square) -> None:
        """Give a sign now, if this node gives any in the square and no batch is better."""
        said = self._said.get(square)
        if said is not None and not self._waits(square):
            self._publish(square, said)

    def _look(self, square: Square, _due: int) -> None:
        """Give a sign in a square if it is time, and plan the next one."""
        said, now = self._said[square], self._loop.now()
        if self._waits(square):
            self._due.put(square, now + POSTPONED)
            return
        quiet = now - said.at
        wait = WAITS[min(said.signs, len(WAITS) - 1)]
        if quiet < wait - wait // 4:
            self._due.put(square, said.at + _wait(said.signs))
            return
        self._publish(square, said)
        said.at = now
        said.signs += 1
        if said.signs < len(WAITS) or square in self._inhabited:
            self._due.put(square, now + _wait(said.signs))
        else:
            del self._said[square]

    def _publish(self, square: Square, said: _Said) -> None:
        now = self._loop.now()
        message = peer_protocol.sign(
            square, self._node, said.number, now, square in self._inhabited
        )
        self._loop.stats["signs"] += 1
        self.on_sign(square, now)
        self._broker.publish(self._channels.square(square), message)


def _wait(signs: int) -> int:
    """Return the ms until the next sign, after so many of them."""
    wait = WAITS[min(signs, len(WAITS) - 1)]
    return wait - int(random.random() * (wait // 4))
