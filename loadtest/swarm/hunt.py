"""The parts of a run in which bots hunt gems: what the store has before and after it, and the board
before and after a restart of the server.

gems.py judges. It never speaks to the swarm's processes: run.py does.
"""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.swarm import store as stores
from flatlands.loadtest.swarm.gems import Gems, account, differences
from flatlands.loadtest.swarm.hunter import Content, Square
from flatlands.loadtest.swarm.scenarios import GEMS
from flatlands.loadtest.swarm.store import Stored
from flatlands.loadtest.swarm.target import Target, started
from flatlands.loadtest.swarm.visitor import Visitor

#: Seconds within which all screens show what the store has, once all bots stand. A worker may have
#: been killed after it changed the store and before it told the others: they read each square once
#: a minute.
AGREE_WITHIN, AGREE_AFTER_DEATH = 10.0, 70.0

#: Seconds between two looks at the screens.
PAUSE = 1.0

#: Seconds that a server may take to stop.
STOP_WITHIN = 60.0

#: Bots whose view of the board is compared, besides those with the most gems.
OTHERS = 3

#: What bots believe to lie where, and how many do.
Screens = Mapping[tuple[Square, Content], int]


class Hunt:
    """See the module. `before` and `after` are what the store has, None if it cannot be read."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._reads = stores.can_be_read(target.store)
        self.before = self._read()
        self.after: Stored | None = None
        self._agreed = 0.0
        self._wrong = 0

    def _read(self) -> Stored | None:
        return stores.read(self._target.store) if self._reads else None

    def settle(
        self,
        look: Callable[[], tuple[Screens, int]],
        wait: Callable[[float], None],
        *,
        deaths: bool,
    ) -> None:
        """Wait until all screens show what the store has, and keep that.

        `look` returns what is on all screens, and a square's span in units; `wait` waits for some
        seconds. `deaths`: workers were killed.
        """
        if not self._reads:
            return
        began = time.monotonic()
        while True:
            screens, span = look()
            self.after = after = self._read()
            assert after is not None
            self._agreed = time.monotonic() - began
            self._wrong = differences(screens, after, span)
            within = AGREE_AFTER_DEATH if deaths else AGREE_WITHIN
            if not self._wrong and not after.torn or self._agreed > within:
                return
            wait(PAUSE)

    def judge(self, reports: Sequence[dict[str, Any]]) -> Gems:
        """Return the account of the run."""
        found = account(reports, self.before, self.after, GEMS)
        found.agreed, found.wrong_screens = round(self._agreed, 1), self._wrong
        return found

    def restart(
        self,
        found: Gems,
        reports: Sequence[dict[str, Any]],
        stack: contextlib.ExitStack,
        **server: Any,
    ) -> None:
        """Compare the board with that after a restart of the server, and note it in `found`.

        `server` are the arguments of `target.started`. Raises Trouble.
        """
        target = self._target
        assert target.program is not None
        hunters = {name: h for report in reports for name, h in report["hunters"].items()}
        ranked = sorted(hunters, key=lambda name: len(hunters[name]["taken"]), reverse=True)
        keys = {name: hunters[name]["key"] for name in (*ranked[:OTHERS], *ranked[-OTHERS:])}
        before = _boards(target, keys)
        target.program.process.terminate()
        if not target.program.wait(STOP_WITHIN):
            raise Trouble(f"the server does not stop within {STOP_WITHIN:.0f} s")
        again = stack.enter_context(started(port=target.address[1], store=target.store, **server))
        after = _boards(again, keys)
        found.restarted = True
        for name in keys:
            if before[name] != after[name]:
                found.changed_board += 1
                found.examples.append(f"{name} saw {before[name]}, then {after[name]}")
        if self.after is not None and before:
            found.check_board(next(iter(before.values())), self.after)


def _boards(target: Target, keys: Mapping[str, str]) -> dict[str, list[Any]]:
    """Return the board as players of these names are shown it: (gems, place, of, top)."""
    found = {}
    try:
        for name, key in keys.items():
            with Visitor(target.address) as visitor:
                found[name] = visitor.hello(name=name).board(key)
                visitor.close(1000)
    except OSError as error:
        raise Trouble(f"the server does not show the board: {error}") from error
    return found
