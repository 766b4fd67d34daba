"""The sessions of this node, grouped by the squares that they hold, and the flush that writes to
them.

The hub keeps the batches that arrive for a square until the next flush, which is one message. It is
joined once for all sessions that hold the same squares, and written to each of them with one call;
but in a crowd (crowds.py) a player whose own moves are in the flush gets a separate one. No session
has its own queue. The hub never looks inside a batch.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from flatlands.server.messages import protocol
from flatlands.server.messages.protocol import BatchBody, Refused
from flatlands.server.net.frames import frame
from flatlands.server.runtime.loop import Loop
from flatlands.world.grid import Rect, Square

#: Pairs of a number of sessions that hold squares, and the ms from the start of a flush to the next
#: one. For a number between two of these, the ms are interpolated linearly. Each flush costs a
#: write for each session, so the more there are, the fewer flushes.
FLUSH_INTERVALS_MS: Final = ((400, 25), (2000, 75), (5000, 100))

#: A flush that comes late by more than TIMELY_MS puts off the next one by as much as it is later
#: than that, PUT_OFF_FLUSH_MS at most: the node has too much to do, and few large writes cost less
#: than many small ones.
TIMELY_MS: Final = 5
PUT_OFF_FLUSH_MS: Final = 250

#: For one flush in this many it is measured how long ago its batches were begun.
FLUSHES_A_SAMPLE: Final = 16

#: The moves of a crowd that had no room in a flush get another one after this.
MORE_AFTER_MS: Final = 50


class ClientSession(Protocol):
    """The session of a client, as the hub and the residents use it. Times are node time in ms."""

    @property
    def player(self) -> int | None:
        """The id of its player."""

    @property
    def address(self) -> str:
        """The IP address of the client."""

    @property
    def last_heard(self) -> int:
        """The time at which the client gave its last sign of life."""

    @property
    def latency_ms(self) -> int | None:
        """How long the client took to answer the last ping; None before it has answered one."""

    def ping(self) -> None:
        """Ask the client for a sign of life."""

    def hold(self, before: Rect | None, rect: Rect) -> None:
        """Tell the client that it holds the squares of `rect` from now on, instead of those of
        `before` (None: of none)."""

    def show(self, squares: Iterable[Square]) -> None:
        """Show snapshots of some of its squares, for the first time or again."""

    def flush(self, data: bytes, number: int, now: int) -> None:
        """Show what has happened in its squares: `data` are the WebSocket frames of flush `number`,
        written at the time `now`."""

    def renew_token(self) -> None:
        """Send the client a token with the player's incarnation, its current place and its
        persistent fields."""

    def send_link(self) -> None:
        """Send the client whether this node is linked to the others, because that has changed."""

    def answer(self, message: bytes) -> None:
        """Send the client a message that is in no flush."""

    def supersede(self, *, walks: bool = False) -> None:
        """End this session, because its player goes on at another connection or node. The player
        stands still, unless it `walks` on there."""

    def transferable_state(self) -> Any:
        """Return what another session needs to go on in its place; None while something of it is
        under way here."""

    @property
    def limits(self) -> Any:
        """The limits that hold for the client (limits.py)."""

    def refuse(self, refused: Refused) -> None:
        """Send the client a refusal, and close its connection if the refusal has a close code."""


class CrowdNews:
    """The news of a crowd for one flush: batches for all sessions that hold its square, the packed
    moves of its players (b"" if there are none), and batches for one session each."""

    __slots__ = ("batches", "crowd", "own")

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.crowd = b""
        self.own: list[tuple[ClientSession, bytes]] = []


class HubCrowd(Protocol):
    """A crowd (crowds.py), as the hub uses it."""

    @property
    def has_news(self) -> bool:
        """Whether there is anything to send."""

    def collect(self, now: int) -> CrowdNews:
        """Return what to send in a flush that is written at the time `now`."""


class Group:
    """The sessions that hold exactly the squares of `rect`.

    `frames`, `batches` and `crowds` are empty except during a flush: then they collect what is
    written to all of them, whole frames and the items of the flush.
    """

    __slots__ = ("rect", "sessions", "frames", "batches", "crowds")

    def __init__(self, rect: Rect) -> None:
        self.rect = rect
        self.sessions: set[ClientSession] = set()
        self.frames: list[bytes] = []
        self.batches: list[bytes] = []
        self.crowds: list[bytes] = []


class Hub:
    """Collects the messages for clients, and flushes them to the sessions that hold their squares.
    There are at least `min_interval_ms` between two flushes, even if they cost nothing: each has
    headers to send."""

    def __init__(self, loop: Loop, min_interval_ms: int = 0) -> None:
        self._loop = loop
        self.stats = loop.stats
        #: Returns the ms from a flush to the next one, from the number of sessions.
        self.flush_interval: Callable[[int], float] = flush_interval
        self.min_interval_ms = min_interval_ms
        self._groups: dict[Rect, Group] = {}
        #: Square -> the groups that hold it; squares that no session holds are left out.
        self._holding: dict[Square, set[Group]] = {}
        #: Square -> the batches that have arrived since the last flush: (source, sent, body).
        self._arrived: dict[Square, list[tuple[int, int, BatchBody]]] = {}
        #: Square -> subject -> a function that builds the message for the next flush.
        self._messages: dict[Square, dict[int, Callable[[], bytes]]] = {}
        #: The squares to show again with the next flush, and those of them to show once more after
        #: the others.
        self._changed: set[Square] = set()
        self._again: set[Square] = set()
        #: Square -> the crowd there, if it has anything to send with the next flush.
        self._crowds: dict[Square, HubCrowd] = {}
        self._timer = loop.timer(self.flush)
        self._crowd_timer = loop.timer(self._schedule_flush)
        #: Node time in ms for which a flush is planned, or None.
        self._planned: int | None = None
        #: How many sessions hold squares: those of all players with a connection.
        self.sessions_holding = 0
        #: The earliest node time, in ms, of the next flush.
        self.not_before = 0
        #: The number of the last flush.
        self.number = 0
        #: ms from the last flush to the next one, at least.
        self.interval = 0.0

    def change_held(
        self, session: ClientSession, before: Rect | None, after: Rect | None
    ) -> tuple[list[Square], list[Square]]:
        """Note that a session holds the squares of `after` instead of those of `before` (None: of
        none).

        Returns the squares that no session held until now, and those that none holds any more.
        """
        self.sessions_holding += (after is not None) - (before is not None)
        first: list[Square] = []
        if after is not None:
            group = self._groups.get(after)
            if group is None:
                group = self._groups[after] = Group(after)
                for square in after.squares():
                    groups = self._holding.get(square)
                    if groups is None:
                        groups = self._holding[square] = set()
                        first.append(square)
                    groups.add(group)
            group.sessions.add(session)
        last: list[Square] = []
        if before is not None:
            group = self._groups[before]
            group.sessions.discard(session)
            if not group.sessions:
                del self._groups[before]
                for square in before.squares():
                    groups = self._holding[square]
                    groups.discard(group)
                    if not groups:
                        del self._holding[square]
                        self._arrived.pop(square, None)
                        self._messages.pop(square, None)
                        self._crowds.pop(square, None)
                        last.append(square)
        return first, last

    def sessions(self, squares: Iterable[Square]) -> dict[ClientSession, list[Square]]:
        """Return each session that holds any of these squares, with the ones that it holds."""
        found: dict[ClientSession, list[Square]] = {}
        for square in squares:
            for group in self._holding.get(square, ()):
                for session in group.sessions:
                    found.setdefault(session, []).append(square)
        return found

    def invalidate(self, square: Square, again: bool = False) -> None:
        """Send a square's snapshot to its sessions just before the next flush, together with those
        of other changed squares. `again`: send it once more after them, because a client ignores an
        old entry of a player here while it has the player in another square.

        It is not sent now, because a batch with the square to which a player has gone may still be
        waiting: until that came, the client would have the player in no square.
        """
        self._changed.add(square)
        if again:
            self._again.add(square)
        self._schedule_flush()

    def _show_changed(self) -> None:
        """Show the changed squares: one call for each session, with all of those that it holds."""
        if self._changed:
            squares_in_turn = (*self._changed, *self._again)
            self._changed, self._again = set(), set()
            for session, squares in self.sessions(squares_in_turn).items():
                self._loop.guarded(session.show, squares)

    @property
    def held(self) -> frozenset[Square]:
        """The squares that sessions hold."""
        return frozenset(self._holding)

    def groups(self) -> list[tuple[Rect, int]]:
        """Return each set of squares that sessions hold, and how many sessions hold it."""
        return [(rect, len(group.sessions)) for rect, group in self._groups.items()]

    def deliver(self, square: Square, source: int, sent: int, body: BatchBody) -> None:
        """Keep a batch for the sessions that hold a square, until the next flush.

        `source` is the number by which clients name its node, and `sent` the time by this node's
        clock, in ms, from which ages in the body count back.
        """
        if square not in self._holding:
            return
        batches = self._arrived.get(square)
        if batches is None:
            self._arrived[square] = [(source, sent, body)]
        else:
            batches.append((source, sent, body))
        self._schedule_flush()

    def send(self, square: Square, subject: int, make: Callable[[], bytes]) -> None:
        """Send a message, which is made at the next flush, to the sessions that hold a square.

        It replaces a message that still waits and has the same subject, a number.
        """
        if square in self._holding:
            self._messages.setdefault(square, {})[subject] = make
            self._schedule_flush()

    def schedule_crowd(self, square: Square, crowd: HubCrowd) -> bool:
        """Let a crowd send its news with the next flush; return False if no session holds its
        square."""
        if square not in self._holding:
            return False
        self._crowds[square] = crowd
        self._schedule_flush()
        return True

    def _schedule_flush(self) -> None:
        """Schedule a flush, unless one is scheduled."""
        if self._planned is None:
            now = self._loop.now()
            self._planned = max(now, self.not_before)
            if now >= self.not_before:
                self._loop.call_soon(self.flush)
            else:
                self._timer.set(self.not_before)

    def flush_waiting(self, square: Square) -> None:
        """Write now everything that has arrived, if batches of a square are among it."""
        if square in self._arrived:
            self.flush()

    def flush(self) -> None:
        """Write everything that has arrived: once per session, the same bytes to a whole group."""
        # Snapshots come before the batches.
        self._show_changed()
        started = self._loop.seconds()
        self.number = number = self.number + 1
        now = self._loop.now()
        late = 0 if self._planned is None else now - self._planned
        self._planned = None
        begun = self._begin_times() if number % FLUSHES_A_SAMPLE == 0 else []
        writes = size = batches_sent = 0
        own: dict[ClientSession, list[bytes]] = {}
        for group in self._collect(now, own):
            frames, batches, crowds = group.frames, group.batches, group.crowds
            group.frames, group.batches, group.crowds = [], [], []
            data = _flush_bytes(frames, number, now, batches, crowds)
            sessions = len(group.sessions)
            writes += sessions
            size += len(data) * sessions
            batches_sent += (len(batches) + len(crowds)) * sessions
            # This is a copy: a write may find a connection dead, and its session leaves the group.
            for session in tuple(group.sessions):
                mine = own.get(session) if crowds else None
                try:
                    if mine is None:
                        session.flush(data, number, now)
                    else:
                        one = _flush_bytes(frames, number, now, batches + mine, crowds)
                        session.flush(one, number, now)
                except Exception:
                    self._loop.failed()
        seconds = self._loop.seconds() - started
        self._loop.observe("flush", int(seconds * 1e6))
        for sent in begun:
            self._loop.observe("intent_to_write", (self._loop.now() - sent) * 1000)
        puts_off = min(max(late - TIMELY_MS, 0), PUT_OFF_FLUSH_MS)
        self.interval = (
            max(self.flush_interval(self.sessions_holding), self.min_interval_ms) + puts_off
        )
        self.not_before = now + round(self.interval)
        if self._crowds:
            # The room for moves grows with time: a flush right now would have room for one only.
            self._crowd_timer.set(now + MORE_AFTER_MS)
        self.stats["flushes"] += 1
        self.stats["writes"] += writes
        self.stats["flushed_bytes"] += size
        self.stats["batches_sent"] += batches_sent

    def _begin_times(self) -> list[int]:
        """Return the times, by this node's clock, of the first event in each batch that arrived."""
        return [sent for batches in self._arrived.values() for _, sent, _ in batches]

    def _make_frames(self, makers: Iterable[Callable[[], bytes]]) -> list[bytes]:
        """Return the frames of the messages that some functions make."""
        frames = []
        for make in makers:
            try:
                frames.append(frame(make()))
            except Exception:
                self._loop.failed()
        return frames

    def _collect(self, now: int, own: dict[ClientSession, list[bytes]]) -> dict[Group, None]:
        """Give everything that has arrived to the groups that hold its squares; return these.

        Times in batches become ms before `now`. Batches for one session are added to `own`.
        """
        arrived, self._arrived = self._arrived, {}
        messages, self._messages = self._messages, {}
        groups: dict[Group, None] = {}
        for square, makers in messages.items():
            frames = self._make_frames(makers.values())
            for group in self._holding[square]:
                groups[group] = None
                group.frames += frames
        for square, batches in arrived.items():
            holding = self._holding.get(square)
            if not holding:
                continue
            packed = [
                protocol.batch(square, source, now - sent, body) for source, sent, body in batches
            ]
            for group in holding:
                groups[group] = None
                group.batches += packed
        crowds, self._crowds = self._crowds, {}
        for square, crowd in crowds.items():
            news = crowd.collect(now)
            if crowd.has_news:
                self._crowds[square] = crowd
            if not news.batches and not news.crowd:
                continue
            for group in self._holding.get(square, ()):
                groups[group] = None
                group.batches += news.batches
                if news.crowd:
                    group.crowds.append(news.crowd)
            for session, batch in news.own:
                own.setdefault(session, []).append(batch)
        return groups


def flush_interval(sessions: int) -> float:
    """Return the ms from a flush to the next one, if this many sessions hold squares."""
    (few, least), *rest = FLUSH_INTERVALS_MS
    for many, ms in rest:
        if sessions < many:
            return least + (ms - least) * max(sessions - few, 0) / (many - few)
        few, least = many, ms
    return least


def _flush_bytes(
    frames: list[bytes], number: int, now: int, batches: list[bytes], crowds: list[bytes]
) -> bytes:
    """Return the frames of a flush, after others that go with it."""
    data = frame(protocol.flush(number, now, batches, crowds))
    return b"".join((*frames, data)) if frames else data
