"""The client of the store: calls it in greenlets, so that neither the event loop nor players wait.

A store that does not answer stops nothing but what needs it.
"""

import logging
from collections.abc import Callable
from typing import TypeVar

import gevent
from gevent.lock import BoundedSemaphore

from flatlands.brokers.guard import Throttle
from flatlands.server.runtime.loop import Loop
from flatlands.stores.base import Store, StoreError

log = logging.getLogger("flatlands")

#: The most operations that may wait at a time. More are not begun, as if the store did not answer.
OPERATIONS_MOST = 200

#: How long after its last failure a store counts as failing, and longer if it has written nothing
#: since. Each node writes every few seconds (cluster/split_brain.py).
FAILS_FOR_MS = 5000

#: The refusal of a player's request if the store did not answer.
UNAVAILABLE = "you cannot take or leave things right now: the server cannot reach its store"

#: The most hooks of games that may ask at a time. The others wait for their turn, and keep nobody
#: else from asking.
HOOKS_MOST = 50

_T = TypeVar("_T")


class StoreUnavailable(Exception):
    """The store does not answer: what was asked may have been done or not."""


def _ignore() -> None:
    """Do nothing."""


class StoreClient:
    """Calls the store for a node.

    `store` is None if the world has no store: then all calls fail. `spawn` begins a greenlet.
    """

    def __init__(
        self,
        store: Store | None,
        loop: Loop,
        spawn: Callable[..., object] = gevent.spawn,
    ) -> None:
        self.store = store
        self._loop = loop
        self._spawn = spawn
        #: How many operations wait for their results.
        self.waiting = 0
        #: Why the store fails, as a sentence; None if it does not.
        self.trouble: str | None = None
        #: When it failed last, in node time, and how much it had written by then.
        self._failed_at = self._had_written = 0
        self._warnings = Throttle()
        #: Whether its failure was logged.
        self._logged = False
        self._recovered_listener: Callable[[], None] = _ignore
        self._turns = BoundedSemaphore(HOOKS_MOST)
        #: The greenlets that ask for a hook.
        self._asking: set[object] = set()

    def set_recovered_listener(self, recovered: Callable[[], None]) -> None:
        """Call `recovered` when the store works again."""
        self._recovered_listener = recovered

    @property
    def identity(self) -> str:
        """The identity of the store, or "" if there is none."""
        return "" if self.store is None else self.store.identity

    def close(self) -> None:
        """Close the store, at once. Operations that wait are not done any more."""
        store, self.store = self.store, None
        if store is not None:
            store.close()

    def ask(
        self,
        operation: Callable[[Store], _T],
        answered: Callable[[_T], None],
        failed: Callable[[], None] = _ignore,
    ) -> None:
        """Call `operation` with the store in a greenlet, where it may wait, and `answered` with its
        result. If the store fails, or too many operations wait, call `failed` instead."""
        store = self._begin()
        if store is None:
            failed()
        else:
            self._spawn(self._ask, store, operation, answered, failed)

    def wait(self, operation: Callable[[Store], _T]) -> _T:
        """Call `operation` with the store, and return what it returns. Only the calling greenlet
        waits. Raises StoreUnavailable, whatever the operation raises, and RuntimeError where nobody
        may wait."""
        asking = gevent.getcurrent()
        if asking is gevent.get_hub():
            raise RuntimeError("a callback of the event loop may not wait for the store")
        if asking in self._asking:
            # Many of these would wait for each other for ever.
            raise RuntimeError("a function that the store calls may not wait for the store")
        with self._turns:
            store = self._begin()
            if store is None:
                raise StoreUnavailable(UNAVAILABLE)
            self._asking.add(asking)
            try:
                return self._answer(store, operation)
            except StoreError:
                raise StoreUnavailable(UNAVAILABLE) from None
            finally:
                self._asking.discard(asking)

    def _begin(self) -> Store | None:
        """Count an operation, and return the store to ask; None if it may not be asked."""
        if self.store is None or self.waiting >= OPERATIONS_MOST:
            self._loop.stats["store_crowded"] += self.store is not None
            return None
        self.waiting += 1
        return self.store

    def _ask(
        self,
        store: Store,
        operation: Callable[[Store], _T],
        answered: Callable[[_T], None],
        failed: Callable[[], None],
    ) -> None:
        try:
            answer = self._answer(store, operation)
        except StoreError:
            self._loop.guarded(failed)
        except Exception:
            self._loop.failed()
            self._loop.guarded(failed)
        else:
            self._loop.guarded(answered, answer)

    def _answer(self, store: Store, operation: Callable[[Store], _T]) -> _T:
        """Return the result of an operation that was counted, and note whether the store fails."""
        asked = self._loop.seconds()
        try:
            answer = operation(store)
        except StoreError as error:
            self._failed(store, str(error))
            raise
        finally:
            self.waiting -= 1
            self._loop.observe("store_call", int((self._loop.seconds() - asked) * 1e6))
        self._recovered(store)
        return answer

    def _failed(self, store: Store, trouble: str) -> None:
        if self.store is None:
            # It was closed.
            return
        self._loop.stats["store_errors"] += 1
        self.trouble, self._failed_at = trouble, self._loop.now()
        self._had_written = store.written
        if self._warnings.allows(self._failed_at / 1000):
            log.warning("store unavailable: players cannot take or leave things (%s)", trouble)
            self._logged = True

    def _recovered(self, store: Store) -> None:
        # While a disk is full, or a Redis refuses writes, what only reads is answered.
        if (
            self.trouble is None
            or self._loop.now() < self._failed_at + FAILS_FOR_MS
            or store.written == self._had_written
        ):
            return
        self.trouble = None
        if self._logged:
            log.warning("store available again")
            self._logged = False
        self._loop.guarded(self._recovered_listener)
