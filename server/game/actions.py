"""Actions: what the page of a game may ask of it. A game declares each by a method.

The checks follow from the method's parameters, so that a game never sees a field of another type or
out of its range.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from flatlands.server.messages import table
from flatlands.server.messages.table import Field, Row
from flatlands.server.runtime.limits import Rate

_F = TypeVar("_F", bound=Callable[..., None])


@dataclass(frozen=True)
class Action:
    """An action that a page may ask for by its name, and how often it may."""

    row: Row
    rate: Rate
    #: How often the players of one address together may ask for it, or None: as often as each may.
    of_address: Rate | None


def action(
    rate: float = 1, burst: int = 5, *, address: tuple[float, int] | None = None
) -> Callable[[_F], _F]:
    """Let a method obey what a page asks for under the method's name.

    It is called with `me` and the fields that the page gives. The default of each parameter says
    what that field may be: `number(low, high)`, `text(low, high)`, or `flag()`. A player may ask
    `rate` times a second, and `burst` times at once; more is refused as "flood", and closes the
    connection after 40 times. `address` is the same for all players of one address together, as
    (rate, burst), since they could pretend to be other people with other keys. More than that is
    refused as "crowded", as are calls while 16 wait. An unknown action is refused as "game", a text
    of a muted player as "muted". A text that is too short or too long is refused as "say", and a
    number out of its range, a value of another type, or another number of fields as "fields"; these
    count for the player's rate, and leave the connection open until it floods. A request is not
    counted for the address if the method refuses it, by raising Refused, or calls
    `me.refund()`. Raises ValueError.
    """
    for often, at_once in ((rate, burst), *([address] if address else [])):
        if not isinstance(often, int | float) or often <= 0:
            raise ValueError("write @action(rate, burst): both are numbers above 0")
        if type(at_once) is not int or at_once < 1:
            raise ValueError("write @action(rate, burst): both are numbers above 0")

    def mark(method: _F) -> _F:
        vars(method)["action"] = rate, burst, address
        return method

    return mark


# What these three return is a Field. Their types are those of the values that objects have in place
# of it, for whoever reads or checks a game.


def number(low: int, high: int, *, persist: bool = False) -> int:
    """Declare a field: a whole number from `low` to `high`. With `persist`, which is for fields of
    players, a player still has it when it comes back. Raises ValueError."""
    _check(low, high, -table.NUMBER)
    return cast(int, Field("", int, low, high, persist=persist))


def text(low: int, high: int, *, persist: bool = False) -> str:
    """Declare a field: a text of `low` to `high` characters, cleaned as chat is, so that it can be
    shown. `persist` is as in `number`. Raises ValueError."""
    _check(low, high, 0)
    return cast(str, Field("", str, low, high, persist=persist))


def _check(low: int, high: int, least: int) -> None:
    if not type(low) is type(high) is int or not least <= low <= high <= table.NUMBER:
        raise ValueError(
            f"from {low!r} to {high!r} is not a range: write two whole numbers from {least} to "
            f"{table.NUMBER}, the lower one first"
        )


def flag(*, persist: bool = False) -> bool:
    """Declare a field that is true or false. `persist` is as in `number`."""
    return cast(bool, Field("", bool, persist=persist))


def declared_action(name: str, method: Any) -> Action:
    """Return the action that a method was marked as by `action`. Raises ValueError, with a sentence
    for its author."""
    rate, burst, address = method.action
    _self, *parameters = inspect.signature(method).parameters.values()
    if not parameters:
        raise ValueError(f"the action {name} must take me, the player who does it")
    fields = []
    for parameter in parameters[1:]:
        if not isinstance(parameter.default, Field):
            raise ValueError(
                f"the action {name} must say what {parameter.name!r} may be: "
                "number(low, high), text(low, high) or flag()"
            )
        if parameter.default.persist:
            raise ValueError(
                f"{parameter.name!r} of the action {name} cannot persist: only players' fields can"
            )
        fields.append(replace(parameter.default, name=parameter.name))
    of_address = Rate(f"do_{name}", *address) if address else None
    return Action(Row(name, tuple(fields)), Rate(f"do {name}", rate, burst), of_address)
