"""Letters, which nodes of a simulated world deliver to any player, and news for all nodes.

Whatever goes wrong, no page gets a letter for another player, or one letter twice, except a page
that goes on at another worker meanwhile. In a quiet world each letter is delivered, and each node
gets all news once.
"""

import itertools
from collections import Counter

from flatlands.server.game.delivery import DELIVERY_MS
from flatlands.testkit.client import SimulatedClient
from flatlands.testkit.clock import begin
from flatlands.testkit.host import Host
from flatlands.wire import MESSAGE
from tests.server.harness import Harness
from tests.server.machine import Machine
from tests.simulate.rule import Broken

#: The names of these messages.
LETTER = "letter"
NEWS = "news"


class Letters:
    """The letters and news of a world, which have numbers."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        #: How often a page may get a letter.
        self._most = 2 if isinstance(harness, Machine) else 1
        self._numbers = itertools.count(1)
        #: Number -> the player that the letter is for.
        self._players: dict[int, int] = {}
        #: The letters of which a node said that they were delivered.
        self._delivered: set[int] = set()
        #: How often each node has got news of a number.
        self._news: Counter[tuple[Host, object]] = Counter()

    def serve(self, host: Host) -> None:
        """From now on note what news a node gets."""
        host.node.delivery.set_news_listener(
            lambda _name, fields: self._news.update([(host, fields[0])])
        )

    def write(self, host: Host, player: int) -> int:
        """Let a node deliver a letter to a player; return its number."""
        number = next(self._numbers)
        self._players[number] = player

        def deliver() -> None:
            done = host.node.delivery.deliver(player, LETTER, [number])
            if done:
                self._delivered.add(number)

        begin(deliver)
        return number

    def check(self) -> None:
        """Raise Broken unless each node reaches each player now, and no letter was misdelivered."""
        playing = [
            client
            for client in self._harness.clients
            if client.connection.open and client.session.resident is not None
        ]
        written = {
            self.write(host, client.id): client
            for host in self._harness.hosts
            for client in playing
        }
        news = next(self._numbers)
        for host in self._harness.hosts:
            host.node.delivery.publish(NEWS, [news])
        self._harness.run(DELIVERY_MS + 100)
        got = [self._news[host, news] for host in self._harness.hosts]
        if got != [len(got)] * len(got):
            raise Broken(f"of {len(got)} news the nodes have got {got}")
        for client in self._harness.clients:
            for number, times in _read(client).items():
                if self._players[number] != client.id or times > self._most:
                    raise Broken(f"{client} has letter {number} {times} times")
        for number, client in written.items():
            if number not in self._delivered or _read(client)[number] != 1:
                raise Broken(f"letter {number} was not delivered once to {client}")


def _read(client: SimulatedClient) -> Counter[int]:
    """Return how often the page of a client has got each letter."""
    return Counter(
        message[2][0]
        for message in client.connection.messages
        if message[0] == MESSAGE and message[1] == LETTER
    )
