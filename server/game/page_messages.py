"""The messages to pages that a game declares: their names, and the types of their fields.

A type is one of those that pages can be sent, as Python writes it: `int`, `list[tuple[int, str]]`,
`str | None`.
"""

import json
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin

from flatlands.server.storage.kinds import NAME_CHARS_MOST

#: The name of a message -> the names of its fields, in their order -> their types.
Messages = Mapping[str, Mapping[str, object]]

_PLAIN: dict[object, str] = {
    int: "number",
    str: "string",
    bool: "boolean",
    None: "null",
    NoneType: "null",
}


def check(messages: object) -> None:
    """Raise ValueError, with a sentence for its author, if these are not messages."""
    if not isinstance(messages, Mapping):
        raise ValueError("messages must be a dict, such as {'board': {'rows': list[str]}}")
    for name, fields in messages.items():
        if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARS_MOST:
            raise ValueError(
                f"the name of a message must have 1 to {NAME_CHARS_MOST} characters, not {name!r}"
            )
        if not isinstance(fields, Mapping) or not all(
            isinstance(field, str) and field.isidentifier() for field in fields
        ):
            raise ValueError(
                f"the message {name} must have the types of its fields by their names, such as "
                "{'rows': list[str]}"
            )
        for field, kind in fields.items():
            try:
                in_typescript(kind)
            except ValueError as error:
                raise ValueError(f"{field} of the message {name} {error}") from None


def in_typescript(kind: object) -> str:
    """Return a type as TypeScript writes it. Raises ValueError if pages cannot be sent that."""
    if isinstance(kind, type | None) and kind in _PLAIN:
        return _PLAIN[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal and all(isinstance(one, bool | int | str) for one in inner):
        return " | ".join(map(json.dumps, inner))
    if origin in (Union, UnionType):
        return " | ".join(map(in_typescript, inner))
    if origin is list or (origin is tuple and inner[1:] == (...,)):
        item = in_typescript(inner[0])
        return f"({item})[]" if "|" in item else f"{item}[]"
    if origin is tuple:
        return f"[{', '.join(map(in_typescript, inner))}]"
    name = getattr(kind, "__name__", repr(kind)) if origin is None else str(kind)
    raise ValueError(
        f"cannot be {name}: pages can be sent int, bool, str, None, and list[...] and tuple[...] "
        "of these"
    )


def fits(kind: object, value: object) -> bool:
    """Return whether a value is of a type for which `in_typescript` does not raise."""
    if kind is int or kind is str:
        return isinstance(value, kind) and not isinstance(value, bool)
    if kind is bool:
        return isinstance(value, bool)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return any(type(one) is type(value) and one == value for one in inner)
    if origin in (Union, UnionType):
        return any(fits(one, value) for one in inner)
    if origin is None:
        return value is None
    if not isinstance(value, list | tuple):
        return False
    if origin is list or inner[1:] == (...,):
        return all(fits(inner[0], one) for one in value)
    return len(value) == len(inner) and all(map(fits, inner, value))


def fault(name: str, declared: Mapping[str, object], fields: Sequence[object]) -> str | None:
    """Return a sentence on what is wrong with the fields of a declared message, or None."""
    if len(fields) != len(declared):
        return f"the message {name} must have the fields ({', '.join(declared)}), not {fields!r}"
    for (field, kind), value in zip(declared.items(), fields, strict=True):
        if not fits(kind, value):
            written = kind.__name__ if isinstance(kind, type) else str(kind)
            return f"{field} of the message {name} must be {written}, not {value!r}"
    return None
