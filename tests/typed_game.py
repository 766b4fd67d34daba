"""What an author's editor and mypy know of a game: `make types` fails if they know less.

Nobody runs this module. Each `type: ignore` in it is a mistake that mypy finds: without the mistake
it finds the ignore.
"""

from typing import assert_type

from flatlands import Event, Me, Part, Record, Records, Thing, action, flag, number, text
from flatlands import Game as Engine


class Painter(Me):
    """A player with fields."""

    colour, ready, motto = number(0, 7), flag(), text(0, 20, persist=True)


class Flag(Thing):
    """A kind of things."""

    team, name = number(0, 2), text(1, 10)


class Cheer(Event):
    """A kind of events."""

    loud = flag()


class Run(Record):
    """A kind of records."""

    ms = number(0, 10**6)


class Game(Engine[Painter]):
    """A game with players of its own."""

    me, things, events = Painter, (Flag,), (Cheer,)
    runs = Records(Run)

    def on_join(self, me: Painter, back: bool) -> None:
        """What is known of a player, and of what the node has by its id."""
        assert_type(me.colour, int)
        assert_type(me.ready, bool)
        assert_type(me.motto, str)
        assert_type(self.player(me.id), Painter | None)
        me.colour = "red"  # type: ignore[assignment]

    def on_touch(self, me: Painter, thing: Flag) -> None:
        """What is known of a thing, and of what becomes of it."""
        assert_type(thing.team, int)
        assert_type(thing.again(team=1), Flag)
        assert_type(me.change(thing, lambda flag: flag.again(team=me.colour)), Flag | None)
        assert_type(self.node.store_client.waiting, int)
        self.node.storeclient  # type: ignore[attr-defined]  # noqa: B018

    def on_step(self, me: Painter, tiles: list[int]) -> None:  # type: ignore[override]
        """No game can have a hook that gets something else."""

    @action()
    def run(self, me: Painter, ms: int = number(0, 10**6), name: str = text(1, 20)) -> None:
        """What is known of records, and of the fields that a page gives."""
        assert_type(self.runs.read(name), Run | None)
        if run := self.runs.read(name):
            assert_type(run.ms, int)
        self.runs.add(Run(name, ms=ms))


class Tower(Part[Painter]):
    """A part that one game may have, which it knows."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        assert_type(game.runs.read("north"), Run | None)

    def on_join(self, me: Painter, back: bool) -> None:
        """It knows the fields of the game's players."""
        assert_type(me.colour, int)


class Towers(Game):
    """A game with parts."""

    parts = (Tower, lambda game: Tower(game))


class Plain(Engine):
    """A game that has only players of the engine's class."""

    def on_leave(self, me: Me) -> None:
        """What is known of these players."""
        assert_type(self.player(me.id), Me | None)


class Bell(Part):
    """A part that any game may have."""

    def on_join(self, me: Me, back: bool) -> None:
        """A part knows no fields of players."""
        me.colour  # type: ignore[attr-defined]  # noqa: B018
