"""Which movers this node moves: those of the groups that it holds (groups.py).

A node that claims a group asks all others what they have seen last of its movers, and lets each go
on from there in a later incarnation. If two nodes move one for a while, that is settled as for all
players (players/takeovers.py). A node that does not certainly hold a group any more lets its movers
stand at the ends of their ways, until it hears of the other node.

What the next holder of a group needs, it leaves in the store. And since a node may die between two
steps, and messages may be lost, it compares its groups with the store, one after the other.
"""

import itertools
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import msgpack

from flatlands.server.messages.peer_protocol import (
    ALIVE,
    MOVER_GROUPS,
    MOVER_PATH_MOST,
    MOVER_TRACK_NUMBERS,
    MOVER_TRACKS_MOST,
    TrackAnswer,
    TrackQuery,
    pack,
)
from flatlands.server.messages.protocol import FIRST_UNSTORED_ID
from flatlands.server.movers.groups import GroupClaim, MoverGroups
from flatlands.server.movers.hosting import (
    HostedMover,
    Hosting,
    MoverHooks,
    MoverNode,
)
from flatlands.server.players.resident import INCARNATION, Resident, State, next_incarnation
from flatlands.server.players.spots import Position
from flatlands.server.players.takeovers import ANNOUNCE_EVERY_MS
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.storage.items import Items, mover_group
from flatlands.server.storage.kinds import Mover, Way
from flatlands.stores.base import BODY_BYTES_MOST, Item, Store
from flatlands.world.grid import Square
from flatlands.world.track import Track, stand

log = logging.getLogger("flatlands")

#: How long the other nodes have to say what they have seen of the movers of a claimed group.
TRACK_ANSWERS_MS: Final = 300

#: ms after which movers are removed whose groups other nodes have, but do not move.
REMOVED_AFTER_MS: Final = 10_000

#: Of the groups of a node, where so many movers are is written in one turn: a third, and no more
#: bytes than these.
SHARE_A_TURN: Final = 3
BYTES_A_TURN: Final = 100_000

#: How many places of each way are kept, if more do not fit into an item of the store.
WAYS_KEPT: Final = (MOVER_PATH_MOST, 16, 8, 4, 2, 1, 0)

#: Of movers that are adopted, so many begin at a time, and the others so many ms later each; they
#: are announced so many times, so often.
ADOPTED_AT_ONCE: Final = 100
ADOPTED_EVERY_MS: Final = 10
ANNOUNCED_TIMES: Final = 5

#: Movers of groups that other nodes hold are announced so often.
LOST_ANNOUNCED_EVERY_MS: Final = 2000

#: One group a turn is compared with the store.
COMPARE_EVERY_MS: Final = 1000


class _Stored(NamedTuple):
    """What the last holder of a group has left of a mover: its track, and the rest of its way."""

    track: Track
    path: tuple[Position, ...]


class _Seen(NamedTuple):
    """What a node has seen last of a mover: its seq, the square in which it was published, and its
    track."""

    seq: int
    square: Square
    track: Track


class _Claimed(NamedTuple):
    """Groups that were claimed, their items in the store, and what was seen of their movers, by
    their numbers."""

    claims: Sequence[GroupClaim]
    items: Sequence[Item]
    seen: dict[int, _Seen]


class Adoption:
    """Holds groups, and moves the movers in them. `name` is that of the game in the store."""

    def __init__(
        self, node: MoverNode, name: str, items: Items, hosting: Hosting, hooks: MoverHooks
    ) -> None:
        self._bus, self._loop = node.bus, node.bus.loop
        self._peers, self._residents, self._takeovers = node.peers, node.residents, node.takeovers
        self._subscriptions, self._clock = node.subscriptions, node.world_clock
        self._items, self._hosting, self._hooks = items, hosting, hooks
        queue = f"lease movers {name} {node.bus.channels.ground_id}"
        self.groups = MoverGroups(queue, node.store_client, self._loop, self._living, self)
        self._removes_lost = self._loop.timer(self._remove_lost)
        self._nonces = itertools.count(1)
        self._claimed: dict[int, _Claimed] = {}
        self._adopting = TimerQueue(self._loop, self._adopt)
        #: Group -> the bytes that were last written of it; the groups that are written next, and
        #: the one that was compared last.
        self._written: dict[int, bytes] = {}
        self._turn: list[int] = []
        self._compared = 0

    def start(self) -> None:
        """Begin to claim groups."""
        self.groups.start()
        self._loop.every(COMPARE_EVERY_MS, self._compare)

    def _living(self) -> int:
        return 1 + sum(peer.state == ALIVE and peer.moves for peer in self._peers.peers.values())

    def host_new(self, mover: Mover) -> None:
        """Move a new mover of a group that this node holds, unless it is here."""
        if self._hosting.here(mover.number) is None:
            self._hosting.host_new(mover, self._seq_for(mover.number, -1))

    def _seq_for(self, number: int, seen: int) -> int:
        """Return a seq for a mover of a group of this node, above those that any node knows: `seen`
        is what others have said."""
        left = self._residents.departed.get(number, (-1, None))[0]
        known = max(left, self._subscriptions.seq(number), seen)
        return max(
            self.groups.terms.get(number % MOVER_GROUPS, 0) * INCARNATION, next_incarnation(known)
        )

    # What the store has.

    def _compare(self) -> None:
        """Compare the next group of this node with the store."""
        held = [group for group in sorted(self.groups.terms) if self.groups.valid(group)]
        if held:
            self._compared = next((group for group in held if group > self._compared), held[0])
            self._compare_group(self._compared)

    def _compare_group(self, group: int) -> None:
        """Let the movers of a group be here as they are in the store."""
        asked = self._hosting.turn()

        def answered(items: list[Item]) -> None:
            if not self.groups.valid(group) or self._is_adopted(group):
                return
            there = {item.id: item for item in items}
            [movers] = self._hosting.stored([group]).values()
            ids = [f"{one.kind.__name__}:{one.resident.id}" for one in movers]
            self.compare_with(ids, asked, there)
            for id in there.keys() - set(ids):
                read = self._items.read_thing(id, there[id].body)
                if read is not None and isinstance(read[0], Mover):
                    self.host_new(read[0])

        self._items.ask(lambda store: store.group(self._items.queue, mover_group(group)), answered)

    def _is_adopted(self, group: int) -> bool:
        """Return whether a group was claimed, and its movers are not here yet."""
        return any(c.group == group for one in self._claimed.values() for c in one.claims)

    def compare_with(self, ids: Iterable[str], asked: int, found: Mapping[str, Item]) -> None:
        """Show movers of this node as they were in the store after a turn."""
        for id in ids:
            hosted = self._hosting.here(int(id.partition(":")[2]))
            if hosted is None:
                continue
            item = found.get(id)
            read = None if item is None else self._items.read_thing(item.id, item.body)
            if read is not None and isinstance(read[0], Mover):
                self._hosting.show(hosted, read[0])
            elif item is None and hosted.since < asked:
                self._hosting.remove(hosted)

    # What other nodes have seen.

    def on_track_query(self, query: TrackQuery) -> None:
        """Answer a node that has claimed groups what was last seen here of their movers."""
        if query.node == self._bus.node:
            return
        groups, some = set(query.groups), list[int]()
        for id, seen in self._seen(groups):
            track = seen.track
            some += (id, seen.seq, *seen.square, track.x, track.y, track.dx, track.dy)
            some += (track.start, track.duration)
        most = MOVER_TRACKS_MOST * MOVER_TRACK_NUMBERS
        for at in range(0, len(some), most):
            head = self._bus.node, query.node, query.nonce, self._loop.now()
            self._bus.to_node(query.node, pack(TrackAnswer(*head, some[at : at + most])))

    def _seen(self, groups: Collection[int]) -> Iterator[tuple[int, _Seen]]:
        """Yield what this node has seen last of the stored movers of groups, with their numbers."""
        for id, square, player in self._subscriptions.players():
            if id < FIRST_UNSTORED_ID and id % MOVER_GROUPS in groups:
                yield id, _Seen(player.seq, square, player.track)

    def on_track_answer(self, answer: TrackAnswer) -> None:
        """Note what another node has seen."""
        adoption = self._claimed.get(answer.nonce)
        if adoption is None or answer.to != self._bus.node:
            return
        offset, numbers = self._peers.note_message(answer.node, answer.sent), answer.seen
        for at in range(0, len(numbers), MOVER_TRACK_NUMBERS):
            id, seq, column, row, *track, start, lasts = numbers[at : at + MOVER_TRACK_NUMBERS]
            x, y, dx, dy = track
            seen = _Seen(seq, (column, row), Track(x, y, dx, dy, start + offset, lasts))
            if id not in adoption.seen or adoption.seen[id].seq < seq:
                adoption.seen[id] = seen

    # What the groups ask for.

    def may_hold(self) -> bool:
        """Return whether others would see what this node moves."""
        return self._peers.state == ALIVE and self._peers.broker_up

    def tell(self, shares: bool) -> None:
        """Tell the other nodes, by the next heartbeat, whether this node shares groups."""
        self._peers.moves = shares

    def bodies(self, groups: Collection[int], *, all: bool) -> dict[int, bytes | None]:
        """Return where the movers of groups are, for the next holder, or None; see GroupHolder."""
        some = set(groups)
        if not all:
            self._turn = [group for group in self._turn if group in some] or sorted(some)
            some.clear()
            size = 0
            for group in self._turn[: -(-len(groups) // SHARE_A_TURN)]:
                if size < BYTES_A_TURN:
                    some.add(group)
                    size += len(self._written.get(group, b""))
            self._turn = self._turn[len(some) :]
        found: dict[int, bytes | None] = dict.fromkeys(groups)
        # Those that were just claimed are not here yet: what the last holder has left stays.
        movers_of = self._hosting.stored([one for one in some if not self._is_adopted(one)])
        for group, movers in movers_of.items():
            body = self._packed(movers)
            if all or body != self._written.get(group):
                found[group] = self._written[group] = body
        return found

    def not_written(self) -> None:
        """Write all groups again."""
        self._written.clear()

    def _packed(self, movers: Sequence[HostedMover]) -> bytes:
        """Pack where movers are, and what is left of their ways. If that is too long, the ends of
        the longest ways are left out, and at last where in their legs the movers are."""
        packed = b""
        for most in WAYS_KEPT:
            packed = msgpack.packb([self._row(hosted, most) for hosted in movers])
            if len(packed) <= BODY_BYTES_MOST:
                break
        return packed

    def _row(self, hosted: HostedMover, most: int) -> list[Any]:
        """Return where a mover is, and `most` places of its way; or only one of them, and not its
        track, if that is 0."""
        now, track, way = self._loop.now(), hosted.resident.track, hosted.path[: most or 1]
        row: list[Any] = [hosted.resident.id, *track.at(now)]
        if track.end > now and most:
            start = track.start + self._clock.now() - now
            row = [row[0], track.x, track.y, track.dx, track.dy, start, track.duration]
        return [*row, Way(tuple(way)).flat()]

    def read(self, store: Store, claims: Sequence[GroupClaim]) -> list[Item]:
        """Return the items of the movers of groups."""
        self._items.learn(store)
        return store.group(self._items.queue, *[mover_group(claim.group) for claim in claims])

    def begin(self, claims: Sequence[GroupClaim], found: list[Item]) -> None:
        """Move the movers of these groups, once the other nodes could say where they are."""
        nonce = next(self._nonces)
        self._claimed[nonce] = _Claimed(claims, found, {})
        wait = 0
        if self._peers.peers and found:
            wait = TRACK_ANSWERS_MS
            query = TrackQuery(self._bus.node, nonce, [claim.group for claim in claims])
            self._bus.to_all(pack(query))
        self._adopting.put(nonce, self._loop.now() + wait)

    def lost(self, groups: Collection[int]) -> None:
        """Keep the movers of groups until the other nodes have them."""
        for group in groups:
            self._written.pop(group, None)
        self._removes_lost.set(self._loop.now() + REMOVED_AFTER_MS)
        # A node that has them may have announced it when this one could not hear it.
        tries = REMOVED_AFTER_MS // LOST_ANNOUNCED_EVERY_MS
        self._loop.schedule_batches(
            [list(groups)] * tries, 1, LOST_ANNOUNCED_EVERY_MS, self._announce_lost
        )

    def _announce_lost(self, groups: Collection[int]) -> None:
        """Announce those movers of groups that are still here, though other nodes hold these."""
        lost = [group for group in groups if group not in self.groups.terms]
        for movers in self._hosting.stored(lost).values():
            self._takeovers.announce([hosted.resident.id for hosted in movers])

    def _adopt(self, nonce: int, _due: int) -> None:
        """Move the movers of groups that were claimed."""
        adoption = self._claimed[nonce]
        terms = {claim.group: claim.term for claim in adoption.claims}
        stored: dict[int, _Stored] = {}
        for claim in adoption.claims:
            stored |= self._places(claim.body)
        seen, there = adoption.seen, dict[int, Mover]()
        for id, here in self._seen(terms):
            if id not in seen or seen[id].seq <= here.seq:
                seen[id] = here
        for item in adoption.items:
            read = self._items.read_thing(item.id, item.body)
            if read is not None and isinstance(read[0], Mover):
                there[read[0].number] = read[0]

        def holds(number: int) -> bool:
            group = number % MOVER_GROUPS
            return group in terms and self.groups.terms.get(group) == terms[group]

        def begin(number: int) -> None:
            if not holds(number):
                return
            if number in there:
                self._adopt_one(there[number], stored.get(number), seen.get(number))
            elif self._hosting.here(number) is None:
                self._publish_gone(number, seen[number])

        def end() -> None:
            del self._claimed[nonce]
            announce, every = self._takeovers.announce, ANNOUNCE_EVERY_MS
            self._loop.schedule_batches([list(there)] * ANNOUNCED_TIMES, 1, every, announce)
            # While the others were asked, somebody may have taken one.
            self._loop.schedule_batches(list(terms), 1, ADOPTED_EVERY_MS, self._compare_group)

        steps: list[Callable[[], None]] = [partial(begin, number) for number in there]
        steps += [partial(begin, number) for number in seen.keys() - there.keys()]
        steps.append(end)
        self._loop.stats["movers_adopted"] += len(there)
        self._loop.schedule_batches(steps, ADOPTED_AT_ONCE, ADOPTED_EVERY_MS, lambda step: step())

    def _adopt_one(self, mover: Mover, stored: _Stored | None, seen: _Seen | None) -> None:
        """Move a mover of a group that was claimed."""
        number, now = mover.number, self._loop.now()
        seq = self._seq_for(number, -1 if seen is None else seen.seq)
        hosted = self._hosting.here(number)
        if hosted is not None:
            # It may have been at another node meanwhile.
            hosted.resident.seq = max(seq, hosted.resident.seq)
            self._residents.renew(hosted.resident)
            self._hosting.show(hosted, mover)
            self._hosting.plan(hosted)
            return
        tracks = [] if stored is None else [stored.track]
        tracks += [] if seen is None else [seen.track]
        track = max(tracks, key=lambda track: track.start, default=None)
        path = () if stored is None else stored.path
        if track is None:
            # Nobody has moved it yet.
            self.host_new(mover)
            return
        # What is left of its way begins with where this leg leads, or after that.
        end = track.at(track.end)
        if end in path:
            path = path[path.index(end) :]
        elif track.end > now:
            path = (end, *path)
        square = None if seen is None else seen.square
        hosted = self._hosting.host(mover, seq, track.at(now), Way(path=path), square)
        self._hooks.adopted(self._hosting.view_of(hosted))

    def _publish_gone(self, number: int, seen: _Seen) -> None:
        """Let a mover that the store does not have any more vanish from all screens."""
        seq = next_incarnation(seen.seq)
        state = State(number, seq, "", seen.track, seen.square, seen.track.start)
        self._residents.publish_gone(Resident(self._bus.node, state))

    def _places(self, body: bytes) -> dict[int, _Stored]:
        """Return what a holder of a group has left; nothing if that cannot be read."""
        try:
            return self._unpacked(body)
        except (ValueError, TypeError) as error:
            # Whoever reaches the store may have put anything there.
            log.warning("unreadable places of movers: they begin anew (%s)", error)
            return {}

    def _unpacked(self, body: bytes) -> dict[int, _Stored]:
        """Return what a holder of a group has left."""
        found = dict[int, _Stored]()
        ahead = self._clock.now() - self._loop.now()
        for id, x, y, *rest in msgpack.unpackb(body) if body else ():
            *moving, flat = rest
            track = stand(x, y, 0)
            if moving:
                dx, dy, start, duration = moving
                track = Track(x, y, dx, dy, start - ahead, duration)
            found[id] = _Stored(track, Way.of((), flat).path)
        return found

    def _remove_lost(self) -> None:
        """Remove the movers of groups that other nodes have, but do not move."""
        elsewhere = set(range(MOVER_GROUPS)) - self.groups.terms.keys()
        for movers in self._hosting.stored(elsewhere).values():
            for hosted in movers:
                self._hosting.remove(hosted)
