"""What the tests of gems and of cairns share: harnesses whose nodes have a store."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flatlands.stores.base import Store, StoreError
from flatlands.stores.registry import open_store
from tests.server.harness import Harness, Rules

KEY = "0123456789abcdef"

#: Gems that were taken lie somewhere else after 0.1 to 0.3 s, or not during a test.
QUICK, SLOW = Rules(per_cell=3, pause=0.2), Rules(per_cell=3, pause=10**4)


class Broken:
    """Stands for a node's store that cannot be reached."""

    identity, written = "broken", 0

    def __getattr__(self, name: str) -> Callable[..., None]:
        def fail(*_arguments: object, **_more: object) -> None:
            raise StoreError("the disk is full")

        return fail


@contextmanager
def worlds(url: str) -> Iterator[Callable[..., Harness]]:
    """Yield a function that starts a harness whose nodes all share a world in a store."""
    opened: list[Store] = []

    def start(nodes: int = 1, rules: Rules = SLOW, **more: Any) -> Harness:
        name = uuid.uuid4().hex

        def opens() -> Store:
            opened.append(open_store(url, name))
            return opened[-1]

        return Harness(nodes=nodes, rules=rules, stores=opens, **more)

    yield start
    for store in opened:
        store.close()
