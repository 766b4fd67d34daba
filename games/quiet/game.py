"""The quiet game: players walk, talk and wave. It adds nothing to that."""

from flatlands.server.game import Game

__all__ = ["Game"]
