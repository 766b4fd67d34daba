"""Batches between nodes, and what is in them and in full states: events, entries and things.

The body of a batch is packed in protocol.py, since clients get it too, and read here. This module
never checks the fields of a message: peer_protocol.py has done that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgpack

from flatlands.server.messages.peer_protocol import BATCH, FIELDS, NOT_KNOWN, Malformed, fit
from flatlands.server.messages.protocol import FIRST_PERSON_ID, BatchBody, with_header
from flatlands.server.messages.table import Field, Row
from flatlands.world import events
from flatlands.world.batches import BatchContent
from flatlands.world.events import ENTER, EnterEvent
from flatlands.world.grid import Square
from flatlands.world.things import PlacedThing

#: The rows of a game without movers.
_NO_MOVERS: Mapping[int, Row] = {}

#: The content of an empty batch.
_NOTHING = BatchContent(b"")


class TupleKind(NamedTuple):
    """A kind of event or of thing: the named tuple that it is, and the row of its fields."""

    make: type[Any]
    row: Row


def declare(make: type[Any], *own: Field) -> TupleKind:
    """Return a kind of event or thing that is a named tuple `make`, whose first field is the kind.
    Its other fields have the ranges that they have in every message, or those of `own`."""
    fields = FIELDS | {field.name: field for field in own}
    return TupleKind(make, Row(make.__name__, tuple(fields[name] for name in make._fields[1:])))


def enters(values: Sequence[Field], movers: Mapping[int, Row] = _NO_MOVERS) -> TupleKind:
    """Return the kind of the enters in a game that has these values of its players, and of each
    mover those of the row with the first value as its number."""
    kind, players = declare(EnterEvent), Row("values", tuple(values))

    def agree(id: int, *fields: Any) -> bool:
        own = fields[-1]
        row: Row | None = players
        if movers and id < FIRST_PERSON_ID:
            row = movers.get(own[0]) if own and type(own[0]) is int else None
        return row is not None and row.fault(own) is None

    return kind._replace(row=replace(kind.row, agree=agree))


#: The events of batches and full states in every game: docs/protocol.md.
EVENTS = {kind: declare(event) for kind, event in events.EVENT_CLASSES.items()} | {
    ENTER: enters(())
}

_pack: Callable[[Any], bytes] = msgpack.Packer(autoreset=True).pack


def batch(
    square: Square,
    node: int,
    previous: int,
    number: int,
    sent: int,
    body: BatchBody,
    content: BatchContent = _NOTHING,
) -> bytes:
    """Pack what happened in a square.

    `number` is the node's next in any square. `previous` is its last in this square, or 0 if it had
    no player there. `sent` is the node time in ms from which ages in the body count back. `body` is
    that of `content`, of which only the writes are looked at.
    """
    header = [BATCH, *square, node, previous, number, sent]
    return _pack([*header, *content]) if content.writes else with_header(header, body)


def read_content(
    kinds: Mapping[int, TupleKind],
    tracks: bytes,
    others: list[Any],
    replaced: int,
    wide: bytes,
    writes: list[Any],
) -> BatchContent:
    """Return the content of a batch; its events, which come as arrays, become named tuples of some
    kinds. Raises Malformed."""
    return BatchContent(tracks, _named(others, kinds) if others else [], replaced, wide, writes)


def _named(arrays: Sequence[Any], kinds: Mapping[int, TupleKind]) -> list[Any]:
    """Return events or things, which come as arrays, as named tuples. Raises Malformed."""
    for one in arrays:
        kind = one[0] if type(one) is list and one else None
        found = kinds.get(kind) if type(kind) is int else None
        if found is None:
            raise Malformed(NOT_KNOWN)
        fit(one[1:], found.row)
    return [kinds[one[0]].make._make(one) for one in arrays]


def read_body(payload: bytes, column: int, row: int, *header: int) -> BatchBody:
    """Return the body of a batch without `writes`, as it is in its message; the other arguments are
    the message's first fields, up to `sent`. Raises Malformed if these are packed as no node packs
    them."""
    before = _pack([BATCH, column, row, *header])
    if payload[1 : len(before)] != before[1:]:
        raise Malformed("it is a batch that no node has packed")
    return BatchBody(payload[0] - before[0], payload[len(before) :])


def read_entries(arrays: Sequence[Any], kinds: Mapping[int, TupleKind]) -> list[EnterEvent]:
    """Return the entries of a full state, which come as arrays, as named tuples of the kind that
    enters have. Raises Malformed."""
    return _named(arrays, {ENTER: kinds[ENTER]})


def read_things(arrays: Sequence[Any], kinds: Mapping[int, TupleKind]) -> list[PlacedThing]:
    """Return the things of `thing changes`, which come as arrays, as named tuples of some kinds.
    Raises Malformed."""
    return _named(arrays, kinds)
