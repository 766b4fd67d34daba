"""The rows of which tables of messages are made, and the check of a message against its row.

There are two such tables, in protocol.py for clients and in peer_protocol.py for nodes. Everything
that is read is checked against them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

#: The highest whole number that JavaScript holds exactly.
NUMBER: Final = 2**53 - 1

_TYPES: Final = {
    int: "a whole number",
    str: "a text",
    bool: "true or false",
    list: "an array",
    bytes: "bytes",
}
_UNITS: Final = {int: "", str: " characters", list: " items"}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message: a whole number, a text, an array, bytes or a boolean, as `type` says.

    `low` and `high` bound a number, the characters of a text, the items of an array, or the number
    of bytes, both included. With `optional` the field may be nil. If `text` is not 0, a text of up
    to that many characters may stand in place of a number. `persist`: a player still has it when it
    comes back with a token (server/game/me.py).
    """

    name: str
    type: type[int | str | list[Any] | bytes]
    low: int = 0
    high: int = NUMBER
    optional: bool = False
    text: int = 0
    persist: bool = False

    def allows(self, value: Any) -> bool:
        """Return whether a value may stand in this field."""
        # This is not isinstance, to which True is an int.
        if type(value) is not self.type:
            if value is None:
                return self.optional
            return bool(self.text) and type(value) is str and len(value) <= self.text
        size: int = len(value) if isinstance(value, str | list | bytes) else value
        return self.low <= size <= self.high

    @property
    def lowest(self) -> Any:
        """The lowest value that may stand in it, where a game gives none."""
        if self.type is str:
            return "?" * self.low
        if self.type is bool:
            return False
        return self.low

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
    """A kind of message or event: its name, and its fields in the order in which they follow the
    kind.

    A client may send `rate` of them a second, and `burst` at once. `agree` is called with all
    fields, each of which is right by itself, and returns whether they agree with each other.
    """

    name: str
    fields: tuple[Field, ...]
    rate: float = 0
    burst: int = 0
    agree: Callable[..., bool] | None = None

    def fault(self, values: Sequence[Any]) -> str | None:
        """Return a sentence on what is wrong with the values of a message's fields, or None."""
        if len(values) != len(self.fields):
            return f"{self.name} must have {len(self.fields)} fields"
        for at, field in enumerate(self.fields):
            value = values[at]
            # Numbers are checked here and not in `allows`, to save a call: most fields are numbers.
            if type(value) is int is field.type:
                right = field.low <= value <= field.high
            else:
                right = field.allows(value)
            if not right:
                return f"{self.name}: {field}"
        if self.agree is not None and not self.agree(*values):
            return self.disagree
        return None

    @property
    def disagree(self) -> str:
        """A sentence on a message whose fields do not agree with each other."""
        return f"{self.name} must have fields that agree with each other"
