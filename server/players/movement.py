"""Moves residents: obeys their intents, does what is due for them, and publishes the result.

What a resident does is published on its square's channel. Everybody, including neighbours on this
node, gets it only when it comes back from the broker: see server/squares/.
"""

from typing import Final

from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.players import recording
from flatlands.server.players.resident import Resident
from flatlands.server.players.spots import Position, Spots
from flatlands.server.players.steps import Steps
from flatlands.server.players.touches import Touches
from flatlands.server.runtime.loop import BEAT_MS, Loop
from flatlands.server.runtime.timers import TimerQueue
from flatlands.server.squares.hub import Hub
from flatlands.server.squares.outbox import Outbox
from flatlands.server.squares.subscriptions import Subscriptions
from flatlands.world.grid import Grid, Rect, Viewport
from flatlands.world.track import PACE_USUAL, UNIT, Goal, Heading, Intent, Land, Track, leg, stand

#: An intent takes effect at most this long in the past, however old its client claims it to be.
INTENT_AGE_MS: Final = 200

#: A leg that may be continued is replaced by the next one this long before it ends.
RENEW_BEFORE_MS: Final = 1000

#: While a player walks, its client is pinged after ASK_AFTER_MS without a sign of life. If none
#: comes within SIGN_WITHIN_MS more, the walk ends: 3 s after the last sign, or later if this node
#: itself stood still.
ASK_AFTER_MS: Final = 2000
SIGN_WITHIN_MS: Final = 1000

#: While this node stands still, a walk in a direction goes on for AWAITED_FOR_MS after the loop's
#: last beat, and no longer: its client, which gets no answer, has halted it by then. What clients
#: sent meanwhile is obeyed as of when it was sent; it is read within READ_WITHIN_MS.
AWAITED_FOR_MS: Final = BEAT_MS + ASK_AFTER_MS + SIGN_WITHIN_MS
READ_WITHIN_MS: Final = 250

#: Within this distance of the origin, along each axis, home leads back to where the player was.
AT_HOME_UNITS: Final = 40 * UNIT

#: Changes of residents are made at multiples of this, each as of its own time.
CHANGES_TOGETHER_MS: Final = 10


class Movement:
    """Moves residents along their tracks. Times are node time in ms, positions in units."""

    def __init__(
        self,
        grid: Grid,
        terrain: Land,
        spots: Spots,
        loop: Loop,
        hub: Hub,
        outbox: Outbox,
        subscriptions: Subscriptions,
    ) -> None:
        self._grid = grid
        #: The ground on which residents walk, and what chooses places on it.
        self.terrain: Land = terrain
        self.spots = spots
        self._loop = loop
        self._hub = hub
        self._outbox = outbox
        self._subscriptions = subscriptions
        self._changes = TimerQueue(loop, self._change_due, CHANGES_TOGETHER_MS)
        self._liveness_checks = TimerQueue(loop, self._check_liveness)
        self._paces = TimerQueue(
            loop, lambda resident, _due: self.set_pace(resident, PACE_USUAL, 0)
        )
        self.steps: Steps | None = None
        self.touches: Touches | None = None
        #: Residents that wait for unread input, until it must have been read.
        self._awaiting = TimerQueue(loop, self._stop_awaiting)

    def set_steps(self, steps: Steps) -> None:
        """Let `steps` notice when players come to other tiles, since the game has a hook for
        that."""
        self.steps = steps

    def set_touches(self, touches: Touches) -> None:
        """Let `touches` notice when players come near things, since the game has a hook for
        that."""
        self.touches = touches

    def set_terrain(self, terrain: Land) -> None:
        """Let residents walk, and begin, on another ground from now on."""
        self.terrain = terrain
        self.spots.set_terrain(terrain)

    # What residents ask for.

    def act(
        self, resident: Resident, number: int, t: int, intent: Intent, replaces: int = 0
    ) -> None:
        """Obey intent `number` of a resident, which by its client began at the time `t`.

        `replaces` is how many older ones it replaces, which nobody obeys.
        """
        now = self._loop.now()
        earliest, ended_at = now - INTENT_AGE_MS, 0
        if t < earliest or resident.awaits_unread_input:
            stall = self._loop.stall_span()
            if stall is not None:
                # It may have waited to be read for as long as this node stood still.
                earliest, ended_at = stall[0], self._walks_ended_at()
                if t > ended_at:
                    self._cut_out_stall(resident, ended_at, now)
        t = min(max(t, resident.track.start, earliest), now)
        if resident.due is not None and resident.due <= t:
            self._catch_up(resident, t)
        x, y = resident.track.at(t)
        leaps = number != resident.ack + 1 + replaces
        resident.ack = number
        track = leg(self.terrain, x, y, intent, t, resident.pace)
        self._follow(resident, track or stand(x, y, t), replaces, leaps)
        resident.intent = _remaining_intent(intent, track)
        if t < resident.followed_until:
            # The intent is late: the track that it replaces may have crossed a border since `t`.
            self._cross(resident, t)
            if resident.view is not None:
                self.hold(resident, self._grid.held(resident.held, x, y, resident.view))
        resident.followed_until = t
        if ended_at:
            self._cut_out_stall(resident, max(ended_at, t), now)
        self._plan(resident, self._catch_up(resident, now))
        self._start_liveness_checks(resident, now)

    def _start_liveness_checks(self, resident: Resident, now: int) -> None:
        """Check from now on that the client of a resident that walks gives signs of life."""
        if resident.session is not None and not resident.liveness_checked and resident.walks(now):
            resident.liveness_checked = True
            self._liveness_checks.put(resident, now + ASK_AFTER_MS)

    def home(self, resident: Resident, number: int) -> None:
        """Obey intent `number` of a resident: put it on the plaza, or back to where it was.

        It is put back if it was put on the plaza before, and is still near it.
        """
        leaps = number != resident.ack + 1
        resident.ack = number
        x, y = resident.track.at(self._loop.now())
        if max(abs(x), abs(y)) > AT_HOME_UNITS:
            place, resident.before_home = self.spots.plaza(), (x, y)
        else:
            place, resident.before_home = (
                resident.before_home or self.spots.plaza(),
                None,
            )
        self.put(resident, place, leaps)

    def put(self, resident: Resident, place: Position, leaps: bool = False) -> None:
        """Put a resident at a place, where it stands; `leaps` as in Outbox.track."""
        resident.intent = None
        now = self._loop.now()
        self._follow(resident, stand(*place, now), 0, leaps)
        self._cross(resident, now)
        if resident.view is not None:
            self.hold(resident, self._grid.held(None, *place, resident.view))
        self._plan(resident, self._next_due(resident))

    def set_viewport(self, resident: Resident, view: Viewport) -> None:
        """Use a new viewport for a resident's session, and let the session hold its squares."""
        resident.view = view
        x, y = resident.track.at(self._loop.now())
        self.hold(resident, self._grid.held(resident.held, x, y, view))
        self._plan(resident, self._next_due(resident))
        self._start_liveness_checks(resident, self._loop.now())

    def stop(self, resident: Resident) -> None:
        """End a resident's walk: it stands where it is now."""
        now = self._loop.now()
        self._cut_out_stall(resident, self._walks_ended_at(), now)
        # What is due may be some ms late, and a border that was crossed must not be forgotten.
        self._catch_up(resident, now)
        resident.intent = None
        if resident.track.end > now:
            self._follow(resident, stand(*resident.track.at(now), now))
        self._plan(resident, None)

    def set_pace(self, resident: Resident, pace: int, until: int) -> None:
        """Let a resident go at a pace, in percent, from now until a time (0: for good). If it is on
        its way, it goes on from where it is by a new leg."""
        now = self._loop.now()
        resident.pace_until = until
        self._paces.drop(resident)
        if until:
            self._paces.put(resident, until)
        if pace == resident.pace:
            return
        self._cut_out_stall(resident, self._walks_ended_at(), now)
        self._catch_up(resident, now)
        resident.pace = pace
        self.replan(resident)
        self._outbox.renew(resident, resident.square)

    def replan(self, resident: Resident) -> None:
        """Continue a resident's walk from where it is by a new leg, since its pace or the ground
        has changed."""
        now = self._loop.now()
        self._cut_out_stall(resident, self._walks_ended_at(), now)
        self._catch_up(resident, now)
        if resident.walks(now):
            # If a walk reaches its goal by one leg, only the track has the goal.
            x, y = resident.track.at(resident.track.end)
            intent = resident.intent or Goal(x, y)
            x, y = resident.track.at(now)
            track = leg(self.terrain, x, y, intent, now, resident.pace)
            self._follow(resident, track or stand(x, y, now))
            resident.intent = _remaining_intent(intent, track)
        self._plan(resident, self._next_due(resident))

    # Coming and going.

    def enter(self, resident: Resident) -> None:
        """Put a resident into its square, and publish an enter."""
        if self.steps is not None:
            self.steps.begin(resident)
        self._subscriptions.need((resident.square,))
        self._outbox.enter(resident, resident.square)

    def leave(self, resident: Resident, *, handed_over: bool = False) -> None:
        """Take a resident out of its square, and publish that it is gone, unless it was handed
        over: another node has the player now."""
        for timers in (self._changes, self._liveness_checks, self._awaiting, self._paces):
            timers.drop(resident)
        if self.steps is not None:
            self.steps.drop(resident)
        if self.touches is not None:
            self.touches.drop(resident)
        (self._outbox.hand_over if handed_over else self._outbox.gone)(resident, resident.square)
        self._subscriptions.let_go((resident.square,))

    # What went on while this node stood still.

    def _walks_ended_at(self) -> int:
        """Return when walks in a direction ended if this node has just stood still for longer than
        they may go on; 0 if it has not."""
        stall = self._loop.stall_span()
        if stall is None:
            return 0
        before, after = stall
        until = before + AWAITED_FOR_MS
        return until if after > until else 0

    def certain_until(self, resident: Resident) -> int:
        """Return the time up to which a resident's walk is certain: now, unless this node stood
        still and has yet to read what its client sent meanwhile."""
        now, until = self._loop.now(), self._walks_ended_at()
        return until if _went_on(resident, until, now) else now

    def _await_unread_input(self, resident: Resident) -> bool:
        """Return whether a walk went on for too long while this node stood still. If so, nothing is
        done for it until what its client sent meanwhile is read."""
        now = self._loop.now()
        awaits = _went_on(resident, self._walks_ended_at(), now)
        if awaits:
            resident.awaits_unread_input = True
            self._changes.drop(resident)
            self._awaiting.put(resident, now + READ_WITHIN_MS)
        return awaits

    def _stop_awaiting(self, resident: Resident, _due: int) -> None:
        now = self._loop.now()
        self._cut_out_stall(resident, self._walks_ended_at(), now)
        self._plan(resident, self._catch_up(resident, now))

    def _cut_out_stall(self, resident: Resident, until: int, now: int) -> None:
        """Continue a walk that went on for too long from where it was at the time `until`."""
        if _went_on(resident, until, now):
            self._catch_up(resident, until)
            if self.steps is not None:
                self.steps.skip(resident, until, now)
            self._follow(resident, stand(*resident.track.at(until), now))
            self._catch_up(resident, now)

    # What is due.

    def _change_due(self, resident: Resident, due: int) -> None:
        if self._await_unread_input(resident):
            return
        self._change(resident, due)
        self._plan(resident, self._next_due(resident))

    def _check_liveness(self, resident: Resident, _due: int) -> None:
        """Ping the client of a resident that walks, or end the walk if the last ping had no answer.

        Without this, a player whose client is gone would walk on until its connection ends.
        """
        now, session = self._loop.now(), resident.session
        if self._await_unread_input(resident):
            self._liveness_checks.put(resident, now + 2 * READ_WITHIN_MS)
            return
        heard_at_ping, resident.heard_at_ping = resident.heard_at_ping, None
        if session is None or not resident.walks(now):
            resident.liveness_checked = False
        elif session.last_heard == heard_at_ping:
            resident.liveness_checked = False
            self._loop.stats["walks_ended"] += 1
            self.stop(resident)
        elif now - session.last_heard < ASK_AFTER_MS:
            self._liveness_checks.put(resident, session.last_heard + ASK_AFTER_MS)
        else:
            # The walk is never ended without a ping: if this node stood still, signs of life may
            # have arrived that are still to be read.
            resident.heard_at_ping = session.last_heard
            session.ping()
            self._liveness_checks.put(resident, now + SIGN_WITHIN_MS)

    def _next_due(self, resident: Resident) -> int | None:
        """Return the time at which a resident next crosses a border, holds other squares or needs a
        new leg; None if none of this happens by itself."""
        track = resident.track
        due = self._grid.next_change(track, resident.square, resident.held, resident.view)
        if resident.intent is not None:
            ends = _leg_ends(track)
            if due is None or ends < due:
                due = ends
        return due

    def _plan(self, resident: Resident, due: int | None) -> None:
        """Make a resident due at a time that `_next_due` has returned."""
        resident.due, resident.awaits_unread_input = due, False
        if due is None:
            self._changes.drop(resident)
        else:
            self._changes.put(resident, due)

    def _catch_up(self, resident: Resident, t: int) -> int | None:
        """Do everything that is due for a resident by the time `t`, each thing at its own time.

        Returns the time at which something is due next, or None.
        """
        while (due := self._next_due(resident)) is not None and due <= t:
            self._change(resident, due)
        return due

    def _change(self, resident: Resident, due: int) -> None:
        """Do what is due for a resident at the time `due`, which `_next_due` has returned."""
        resident.followed_until = due
        self._cross(resident, due)
        x, y = resident.track.at(due)
        if resident.intent is not None and due >= _leg_ends(resident.track):
            following = leg(self.terrain, x, y, resident.intent, due, resident.pace)
            if following is not None:
                self._follow(resident, following)
            resident.intent = _remaining_intent(resident.intent, following)
        if resident.view is not None:
            self.hold(resident, self._grid.held(resident.held, x, y, resident.view))

    # What residents then hold, and where they are.

    def hold(self, resident: Resident, rect: Rect | None) -> None:
        """Let a resident's session hold the squares of `rect` (None: no squares) from now on."""
        before = resident.held
        if rect == before:
            return
        resident.held = rect
        session = resident.session
        assert session is not None
        first, last = self._hub.change_held(session, before, rect)
        self._subscriptions.need(first)
        self._subscriptions.let_go(last)
        if rect is not None:
            session.hold(before, rect)
            if before is None and self.touches is not None:
                self.touches.check(resident, self.certain_until(resident))

    def _follow(
        self, resident: Resident, track: Track, replaces: int = 0, leaps: bool = False
    ) -> None:
        """Let a resident follow a new track, and publish it; arguments as of Outbox.track."""
        if self.steps is not None:
            self.steps.follow(resident, track)
        if self.touches is not None:
            self.touches.follow(resident, track)
        if resident.recorded:
            resident.recorded = recording.follow(resident.recorded, resident.track, track)
        resident.track = track
        self._outbox.track(resident, resident.square, replaces, leaps)

    def _cross(self, resident: Resident, t: int) -> None:
        """Move a resident to the square in which its track is at the time `t`.

        If it passes a corner, it goes through the square of its new column and its old row.
        """
        column, row = self._grid.square(*resident.track.at(t))
        for to in ((column, resident.square[1]), (column, row)):
            if to != resident.square:
                before, resident.square = resident.square, to
                self._outbox.leave(resident, before, to)
                self._subscriptions.let_go((before,))
                self.enter(resident)
                if self.steps is not None:
                    self.steps.square_entered(resident, before)
                if self.touches is not None:
                    self.touches.check(resident, t)
                self._loop.stats["crossings"] += 1


def face(movement: Movement, resident: Resident, dx: int, dy: int, now: int) -> None:
    """Turn a resident that stands towards a place (dx, dy) from it: it goes one unit that way,
    since players look where they walk."""
    if not resident.walks(now):
        x, y = resident.track.at(now)
        step = Goal(x + _way(dx, dy), y + _way(dy, dx))
        # The number stays the same, so that this acknowledges no intent.
        movement.act(resident, resident.ack, now, step)


def _way(along: int, across: int) -> int:
    """Return the step along one axis, -1, 0 or 1 units, if a way is rounded to eight directions."""
    return (along > 0) - (along < 0) if abs(along) * 2 > abs(across) else 0


def _went_on(resident: Resident, until: int, now: int) -> bool:
    """Return whether the walk of a player in a direction whose track begins by the time `until` has
    gone on after that time."""
    return (
        resident.track.start <= until < now
        and isinstance(resident.intent, Heading)
        and resident.id >= FIRST_PERSON_ID
    )


def _remaining_intent(intent: Intent, track: Track | None) -> Intent:
    """Return what is left of an intent after `track`, the leg that it led to.

    It is None if it led nowhere (`track` is None), or if the leg ends at the goal.
    """
    if track is None:
        return None
    if isinstance(intent, Goal):
        there = track.x + track.dx == intent.x and track.y + track.dy == intent.y
        return None if there else intent
    return intent


def _leg_ends(track: Track) -> int:
    """Return the time at which the next leg of a walk begins."""
    return track.end - RENEW_BEFORE_MS if track.renewable else track.end
