"""Who is online in a simulated world, and who is called gone, while stores fail or are slow.

In a quiet world the store has a row for each player in the world, and for nobody else; and whoever
was there, and is not any more, was called gone.
"""

from collections import Counter

from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.players.presence import CLAIM_MS
from flatlands.stores.base import Store
from flatlands.testkit.host import Host
from tests.server.harness import Harness
from tests.simulate.rule import Broken

#: ms after which all is right: an answer of the store that got lost leaves its item claimed.
RIGHT_WITHIN_MS = 2 * CLAIM_MS + 30_000


class Online:
    """The presence of a world whose game has it. `store` is one more store on the nodes' data."""

    def __init__(self, harness: Harness, store: Store) -> None:
        self._harness, self._store = harness, store
        #: The players who were in the world at some check, and how often each was called gone.
        self._ever: set[int] = set()
        self._calls: Counter[int] = Counter()

    def serve(self, host: Host) -> None:
        """From now on note whom a node calls gone."""

        def gone(player: int, _owner: str) -> bool:
            self._calls[player] += 1
            return True

        host.node.presence.set_gone_listener(gone)

    def check(self) -> None:
        """Raise Broken unless the rows are those of the players, and all others were called."""
        presence = self._harness.hosts[0].node.presence
        here = {
            id: host.node.id
            for host in self._harness.hosts
            for id in host.node.residents.by_id
            if id >= FIRST_PERSON_ID
        }
        rows = {int(row.id): int(row.group) for row in self._store.each(presence._rows)}
        if rows != here:
            raise Broken(f"{here} play, and the store has the rows {rows}")
        if waiting := [item.id for item in self._store.each(presence._gone)]:
            raise Broken(f"{waiting} are gone, and the game is not called")
        if missed := [id for id in self._ever - here.keys() if not self._calls[id]]:
            raise Broken(f"{missed} have gone, and the game was not called")
        for id in here:
            # It may go again.
            self._calls[id] = 0
        self._ever |= here.keys()
