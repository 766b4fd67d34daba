"""The harness of flatlands.testkit, whose nodes play the bare game, and what tests share."""

from collections.abc import Callable
from typing import Any

from flatlands.model import RECORD, WIDE
from flatlands.server.messages import peer_batches, protocol
from flatlands.server.messages.protocol import FLUSH
from flatlands.stores.base import StoreError
from flatlands.testkit import harness
from flatlands.testkit.client import SimulatedClient
from flatlands.testkit.clock import Clock
from flatlands.testkit.store import shared_stores
from flatlands.world.batches import BatchContent
from tests.bare import Game

KEY = "0123456789abcdef"


class Broken:
    """Stands for a node's store that cannot be reached."""

    identity, written = "broken", 0

    def __getattr__(self, name: str) -> Callable[..., None]:
        def fail(*_arguments: object, **_more: object) -> None:
            raise StoreError("the disk is full")

        return fail


class Harness(harness.Harness):
    """The harness of flatlands.testkit, whose nodes play the bare game unless they `play` another
    one."""

    def __init__(
        self, *more: Any, play: type[Any] = Game, options: Any = None, **named: Any
    ) -> None:
        super().__init__(play, options, *more, **named)


def two_nodes(
    skew: int = 0, stored: bool = False
) -> tuple[Harness, SimulatedClient, SimulatedClient]:
    """Return two nodes whose clocks are `skew` ms apart, with a player on each, side by side. If
    `stored`, they share a store."""
    clock = Clock()
    more: dict[str, Any] = {"stores": shared_stores(clock)} if stored else {}
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
    content = BatchContent(tracks, [event for event in said if event[:1] != [1]])
    body = protocol.body(content)
    return peer_batches.batch(square, node, previous, number, sent, body)
