"""Hooks: the methods of a game that a node calls. One that fails or takes long harms nobody else.

A failure is logged with the hook's name, and counted. `on_step`, `plant`, `begin` and an `@every`
without `waits` run in the event loop and may not wait: gevent makes any that tries fail. All other
hooks run in greenlets. Those about one player run one after the other; so do those for news.
"""

import logging
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

import gevent

from flatlands.brokers.guard import Throttle
from flatlands.server.game.game_node import GameNode
from flatlands.server.messages.protocol import Refused
from flatlands.server.runtime.loop import Loop
from flatlands.server.storage.client import UNAVAILABLE, StoreUnavailable

log = logging.getLogger("flatlands")

#: A hook that takes longer than this is slow, unless it may wait.
SLOW_MS: Final = 5

#: How many kinds of errors of one hook are told apart in the log.
ERROR_KINDS: Final = 20

#: How many calls about one player may wait before no more are accepted.
CALLS_WAITING: Final = 16

#: What stands for a player's id in calls that are about none, but about news; and how many of these
#: may wait.
NEWS: Final = -1
NEWS_WAITING: Final = 1000

#: How long at most a player is not passed to another worker because its hook runs.
MIGRATION_HELD_MS: Final = 2000


class PlayerGone(Exception):
    """The player is no longer at this node: it has left, or gone on at another node."""


class Requester(Protocol):
    """A player or guest for whom a hook is called, and whose client gets the reason if it fails."""

    def refuse(self, refused: Refused) -> None:
        """Send its page a refusal."""


class Hook:
    """Calls a method of a game, and guards against its failure. A call returns what the method
    returns, or None if it fails. `name` is for the log. `waits`: the method may wait."""

    def __init__(
        self, node: GameNode, name: str, call: Callable[..., object], *, waits: bool = False
    ) -> None:
        self.name = name
        self._loop = node.loop
        self._residents = node.residents
        self._method = self._call = call
        self._waits = waits
        self._warnings = Throttle()
        #: The kinds of errors that were logged.
        self._errors: dict[str, Throttle] = {}

    def _is_new(self, error: BaseException, now: float) -> bool:
        """Return whether to log an error: none of the same kind and line was logged for a while."""
        lines = traceback.extract_tb(error.__traceback__)
        kind = f"{type(error).__name__} {lines[-1].filename} {lines[-1].lineno}"
        if kind not in self._errors and len(self._errors) >= ERROR_KINDS:
            kind = ""
        return self._errors.setdefault(kind, Throttle()).allows(now)

    def wrap(self, around: Callable[[Callable[..., object]], Callable[..., object]] | None) -> None:
        """Call what `around` makes of the method from now on; None: the method itself again."""
        self._call = self._method if around is None else around(self._method)

    def __call__(self, *arguments: object) -> Any:
        return self._run(None, arguments)

    def call_for(self, asker: Requester, *arguments: object) -> Any:
        """Call the method with the asker as its first argument."""
        return self._run(asker, (asker, *arguments))

    def _run(self, asker: Requester | None, arguments: tuple[object, ...]) -> Any:
        begun = self._loop.seconds()
        try:
            result = self._call(*arguments)
        except PlayerGone:
            # Nobody is left to get the reason, except a client that wants to come in.
            if self.name == "on_hello":
                self._refuse(asker, Refused("failed", "an error in the game prevented that", None))
            return None
        except (Exception, gevent.Timeout) as error:
            # A Timeout is not an Exception, lest somebody else's handler catch it.
            self._report(asker, error, begun)
            return None
        ms = (self._loop.seconds() - begun) * 1000
        # What is done while nobody plays, such as the first planting, keeps nobody waiting.
        if ms > SLOW_MS and not self._waits and self._residents.has_clients:
            self._loop.stats["hooks_slow"] += 1
            if self._warnings.allows(begun):
                log.warning(
                    "%s of the game took %.0f ms, during which all players waited", self.name, ms
                )
        return result

    def _report(self, asker: Requester | None, error: BaseException, begun: float) -> None:
        """Report an error that the method has raised: to the asker, or in the log."""
        if isinstance(error, Refused) and asker is not None:
            asker.refuse(error)
            return
        self._loop.stats["hooks_failed"] += 1
        # If the store does not answer, that was logged already.
        if type(error) is not StoreUnavailable and self._is_new(error, begun):
            log.exception("%s of the game failed", self.name)
        if isinstance(error, StoreUnavailable):
            self._refuse(asker, Refused("store", UNAVAILABLE, None))
        else:
            self._refuse(asker, Refused("failed", "an error in the game prevented that", None))

    def _refuse(self, asker: Requester | None, refused: Refused) -> None:
        """Refuse the asker's request, if there is an asker and the method may wait."""
        if self._waits and asker is not None:
            asker.refuse(refused)


class _Call(NamedTuple):
    """A call of a hook that waits for its turn; `then` is called once it has ended."""

    hook: Hook
    asker: Requester | None
    arguments: tuple[object, ...]
    then: Callable[[], object] | None


class _PlayerQueue:
    """The calls about one player: those that wait, and when the first of them began to run, in ms
    of node time."""

    __slots__ = ("waiting", "since")

    def __init__(self) -> None:
        self.waiting: deque[_Call] = deque()
        self.since = 0


class HookQueues:
    """Runs the hooks about each player one after the other. `spawn` begins a greenlet."""

    def __init__(self, loop: Loop, spawn: Callable[..., object]) -> None:
        self._loop = loop
        self._spawn = spawn
        self._queues: dict[int, _PlayerQueue] = {}

    def put(
        self,
        player: int,
        hook: Hook,
        asker: Requester | None,
        *arguments: object,
        then: Callable[[], object] | None = None,
    ) -> None:
        """Call a hook for a player, by its id, or for NEWS, after the calls that already wait; and
        `then`, once it has ended."""
        call = _Call(hook, asker, arguments, then)
        queue = self._queues.get(player)
        if queue is None:
            queue = self._queues[player] = _PlayerQueue()
            queue.waiting.append(call)
            self._spawn(self._run, player, queue)
        else:
            queue.waiting.append(call)

    def full(self, player: int) -> bool:
        """Return whether too many calls about a player, or for NEWS, wait to accept another one."""
        queue = self._queues.get(player)
        most = NEWS_WAITING if player == NEWS else CALLS_WAITING
        return queue is not None and len(queue.waiting) >= most

    def holds_migration(self, player: int) -> bool:
        """Return whether a hook about a player began to run a moment ago, so that the player is not
        passed to another worker yet."""
        queue = self._queues.get(player)
        return queue is not None and self._loop.now() < queue.since + MIGRATION_HELD_MS

    def _run(self, player: int, queue: _PlayerQueue) -> None:
        try:
            while queue.waiting:
                call = queue.waiting.popleft()
                queue.since = self._loop.now()
                if call.asker is None:
                    call.hook(*call.arguments)
                else:
                    call.hook.call_for(call.asker, *call.arguments)
                if call.then is not None:
                    call.then()
        finally:
            # Whatever ends this greenlet, the next call about the player begins another one.
            del self._queues[player]
