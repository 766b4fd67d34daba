"""The handlers of clients' messages: each obeys one kind.

A handler gets the fields of the message (docs/protocol.md), and raises Refused if the client may
not do that. The one of a hello is in joining.py. This module never waits.
"""

import re
from collections.abc import Callable
from typing import Final

from flatlands.server.clients.joining import hello
from flatlands.server.clients.session import WALKING_FORBIDDEN, Handler, MessageKind, Session
from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import Refused
from flatlands.server.messages.table import Field, Row
from flatlands.server.messages.texts import BAD_NAME, PLAYER_NAME_LIMIT, TEXT_LIMIT, clean
from flatlands.server.runtime.limits import (
    CHAT_MESSAGES,
    CHAT_MESSAGES_EACH,
    SPECTATORS,
    SPECTATORS_EACH,
)
from flatlands.server.runtime.logs import log_line
from flatlands.server.storage.boards import owner_of
from flatlands.world.grid import Rect, viewport
from flatlands.world.track import Goal, Heading

#: How many clients of this node may look at the map before others that do not play are refused.
SPECTATORS_MOST = 1000

#: The characters of a key.
_KEY: Final = re.compile("[A-Za-z0-9_-]*")


def walk(session: Session, number: int, t: int, dx: int, dy: int) -> None:
    """Walk in a direction, or stand still."""
    session.intend(number, t, Heading(dx, dy) if dx or dy else None)


def go(session: Session, number: int, t: int, x: int, y: int) -> None:
    """Walk to a place."""
    session.intend(number, t, Goal(x, y))


def home(session: Session, number: int) -> None:
    """Go to the plaza, or from there back to where the player was."""
    if session.node.play.forbids_intent is not None:
        raise Refused("walk", WALKING_FORBIDDEN, None)
    session.accept_number(number)
    session.node.movement.home(session.playing, number)


def set_viewport(session: Session, width: int, height: int) -> None:
    """Change how much of the world the client shows."""
    resident, view = session.playing, viewport(width, height)
    session.node.stats["viewports"] += view != resident.view
    session.node.movement.set_viewport(resident, view)


def watch(session: Session, grain: int | None, c0: int, r0: int, c1: int, r1: int) -> None:
    """Show the map of everybody, or no longer."""
    views = session.node.views
    if grain is None:
        views.leave(session)
        session.stop_watching_map()
        return
    if session.owes_hello:
        if len(views) >= SPECTATORS_MOST:
            raise Refused("full", "too many clients are watching this world", protocol.TRY_LATER)
        if not session.limits.take(SPECTATORS, session.address, SPECTATORS_EACH):
            raise Refused(
                "full", "too many clients are watching from your address", protocol.TRY_LATER
            )
        session.watches_map = True
    views.watch(session, grain, Rect(c0, r0, c1, r1))


def ping(session: Session, time: int, number: int) -> None:
    """Answer a ping, which acknowledges flushes."""
    session.acknowledge(number)
    session.answer(protocol.pong(time, session.node.loop.now()))
    session.catch_up()


def ack(session: Session, number: int) -> None:
    """Note that the client has received flushes."""
    session.acknowledge(number)
    session.catch_up()


def ticket(session: Session, text: str) -> None:
    """Keep the ticket, which the game gets with the client's hello."""
    if session.resident is not None:
        raise Refused("hello", "a ticket must come before hello")
    # Other games do not get it.
    session.ticket = text if session.node.play.hello_hooks else ""


def say(session: Session, text: str) -> None:
    """Say something."""
    resident, cleaned = session.playing, clean(text, TEXT_LIMIT)
    if cleaned is None:
        raise Refused("say", f"a message must have 1 to {TEXT_LIMIT} visible characters", None)
    session.node.moderation.check_voice(resident.id, resident.owner)
    # Unlike a move, it is never replaced by a newer one, so there must be a limit.
    if not session.limits.allow_there(
        CHAT_MESSAGES, CHAT_MESSAGES_EACH, session.address, resident.square
    ):
        raise Refused(
            "crowded", "too many messages are being sent here: try again in a moment", None
        )
    resident.has_acted = True
    session.node.play.say(resident, cleaned)


def appear(session: Session, name: str, look: int) -> None:
    """Change the player's name or look. A muted player keeps its name."""
    resident, cleaned = session.playing, clean(name, PLAYER_NAME_LIMIT)
    if session.node.play.hello_hooks:
        # The game gives its players their names.
        cleaned = resident.name
    if cleaned is None:
        raise Refused("name", BAD_NAME, None)
    if cleaned != resident.name:
        # Otherwise a muted player could speak by changing its name.
        session.node.moderation.check_voice(resident.id, resident.owner)
        log_line("rename", player=resident.id, name=cleaned, address=session.address)
        session.node.play.identity_changed(resident.id, cleaned, resident.owner)
    session.node.residents.set_name_and_look(resident, cleaned, look)


def invite(session: Session) -> None:
    """Answer with an invitation to where the player is."""
    resident = session.playing
    place = resident.track.at(session.node.loop.now())
    text = session.tokens.invite(resident.id, resident.name, place)
    session.answer(protocol.invitation(text))


def key(session: Session, text: str) -> None:
    """Count the player's points for the owner of a key, unless the game has named another. A player
    in the world has one key: the first. A key before the hello is kept until the welcome. Raises
    Refused."""
    if not _KEY.fullmatch(text):
        raise Refused("key", "a key may have only letters, digits, hyphens and underscores")
    if session.resident is None:
        session.key = text
        return
    resident, owner = session.resident, owner_of(text)
    if session.node.play.hello_hooks and resident.owner:
        return
    if resident.owner not in ("", owner):
        raise Refused(
            "key", "this player has a different key: to play as somebody else, start over"
        )
    # Whoever was sent away may have come back as somebody else.
    session.node.moderation.link_owner(resident.id, owner)
    session.node.moderation.check_access(resident.id, session.address, owner)
    if not resident.owner and not session.limits.meet(owner, session.address):
        # Clients send it again by themselves; players read this.
        sentence = "many new players came from your address: for now, nothing you do counts"
        raise Refused("keys", sentence, None)
    resident.owner = owner
    session.node.presence.player_changed(resident.id)
    session.node.play.identity_changed(resident.id, resident.name, resident.owner)


def do(session: Session, name: str, fields: list[object]) -> None:
    """Ask the game for an action. Raises Refused."""
    _do(session, name, fields, None)


def ask(session: Session, number: int, name: str, fields: list[object]) -> None:
    """Ask the game for an action, and answer the client whether it was done. Raises Refused."""

    def answer(refused: Refused | None) -> None:
        session.answer(protocol.answer(number, refused is None))

    try:
        _do(session, name, fields, answer)
    except Refused as refused:
        answer(refused)
        raise


def _do(
    session: Session,
    name: str,
    fields: list[object],
    answer: Callable[[Refused | None], object] | None,
) -> None:
    play = session.node.play
    action = play.actions.get(name)
    if action is None:
        known = ", ".join(sorted(play.actions)) or "it has none"
        raise Refused("game", f"do must name an action of this game: {known}", None)
    # Wrong fields count too: a page that goes on sending them is closed as one that floods.
    session.spend(action.rate.name, action.rate)
    cleaned = cleaned_fields(action.row, fields)
    if any(isinstance(value, str) and value for value in cleaned):
        # Others may read it.
        session.node.moderation.check_voice(session.playing.id, session.playing.owner)
    session.playing.has_acted = True
    limits, address, rate = session.limits, session.address, action.of_address
    if rate is not None and not limits.allow_address(rate, address):
        raise Refused("crowded", f"too many actions of this kind from your address: {name}", None)
    play.do(
        session.playing,
        name,
        cleaned,
        lambda: None if rate is None else limits.refund(rate, address),
        answer,
    )


def cleaned_fields(row: Row, fields: list[object]) -> list[object]:
    """Return the fields of an action, its texts as others may see them. Raises Refused."""
    cleaned = list(map(_cleaned, row.fields, fields))
    fault = row.fault(cleaned if len(fields) == len(row.fields) else fields)
    if fault is not None:
        raise Refused("fields", fault, None)
    return cleaned


def _cleaned(field: Field, value: object) -> object:
    """Return a value for a field of an action; a text as others may see it. Raises Refused."""
    if field.type is not str or not isinstance(value, str):
        return value
    cleaned = clean(value, field.high) if value else ""
    if cleaned is None or len(cleaned) < field.low:
        raise Refused("say", f"{field}, all of them visible", None)
    return cleaned


#: The handler of each kind of message.
_HANDLERS: Final[dict[int, Handler]] = {
    protocol.HELLO: hello,
    protocol.WALK: walk,
    protocol.GO: go,
    protocol.HOME: home,
    protocol.VIEWPORT: set_viewport,
    protocol.SAY: say,
    protocol.PING: ping,
    protocol.INVITE: invite,
    protocol.KEY: key,
    protocol.ACK: ack,
    protocol.WATCH: watch,
    protocol.DO: do,
    protocol.APPEAR: appear,
    protocol.TICKET: ticket,
    protocol.ASK: ask,
}

#: The kinds of messages that clients may send.
KINDS: Final = {
    kind: MessageKind(row, _HANDLERS[kind]) for kind, row in protocol.CLIENT_MESSAGES.items()
}
