"""The things in a square, as a node has them.

A thing has an id, and a version that grows whenever something about it changes. Of two things with
the same id, the one with the higher version counts, so changes may come twice and in any order.
This module never reads a store, and packs and sends nothing.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class PlacedThing(Protocol):
    """A thing of any kind: a named tuple that begins with these fields. It is at (x, y), in units
    from the square's corner."""

    @property
    def kind(self) -> int: ...

    @property
    def id(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def x(self) -> int: ...

    @property
    def y(self) -> int: ...

    def __getitem__(self, at: slice, /) -> tuple[object, ...]: ...


class _Note(NamedTuple):
    """The last change of a thing, at the time `at` in ms: the thing, or None if this version is
    gone."""

    version: int
    thing: PlacedThing | None
    at: int

    @property
    def rank(self) -> tuple[int, bool]:
        """Higher for the newer of two notes: the end of a version is newer than the version."""
        return self.version, self.thing is None


class Things:
    """The things of one square, as changes by nodes and reads of the store make them.

    A read of the store gives all things. Times are node time in ms.
    """

    def __init__(self) -> None:
        self._notes: dict[str, _Note] = {}
        #: Whether there is anything in the square.
        self.any = False

    def change(
        self, things: Iterable[PlacedThing], gone: Iterable[tuple[str, int]], now: int
    ) -> bool:
        """Apply changes: things that are new or changed, and (id, version) of those that are gone.

        Returns whether the things in the square have changed.
        """
        before = self.all()
        for thing in things:
            self._note(thing.id, _Note(thing.version, thing, now))
        for id, version in gone:
            self._note(id, _Note(version, None, now))
        return self._differs(before)

    def _note(self, id: str, note: _Note) -> None:
        before = self._notes.get(id)
        if before is None or note.rank > before.rank:
            self._notes[id] = note

    def replace(self, things: Iterable[PlacedThing], begun: int) -> bool:
        """Apply everything that the store had in this square at some moment after `begun`.

        A change that has come since `begun` may be newer, and counts by its version. Returns
        whether the things in the square have changed.
        """
        before = self.all()
        later = [(id, note) for id, note in self._notes.items() if note.at >= begun]
        self._notes = {thing.id: _Note(thing.version, thing, begun) for thing in things}
        for id, note in later:
            self._note(id, note)
        return self._differs(before)

    def _differs(self, before: list[PlacedThing]) -> bool:
        now = self.all()
        self.any = bool(now)
        return now != before

    def get(self, id: str) -> PlacedThing | None:
        """Return the thing with this id, or None if it is not in the square."""
        note = self._notes.get(id)
        return None if note is None else note.thing

    def placed(self) -> list[PlacedThing]:
        """Return all things in the square, in any order."""
        return [note.thing for note in self._notes.values() if note.thing is not None]

    def all(self) -> list[PlacedThing]:
        """Return all things that lie in the square, by kind and id."""
        return sorted(self.placed(), key=lambda thing: (thing.kind, thing.id))
