"""Who plays in the whole world, and who has gone, even if its node has died.

Only games with `presence = True` use this. Each node has one row in the store for each of its
players, in a group that is named after the node, and holds a lease for these rows: an item that it
renews every second. A node that takes a player over replaces its row.

Whoever removes a row puts, in the same step, an item into the queue of those who have gone. A node
claims it, calls the game, and only then removes it: so the game is called again, at another node,
if the one that called it has died.

If a lease has ended, another node claims it. It waits, since players of a dead node come back at
other nodes; it asks all nodes for those who have not; and it removes the rows of those whom nobody
has. Rows of players who were passed on, and whom their next node has not written, end likewise.
"""

import itertools
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Final, NamedTuple

import msgpack

from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import (
    PRESENCE_PLAYERS_MOST,
    PresenceAnswer,
    PresenceQuery,
    pack,
)
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.players.resident import incarnation
from flatlands.server.players.residents import Residents
from flatlands.server.storage.client import StoreClient, StoreUnavailable
from flatlands.stores.base import CALL_ITEMS_MOST, NEVER_DUE_MS, Item, Store, Swap

#: The names of the queues in the store begin with these: the rows, the leases of the nodes, and
#: those who have gone.
ROWS_QUEUE: Final = "online"
LEASES_QUEUE: Final = "online nodes"
GONE_QUEUE: Final = "gone"

#: Time between two turns. A row may be that late.
TURN_MS: Final = 1000

#: How long a node's lease lasts, after each turn.
NODE_LEASE_MS: Final = 5000

#: How long a node that claims the lease of a dead one, or somebody who has gone, may take.
CLAIM_MS: Final = 30_000

#: How long after the death of its node, or after it was passed on, a player may come back.
ABSENT_MS: Final = 10_000

#: How long all nodes have to say which of the players that were asked for they have.
ANSWERS_MS: Final = 500

#: How many of those who have gone are claimed in a turn, and how often the game is called for one
#: of them if it fails.
GONE_AT_ONCE: Final = 50
CALLS_MOST: Final = 5


class _PlayerRow(NamedTuple):
    """A player's row in the store: its node, its incarnation, and its owner. `term` grows when the
    node writes all its rows again, so that nobody removes them as they were before."""

    node: int
    incarnation: int
    owner: str
    term: int


class _Gone(NamedTuple):
    """An item in the queue of players who have gone: the player, its owner, the id of the item, and
    how often it was claimed."""

    player: int
    owner: str
    item: str
    calls: int


class _Found(NamedTuple):
    """The result of a look into the store: the nodes that have died, each with the rows of its
    players, and the players who have gone."""

    dead: list[tuple[str, dict[int, _PlayerRow]]]
    gone: list[_Gone]


class Presence:
    """Keeps the rows of this node's players, and finds those of nodes that have died. `spawn`
    begins a greenlet. `set_gone_listener` must be called before `start`."""

    def __init__(
        self,
        bus: Bus,
        residents: Residents,
        store_client: StoreClient,
        spawn: Callable[..., object],
    ) -> None:
        self._bus = bus
        self._node = bus.node
        self._loop = bus.loop
        self._residents = residents
        self._store_client = store_client
        self._spawn = spawn
        #: The names of its queues in the store.
        self._rows = self._leases = self._gone = ""
        #: The players of this node who have come, gone or got an owner since the last turn.
        self._changed: set[int] = set()
        #: Those of them who have left the game here, with the rows that they would have now.
        self._left: dict[int, _PlayerRow] = {}
        #: The rows that this node has written and not removed, by the players' ids.
        self._written: dict[int, _PlayerRow] = {}
        #: Those that it has tried to write when the store did not answer: they may be there or not.
        self._uncertain: dict[int, _PlayerRow] = {}
        #: Players who have such a row and are not here, though they have not left here -> since
        #: when, or when they were last looked for.
        self._absent: dict[int, int] = {}
        #: The owners of this node's players; owner -> the ids of that person's players.
        self._owners: dict[int, str] = {}
        self._players: dict[str, set[int]] = {}
        self._enabled = self._turning = False
        #: When the turn began that has last renewed the lease, and how often this node has written
        #: all its rows because that was long ago.
        self._renewed_at = self._term = 0
        self._nonces = itertools.count(1)
        #: The questions that wait for answers -> the players whom nobody has yet.
        self._asked: dict[int, set[int]] = {}
        self._gone_listener: Callable[[int, str], bool]

    def set_gone_listener(self, gone: Callable[[int, str], bool]) -> None:
        """Call `gone` with the id and the owner of each player who has gone. It may wait, and
        returns whether it succeeded."""
        self._gone_listener = gone

    def start(self, game_name: str) -> None:
        """Begin to write rows, and to look for those who have gone. `game_name` is the name of the
        game in the store."""
        world = f"{game_name} {self._bus.channels.ground_id}"
        self._rows, self._leases = f"{ROWS_QUEUE} {world}", f"{LEASES_QUEUE} {world}"
        self._gone = f"{GONE_QUEUE} {world}"
        self._enabled = True
        if self._store_client.store is not None:
            self._loop.every(TURN_MS, self._turn)

    def player_changed(self, id: int) -> None:
        """Note that a player has come here, has gone, or has another owner."""
        if not self._enabled or id < FIRST_PERSON_ID:
            return
        self._changed.add(id)
        resident, last = self._residents.by_id.get(id), self._residents.departed.get(id)
        before, owner = self._owners.pop(id, ""), "" if resident is None else resident.owner
        if resident is not None:
            self._left.pop(id, None)
        elif last is not None:
            self._left[id] = _PlayerRow(self._node, incarnation(last[0]), before, self._term)
        if owner:
            self._owners[id] = owner
        if before != owner:
            self._drop_owner(before, id)
            if owner:
                if owner not in self._players:
                    self._bus.subscribe(self._bus.channels.owner(owner))
                self._players.setdefault(owner, set()).add(id)

    def _drop_owner(self, owner: str, id: int) -> None:
        players = self._players.get(owner, set())
        players.discard(id)
        if owner and not players:
            del self._players[owner]
            self._bus.unsubscribe(self._bus.channels.owner(owner))

    def players_of(self, owner: str) -> list[int]:
        """Return the ids of this node's players that belong to a person."""
        return list(self._players.get(owner, ()))

    # What a game asks for.

    def count(self) -> int:
        """Return how many play in the world; without a store, at this node. It waits for the store.
        Raises StoreUnavailable."""
        if self._store_client.store is None:
            return sum(id >= FIRST_PERSON_ID for id in self._residents.by_id)
        return self._store_client.wait(lambda store: store.count(self._rows))

    def is_online(self, player: int) -> bool:
        """Return whether a player plays in the world; without a store, at this node. It waits for
        the store. Raises StoreUnavailable."""
        if player in self._residents.by_id or self._store_client.store is None:
            return player in self._residents.by_id
        return bool(self._store_client.wait(lambda store: store.get(self._rows, [str(player)])))

    # A turn.

    def _turn(self) -> None:
        """Bring the store up to date, unless the last turn still waits for it."""
        if self._turning:
            return
        now, here = self._loop.now(), self._residents.by_id
        if now - self._renewed_at >= NODE_LEASE_MS:
            # Another node may have taken this one for dead, and removed its rows.
            self._term += 1
            self._changed.update(here)
        changed, self._changed = self._changed, set()
        new = {
            id: _PlayerRow(self._node, incarnation(here[id].seq), here[id].owner, self._term)
            for id in changed
            if id in here and id >= FIRST_PERSON_ID
        }
        left, self._left = self._left, {}
        mine = {**self._written, **self._uncertain}
        missing = [id for id in changed if id not in here and id in mine]
        self._absent.update((id, now) for id in missing if id not in left)
        late = [id for id, since in self._absent.items() if now - since >= ABSENT_MS]
        if late:
            self._absent.update(dict.fromkeys(late, now))
            self._look_for({id: mine[id] for id in late})
        self._turning = True
        self._store_client.ask(
            lambda store: self._bring_up_to_date(store, new, left),
            lambda found: self._up_to_date(now, found, new, left),
            lambda: self._failed(changed, new, left),
        )

    def _bring_up_to_date(
        self, store: Store, new: dict[int, _PlayerRow], left: dict[int, _PlayerRow]
    ) -> _Found:
        """Renew the lease, write `new` rows, and remove those of players who have left here."""
        store.replace(self._leases, Item(str(self._node), NODE_LEASE_MS, "", b""))
        there = self._read(store, left)
        # Some came and left since the last turn.
        brief = {
            id: row
            for id, row in left.items()
            if id not in self._written
            and (id not in there or there[id].incarnation <= row.incarnation)
        }
        self._write(store, {**new, **brief})
        self._remove(store, {**self._rows_of_this_node(there, left), **brief})
        dead = [
            (lease.id, {int(row.id): _PlayerRow(*msgpack.unpackb(row.body)) for row in rows})
            for lease in store.claim(self._leases, 1, CLAIM_MS)
            for rows in [store.group(self._rows, lease.id)]
        ]
        claimed = store.claim(self._gone, GONE_AT_ONCE, CLAIM_MS)
        gone_now = [
            _Gone(int(one.id.partition(" ")[0]), one.body.decode(), one.id, one.tries)
            for one in claimed
        ]
        return _Found(dead, gone_now)

    def _read(self, store: Store, players: Collection[int]) -> dict[int, _PlayerRow]:
        """Return the rows that the store has of some players."""
        ids, rows = list(players), dict[int, _PlayerRow]()
        for at in range(0, len(ids), CALL_ITEMS_MOST):
            some = map(str, ids[at : at + CALL_ITEMS_MOST])
            for id, item in store.get(self._rows, some).items():
                rows[int(id)] = _PlayerRow(*msgpack.unpackb(item.body))
        return rows

    def _rows_of_this_node(
        self, there: dict[int, _PlayerRow], rows: dict[int, _PlayerRow]
    ) -> dict[int, _PlayerRow]:
        """Return those of the rows `there` that this node has written, and that are no newer than
        the player's in `rows`. Their terms may differ from those that this node knows, if the store
        did not answer when it wrote them."""
        return {
            id: row
            for id, row in there.items()
            if row.node == self._node and row.incarnation <= rows[id].incarnation
        }

    def _write(self, store: Store, rows: dict[int, _PlayerRow]) -> None:
        """Put these rows in place of those that other nodes have written."""
        left = dict(rows)
        while left:
            some = list(left)[:CALL_ITEMS_MOST]
            before = store.get(self._rows, map(str, some))
            swaps = []
            for id in some:
                old = before.get(str(id))
                item = Item(str(id), NEVER_DUE_MS, str(self._node), msgpack.packb(left[id]))
                swaps.append(Swap(None if old is None else old.body, item))
            for id, done in zip(some, store.swap(self._rows, swaps), strict=True):
                if done:
                    del left[id]

    def _remove(self, store: Store, rows: dict[int, _PlayerRow]) -> None:
        """Remove those of these rows that nobody has replaced: their players have gone."""
        for id, row in rows.items():
            gone = Item(f"{id} {row.incarnation} {row.term}", 0, "", row.owner.encode())
            store.take(self._rows, str(id), [(self._gone, gone)], only=msgpack.packb(row))

    def _up_to_date(
        self, asked: int, found: _Found, new: dict[int, _PlayerRow], left: Iterable[int]
    ) -> None:
        self._turning, self._renewed_at = False, asked
        self._written.update(new)
        for id in new:
            self._absent.pop(id, None)
            self._uncertain.pop(id, None)
        self._forget(left)
        for node, rows in found.dead:
            self._later(ABSENT_MS - NODE_LEASE_MS, partial(self._look_for, rows, node))
        if found.gone:
            self._ask_nodes([one.player for one in found.gone], partial(self._call_all, found.gone))

    def _failed(
        self, changed: set[int], new: dict[int, _PlayerRow], left: dict[int, _PlayerRow]
    ) -> None:
        self._turning = False
        self._uncertain.update(new)
        self._changed |= changed
        again = {id: row for id, row in left.items() if id not in self._residents.by_id}
        self._left = {**again, **self._left}

    def _forget(self, ids: Iterable[int]) -> None:
        """Forget rows that are removed. Whoever is back by then gets another one."""
        for id in ids:
            self._written.pop(id, None)
            self._uncertain.pop(id, None)
            self._absent.pop(id, None)
            if id in self._residents.by_id:
                self._changed.add(id)

    def _later(self, ms: int, do: Callable[[], None]) -> None:
        self._loop.timer(do).set(self._loop.now() + ms)

    # Those whose node has died, or has passed them on.

    def _look_for(self, rows: dict[int, _PlayerRow], node: str | None = None) -> None:
        """Remove the rows of those players whom no node has; then end the lease of the dead node
        that had them, if that is given."""

        def answered(absent: list[int]) -> None:
            gone = {id: rows[id] for id in absent}
            self._store_client.ask(lambda store: remove_absent(store, gone), lambda _none: done())

        def remove_absent(store: Store, gone: dict[int, _PlayerRow]) -> None:
            if node is None:
                there = self._read(store, gone)
                self._remove(store, self._rows_of_this_node(there, gone))
            else:
                self._remove(store, gone)
                store.done(self._leases, [node])

        def done() -> None:
            # If the store fails, the lease ends once more, and the absent are looked for again.
            if node is None:
                self._forget(rows)

        self._ask_nodes(list(rows), answered)

    def _ask_nodes(self, players: list[int], answered: Callable[[list[int]], None]) -> None:
        """Call `answered` with those of these players whom no node has, when all had time to
        answer."""
        nonces = []
        for at in range(0, len(players), PRESENCE_PLAYERS_MOST):
            nonces.append(nonce := next(self._nonces))
            some = players[at : at + PRESENCE_PLAYERS_MOST]
            self._asked[nonce] = set(some)
            self._bus.to_all(pack(PresenceQuery(self._node, nonce, some)))

        def found() -> None:
            absent = [id for nonce in nonces for id in self._asked.pop(nonce)]
            answered([id for id in absent if id not in self._residents.by_id])

        self._later(ANSWERS_MS, found)

    def on_presence_query(self, query: PresenceQuery) -> None:
        """Answer another node that asks for players, if some are here."""
        here = [id for id in query.players if id in self._residents.by_id]
        if here and query.node != self._node:
            answer = PresenceAnswer(self._node, query.node, query.nonce, here)
            self._bus.to_node(query.node, pack(answer))

    def on_presence_answer(self, answer: PresenceAnswer) -> None:
        """Note which players another node has, if it answers this one."""
        if answer.to == self._node and answer.nonce in self._asked:
            self._asked[answer.nonce].difference_update(answer.players)

    # Those who have gone.

    def _call_all(self, gone: list[_Gone], absent: list[int]) -> None:
        """Call the game for those who have gone, and whom no node has."""
        for one in gone:
            self._spawn(self._call, one, one.player not in absent)

    def _call(self, gone: _Gone, back: bool) -> None:
        """Call the game for somebody who has gone, unless that player is `back`, until that has
        succeeded, or has failed CALLS_MOST times."""
        try:
            back = back or self.is_online(gone.player)
        except StoreUnavailable:
            return
        if back or self._gone_listener(gone.player, gone.owner) or gone.calls >= CALLS_MOST:
            self._store_client.ask(
                lambda store: store.done(self._gone, [gone.item]), lambda _count: None
            )
