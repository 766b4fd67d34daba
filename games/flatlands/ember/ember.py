"""The ember: exactly one player of the world carries it, and who touches the carrier has it next.
To keep it is the game.

The node that keeps the herd keeps the ember too, at whichever node its carrier is: it hears the
squares around the carrier, tells of the ember there once a second, and computes from the tracks
when the carrier touches somebody. It does so only while its lease is sure, so no two nodes tell of
it. With the herd it leaves in the store who carries the ember, and the next keeper goes on with
that player. Without a store there is no ember, since nothing could say that there is only one. This
module never moves anybody: tag.py does.

The ember is kept from when a player gets it until that player last walked with somebody near who
plays too, and a player with whom nobody has been for IDLE loses it: so nobody's time grows by
standing still, or where there is nobody to run from.

Of the last HANDS who had it none can have it again as long as somebody else is near who plays. With
fewer around it goes round among three, and two have it in turn. It never stays because of that:
after BARRED_FOR anybody can have it.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from flatlands.games.flatlands import events
from flatlands.games.flatlands.ember.longest import Kept, Longest
from flatlands.games.flatlands.walkers.stage import Stage, is_clockwork, is_person
from flatlands.server.agenda import Agenda
from flatlands.server.kept.lease import EVERY, Lease
from flatlands.server.players.resident import Resident
from flatlands.server.players.spots import Place
from flatlands.world.contact import first_contact
from flatlands.world.events import EnterEvent, Event, LeaveEvent, Player
from flatlands.world.grid import Rect, Square
from flatlands.world.track import UNIT

#: Who carries it touches whoever comes within so many units.
REACH: Final = UNIT * 4 // 5

#: ms for which it stays with its carrier at least, and for which the one from whom it came cannot
#: have it back, also if nobody else is near.
KEPT_LEAST: Final = 1500
NOT_BACK: Final = 3000

#: So many who had it before its carrier leave it to others, for so many ms.
HANDS: Final = 3
BARRED_FOR: Final = 20_000

#: It falls to a clockwork walker when its carrier has not walked, or was alone, for so many ms.
#: Others who have not walked for so long are no company.
IDLE: Final = 30_000

#: It falls when its carrier was not seen for so many ms.
UNSEEN: Final = 1000

#: How far ahead a touch is computed, in ms: a little more than until the next time.
AHEAD: Final = EVERY + 500


class Carried(NamedTuple):
    """Who carries the ember: player `id`, after so many `passes`, `since` a node time in ms.
    `before` had it before, or nobody (0), and kept it for so many ms, as the module says."""

    id: int
    passes: int
    since: int
    before: int
    kept: int


class Ember:
    """See the module. `walkers` returns the clockwork walkers, `wake` is called with the id of a
    player that has got the ember, and `attend` with the squares to hear. Times are node time in
    ms."""

    def __init__(
        self,
        stage: Stage,
        lease: Lease,
        longest: Longest,
        walkers: Callable[[], Sequence[Resident]],
        wake: Callable[[int], None],
        attend: Callable[[Rect], None],
    ) -> None:
        self._stage = stage
        self._loop, self._replicas = stage.loop, stage.replicas
        self._lease = lease
        self._longest = longest
        self._walkers = walkers
        self._wake = wake
        self._attend = attend
        #: Who carries it, if this node keeps it.
        self._carried: Carried | None = None
        #: Its carrier, as this node has seen it last, and when that was; where it is or was then;
        #: when somebody was last near it who plays too, or since when it has the ember.
        self._carrier: Player | None = None
        self._seen = 0
        self._place: Place = (0, 0)
        self._met = 0
        #: Who had it, and who carries it, which is the last one.
        self._hands: deque[int] = deque(maxlen=HANDS + 1)
        #: The squares around its carrier, and whether tracks there have changed since touches were
        #: computed.
        self._around = Rect(0, 0, 0, 0)
        self._moved = False
        self._turns = self._loop.alarm(self._turn)
        #: Who is touched next, if anybody is soon.
        self._next = 0
        self._touches = Agenda(self._loop, lambda _key, _due: self._touch(self._next))

    # Who keeps it.

    def begin(self, left: Sequence[int], put: int) -> None:
        """Keep it from now on, as the last keeper has `left` it at the time `put`."""
        self.lost()
        now = self._loop.now()
        passes, since, met, x, y, *hands = left or (0, 0, 0, 0, 0)
        self._seen, self._met, self._place = now, put + met, (x, y)
        self._hands.extend(hands)
        if hands:
            before = hands[-2] if len(hands) > 1 else 0
            self._carried = Carried(hands[-1], passes + 1, put + since, before, 0)
        else:
            self._give(min(self._walkers(), key=self._away), passes + 1, 0, 0)
        self._turn()

    def lost(self) -> None:
        """Keep it no more, because another node does."""
        self._carried = self._carrier = None
        self._hands.clear()
        self._touches.drop("touch")
        self._turns.set(None)

    def left(self) -> Sequence[int]:
        """Return what the next keeper needs to know; times are relative to now."""
        carried, now = self._carried, self._loop.now()
        if carried is None:
            return ()
        since, met = carried.since - now, self._met - now
        return carried.passes, since, met, *self._place, *self._hands

    @property
    def carried(self) -> Carried | None:
        """Who carries it, if this node is sure of that."""
        return self._carried if self._lease.sure else None

    def barred(self, carrier: Player) -> list[int]:
        """Return who of those who had it before its carrier cannot have it now."""
        carried, now = self.carried, self._loop.now()
        if carried is None or now >= carried.since + BARRED_FOR:
            return []
        near = [player.id for player in self._others(carrier) if self._plays(player)]
        hands = [id for id in self._hands if id != carrier.id][-HANDS:]
        while hands and not any(id not in hands for id in near):
            del hands[0]
        return hands

    def _turn(self) -> None:
        self._turns.set(self._loop.now() + EVERY)
        if (carried := self.carried) is not None:
            self._show(carried)
            if self._falls(carried):
                self._fall(carried)

    def _see(self, carrier: Player) -> None:
        """Note where the carrier is, and whether somebody is near it who plays too."""
        self._carrier, self._seen, self._place = carrier, self._loop.now(), self._stage.at(carrier)
        if any(map(self._plays, self._others(carrier))):
            self._met = self._seen

    def _falls(self, carried: Carried) -> bool:
        """Say whether the carrier plays no more. Clockwork walkers are never alone."""
        carrier, now = self._replicas.player(carried.id), self._loop.now()
        if carrier is None:
            return now - self._seen >= UNSEEN
        stood = now - max(carrier.track.end, carried.since)
        alone = now - self._met if is_person(carrier) else 0
        return carrier.dimmed or max(stood, alone) > IDLE

    def _others(self, carrier: Player) -> list[Player]:
        """Return who is around a carrier and may have the ember."""
        return [
            player
            for player in self._replicas.around(*self._stage.at(carrier), self._stage.grid.span)
            if (is_clockwork(player) or is_person(player))
            and not player.dimmed
            and player.id != carrier.id
        ]

    def _plays(self, player: Player) -> bool:
        return self._loop.now() - player.track.end <= IDLE

    def _away(self, player: Player) -> float:
        return math.dist(self._stage.at(player), self._place)

    # What happens in the squares.

    def heard(self, events: Sequence[Event]) -> None:
        """Take what has happened in a square."""
        for event in events:
            if self.carried is None or event[1] != self.carried.id:
                continue
            if isinstance(event, LeaveEvent):
                # It may be far from there, as who goes home is.
                span = self._stage.grid.span
                self._place = event.column * span + span // 2, event.row * span + span // 2
            if isinstance(event, LeaveEvent | EnterEvent):
                # Who holds this square only must see it too.
                self._show(self.carried)

    def moved(self, square: Square) -> None:
        """Compute touches anew at the end of this turn of the loop: tracks around have changed."""
        if not self._moved and self._carried is not None and self._around.holds(square):
            self._moved = True
            self._loop.soon(self._compute_touch)

    # From one to the next.

    def _fall(self, carried: Carried) -> None:
        """Let the ember fall to the nearest clockwork walker, because its carrier plays no more."""
        others = [walker for walker in self._walkers() if walker.id != carried.id]
        if others:
            self._pass(carried, min(others, key=self._away))

    def _pass(self, carried: Carried, to: Player) -> None:
        """Let a player have it, and count for how long it was kept: until its carrier last walked
        with somebody near."""
        carrier, until = self._carrier, min(self._loop.now(), self._met)
        if carrier is not None:
            until = min(until, carrier.track.end)
        kept = max(until - carried.since, 0)
        if carrier is not None and is_person(carrier) and kept:
            self._longest.count(Kept(kept, carrier.id, carrier.name))
        self._give(to, carried.passes + 1, carried.id, kept)
        # If this node dies now, the next keeper knows it.
        self._lease.renew()

    def _give(self, to: Player, passes: int, before: int, kept: int) -> None:
        now = self._loop.now()
        self._carried = Carried(to.id, passes, now, before, kept)
        self._carrier, self._seen, self._met, self._place = to, now, now, self._stage.at(to)
        self._hands.append(to.id)
        self._show(self._carried)
        self._wake(to.id)

    def _compute_touch(self) -> None:
        """Put the next touch on the agenda, if there is one soon."""
        self._moved = False
        self._touches.drop("touch")
        carried, now = self.carried, self._loop.now()
        carrier = None if carried is None else self._replicas.player(carried.id)
        if carried is None or carrier is None:
            return
        soonest, self._next = now + AHEAD, 0
        barred = self.barred(carrier)
        for player in self._others(carrier):
            if player.id in barred:
                continue
            since = carried.since + (NOT_BACK if player.id == carried.before else KEPT_LEAST)
            if (start := max(now, since)) >= soonest:
                continue
            touch = first_contact(carrier.track, player.track, REACH, start, soonest)
            if touch is not None:
                soonest, self._next = touch, player.id
        if self._next:
            self._touches.put("touch", soonest)

    def _touch(self, id: int) -> None:
        """Pass the ember to a player whom its carrier touches now."""
        carried, player = self.carried, self._replicas.player(id)
        carrier = None if carried is None else self._replicas.player(carried.id)
        if carried is not None and carrier is not None and player is not None:
            self._see(carrier)
            self._pass(carried, player)

    # What is told.

    def _show(self, carried: Carried) -> None:
        """Tell of the ember in its carrier's square; hear when tracks around it change, and compute
        touches anew."""
        carrier = self._replicas.player(carried.id)
        if carrier is not None:
            self._see(carrier)
        id, passes, since, before, kept = carried
        column, row = square = self._stage.grid.square(*self._place)
        age = self._loop.now() - since
        self._stage.tell(square, id, events.Ember(passes=passes, age=age, before=before, kept=kept))
        self._around = Rect(column - 1, row - 1, column + 1, row + 1)
        self._attend(self._around)
        self.moved(square)
