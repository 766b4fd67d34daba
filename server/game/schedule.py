"""The calls of a game's methods that have `every`: decides when a timer is due whether to call a
method now, and with whom. `Play._add_hooks` sets the timers.
"""

from collections.abc import Callable

from flatlands.server.game.game import Present
from flatlands.server.game.game_node import GameNode
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.runtime.loop import run_in_batches
from flatlands.server.storage.lease import Lease
from flatlands.world.track import Track, tile_at

#: The players in one call of an `each` hook.
EACH_AT_ONCE = 500
#: The pause between two such calls.
EACH_PAUSE_MS = 5


def call_if_leader(lease: Lease[None], hook: Callable[[], object]) -> None:
    """Call a hook if this node has a lease, and no other node can have it."""
    if lease.valid:
        hook()


def call_with_each(node: GameNode, hook: Callable[..., object], *, waits: bool = False) -> None:
    """Call a hook with the players of a node, some in each turn of the event loop. If it `waits`,
    each call ends before the next one begins, and this returns after the last one."""
    residents = node.residents.by_id

    def call(some: list[int]) -> None:
        now, ids = node.loop.now(), [id for id in some if id in residents]
        if not ids:
            return
        tracks: list[Track] = [residents[id].track for id in ids]
        tiles = [tile_at(track, now) for track in tracks]
        hook(Present(ids, tiles, [now < track.end for track in tracks]))

    all = [id for id in residents if id >= FIRST_PERSON_ID]
    parts = [all[at : at + EACH_AT_ONCE] for at in range(0, len(all), EACH_AT_ONCE)]
    if waits:
        run_in_batches(parts, 1, EACH_PAUSE_MS / 1000, call)
    else:
        node.loop.schedule_batches(parts, 1, EACH_PAUSE_MS, call)


def one_at_a_time(spawn: Callable[..., object], hook: Callable[[], object]) -> Callable[[], object]:
    """Return what calls a hook in a greenlet, unless its last call is still running."""
    running = False

    def run() -> None:
        nonlocal running
        try:
            hook()
        finally:
            running = False

    def begin() -> None:
        nonlocal running
        if not running:
            running = True
            spawn(run)

    return begin
