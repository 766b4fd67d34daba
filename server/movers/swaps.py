"""Decides what is done to movers that only their node has: compare-and-swap, over the network.

Whoever wants to take or change such a mover asks the node that moves it, on the mover's channel,
and asks again if no answer comes. That node decides in the order in which it is asked, so of all
who take one, one is told that it has it, at most.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from gevent.event import AsyncResult

from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import MoverSwap, MoverSwapped, pack
from flatlands.server.runtime.timers import TimerQueue

#: How long an answer is waited for, and the time after which it is asked for again.
SWAP_MS: Final = 1000
TRY_AGAIN_MS: Final = 400

#: How long a node remembers what it has answered, lest it decide twice.
REMEMBERED_MS: Final = 2000


class SwapResult(NamedTuple):
    """Whether a swap was done, and what a mover is then: its values, or [] if it is gone."""

    done: bool
    values: Sequence[object]


#: The result if nobody has the mover.
NO_MOVER: Final = SwapResult(False, [])

#: Decides about a mover of this node, by its number, the version that was read, and its new values,
#: or [] to remove it; returns None if it is not here.
Decide = Callable[[int, int, Sequence[object]], SwapResult | None]


class Swaps:
    """Asks other nodes for swaps, and answers theirs."""

    def __init__(self, bus: Bus, decide: Decide) -> None:
        self._bus, self._loop, self._decide = bus, bus.loop, decide
        self._nonces = itertools.count(1)
        #: The swaps that wait for answers, by their nonces.
        self._asked: dict[int, tuple[MoverSwap, int, AsyncResult[SwapResult]]] = {}
        self._tries = TimerQueue(self._loop, lambda nonce, _due: self._try(nonce))
        #: What this node has answered lately, by (node, nonce), and until when that is remembered.
        self._answers: dict[tuple[int, int], SwapResult] = {}
        self._oblivion = TimerQueue(self._loop, self._forget)

    def swap(self, number: int, version: int, values: Sequence[object]) -> SwapResult:
        """Give a mover new values, or remove it if they are [], if it has this version; return
        whether that was done, and what it is then. It waits if another node moves the mover, for
        SWAP_MS at most."""
        here = self._decide(number, version, values)
        if here is not None:
            return here
        nonce, answer = next(self._nonces), self._loop.result()
        message = MoverSwap(self._bus.node, number, nonce, version, values)
        self._asked[nonce] = message, self._loop.now() + SWAP_MS, answer
        try:
            self._try(nonce)
            found: SwapResult | None = answer.get()
            assert found is not None
            return found
        finally:
            del self._asked[nonce]
            self._tries.drop(nonce)

    def _try(self, nonce: int) -> None:
        message, until, answer = self._asked[nonce]
        now = self._loop.now()
        if now >= until:
            answer.set(NO_MOVER)
        else:
            self._bus.to_player(message.player, pack(message))
            self._tries.put(nonce, min(now + TRY_AGAIN_MS, until))

    def on_mover_swap(self, message: MoverSwap) -> None:
        """Decide about a mover of this node, and answer."""
        if message.node == self._bus.node:
            return
        key = message.node, message.nonce
        if key not in self._answers:
            decided = self._decide(message.player, message.version, message.values)
            if decided is None:
                return
            self._answers[key] = decided
            self._oblivion.put(key, self._loop.now() + REMEMBERED_MS)
        result = self._answers[key]
        answer = MoverSwapped(self._bus.node, *key, result.done, result.values)
        self._bus.to_node(message.node, pack(answer))

    def _forget(self, key: tuple[int, int], _due: int) -> None:
        del self._answers[key]

    def on_mover_swapped(self, message: MoverSwapped) -> None:
        """Note the answer to a swap of this node."""
        if message.to == self._bus.node and message.nonce in self._asked:
            self._asked[message.nonce][2].set(SwapResult(message.done, message.values))
