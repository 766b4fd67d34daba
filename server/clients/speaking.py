"""What a player lets others hear and see of itself: chat messages, emotes, its name and its look.

Each function obeys one kind of message; its fields are those of docs/protocol.md. All of them raise
Refused if the player may not.
"""

from flatlands.server.clients import lasting
from flatlands.server.clients.asker import Asker
from flatlands.server.limits import EMOTES, EMOTES_EACH, SAYINGS, SAYINGS_EACH, Rate
from flatlands.server.logs import log_line
from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import Refused
from flatlands.server.players.resident import Resident

#: What is told of a name that is not allowed.
BAD_NAME = f"a name must have 1 to {protocol.NAME_LIMIT} characters that can be seen"


def say(asker: Asker, text: str) -> None:
    """Say something."""
    cleaned = protocol.clean(text, protocol.TEXT_LIMIT)
    if cleaned is None:
        raise Refused("say", f"say 1 to {protocol.TEXT_LIMIT} characters that can be seen")
    asker.node.residents.say(_heard(asker, SAYINGS, SAYINGS_EACH), cleaned)


def emote(asker: Asker, emote: int) -> None:
    """Make an emote."""
    asker.node.residents.emote(_heard(asker, EMOTES, EMOTES_EACH), emote)


def _heard(asker: Asker, rate: Rate, each: Rate) -> Resident:
    """Return the resident, which is about to say something or to make an emote. Raises Refused if
    it may not: if it is muted, or over the rate of its square, or over that of its address there
    (`each`)."""
    resident, limits = asker.resident, asker.limits
    assert resident is not None
    asker.node.orders.check_voice(resident.id)
    # A chat message is never replaced by a newer one, as a move is, so there must be a limit.
    square = resident.square
    if not limits.allow_address(each, asker.address, square) or not limits.allow(rate, square):
        raise Refused("crowded", "too much is said here at once: say it again soon", None)
    resident.acted = True
    return resident


def appear(asker: Asker, name: str, look: int) -> None:
    """Have another name or look. A muted player keeps its name."""
    resident, cleaned = asker.resident, protocol.clean(name, protocol.NAME_LIMIT)
    assert resident is not None
    if cleaned is None:
        raise Refused("name", BAD_NAME, None)
    if cleaned != resident.name:
        # Otherwise a muted player would talk by its names.
        asker.node.orders.check_voice(resident.id)
        log_line("rename", player=resident.id, name=cleaned, address=asker.address)
    asker.node.residents.appear(resident, cleaned, look)
    lasting.tell_name(asker)
