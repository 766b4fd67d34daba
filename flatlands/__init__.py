"""Flatlands: an endless two-dimensional world in which every square is a publish-subscribe channel.

Its parts are folders beside this one, which has a symbolic link to each. So they are one package,
whose names collide with no others, wherever it is installed. Importing it patches, opens and starts
nothing: what a game imports from here is loaded when it is asked for. Of the modules below it, only
`bot` and `testkit` are for games too.
"""

import os

__version__ = "0.5.0"

TYPE_CHECKING = False  # as in typing, which is not loaded for it
if TYPE_CHECKING:
    from flatlands.bot import Bot as Bot
    from flatlands.server.game.actions import action as action
    from flatlands.server.game.actions import flag as flag
    from flatlands.server.game.actions import number as number
    from flatlands.server.game.actions import text as text
    from flatlands.server.game.cells import Cells as Cells
    from flatlands.server.game.chunks import chunks as chunks
    from flatlands.server.game.game import Game as Game
    from flatlands.server.game.game import Part as Part
    from flatlands.server.game.game import Present as Present
    from flatlands.server.game.game import every as every
    from flatlands.server.game.game import plain as plain
    from flatlands.server.game.game import terrain as terrain
    from flatlands.server.game.hooks import PlayerGone as PlayerGone
    from flatlands.server.game.me import Guest as Guest
    from flatlands.server.game.me import Me as Me
    from flatlands.server.messages.protocol import Refused as Refused
    from flatlands.server.query.tables import select as select
    from flatlands.server.storage.client import StoreUnavailable as StoreUnavailable
    from flatlands.server.storage.kinds import Event as Event
    from flatlands.server.storage.kinds import Mover as Mover
    from flatlands.server.storage.kinds import Record as Record
    from flatlands.server.storage.kinds import Thing as Thing
    from flatlands.server.storage.records import Records as Records
    from flatlands.server.storage.transactions import Transaction as Transaction

if not os.path.isdir(os.path.join(os.path.dirname(__file__), "server")):
    # A copy may have lost its links: Windows and some archives make small text files of them.
    __path__.append(os.path.dirname(os.path.dirname(__file__)))

#: What games import, and where it is.
_PUBLIC = {
    "StoreUnavailable": "flatlands.server.storage.client",
    "Bot": "flatlands.bot",
    "Cells": "flatlands.server.game.cells",
    "Event": "flatlands.server.storage.kinds",
    "PlayerGone": "flatlands.server.game.hooks",
    "Guest": "flatlands.server.game.me",
    "Me": "flatlands.server.game.me",
    "Mover": "flatlands.server.storage.kinds",
    "Record": "flatlands.server.storage.kinds",
    "Records": "flatlands.server.storage.records",
    "Refused": "flatlands.server.messages.protocol",
    "Thing": "flatlands.server.storage.kinds",
    "Transaction": "flatlands.server.storage.transactions",
    "select": "flatlands.server.query.tables",
    **dict.fromkeys(("action", "flag", "number", "text"), "flatlands.server.game.actions"),
    "chunks": "flatlands.server.game.chunks",
    **dict.fromkeys(
        ("Game", "Part", "Present", "every", "plain", "terrain"), "flatlands.server.game.game"
    ),
}

__all__ = sorted(_PUBLIC)


def __dir__() -> list[str]:
    """Return what games import, whether it is loaded or not."""
    return __all__


def __getattr__(name: str) -> object:
    """Load and return something public."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'flatlands' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)
