"""The hooks of games and parts: the methods that a node calls when something happens."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from flatlands.server.game.me import Guest, Me
from flatlands.server.storage.kinds import Thing
from flatlands.world.grid import Square
from flatlands.world.track import Tile

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    _M = TypeVar("_M", bound=Me, default=Me)
else:
    from typing import TypeVar

    _M = TypeVar("_M", bound=Me)


class PlayerView(NamedTuple):
    """A player as a node sees it: its id, name and tile, the values of its fields, such as
    `values.colour`, and its exact place, (x, y) in tiles from the origin."""

    id: int
    name: str
    tile: Tile
    values: SimpleNamespace
    place: tuple[float, float]


class PartHooks(Generic[_M]):
    """The hooks that a game and its parts may have. A class has those that it overrides: the ones
    here do nothing, and are never called. `me` is a Me, or an object of the game's own class of
    players."""

    def on_hello(self, guest: Guest, ticket: str) -> None:
        """A client wants to play, for the first time or again; `ticket` is what its page sent
        before its hello, or "".

        The hook may raise Refused, and may set `guest.name` and `guest.owner`. It is called at the
        node to which the client came, and may wait. In a game that has this hook, players cannot
        change their names; nor their owners, if the hook has set them.
        """

    def on_join(self, me: _M, back: bool) -> None:
        """A player has begun to play; `back`: it was here before, and now has a new connection.

        It is called once in the world, at the player's node, and may wait. It is not called when a
        worker passes the player to another one.
        """

    def on_leave(self, me: _M) -> None:
        """A player has left the game: it has closed its page, or has been away for ten seconds.

        It is called at the player's node, and may wait. It is not called if that node dies.
        `me.put` can put down what the player carried; anything else it would do raises PlayerGone.
        """

    def on_enter(self, me: _M, square: Square, before: Square) -> None:
        """A player has come from one square into another. It is called once in the world, at the
        player's node, and may wait."""

    def on_step(self, me: _M, tiles: list[Tile]) -> None:
        """A player has come to these tiles, one after the other, since the last call.

        It is called once in the world, at the player's node, some five times a second while the
        player walks, and ten times at most. Without this hook no steps are looked for. The tile on
        which a player begins is no step. As an intent may come 200 ms late, the hook may have been
        called for a tile that the player turned away from before it got there.
        """

    def on_touch(self, me: _M, thing: Any) -> None:
        """A player has come near a thing, or a mover, of one of the kinds in `things`.

        It is called once in the world for each touch, at the player's node, and may wait: somebody
        else may have taken the thing by then. The same thing can be touched again once the player
        has been a tile and a quarter beyond its reach, if it is put there again, and if a worker
        passes the player to another one. What the player itself changes (`me.change`, or `me.take`
        with `then`) it does not touch by that: it must come again. If that lies out of its reach,
        it touches it as soon as it comes within reach. While 16 calls about the player are waiting,
        it is tried again every second. Computer players, and players whose connection is lost,
        touch nothing.
        """

    def on_arrive(self, mover: Any) -> None:
        """A mover of one of the kinds in `things` has come to the end of its way: `mover.tile` says
        where. It may have been barred on the way there.

        It is called once for each way, at the node that moves the mover, and may wait. If that node
        dies, the mover goes its way at another node, and the hook is called there. If the node dies
        just when the mover arrives, the hook may not be called, or be called again: `on_adopt` is.
        """

    def on_near(self, mover: Any, other: Any) -> None:
        """A mover has come within its `reach` of a thing, or of another mover.

        It is called for the mover at the node that moves it, and may wait; `other` is as this node
        knew it then. It is called again once the two were a tile and a quarter farther apart, and
        if another node takes the mover over. The node looks five times a second, at movers on their
        way and those that stand. Players touch movers instead: `on_touch`.
        """

    def on_adopt(self, mover: Any) -> None:
        """This node moves a mover that another node has moved, or an earlier process: it goes on
        from where it was last seen, on what is known of its way.

        It is called once for each node that takes the mover over, and may wait.
        """

    def on_meet(self, me: _M, other: PlayerView) -> None:
        """A player has come near another one: within the `meets` tiles of the game.

        It is called once for each of the two, at its own node, and may wait. The two can meet again
        once they have been a tile and a quarter farther apart, or one was passed to another worker.
        `other` is as this node knew it when they met. The node looks for meetings ten times a
        second, or less often where hundreds stand together. Computer players, and players whose
        connection is lost, meet nobody; bots do.
        """

    def on_say(self, me: _M, text: str) -> str | None:
        """A player wants to say something in the chat. Return the text that everybody near gets,
        which may be this one; None if nobody gets any. It may raise Refused.

        It is called once in the world, at the player's node, and may wait. The text is clean, and
        short enough. Of several parts each gets what the one before has returned.
        """
        return text

    def on_player_gone(self, player: int, owner: str) -> None:
        """A player, by its id, has gone: it has left, or its node has died and it has not come back
        within ten seconds. `owner` is as `me.owner`.

        It is called at one node of the world, which may be any, and may wait. It is called once; or
        again, half a minute later, if the node that has called it dies, or if it fails, five times
        at most. It is never called for a player who is back. Without a store it is called for the
        players who leave this node's game. Only games with `presence = True` have it.
        """

    def on_news(self, name: str, fields: list[Any]) -> None:
        """A node, perhaps this one, has called `publish` with this name and these fields.

        It is called at each node, once for all news in the order in which they come, and may wait:
        up to 1,000 news wait meanwhile, and more are left out.
        """

    def plant(self, plot: Tile) -> Iterable[Thing]:
        """Return the things for a plot of the ground, of 64 x 64 tiles. It is called when somebody
        comes near the plot for the first time, or for the first time after a day.

        Cell (column, row) begins with the tile column 64 * column - 32, and rows likewise. What
        this returns is put there once, even if it is called more than once: a thing that still lies
        there, by its kind and its number among those of its kind in the list, is left alone. It
        must not wait. If it fails, it is called again after a minute.
        """
        return ()
