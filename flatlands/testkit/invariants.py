"""What must hold in every quiet world, whatever is played there."""

from collections import Counter
from collections.abc import Iterable, Sequence

from flatlands.server.game.cell_layer import CellLayer
from flatlands.server.storage.items import QUOTA_PREFIX, THINGS_QUEUE
from flatlands.server.storage.kinds import Mover
from flatlands.server.storage.rows import TILE
from flatlands.stores.base import Score, Store
from flatlands.testkit.client import SimulatedClient
from flatlands.testkit.comparison import (
    PlayerState,
    allow_for_sketches,
    believed_records,
    records_match,
    true_records,
)
from flatlands.testkit.host import Host
from flatlands.world.track import UNIT

#: ms by which nodes may be wrong about each other's clocks, when messages took long.
CLOCKS = 1000


def wrong_screens(
    screens: Iterable[tuple[str, SimulatedClient, Iterable[tuple[str, object]]]],
    hosts: Sequence[Host],
) -> dict[str, str]:
    """Return, in words, what screens show wrongly now -> what they should show.

    A screen is the name of its player, its client, and what it shows of things and cells, each
    after words that say where.
    """
    wrong: dict[str, str] = {}
    seen: dict[str, tuple[str, object]] = {}
    for name, client, shown_there in screens:
        truth = true_records(client, hosts)
        belief = allow_for_sketches(believed_records(client), truth, client.model, CLOCKS)
        for id in truth.keys() | belief.keys():
            real, shown = truth.get(id), belief.get(id)
            if not (real and shown and records_match(real, shown, client.now(), CLOCKS)):
                where = f"for player {id} the screen of {name} shows {_words(shown)}"
                wrong[where] = f", and not {_words(real)}"
        for what, has in shown_there:
            other, had = seen.setdefault(what, (name, has))
            if had != has:
                wrong[f"in {what} {other} is shown {had}, and {name} {has}"] = ""
    return wrong


def _words(record: PlayerState | None) -> str:
    """Return what is known of a player, as words."""
    if record is None:
        return "nobody"
    seq, _, name, dimmed, (x, y, dx, dy, *_), _, look, pace, values = record
    place = f"({(x + dx) / UNIT:.2f}, {(y + dy) / UNIT:.2f})"
    more = " who has lost the connection" if dimmed else ""
    return f"{name}{more} at or on the way to {place}, {look=} {pace=} {values=} {seq=}"


def check_counts(layer: CellLayer) -> None:
    """Raise AssertionError unless the store's counts of a layer are those of its tiles."""
    if layer.store is None:
        return
    counts = Counter[int]()
    for item in layer.store.each(layer.rows.queue):
        counts.update(value for _, value, *_ in TILE.iter_unpack(item.body) if value)
    known = layer.rows.values(layer.store)
    assert known == counts, f"{layer.name}: the store counts {known}, and has {dict(counts)}"


def check_movers(hosts: Sequence[Host]) -> None:
    """Raise AssertionError unless each mover of the store is moved by one node, as it is there, and
    no other mover of a stored kind is anywhere."""
    moved: dict[str, list[Mover]] = {}
    for movers in filter(None, (host.node.play.movers for host in hosts)):
        for one in map(movers.hosting.view, movers.hosting.residents()):
            if movers.is_stored(type(one)):
                moved.setdefault(one.id, []).append(one)
    play, store = hosts[0].node.play, hosts[0].node.store_client.store
    if play.movers is None or store is None:
        return
    stored = {
        read[0].id: read[0]
        for item in store.each(play.items.queue)
        if (read := play.items.read_thing(item.id, item.body)) and isinstance(read[0], Mover)
    }
    assert moved.keys() == stored.keys(), (
        f"the store has the movers {sorted(stored)}, and nodes move {sorted(moved)}"
    )
    for id, (one, *others) in moved.items():
        assert not others, f"{1 + len(others)} nodes move {id}"
        there = stored[id]
        assert (one.version, one._shows()) == (there.version, there._shows()), (
            f"the store has {there!r}, and its node moves {one!r}"
        )


class Taken:
    """The things that players have taken, and the points that they got for them."""

    def __init__(self) -> None:
        #: The things, as they lay there.
        self.things: set[tuple[str, bytes]] = set()
        self._points: Counter[tuple[str, str]] = Counter()

    def count(self, scores: Iterable[Score]) -> None:
        """Note points that somebody got."""
        for board, owner, points in scores:
            self._points[board, owner] += points

    def note(self, queue: str, id: str, body: bytes) -> None:
        """Note a thing that was taken. Raises AssertionError if it was before."""
        if queue.startswith(THINGS_QUEUE):
            # What only counts an owner's things is put and taken with each try to leave one.
            assert id.startswith(QUOTA_PREFIX) or (id, body) not in self.things, (
                f"{id} was taken twice"
            )
            self.things.add((id, body))

    def check(self, store: Store | None) -> None:
        """Raise AssertionError unless the boards of a store have these points."""
        for (board, owner), points in self._points.items():
            rank = store and store.rank(board, owner)
            has = rank.n if rank else 0
            assert has == points, f"on the board {board} {owner} has {has} points, and not {points}"
