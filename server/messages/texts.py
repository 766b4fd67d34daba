"""Names and chat texts: which are allowed, and how they are shown to everybody."""

import re
import unicodedata
from typing import Any, Final

#: The most characters in names and chat messages.
PLAYER_NAME_LIMIT: Final = 20
TEXT_LIMIT: Final = 120

#: The most marks that take no space, and the most joiners, on a letter. Words of Burmese, Hindi,
#: Tibetan and Hebrew need three such marks; more would tower over other lines.
_MARKS: Final = 3
_JOINED: Final = 2

#: The address of a machine: its origin, and perhaps a path below which it serves. It stands in
#: headers.
_ADDRESS: Final = re.compile(
    r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?(/[A-Za-z0-9._~-]+)*"
)

#: The most characters of an address.
ADDRESS_LIMIT: Final = 100

#: The answer to a client about a name that is not allowed.
BAD_NAME: Final = f"a name must have 1 to {PLAYER_NAME_LIMIT} visible characters"

#: Letters and symbols that are blank, but take up space: the empty Braille cell, the null notehead,
#: and two blanks of Egyptian hieroglyphs.
_BLANK: Final = "\u2800\U0001d159\U00013441\U00013442"

#: Invisible characters that join letters, or choose between text and emoji. Persian and families of
#: emoji cannot be written without them.
_JOINERS: Final = "\u200c\u200d\ufe0e\ufe0f"

#: Characters that show nothing at all (Unicode's Default_Ignorable_Code_Point, except the joiners),
#: and code points that will never be characters. Code points that are reserved for invisible
#: characters are among them, so that this list holds for later versions of Unicode too.
_NOTHING: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(chr(plane * 0x10000 + last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    + "]"
)

#: The categories of characters that are refused: controls, format characters, surrogates, private
#: use, and line and paragraph separators. Code points that are not assigned yet are allowed, since
#: they may be next year's emoji.
_REFUSED: Final = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def is_address(text: Any) -> bool:
    """Return whether something is the address of a machine."""
    return isinstance(text, str) and len(text) <= ADDRESS_LIMIT and bool(_ADDRESS.fullmatch(text))


def clean(text: str, limit: int) -> str | None:
    """Return a name or chat message as everybody is shown it, or None if it is not allowed.

    The text is normalised (NFC), and spaces of any kind are collapsed. It must then have 1 to
    `limit` characters, at least one of them visible, no more than _MARKS marks and _JOINED joiners
    on a letter, and no other characters that are invisible, turn text around, or are for private
    use. The page brings texts into this form: static/texts.js.
    """
    # The cost of normalising grows with the square of the marks in a row, so a text that is far too
    # long is refused first.
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
            marks += category != "Mc"
        else:
            marks = joiners = 0
            seen |= character != " " and character not in _BLANK
        if marks > _MARKS or joiners > _JOINED:
            return None
    return text if seen else None
