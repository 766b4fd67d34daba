"""The description of a game that pages get when they join: its kinds of things and events, and its
cells."""

from collections.abc import Mapping, Sequence

from flatlands.server.game.cell_layer import CellLayer
from flatlands.server.game.game import AnyGame
from flatlands.server.game.game_node import GameNode
from flatlands.server.messages.peer_batches import TupleKind
from flatlands.server.storage.kinds import Event, Mover


def describe(
    node: GameNode,
    game: AnyGame,
    events: Mapping[type[Event], int],
    movers: Mapping[int, type[Mover]],
    layers: Sequence[CellLayer],
) -> list[list[object]]:
    """Return the description of a game: its kinds of things, movers and events, its cells, what
    players have, and how they walk on which ground."""
    things, declared = node.square_context.things, node.square_context.events
    shown: list[list[object]] = [
        *[["thing", n, kind.make.__name__, _field_names(kind, 5)] for n, kind in things.items()],
        *[["mover", n, kind.__name__, _shown_names(kind)] for n, kind in movers.items()],
        *[["event", n, kind.__name__, _field_names(declared[n], 2)] for kind, n in events.items()],
        *[["cells", n, layer.name.partition(".")[2], []] for n, layer in enumerate(layers)],
        *[
            ["solid", n, layer.options.solid, []]
            for n, layer in enumerate(layers)
            if layer.options.solid
        ],
    ]
    if game.walking != "free":
        shown.append(["walking", 0, game.walking, []])
    if game.chat != "on":
        phrases = [] if game.chat == "off" else list(game.chat)
        shown.append(["chat", 0, "phrases" if phrases else "off", phrases])
    if stamp := getattr(node.terrain, "stamp", ""):
        shown.append(["ground", 0, stamp, []])
    if game.me.fields:
        shown.append(["player", 0, game.me.__name__, [field.name for field in game.me.fields]])
    return shown


def _shown_names(kind: type[Mover]) -> list[str]:
    """Return the names of the fields of a kind of movers that everybody sees."""
    return [field.name for field in kind._shown]


def _field_names(kind: TupleKind, since: int) -> list[str]:
    """Return the names of the fields of a kind from number `since` on."""
    return list(kind.make._fields[since:])
