"""The wire: every message's kind, fields and ranges, as docs/protocol.md gives them.

What a client sends is checked here, against one row of a table, before anything else sees it. It
never acts on a message.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import msgpack

from server.messages.table import NUMBER, Field, Row, number
from world.events import Entry, Event
from world.grid import Rect, Square

#: The WebSocket subprotocol, and the version of the messages that hello asks for.
SUBPROTOCOL = "flatlands"
VERSION = 1

#: The largest message from a client, in bytes.
MESSAGE_LIMIT = 4096

NAME_LIMIT = 20
TEXT_LIMIT = 120
TOKEN_LIMIT = INVITATION_LIMIT = 512

# From a client.
HELLO, WALK, GO, HOME, VIEWPORT, SAY, PING, INVITE = range(1, 9)
# To a client. BATCH is also what nodes publish.
WELCOME, TOKEN, HELD, SNAPSHOT, BATCH, FLUSH, RESYNC, PONG, ERROR, CLOCKS, LINK, INVITATION = range(
    16, 28
)

# Close codes: RFC 6455 section 7.4.1, and one of ours.
GOING_AWAY, UNSUPPORTED, MALFORMED, POLICY, INTERNAL = 1001, 1003, 1007, 1008, 1011
RESTART, FULL, TAKEN_OVER = 1012, 1013, 4001

#: All that RFC 6455 and its registry name, and ours.
CLOSE_CODES = frozenset((*range(1000, 1016), TAKEN_OVER))

_POSITION = 2**41  # units: twice as far as there is ground


class Refused(Exception):
    """What a client sent is not obeyed.

    `code` is one of the error codes of docs/protocol.md; the text is a sentence for people;
    `close` is the code to close with, or None where the session goes on.
    """

    def __init__(self, code: str, sentence: str, close: int | None = POLICY) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.close = close


_INTENT = number("n", 1, NUMBER)
_TIME = number("t", 0, NUMBER)

MESSAGES = {
    HELLO: Row(
        "hello",
        (
            number("version", 0, 65535),
            Field("name", str, 0, MESSAGE_LIMIT),
            number("width", 1, 65535),
            number("height", 1, 65535),
            Field("token", str, 0, TOKEN_LIMIT, optional=True),
            Field("near", int, 0, NUMBER, optional=True, text=INVITATION_LIMIT),
        ),
        rate=1,
        burst=1,
    ),
    WALK: Row("walk", (_INTENT, _TIME, number("dx", -1, 1), number("dy", -1, 1)), 30, 60),
    GO: Row(
        "go",
        (
            _INTENT,
            _TIME,
            number("x", -_POSITION, _POSITION),
            number("y", -_POSITION, _POSITION),
        ),
        rate=10,
        burst=20,
    ),
    HOME: Row("home", (_INTENT,), rate=0.5, burst=3),
    VIEWPORT: Row(
        "viewport", (number("width", 1, 65535), number("height", 1, 65535)), rate=4, burst=12
    ),
    SAY: Row("say", (Field("text", str, 0, MESSAGE_LIMIT),), rate=1, burst=5),
    PING: Row("ping", (number("time", 0, NUMBER), number("flush", 0, NUMBER)), 8, 16),
    INVITE: Row("invite", (), rate=1, burst=5),
}


def read(payload: bytes) -> list[Any]:
    """Return a client's message as [kind, field ...], each field checked.

    Raises Refused: MALFORMED for what is not one MessagePack array, POLICY for one that no row
    describes.
    """
    try:
        message = msgpack.unpackb(
            payload,
            raw=False,
            max_array_len=16,
            max_map_len=0,
            max_ext_len=0,
            max_bin_len=0,
        )
    except (ValueError, msgpack.UnpackException, RecursionError):
        raise Refused("malformed", "a message must be one MessagePack array", MALFORMED) from None
    if type(message) is not list:
        raise Refused("malformed", "a message must be a MessagePack array", MALFORMED)
    kind = message[0] if message else None
    row = MESSAGES.get(kind) if type(kind) is int else None
    if row is None:
        raise Refused("kind", "a message must begin with a kind that clients send")
    fault = row.fault(message[1:])
    if fault is not None:
        raise Refused("fields", fault)
    return message


#: Letters and symbols that show nothing, but take room: the empty Braille cell, the null notehead,
#: two blanks of Egyptian.
_BLANK = "\u2800\U0001d159\U00013441\U00013442"

#: What joins letters, and chooses between text and emoji, without showing itself. Persian and
#: families of emoji cannot be written without.
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"

#: What shows nothing at all (Unicode's Default_Ignorable_Code_Point, but for the joiners), and what
#: is no character and never will be. Those reserved for later are among them, so this holds for
#: future versions too.
_NOTHING = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(chr(plane * 0x10000 + last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    + "]"
)

#: Categories of what is refused: controls, format characters, surrogates, private use, and line
#: and paragraph separators. What is not assigned yet passes: it may be an emoji of next year.
_REFUSED = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def clean(text: str, limit: int) -> str | None:
    """Return a name or something said as everybody may see it, or None when nobody may.

    Normalised (NFC), spaces of any kind collapsed, 1 to `limit` characters of which one at least
    shows, no more than two marks and two joiners on a letter, and nothing else that hides, turns
    text around, or means something to a private agreement only.
    """
    # Normalising costs the square of the marks in a row: what is far too long is not looked at.
    if len(text) > 4 * limit:
        return None
    normal = unicodedata.normalize("NFC", text)
    spaced = "".join(" " if unicodedata.category(c) == "Zs" else c for c in normal)
    text = " ".join(word for word in spaced.split(" ") if word)
    if not 1 <= len(text) <= limit or _NOTHING.search(text):
        return None
    marks, joiners, seen = 0, 0, False
    for character in text:
        category = unicodedata.category(character)
        if character in _JOINERS:
            joiners += 1
        elif category in _REFUSED:
            return None
        elif category[0] == "M":
            marks += 1
        else:
            marks = joiners = 0
            seen |= character != " " and character not in _BLANK
        if marks > 2 or joiners > 2:
            return None
    return text if seen else None


_pack: Callable[[Any], bytes] = msgpack.Packer(autoreset=True).pack


def welcome(
    version: int, id: int, now: int, seed: int, x: int, y: int, side: int, speed: int,
    diagonal: int, lead: int, drop: int, width: int, height: int,
) -> bytes:  # fmt: skip
    """`side`, `width` and `height` are in tiles, the speeds in units a second, all else in units;
    the last two are the viewport that was granted."""
    return _pack([
        WELCOME, version, id, now, seed, x, y, side, speed, diagonal, lead, drop, width, height,
    ])  # fmt: skip


def token(text: str) -> bytes:
    return _pack([TOKEN, text])


def held(rect: Rect) -> bytes:
    return _pack([HELD, *rect])


def snapshot(square: Square, sent: int, entries: Sequence[Entry]) -> bytes:
    return _pack([SNAPSHOT, *square, sent, entries])


def batch(
    square: Square,
    node: int,
    previous: int,
    number: int,
    sent: int,
    replaced: int,
    events: list[Event],
) -> bytes:
    """`number` is the node's next on any channel, `previous` its last on this one, or 0."""
    return _pack([BATCH, *square, node, previous, number, sent, replaced, events])


def flush(number: int) -> bytes:
    return _pack([FLUSH, number])


def resync() -> bytes:
    return _pack([RESYNC])


def pong(time: int, now: int) -> bytes:
    return _pack([PONG, time, now])


def error(code: str, sentence: str) -> bytes:
    return _pack([ERROR, code, sentence])


def clocks(offsets: list[tuple[int, int]]) -> bytes:
    """`offsets` is (node, what to add to its times to make them this node's) of all known."""
    return _pack([CLOCKS, offsets])


def link(up: bool) -> bytes:
    return _pack([LINK, up])


def invitation(text: str) -> bytes:
    return _pack([INVITATION, text])
