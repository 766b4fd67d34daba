"""What a client asks of what lasts: gems, the board, cairns, and who found landmarks.

Each function obeys one kind of message; its fields are those of docs/protocol.md. The store answers
some time later, when the connection may have ended. This module never waits, and never looks into
the store: server/things/ does.
"""

import re
from collections.abc import Callable
from typing import Final

from flatlands.server.clients.asker import Asker
from flatlands.server.limits import BUILDS, FINDS, Rate
from flatlands.server.logs import log_line
from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import Refused
from flatlands.server.things.board import Standing
from flatlands.server.things.cairns import Builder
from flatlands.world.grid import Square

#: The characters of a key.
_KEY: Final = re.compile("[A-Za-z0-9_-]*")


def take(asker: Asker, column: int, row: int, id: str) -> None:
    """Give a gem to the player, if it is the first to ask for it."""
    resident, owner, board = asker.resident, asker.owner, asker.node.board
    assert resident is not None

    def taken(version: int) -> None:
        if not owner:
            asker.answer(protocol.found(id, version, 0, 0, 0))
            return
        board.ask(
            owner,
            lambda s: asker.answer(protocol.found(id, version, s.gems, s.place, s.of)),
            # The gem is the player's all the same, and so is the point.
            lambda: asker.answer(protocol.found(id, version, 0, 0, 0)),
        )

    asker.node.garden.take((column, row), id, resident, owner, taken, asker.refuse_later)


def build(asker: Asker, text: str) -> None:
    """Leave a cairn with a line. Raises Refused."""
    cleaned = protocol.clean(text, protocol.TEXT_LIMIT)
    if cleaned is None:
        raise Refused("say", f"leave 1 to {protocol.TEXT_LIMIT} characters that can be seen")
    builder = _builder(asker)
    asker.node.orders.check_voice(builder.player)
    give_back = _spend(asker, BUILDS, "too many cairns come from your address: wait a while")

    def built(square: Square) -> None:
        log_line("build", player=builder.player, square=f"{square[0]}:{square[1]}")

    def refused(why: Refused) -> None:
        give_back()
        asker.refuse_later(why)

    try:
        asker.node.cairns.build(builder, cleaned, built, refused)
    except Refused:
        give_back()
        raise


def stone(asker: Asker, column: int, row: int, id: str) -> None:
    """Add a stone to a cairn."""
    asker.node.cairns.add(_builder(asker), (column, row), id, asker.refuse_later)


def find(asker: Asker, column: int, row: int) -> None:
    """Count the player as a finder of the landmark of a part of the world, and tell it its place
    among them. Raises Refused."""
    resident = asker.resident
    assert resident is not None
    give_back = _spend(asker, FINDS, "too much is found from your address: wait a while")

    def found(place: int, of: int, new: bool) -> None:
        if not new:
            give_back()
        asker.answer(protocol.finders(column, row, place, of))

    try:
        finders = asker.node.finders
        finders.find((column, row), resident.track, asker.owner, found, give_back)
    except Refused:
        give_back()
        raise


def _spend(asker: Asker, rate: Rate, sentence: str) -> Callable[[], None]:
    """Count something for the player's address, of which all its players together may do so much;
    return what takes that back if it is not done. Raises Refused if they may do no more."""
    limits, address = asker.limits, asker.address
    if not limits.allow_address(rate, address):
        raise Refused("crowded", sentence, None)
    return lambda: limits.give_back(rate, address)


def _builder(asker: Asker) -> Builder:
    resident = asker.resident
    assert resident is not None
    return Builder(resident.id, resident.name, asker.owner, resident.track)


def key(asker: Asker, text: str) -> None:
    """Count the player's gems for the owner of a key from now on, and answer with the board. Raises
    Refused."""
    if not _KEY.fullmatch(text):
        raise Refused("key", "a key must consist of letters, digits, hyphens and underscores")
    resident, board = asker.resident, asker.node.board
    assert resident is not None
    asker.owner = board.owner(text)
    asker.node.today.note(resident.id, resident.name)
    board.ask(
        asker.owner,
        lambda standing: _show_board(asker, standing),
        lambda: None,
        note=board.entry(asker.owner, resident.id, resident.name),
    )


def tell_name(asker: Asker) -> None:
    """Let the board, and the title, have the player's present name, if it has sent a key."""
    resident, board, owner = asker.resident, asker.node.board, asker.owner
    assert resident is not None
    if owner:
        asker.node.today.note(resident.id, resident.name)
        note = board.entry(owner, resident.id, resident.name)
        board.ask(owner, lambda standing: None, lambda: None, note=note)


def scores(asker: Asker) -> None:
    """Answer with the board."""
    asker.node.board.ask(
        asker.owner, lambda standing: _show_board(asker, standing), lambda: _no_store(asker)
    )


def _show_board(asker: Asker, standing: Standing) -> None:
    top = [(name, gems, id == asker.owner) for id, name, gems in standing.top]
    own = None if asker.resident is None else asker.resident.id
    longest = [
        None if kept is None else (kept.name, kept.ms, kept.id == own) for kept in standing.longest
    ]
    asker.answer(protocol.board(standing.gems, standing.place, standing.of, top, longest))


def _no_store(asker: Asker) -> None:
    asker.refuse_later(Refused("store", "the server cannot reach its store just now", None))
