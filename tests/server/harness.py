"""The harness of flatlands.testkit, whose nodes play Flatlands, and what tests of nodes share."""

from typing import Any, NamedTuple

from flatlands.games.flatlands.game import Game
from flatlands.games.flatlands.options import Options
from flatlands.games.flatlands.walkers.herd import NOBODY, Sizes
from flatlands.model import RECORD, WIDE
from flatlands.server import game
from flatlands.server.messages import peer_protocol, protocol
from flatlands.server.messages.protocol import FLUSH
from flatlands.testkit import harness
from flatlands.testkit.harness import (
    Client,
    Clock,
    ClockStore,
    FakeConnection,
    Host,
    Link,
    ManualLoop,
    Network,
    clock_stores,
    is_close,
    less_roughly,
    split,
)
from flatlands.world.batches import Content

__all__ = [
    "Client",
    "Clock",
    "ClockStore",
    "FakeConnection",
    "Harness",
    "Host",
    "Link",
    "ManualLoop",
    "Network",
    "clock_stores",
    "is_close",
    "less_roughly",
    "split",
]


class Rules(NamedTuple):
    """How many gems each cell has, how many seconds pass on average until one that was taken lies
    somewhere else, and how many twin stones each cell has."""

    per_cell: int = 4
    pause: float = 120
    twins: int = 0


RULES = Rules()


#: A game in which nothing lies, and nobody writes on the ground.
Bare = game.Game


class Harness(harness.Harness):
    """The harness of flatlands.testkit, with `rules` of gems and `sizes` of the herd."""

    def __init__(
        self,
        *more: Any,
        rules: Rules = RULES,
        sizes: Sizes = NOBODY,
        play: type[Any] = Game,
        **named: Any,
    ) -> None:
        self.rules, self.sizes = rules, sizes
        super().__init__(play, None, *more, **named)

    def game(self, node: Any) -> Any:
        """Return the game, with these rules and sizes."""
        self.options = Options(
            walkers=self.sizes.people,
            deer=self.sizes.deer,
            gems=self.rules.per_cell,
            twins=self.rules.twins,
            gem_pause=self.rules.pause,
        )
        return super().game(node)


def two_nodes(skew: int = 0, stored: bool = False) -> tuple[Harness, Client, Client]:
    """Return two nodes whose clocks are `skew` ms apart, with a player on each, side by side. If
    `stored`, they share a store without gems."""
    clock = Clock()
    more: dict[str, Any] = {"stores": clock_stores(clock), "rules": Rules(0)} if stored else {}
    harness = Harness(nodes=2, skew=skew, clock=clock, ready=True, **more)
    a = harness.place("A", (0, 0), host=harness.hosts[0])
    b = harness.place("B", (1, 0), host=harness.hosts[1])
    harness.run(500)
    return harness, a, b


def batches(messages: list[Any]) -> list[list[Any]]:
    """Return the batches of all flushes among messages, each with all of its eight items."""
    found = [batch for message in messages if message[0] == FLUSH for batch in message[3]]
    return [batch + [[], 0, b""][len(batch) - 5 :] for batch in found]


def events(messages: list[Any]) -> list[list[Any]]:
    """Return the events of all flushes, with records as [1, slot, seq, ack, x ...]."""
    found = []
    for *_, tracks, others, _replaced, wide in batches(messages):
        for form, records in ((RECORD, tracks), (WIDE, wide)):
            found += [[1, *record] for record in form.iter_unpack(records)]
        found += others
    return found


def node_batch(
    square: tuple[int, int], node: int, previous: int, number: int, sent: int, said: Any
) -> bytes:
    """Pack what a node publishes in a square: events, and records as [1, slot, seq, ack, x ...]."""
    tracks = b"".join(RECORD.pack(*event[1:]) for event in said if event[:1] == [1])
    content = Content(tracks, [event for event in said if event[:1] != [1]])
    tail = protocol.tail(content)
    return peer_protocol.batch(square, node, previous, number, sent, tail)
