"""`python -m bench.hooks`: what a node spends on calling a game's hooks, which here do nothing."""

import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing

import gevent

from bench.micro import REPEATS, Bench
from flatlands import Game as Engine
from flatlands import Me, Present, every, plain
from flatlands.server.game.schedule import call_with_each
from flatlands.world.grid import Square
from flatlands.world.track import Tile

#: Players, each of whom the hooks are called about once in each repeat.
PLAYERS = 2000


class Game(Engine):
    """A game whose hooks do nothing."""

    ground = plain()

    def on_step(self, me: Me, tiles: list[Tile]) -> None:
        """Do nothing: a hook that may not wait."""

    def on_enter(self, me: Me, square: Square, before: Square) -> None:
        """Do nothing: a hook that may wait."""

    @every(3600, each=True)
    def look(self, players: Present) -> None:
        """Do nothing about all players."""


def costs(bench: Bench) -> dict[str, float]:
    """Return us of CPU for each call, and for each player that a call is about."""
    node = bench.node
    residents = list(node.residents.by_id.values())
    game = node.game
    assert isinstance(game, Game)

    def step() -> None:
        for resident in residents:
            node.play._step(resident, [(0, 0)])

    def enter() -> None:
        for resident in residents:
            node.play._entered(resident, resident.square)

    hooks: dict[str, Callable[[], object]] = {
        "on_step, which may not wait": step,
        "on_enter, which may wait": enter,
        "each=True, for each player": lambda: call_with_each(node, game.look),
    }
    found = {}
    for name, call in hooks.items():
        gevent.sleep(0.1)
        before = time.process_time()
        call()
        gevent.sleep(0.05)
        found[name] = (time.process_time() - before) / len(residents) * 1e6
    return found


def measure(players: int = PLAYERS, repeats: int = REPEATS) -> dict[str, float]:
    """Return hook -> us of CPU: the medians of a number of repeats, with a number of players."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Bench(players, folder, lambda node: Game(node, None, True))) as bench,
    ):
        gc.collect()
        gc.freeze()
        found = [costs(bench) for _ in range(repeats)]
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


if __name__ == "__main__":
    for what, figure in measure().items():
        print(f"{what:32} {figure:6.1f} us")
