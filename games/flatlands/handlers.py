"""What players ask of the game: cairns, landmarks, and emotes.

Each handler obeys one kind of message; its fields are those of docs/protocol.md. All of them raise
Refused if the player may not. The store answers some time later, when the connection may have
ended. This module never waits, and never looks into the store.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from flatlands.games.flatlands import kinds
from flatlands.games.flatlands.cairns.cairns import Builder
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


def _game(session: Session) -> "Game":
    return cast("Game", session.node.game)


def emote(session: Session, emote: int) -> None:
    """Make an emote."""
    resident = heard(session, EMOTES, EMOTES_EACH)
    session.node.residents.tell(resident.square, EmoteEvent(EMOTED, resident.id, emote))


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
        finders.find((column, row), session.playing.track, session.playing.owner, found, give_back)
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
    return Builder(resident.id, resident.name, resident.owner, resident.track)


#: Kinds of messages -> who obeys them.
HANDLERS: Final[dict[int, Handler]] = {
    kinds.BUILD: build,
    kinds.STONE: stone,
    kinds.FIND: find,
    kinds.EMOTE: emote,
}
