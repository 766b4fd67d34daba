"""What players do besides walking: they speak, change their looks, and ask of what lasts.

Each handler obeys one kind of message; its fields are those of docs/protocol.md. All of them raise
Refused if the player may not. The store answers some time later, when the connection may have
ended. This module never waits, and never looks into the store: server/things/ does.
"""

import re
from collections.abc import Callable
from typing import Final

from flatlands.server.clients.session import OBEY, Handler, Session
from flatlands.server.limits import (
    BUILDS,
    EMOTES,
    EMOTES_EACH,
    FINDS,
    SAYINGS,
    SAYINGS_EACH,
    Rate,
)
from flatlands.server.logs import log_line
from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import Refused
from flatlands.server.messages.texts import BAD_NAME, NAME_LIMIT, TEXT_LIMIT, clean
from flatlands.server.players.resident import Resident
from flatlands.server.scores.board import Standing
from flatlands.server.things.cairns import Builder
from flatlands.world.grid import Square

#: The characters of a key.
_KEY: Final = re.compile("[A-Za-z0-9_-]*")


def say(session: Session, text: str) -> None:
    """Say something."""
    cleaned = _clean(text, "say")
    session.node.residents.say(_heard(session, SAYINGS, SAYINGS_EACH), cleaned)


def emote(session: Session, emote: int) -> None:
    """Make an emote."""
    session.node.residents.emote(_heard(session, EMOTES, EMOTES_EACH), emote)


def _clean(text: str, deed: str) -> str:
    cleaned = clean(text, TEXT_LIMIT)
    if cleaned is None:
        raise Refused("say", f"{deed} 1 to {TEXT_LIMIT} characters that can be seen")
    return cleaned


def _heard(session: Session, rate: Rate, each: Rate) -> Resident:
    """Return the resident, which is about to say something or to make an emote. Raises Refused if
    it may not: if it is muted, or over the rate of its square, or over that of its address there
    (`each`)."""
    resident, limits = session.playing, session.limits
    session.node.orders.check_voice(resident.id)
    # A chat message is never replaced by a newer one, as a move is, so there must be a limit.
    square = resident.square
    if not limits.allow_address(each, session.address, square) or not limits.allow(rate, square):
        raise Refused("crowded", "too much is said here at once: say it again soon", None)
    resident.acted = True
    return resident


def appear(session: Session, name: str, look: int) -> None:
    """Have another name or look. A muted player keeps its name."""
    resident, cleaned = session.playing, clean(name, NAME_LIMIT)
    if cleaned is None:
        raise Refused("name", BAD_NAME, None)
    if cleaned != resident.name:
        # Otherwise a muted player would talk by its names.
        session.node.orders.check_voice(resident.id)
        log_line("rename", player=resident.id, name=cleaned, address=session.address)
    session.node.residents.appear(resident, cleaned, look)
    if session.owner:
        _tell_name(session, lambda standing: None)


def invite(session: Session) -> None:
    """Answer with an invitation to where the player is."""
    resident = session.playing
    place = resident.track.at(session.node.loop.now())
    text = session.tokens.invite(resident.id, resident.name, place)
    session.answer(protocol.invitation(text))


def take(session: Session, column: int, row: int, id: str) -> None:
    """Give a gem to the player, if it is the first to ask for it."""
    owner, board = session.owner, session.node.board

    def taken(version: int) -> None:
        if not owner:
            session.answer(protocol.found(id, version, 0, 0, 0))
            return
        board.ask(
            owner,
            lambda s: session.answer(protocol.found(id, version, s.gems, s.place, s.of)),
            # The gem is the player's all the same, and so is the point.
            lambda: session.answer(protocol.found(id, version, 0, 0, 0)),
        )

    session.node.garden.take((column, row), id, session.playing, owner, taken, session.refuse)


def build(session: Session, text: str) -> None:
    """Leave a cairn with a line. Raises Refused."""
    cleaned = _clean(text, "leave")
    builder = _builder(session)
    session.node.orders.check_voice(builder.player)
    give_back = _spend(session, BUILDS, "too many cairns come from your address: wait a while")

    def built(square: Square) -> None:
        log_line("build", player=builder.player, square=f"{square[0]}:{square[1]}")

    def refused(why: Refused) -> None:
        give_back()
        session.refuse(why)

    try:
        session.node.cairns.build(builder, cleaned, built, refused)
    except Refused:
        give_back()
        raise


def stone(session: Session, column: int, row: int, id: str) -> None:
    """Add a stone to a cairn."""
    session.node.cairns.add(_builder(session), (column, row), id, session.refuse)


def find(session: Session, column: int, row: int) -> None:
    """Count the player as a finder of the landmark of a part of the world, and tell it its place
    among them. Raises Refused."""
    give_back = _spend(session, FINDS, "too much is found from your address: wait a while")

    def found(place: int, of: int, new: bool) -> None:
        if not new:
            give_back()
        session.answer(protocol.finders(column, row, place, of))

    try:
        finders = session.node.finders
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
    session.owner = session.node.board.owner(text)
    _tell_name(session, lambda standing: _show_board(session, standing))


def _tell_name(session: Session, answered: Callable[[Standing], None]) -> None:
    """Let the board, and the title, have the player's present name."""
    resident, board, owner = session.playing, session.node.board, session.owner
    session.node.today.note(resident.id, resident.name)
    note = board.entry(owner, resident.id, resident.name)
    board.ask(owner, answered, lambda: None, note=note)


def scores(session: Session) -> None:
    """Answer with the board."""
    session.node.board.ask(
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
    session.answer(protocol.board(standing.gems, standing.place, standing.of, top, longest))


#: All kinds of messages -> who obeys them.
HANDLERS: Final[dict[int, Handler]] = {
    **OBEY,
    protocol.SAY: say,
    protocol.EMOTE: emote,
    protocol.APPEAR: appear,
    protocol.INVITE: invite,
    protocol.TAKE: take,
    protocol.KEY: key,
    protocol.SCORES: scores,
    protocol.BUILD: build,
    protocol.STONE: stone,
    protocol.FIND: find,
}

assert HANDLERS.keys() == protocol.MESSAGES.keys()
