"""What players ask of the game: gems, cairns, landmarks, and the board.

Each handler obeys one kind of message; its fields are those of docs/protocol.md. All of them raise
Refused if the player may not. The store answers some time later, when the connection may have
ended. This module never waits, and never looks into the store.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from flatlands.games.flatlands import kinds
from flatlands.games.flatlands.cairns.cairns import Builder
from flatlands.games.flatlands.gems.board import Standing
from flatlands.games.flatlands.kinds import EMOTED, EmoteEvent
from flatlands.server.clients.handlers import clean_line, heard
from flatlands.server.clients.session import Handler, Session
from flatlands.server.limits import Rate
from flatlands.server.logs import log_line
from flatlands.server.messages.protocol import Refused
from flatlands.world.grid import Square

if TYPE_CHECKING:
    from flatlands.games.flatlands.game import Game

#: How many cairns the players of one address may leave: with other keys they would be other
#: players. How many landmarks they may find, for the same reason.
BUILDS: Final = Rate("builds", 1 / 120, 20)
FINDS: Final = Rate("finds", 1 / 10, 60)

#: How many emotes the players of one node may make in one square, and those of one address.
EMOTES: Final = Rate("emotes", 50, 250)
EMOTES_EACH: Final = Rate("emotes", 10, 120)

#: The characters of a key.
_KEY: Final = re.compile("[A-Za-z0-9_-]*")


def _game(session: Session) -> "Game":
    return cast("Game", session.node.game)


def emote(session: Session, emote: int) -> None:
    """Make an emote."""
    resident = heard(session, EMOTES, EMOTES_EACH)
    session.node.residents.tell(resident.square, EmoteEvent(EMOTED, resident.id, emote))


def take(session: Session, column: int, row: int, id: str) -> None:
    """Give a gem to the player, if it is the first to ask for it."""
    owner, board = session.owner, _game(session).board

    def taken(version: int) -> None:
        if not owner:
            session.answer(kinds.found(id, version, 0, 0, 0))
            return
        board.ask(
            owner,
            lambda s: session.answer(kinds.found(id, version, s.gems, s.place, s.of)),
            # The gem is the player's all the same, and so is the point.
            lambda: session.answer(kinds.found(id, version, 0, 0, 0)),
        )

    _game(session).garden.take((column, row), id, session.playing, owner, taken, session.refuse)


def build(session: Session, text: str) -> None:
    """Leave a cairn with a line. Raises Refused."""
    cleaned = clean_line(text, "leave")
    builder = _builder(session)
    session.node.orders.check_voice(builder.player)
    give_back = _spend(session, BUILDS, "too many cairns come from your address: wait a while")

    def built(square: Square) -> None:
        log_line("build", player=builder.player, square=f"{square[0]}:{square[1]}")

    def refused(why: Refused) -> None:
        give_back()
        session.refuse(why)

    try:
        _game(session).cairns.build(builder, cleaned, built, refused)
    except Refused:
        give_back()
        raise


def stone(session: Session, column: int, row: int, id: str) -> None:
    """Add a stone to a cairn."""
    _game(session).cairns.add(_builder(session), (column, row), id, session.refuse)


def find(session: Session, column: int, row: int) -> None:
    """Count the player as a finder of the landmark of a part of the world, and tell it its place
    among them. Raises Refused."""
    give_back = _spend(session, FINDS, "too much is found from your address: wait a while")

    def found(place: int, of: int, new: bool) -> None:
        if not new:
            give_back()
        session.answer(kinds.finders(column, row, place, of))

    try:
        finders = _game(session).finders
        finders.find((column, row), session.playing.track, session.owner, found, give_back)
    except Refused:
        give_back()
        raise


def _spend(session: Session, rate: Rate, sentence: str) -> Callable[[], None]:
    """Count something for the player's address, of which all its players together may do so much;
    return what takes that back if it is not done. Raises Refused if they may do no more."""
    limits, address = session.limits, session.address
    if not limits.allow_address(rate, address):
        raise Refused("crowded", sentence, None)
    return lambda: limits.give_back(rate, address)


def _builder(session: Session) -> Builder:
    resident = session.playing
    return Builder(resident.id, resident.name, session.owner, resident.track)


def key(session: Session, text: str) -> None:
    """Count the player's gems for the owner of a key from now on, and answer with the board. Raises
    Refused."""
    if not _KEY.fullmatch(text):
        raise Refused("key", "a key must consist of letters, digits, hyphens and underscores")
    session.owner = _game(session).board.owner(text)
    resident = session.playing
    _game(session).note(
        resident.id,
        resident.name,
        session.owner,
        lambda standing: _show_board(session, standing),
    )


def scores(session: Session) -> None:
    """Answer with the board."""
    _game(session).board.ask(
        session.owner,
        lambda standing: _show_board(session, standing),
        lambda: session.refuse(
            Refused("store", "the server cannot reach its store just now", None)
        ),
    )


def _show_board(session: Session, standing: Standing) -> None:
    top = [(name, gems, id == session.owner) for id, name, gems in standing.top]
    own = None if session.resident is None else session.resident.id
    longest = [
        None if kept is None else (kept.name, kept.ms, kept.id == own) for kept in standing.longest
    ]
    session.answer(kinds.board(standing.gems, standing.place, standing.of, top, longest))


#: Kinds of messages -> who obeys them.
HANDLERS: Final[dict[int, Handler]] = {
    kinds.TAKE: take,
    kinds.KEY: key,
    kinds.SCORES: scores,
    kinds.BUILD: build,
    kinds.STONE: stone,
    kinds.FIND: find,
    kinds.EMOTE: emote,
}
