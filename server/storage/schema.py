"""The fields of a game as the store remembers them, so that a changed game loses nothing unnoticed.

Kinds of things and of records change from one version of a game to the next. In what the store
already has, a new field has its lowest value, and what was in a removed field is seen by nobody. A
field that allows less than it ever did needs an `upgrade`. Each version of a kind has a number,
which what it has put into the store has too, so that a game with an older one leaves alone what it
cannot read.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgpack

from flatlands.server.messages.table import Field
from flatlands.server.storage.client import StoreUnavailable
from flatlands.server.storage.kinds import Record, Thing
from flatlands.stores.base import BODY_BYTES_MOST, NEVER_DUE_MS, Item, Store, StoreError

#: The group of the items, one for each kind, that have its versions.
_GROUP: Final = "fields"

#: The types of fields, by their names in the store.
_TYPES: Final[dict[str, type[int | str]]] = {kind.__name__: kind for kind in (bool, int, str)}

_Kind = type[Thing] | type[Record]

#: Field -> the name of its type, and the lowest and highest value or length.
_Version = dict[str, list[Any]]


def note(
    store: Store,
    game: str,
    kinds: Iterable[_Kind],
    before: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, int]:
    """Record the fields of a game's kinds in the store; return the number of the version of each,
    by its name: not below the one that it had `before`, even if the store has been emptied or
    replaced, since this node may have put some there. It waits for the store. Raises ValueError,
    with a sentence for its author, if something that is there may be lost."""
    declared, queue = list(kinds), f"fields {game}"
    there = {item.id: _history(item)[1] for item in store.group(queue, _GROUP)}
    for kind in declared:
        _check(kind, there.get(kind.__name__, []))
    return {
        kind.__name__: _note(store, queue, kind, before.get(kind.__name__, 0)) for kind in declared
    }


class GameSchema:
    """The fields of all kinds that a game has in the store. They have no versions until the store
    has been read."""

    def __init__(self, game: str, kinds: Iterable[_Kind]) -> None:
        self.game = game
        self._kinds = list(kinds)
        self._numbers: dict[str, int] | None = None
        #: The identity of the store that they were found in.
        self._identity = ""

    def number(self, kind: _Kind) -> int:
        """Return the number of the version of a kind. Raises StoreUnavailable while it is not
        known."""
        if self._numbers is None:
            raise StoreUnavailable("the store has not been read yet")
        return self._numbers[kind.__name__]

    def learn(self, store: Store) -> None:
        """Read the versions, unless those of this store were read. It waits for the store. Raises
        StoreError if something that is there may be lost."""
        if self._numbers is None or store.identity != self._identity:
            try:
                self._numbers = note(store, self.game, self._kinds, self._numbers or {})
            except ValueError as error:
                raise StoreError(f"the game has changed: {error}") from error
            self._identity = store.identity


def _note(store: Store, queue: str, kind: _Kind, least: int) -> int:
    """Record the fields of a kind in the store; return the number of this version, which is `least`
    or more."""
    own = _version(kind)
    number = 0

    def noted(item: Item | None) -> Item | None:
        nonlocal number
        first, versions = _history(item)
        if own in versions:
            # It may be an older one: a server of that game is started again, beside newer ones.
            number = first + len(versions) - 1 - versions[::-1].index(own)
            if number >= least:
                return None
        versions.append(own)
        number = max(first + len(versions) - 1, least)
        first = number - len(versions) + 1
        while len(body := msgpack.packb([first, versions])) > BODY_BYTES_MOST:
            first += 1
            del versions[0]
        return Item(kind.__name__, NEVER_DUE_MS, _GROUP, body)

    store.change(queue, kind.__name__, noted)
    return number


def _history(item: Item | None) -> tuple[int, list[_Version]]:
    """Return the number of the first version that an item has, and all from that one on."""
    if item is None:
        return 0, []
    first, versions = msgpack.unpackb(item.body)
    return first, versions


def _version(kind: _Kind) -> _Version:
    return {field.name: [field.type.__name__, field.low, field.high] for field in kind.fields}


def _check(kind: _Kind, versions: list[_Version]) -> None:
    """Raise ValueError if a field can have less than it could have in another version, and the kind
    has no upgrade, unless this very version is known."""
    if "upgrade" in vars(kind) or _version(kind) in versions:
        return
    for version in versions:
        for field in kind.fields:
            sort, low, high = version.get(field.name, [field.type.__name__, field.low, field.high])
            before = Field(field.name, _TYPES[sort], low, high)
            if before.type is not field.type or field.low > low or field.high < high:
                raise ValueError(
                    f"{kind.__name__}: {field} now, but in the store {before}. Give the class a "
                    "classmethod upgrade(cls, values), or rename the field"
                )
