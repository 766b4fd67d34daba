"""Takes over players who come back at this node, and hands over those who come back at another.

A client that shows a player's token is that player, so the node that has the player hands it over
to any node that asks. No player is at two nodes for long: if two nodes find that both have it, the
one with the higher incarnation keeps it, or, if these are equal, the node with the higher id.
Questions and answers may be lost, so each node announces the players that came back to it again and
again. All this is published on the player's own channel, and answered on that of the node that
asked. docs/nodes.md gives the rules.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from flatlands.server.messages.channels import Bus
from flatlands.server.messages.peer_protocol import Handover, Hosted, Left, Takeover, pack
from flatlands.server.messages.protocol import FIRST_UNSTORED_ID
from flatlands.server.players.recording import aged
from flatlands.server.players.resident import (
    INCARNATION,
    Resident,
    State,
    incarnation,
    ms_left,
    next_incarnation,
)
from flatlands.server.players.residents import Residents
from flatlands.server.players.spots import Position
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.peers import Peers
from flatlands.world.grid import Square
from flatlands.world.track import INTENTS, PACE_USUAL, Intent, Track

#: How long a takeover waits for an answer. After that no other node has the player.
TAKEOVER_ANSWER_MS = 300

#: If no other node has published anything about a player for this long after it was handed over,
#: this node publishes that the player is gone: the other node is dead, or the handover was lost.
RELEASED_FOR_MS = 3000

#: This long after another node has published that it has the player, this node publishes that it is
#: gone from the square in which it was here. By then the other's enter has come, so screens that
#: got it ignore the gone; those that missed it remove the player.
GONE_PUBLISHED_AFTER_MS = 400

#: A node announces each player that came back to it once in this time, so two nodes that have the
#: same player notice it.
ANNOUNCE_EVERY_MS = 4000


class TakeoverAnswer(NamedTuple):
    """The answer of the node that had a player which comes here.

    `name` is "" if the player had left before: the node did not have to hand it over. `place` is a
    position (x, y) in units. It goes at its `pace` for `lasts` more ms (0: for good), and the game
    has `values` of it. Its way is `recorded` as recording.py has it for other nodes. If it was to
    come here from another machine, `walk` is what it does.
    """

    name: str
    seq: int
    place: Position
    pace: int = PACE_USUAL
    lasts: int = 0
    values: Sequence[object] = ()
    recorded: Sequence[int] = ()
    look: int = 0
    walk: "Walk | None" = None

    @classmethod
    def of_resident(cls, resident: Resident | State, now: int) -> "TakeoverAnswer":
        """Return the answer for a player that this node has, or had: all but its recorded way."""
        return cls(
            name=resident.name,
            seq=resident.seq,
            place=resident.track.at(now),
            pace=resident.pace,
            lasts=ms_left(resident.pace_until, now),
            values=resident.values,
            look=resident.look,
        )

    @classmethod
    def of_message(cls, player: Handover, offset_ms: int) -> "TakeoverAnswer":
        """Return what another node, whose clock is `offset_ms` behind this node's, has answered."""
        return cls(
            name=player.known_as,
            seq=player.seq,
            place=(player.x, player.y),
            pace=player.pace,
            lasts=player.lasts,
            values=player.values,
            recorded=player.recorded,
            look=player.look,
            walk=_read_walk(player.walk, offset_ms),
        )


class Walk(NamedTuple):
    """The walk of a player that goes on at another node: its track, and where that is to lead. It
    was handed over at the time `at`. Times are in ms by this node's clock."""

    at: int
    track: Track
    intent: Intent


def _pack_walk(now: int, track: Track, intent: Intent) -> list[int]:
    """Return a walk as nodes send it to each other: when it is handed over, the numbers of the
    track, the kind of the intent and its two numbers. Times are the sender's."""
    to = (0, 0) if intent is None else (intent.x, intent.y)
    kind = INTENTS.index(None if intent is None else type(intent))
    return [now, *track.numbers(), kind, *to]


def _read_walk(walk: Sequence[int], offset_ms: int) -> Walk | None:
    """Return what `_pack_walk` packed, by a clock that is `offset_ms` behind; None if there is no
    walk."""
    if not walk:
        return None
    sent, x, y, dx, dy, start, duration, kind, *to = walk
    make = INTENTS[kind]
    intent = None if make is None else make(*to)
    return Walk(sent + offset_ms, Track(x, y, dx, dy, start + offset_ms, duration), intent)


#: The answer to a takeover that a later one of the same player has replaced.
WITHDRAWN: Final = TakeoverAnswer(name="", seq=0, place=(0, 0))


class Takeovers:
    """Asks other nodes to hand over players, and answers their requests for this node's. `was_sent`
    says whether a player was sent to a node's machine, to go on there (router.py)."""

    def __init__(
        self,
        bus: Bus,
        residents: Residents,
        peers: Peers,
        was_sent: Callable[[int, int], bool],
    ) -> None:
        self._bus = bus
        self._node = bus.node
        self._loop = bus.loop
        self._residents = residents
        self._peers = peers
        self._was_sent = was_sent
        #: The takeovers of this node that wait for an answer, by the player's id.
        self._asked: dict[int, Callable[[TakeoverAnswer | None], None]] = {}
        self._overdue = TimerQueue(self._loop, lambda id, _due: self._answer(id, None))
        #: The ids of players that may be at another node too. A player is among them until it has
        #: left and been forgotten.
        self._announced = TimerQueue(self._loop, self._announce_due)
        #: Players that were handed over, by their ids, until it is published that they are gone.
        self.released: dict[int, Resident] = {}
        #: The ids of those of them that another node has published.
        self._arrived: set[int] = set()
        self._ending = TimerQueue(self._loop, self._vanish)

    def ask(self, id: int, done: Callable[[TakeoverAnswer | None], None]) -> None:
        """Ask all other nodes for a player. Call `withdraw` first, if a takeover may be waiting.

        `done` is called with the answer, with None after TAKEOVER_ANSWER_MS, or with WITHDRAWN.
        """
        self._asked[id] = done
        self._overdue.put(id, self._loop.now() + TAKEOVER_ANSWER_MS)
        self._bus.to_player(id, pack(Takeover(self._node, id)))

    def withdraw(self, id: int) -> None:
        """Give up the takeover of a player that waits for its answer, if there is one."""
        if id in self._asked:
            self._answer(id, WITHDRAWN)

    def _answer(self, id: int, taken_over: TakeoverAnswer | None) -> None:
        self._overdue.drop(id)
        self._asked.pop(id)(taken_over)

    def keep_announcing(self, id: int) -> None:
        """Announce a player to the other nodes again and again, because it may be at one of them
        too.

        It came back to this node, or to the worker that had it before, or was here and is gone.
        """
        if id not in self._announced:
            # Players that come at the same time are announced at different times.
            self._announced.put(id, self._loop.now() + id % ANNOUNCE_EVERY_MS)

    def is_announced(self, id: int) -> bool:
        """Return whether a player is announced to the other nodes again and again."""
        return id in self._announced

    def announce(self, ids: Iterable[int]) -> None:
        """Announce players that are here to the other nodes now: any that has one hands it over."""
        for id in ids:
            resident = self._residents.by_id.get(id)
            if resident is not None and self._peers.peers:
                self._publish_hosted(resident)

    def hand_over(self, resident: Resident, node: int | None = None) -> None:
        """Give up a resident, whose player goes on at another node: one that has asked for it, or
        (None) a worker of this machine that was given its connection and all that goes with it.
        """
        id, now = resident.id, self._loop.now()
        walks = node is not None and self._was_sent(id, node)
        walk = _pack_walk(now, resident.track, resident.intent) if walks else []
        self._residents.hand_over(resident, walks=walks)
        before = self.released.get(id)
        if before is not None and before.square != resident.square:
            # It came back to another square, and goes again: only the last handover is waited for.
            self._residents.publish_gone(before)
        self.released[id] = resident
        self._arrived.discard(id)
        self._ending.put(id, self._loop.now() + RELEASED_FOR_MS)
        if node is not None:
            recorded = aged(resident.recorded, resident.track, now)
            answer = TakeoverAnswer.of_resident(resident, now)._replace(recorded=recorded)
            self._answer_takeover(id, node, answer, walk)
            self._loop.stats["released"] += 1

    def _has_arrived(self, id: int, seq: int) -> None:
        """Wait no longer for another node to publish a player that was handed over, if one has
        published it with a seq that outlives this node's gone."""
        released = self.released.get(id)
        if released is not None and seq > released.seq and id not in self._arrived:
            self._arrived.add(id)
            self._ending.put(id, self._loop.now() + GONE_PUBLISHED_AFTER_MS)

    @property
    def awaits_publication(self) -> bool:
        """Whether some player that was handed over has not been published by another node yet."""
        return len(self.released) > len(self._arrived)

    def stop(self) -> None:
        """Publish now that players that were handed over are gone: this node is about to stop."""
        for id in tuple(self.released):
            self._ending.drop(id)
            self._vanish(id, 0)

    # What other nodes publish.

    def on_takeover(self, takeover: Takeover) -> None:
        """Hand a player over to a node that asks for it, or answer where it left."""
        node, id = takeover
        if node == self._node:
            return
        resident = self._residents.by_id.get(id)
        if resident is not None:
            self.hand_over(resident, node)
        elif id in self._residents.departed:
            seq, place = self._residents.departed[id]
            self._answer_takeover(id, node, TakeoverAnswer(name="", seq=seq, place=place))

    def _answer_takeover(
        self, id: int, node: int, answer: TakeoverAnswer, walk: Sequence[int] = ()
    ) -> None:
        """Send a node the answer about a player that it has asked for."""
        x, y = answer.place
        message = Handover(
            node=self._node,
            player=id,
            to=node,
            known_as=answer.name,
            seq=answer.seq,
            x=x,
            y=y,
            pace=answer.pace,
            lasts=answer.lasts,
            values=answer.values,
            recorded=answer.recorded,
            look=answer.look,
            walk=walk,
        )
        self._bus.to_node(node, pack(message))

    def on_handover(self, handover: Handover) -> None:
        """Take the answer to a takeover, if it is for this node."""
        if handover.to == self._node:
            is_asked = handover.player in self._asked
            offset_ms = 0
            if is_asked and handover.walk:
                offset_ms = self._peers.note_message(handover.node, handover.walk[0])
            self.settle(handover.player, TakeoverAnswer.of_message(handover, offset_ms))

    def settle(self, id: int, taken_over: TakeoverAnswer) -> None:
        """Use what another node, or another worker of this machine, had of a player."""
        if id in self._asked:
            self._answer(id, taken_over)
        else:
            # The answer is late. At least it has a seq that is already used, and the other node may
            # receive nothing else about the player.
            self._raise_seq_above(id, taken_over.seq)
            self.announce([id])

    def on_hosted(self, hosted: Hosted) -> None:
        """Compare a player that came back to another node with those that are, or were, here."""
        node, id, seq = hosted
        if node == self._node:
            return
        left = self._residents.departed
        resident = self._residents.by_id.get(id)
        if resident is not None:
            self._contest(resident, node, seq)
        elif id in self.released:
            self._compare_released(id, seq)
        elif id in left:
            last, _place = left[id]
            if incarnation(seq) > incarnation(last):
                # The player left here first and came back there later, so the other node answers
                # from now on if somebody asks for the player.
                del left[id]
            else:
                self._publish_left(id, last)

    def on_left(self, left: Left) -> None:
        """Raise the seq of a player, if it is here, above that with which it left another node."""
        if left.node != self._node:
            self._raise_seq_above(left.player, left.seq)

    def player_entered(self, node: int, _square: Square, id: int, seq: int) -> None:
        """Compare a player that another node has published in a square with those that are, or
        were, here."""
        resident = self._residents.by_id.get(id)
        if resident is not None:
            self._contest(resident, node, seq)
            return
        if id in self.released:
            self._compare_released(id, seq)

    def player_exited(self, _square: Square, id: int, seq: int) -> None:
        """Raise a player's seq, if it is here, above that of a leave or gone at another node; or
        give up a mover that another node has moved since then."""
        resident = self._residents.by_id.get(id)
        if (
            id < FIRST_UNSTORED_ID
            and resident is not None
            and incarnation(seq) > incarnation(resident.seq)
        ):
            # Its incarnations grow with the terms of the lease, so another node has that now.
            self.hand_over(resident)
        else:
            self._raise_seq_above(id, seq)
        self._has_arrived(id, seq)

    def enter_ignored(self, id: int, seq: int) -> None:
        """Answer an enter whose seq is too low to be believed: see PlayerListener (context.py)."""
        self._loop.stats["ignored_enters"] += 1
        self._publish_left(id, seq)

    # What follows from it.

    def _contest(self, resident: Resident, node: int, seq: int) -> None:
        """Decide which node keeps a player that both this node and another one have."""
        if (incarnation(seq), node) < (incarnation(resident.seq), self._node):
            self._publish_hosted(resident)
        else:
            self.hand_over(resident, node)
            self._has_arrived(resident.id, seq)

    def _compare_released(self, id: int, seq: int) -> None:
        """Compare what another node published about a player with what this node, which has handed
        it over, last published."""
        released = self.released[id]
        if seq <= released.seq:
            # The other node has not received that.
            self._publish_left(id, released.seq)
        else:
            self._has_arrived(id, seq)

    def _raise_seq_above(self, id: int, seq: int) -> None:
        """Begin the next incarnation of a player that is here if its seq is not above `seq`.

        Another node has published the player up to `seq`, so no node would believe what this one
        publishes about it with lower seqs. The number in the incarnation is carried on: a record
        has only its low byte, and one that waits to be written must not seem newer than the enter.
        """
        resident = self._residents.by_id.get(id)
        if resident is not None and seq >= resident.seq:
            resident.seq = next_incarnation(seq) + resident.seq % INCARNATION
            self._residents.renew(resident)
            if resident.session is not None:
                # If this node is killed, perhaps nobody else has received this incarnation.
                resident.session.renew_token()

    def _publish_left(self, id: int, seq: int) -> None:
        """Publish that a player left with `seq`. A node that has the player raises its seq then."""
        self._bus.to_player(id, pack(Left(self._node, id, seq)))

    def _publish_hosted(self, resident: Resident) -> None:
        message = Hosted(self._node, resident.id, resident.seq)
        self._bus.to_player(resident.id, pack(message))

    # What is due.

    def _vanish(self, id: int, _due: int) -> None:
        """Publish that a player that was handed over is gone from the square in which it was here.

        Whoever has received it from its next node ignores that; others would show it for ever. If
        no node has published it, it has left.
        """
        resident, again = self.released.pop(id), self._residents.by_id.get(id)
        arrived = id in self._arrived
        self._arrived.discard(id)
        # It may have come back to the square in the meantime.
        if again is None or again.square != resident.square:
            self._residents.publish_gone(resident)
        if again is None and not arrived:
            self._loop.stats["vanished"] += 1
            self._residents.remember(resident)
            self.keep_announcing(id)
            self._publish_left(id, resident.seq)

    def _announce_due(self, id: int, _due: int) -> None:
        """Publish that a player that is announced is here, or has left."""
        resident, left = self._residents.by_id.get(id), self._residents.departed.get(id)
        if resident is not None:
            self._publish_hosted(resident)
        elif left is not None:
            self._publish_left(id, left[0])
        else:
            return
        self._announced.put(id, self._loop.now() + ANNOUNCE_EVERY_MS)
