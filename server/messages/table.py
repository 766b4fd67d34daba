"""What the tables of messages are made of: rows with a name and fields, and the check of a message.

Both protocols have such a table, server/messages/protocol.py for clients and
server/messages/peer_protocol.py for nodes, and check by it all that they read. It reads no bytes
and knows no kinds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

#: The highest number that every language can hold exactly.
NUMBER = 2**53 - 1

_TYPES = {int: "a whole number", str: "a text", bool: "true or false", list: "an array"}
_UNITS = {int: "", str: " characters", list: " items"}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message, of one type: a whole number from `low` to `high`, a text of so many
    characters, an array of so many items, or a boolean.

    With `optional` it may be nil. Where `text` is not 0 it may be a text of up to so many
    characters instead of a number.
    """

    name: str
    type: type[int | str | list[Any]]
    low: int = 0
    high: int = NUMBER
    optional: bool = False
    text: int = 0

    def allows(self, value: Any) -> bool:
        """Say whether a value may stand in this field."""
        # `type is`, for True is an int to isinstance.
        if type(value) is not self.type:
            if value is None:
                return self.optional
            return bool(self.text) and type(value) is str and len(value) <= self.text
        size: int = len(value) if isinstance(value, str | list) else value
        return self.low <= size <= self.high

    def __str__(self) -> str:
        unit = _UNITS.get(self.type)
        bounds = "" if unit is None else f" from {self.low} to {self.high}{unit}"
        text = f", or a text of up to {self.text} characters" if self.text else ""
        nil = ", or nil" if self.optional else ""
        return f"{self.name} must be {_TYPES[self.type]}{bounds}{text}{nil}"


def number(name: str, low: int = -NUMBER, high: int = NUMBER) -> Field:
    """Return a field that holds a whole number from `low` to `high`."""
    return Field(name, int, low, high)


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of message or event: its name and its fields, in their order after the kind.

    `rate` and `burst` are how many of them a client may send, each second and at once. `agree` says
    whether fields that are right by themselves are right together.
    """

    name: str
    fields: tuple[Field, ...]
    rate: float = 0
    burst: int = 0
    agree: Callable[..., bool] | None = None

    def fault(self, values: Sequence[Any]) -> str | None:
        """Return what is wrong with the values of a message's fields, or None if nothing is."""
        if len(values) != len(self.fields):
            return f"{self.name} must have {len(self.fields)} fields"
        for field, value in zip(self.fields, values, strict=True):
            # Numbers are looked at here: most fields are numbers.
            if type(value) is int is field.type:
                right = field.low <= value <= field.high
            else:
                right = field.allows(value)
            if not right:
                return f"{self.name}: {field}"
        if self.agree is not None and not self.agree(*values):
            return f"{self.name} must have fields that agree with each other"
        return None
