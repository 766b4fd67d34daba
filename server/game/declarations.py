"""The declarations of a game and its parts: kinds of things, events and records, actions, and
messages."""

from collections.abc import Mapping, Sequence

from flatlands.server.game.actions import Action
from flatlands.server.game.game import AnyPart, declared_records
from flatlands.server.game.page_messages import fault
from flatlands.server.squares.context import SquareContext
from flatlands.server.storage.kinds import Event, Mover, Record, Thing, declare


class Declarations:
    """The declarations of all parts of a game, the first of which is the game itself.

    The kinds of events are declared to `squares` too. Raises ValueError if two parts use one name.
    """

    def __init__(self, parts: Sequence[AnyPart], squares: SquareContext) -> None:
        #: The kinds of things by their numbers, and the part that declares each.
        self.things: dict[int, type[Thing]] = {}
        self.part_of_thing: dict[int, AnyPart] = {}
        #: Those of them that are movers; and the number of each kind.
        self.movers: dict[int, type[Mover]] = {}
        self.number_of: dict[type[Thing], int] = {}
        #: The kinds of events -> their numbers.
        self.events: dict[type[Event], int] = {}
        #: The kinds of records that the game has in the store.
        self.records: list[type[Record]] = []
        self.actions: dict[str, Action] = {}
        #: The messages to pages; and whether the game sends no others.
        self.messages: dict[str, Mapping[str, object]] = {}
        self.only_these = bool(type(parts[0]).messages)
        for part in parts:
            for event in part.events:
                self.events[event] = squares.declare_event(declare(event))
            self._add_actions(part)
            self._add_things(part)
            self._add_messages(part)
            self.records += [records.kind for _, records in declared_records(type(part))]

    def _add_actions(self, part: AnyPart) -> None:
        for name, action in part._declared_actions.items():
            if name in self.actions:
                raise ValueError(f"two parts of the game have an action called {name}")
            self.actions[name] = action

    def _add_messages(self, part: AnyPart) -> None:
        for name, fields in type(part).messages.items():
            if name in self.messages:
                raise ValueError(f"two parts of the game have a message called {name}")
            self.messages[name] = fields

    def check_message(self, name: str, fields: Sequence[object]) -> None:
        """Raise ValueError if the game declares that it does not send such a message."""
        if name not in self.messages:
            if self.only_these:
                raise ValueError(f"the game declares no message {name}: add it to its messages")
        elif why := fault(name, self.messages[name], fields):
            raise ValueError(why)

    def _add_things(self, part: AnyPart) -> None:
        for kind in part.things:
            if kind.__name__ in [one.__name__ for one in self.things.values()]:
                raise ValueError(f"the game has two classes of things called {kind.__name__}")
            number = len(self.things)
            self.things[number] = kind
            self.part_of_thing[number] = part
            self.number_of[kind] = number
            if issubclass(kind, Mover):
                self.movers[number] = kind
