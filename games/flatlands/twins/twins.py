"""Twin stones: a gem floats between two stones, and opens while a person stands on each of them, or
one person alone and clockwork on the other one.

Each node looks at those of its players that are at twin stones. When one of them stands on a stone,
and another person, on whichever node, on the other one, it opens the gem: in one step of the store
the gem is gone, and a half lies there for each of the two, which nobody else can take. So whatever
dies in between, each of them gets exactly one half. With clockwork there is one half, for the
person. Players that are not far away learn who waits. This module never reveals which players are
the same person.
"""

import random
from math import dist
from typing import NamedTuple

from flatlands import Game as Engine
from flatlands import Me, Part, PlayerGone, Record, Records, Refused, Thing, number, text
from flatlands.games.flatlands.clockwork import Walker
from flatlands.games.flatlands.ground.landmarks import PART, Landmarks
from flatlands.games.flatlands.notes import MARK, Note, note
from flatlands.games.flatlands.treasure import (
    BOARD,
    ON_STONE_TILES,
    beside_paths,
    is_planted,
    stones,
)
from flatlands.server.game.hooks import Hook
from flatlands.server.game.part_hooks import PlayerView
from flatlands.server.messages.table import NUMBER
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT
from flatlands.world.terrain import GRASS, SAND
from flatlands.world.track import Tile

#: A node looks at the players that come so near to a gem.
AT_TILES = 3.5
#: It looks no longer at a player that is farther from the gem. A player is noticed again only after
#: it has been a tile and a quarter out of reach.
AWAY_TILES = 5

#: A node looks so often at those who are there, as long as somebody is.
LOOK_EVERY_MS = 500

#: Those within so many tiles of a gem are sent who waits.
NOTIFY_WITHIN_TILES = 200
#: They are sent each player that waits so often.
NOTIFY_EVERY_MS = 20_000
#: They are sent so many players after one look.
NOTIFY_AT_ONCE = 1

#: A node trusts for this long what it has read of a player's person.
KNOWN_MS = 600_000
#: A node reads again after this long if no node has said who the person is.
UNKNOWN_MS = 2000
#: A node keeps that for so many players at most.
KNOWN_PLAYERS = 1000

#: The ground is open so far to each side of a gem.
OPEN_ASIDE_TILES = 3
#: The ground is open so far above and below a gem.
OPEN_ACROSS_TILES = 1
#: A node tries so many places to find open ground.
PLACE_TRIES = 32
#: A gem is farther from the plaza; and one that is not of the plaza's plot is farther than the
#: second number, so that a newcomer comes upon one pair and not upon several.
FROM_PLAZA_TILES = 14
OTHERS_FROM_PLAZA_TILES = 64
#: The plot of the plaza.
PLAZA_PLOT = (0, 0)
#: A gem is farther from a landmark.
FROM_LANDMARK_TILES = 12
#: A gem is farther from the plot's other such gems, so that nobody is at two.
APART_TILES = 10

#: The error if only its own person is on the other stone.
ALONE = "both stones have you on them: somebody else must stand on one"


class Twin(Thing, reach=AT_TILES, lasts=24 * 3600):
    """A gem between two stones; its tile is the gem's."""


class Half(Thing, reach=AT_TILES, lasts=24 * 3600):
    """The half on a stone for the `player` that stood there, while `name` stood on the other one;
    clockwork if that is ""."""

    player = number(0, NUMBER)
    name = text(0, PLAYER_NAME_LIMIT)


class Person(Record, lasts=24 * 3600):
    """The person behind the player with this id: the first MARK characters of its owner."""

    mark = text(0, MARK)


class Waits(NamedTuple):
    """Somebody who waits on a stone; `alone`: only the same person, as far as is known, is on the
    other one."""

    me: Me
    twin: Twin
    alone: bool


class Twins(Part):
    """The part of the game with twin stones."""

    things = [Twin, Half]
    persons = Records(Person)
    notes = Records(Note)

    def __init__(self, game: Engine) -> None:
        super().__init__(game)
        self._landmarks = Landmarks(self.node.terrain)
        #: The things that players of this node are at, by id and version; the players by id.
        self._at: dict[tuple[str, int], tuple[Twin | Half, dict[int, Me]]] = {}
        #: Player -> the mark of its person, or "", and the node time until which that is trusted.
        self._marks: dict[int, tuple[str, int]] = {}
        #: Player -> how it waits, as others know; and when that was last sent.
        self._waits: dict[int, Waits] = {}
        self._sent_at: dict[int, int] = {}
        #: True while a look is due or under way: only one at a time, since it waits for the store.
        self._looking = False
        look, spawn = Hook(self.node, "look", self._look, waits=True), self.node.spawn
        self._turns = self.node.loop.timer(lambda: spawn(look))

    def plant(self, plot: Tile) -> list[Twin]:
        """Return the twin stones of a plot."""
        places: list[Tile] = []
        for place in filter(None, (self._choose(plot) for _ in range(self.game.options.twins))):
            if all(dist(place, other) > APART_TILES for other in places):
                places.append(place)
        return [Twin(place) for place in places]

    def on_touch(self, me: Me, thing: Twin | Half) -> None:
        """Note that a player has come to twin stones, or to its half."""
        if isinstance(thing, Half) and thing.player != me.id:
            return
        self._at.setdefault((thing.id, thing.version), (thing, {}))[1][me.id] = me
        if not self._looking:
            self._looking = True
            self._turns.set(self.now())

    def _look(self) -> None:
        """Look at all who are at twin stones, and again later if there are any."""
        try:
            self._notify(self._waiting())
        finally:
            self._looking = bool(self._at or self._waits)
            self._turns.set(self.now() + LOOK_EVERY_MS if self._looking else None)

    def _waiting(self) -> dict[int, Waits]:
        """Open what can be opened, give what is to be given, and return who waits."""
        waits: dict[int, Waits] = {}
        for key, (thing, players) in list(self._at.items()):
            for me in list(players.values()):
                if not (me.is_local and me.near(thing.tile, AWAY_TILES)):
                    del players[me.id]
            if not players or not self._lies(thing):
                del self._at[key]
            elif isinstance(thing, Twin):
                waits |= self._look_at(thing, players)
            else:
                self._give(thing, players)
        return waits

    def _lies(self, thing: Thing) -> bool:
        """Return whether a thing still lies there, as far as this node knows."""
        column, row = thing.tile
        there = self.things_in((column // self.side, row // self.side))
        return any((one.id, one.version) == (thing.id, thing.version) for one in there)

    def _look_at(self, twin: Twin, players: dict[int, Me]) -> dict[int, Waits]:
        """Open a gem if that can be done; otherwise return who waits there."""
        near, waits = self.players_near(twin.tile, round(AT_TILES)), {}
        both = [(stone, [one for one in near if _is_on(one, stone)]) for stone in stones(twin.tile)]
        for (stone, mine), (other, others) in (both, both[::-1]):
            for one in mine:
                me = players.get(one.id)
                if me is None or not me.owner:
                    continue
                try:
                    partner = self._partner(me, others)
                    if partner is not None:
                        self._open(
                            me,
                            twin,
                            Half(stone, player=me.id, name=partner.name),
                            Half(other, player=partner.id, name=me.name),
                        )
                        return {}
                    if len(near) == 1 and self._is_clockwork_on(other):
                        self._open(me, twin, Half(stone, player=me.id))
                        return {}
                except PlayerGone:
                    del players[one.id]
                    continue
                # A player that only walks over the stone does not wait.
                if one is mine[0] and me.track.end <= self.now():
                    waits[me.id] = Waits(me, twin, bool(others))
        return waits

    def _partner(self, me: Me, others: list[PlayerView]) -> PlayerView | None:
        """Return one of `others` that is not the same person as a player, or None."""
        mark = me.owner[:MARK]
        if self._mark(me.id) != mark:
            self.persons.change(str(me.id), lambda _: Person(str(me.id), mark=mark))
            self._marks[me.id] = mark, self.now() + KNOWN_MS
        return next((one for one in others if self._mark(one.id) not in ("", mark)), None)

    def _mark(self, player: int) -> str:
        """Return the mark of a player's person, or "" if no node has said it."""
        now, (mark, until) = self.now(), self._marks.get(player, ("", 0))
        if now >= until:
            if len(self._marks) >= KNOWN_PLAYERS:
                self._marks.clear()
            known = self.persons.read(str(player))
            mark = "" if known is None else known.mark
            self._marks[player] = mark, now + (KNOWN_MS if mark else UNKNOWN_MS)
        return mark

    def _is_clockwork_on(self, stone: Tile) -> bool:
        return any(isinstance(one, Walker) for one in self.movers_near(stone, ON_STONE_TILES))

    def _open(self, me: Me, twin: Twin, *halves: Half) -> None:
        """Open a gem into the halves of a player and of its partner, if it has one."""
        pause, then = self.game.options.gem_pause, list[Thing](halves)
        if is_planted(twin, self.game.options.twins):
            place = self._choose(twin.plot) or twin.tile
            then.append(twin.again(place, after=random.uniform(pause / 2, pause * 3 / 2)))
        me.take(twin, then)

    def _give(self, half: Half, players: dict[int, Me]) -> None:
        """Give a player its half."""
        me, (x, y) = players[half.player], half.tile
        # When a player comes back, its key follows a moment later.
        if not me.owner:
            return
        line = note(me.owner, "twin", self.now(), who=half.name, x=x, y=y)
        try:
            if me.take(half, [line], scores=[(BOARD, 1)]):
                rank = me.rank(BOARD)
                me.send("found", half.id, half.version, rank.n, rank.place, rank.of)
                me.send("twin", half.name)
        except PlayerGone:
            del players[me.id]

    def _notify(self, waits: dict[int, Waits]) -> None:
        """Send to those who are not far away who waits, and who no longer does."""
        now, sent_at = self.now(), self._sent_at
        for id, before in list(self._waits.items()):
            if id not in waits or waits[id].twin is not before.twin:
                del self._waits[id]
                self._send(before, False)
        due = [id for id in waits if now >= sent_at.get(id, 0) + NOTIFY_EVERY_MS]
        for id in sorted(due, key=lambda id: sent_at.get(id, 0))[:NOTIFY_AT_ONCE]:
            if len(sent_at) >= KNOWN_PLAYERS:
                sent_at.clear()
            sent_at[id], one = now, waits[id]
            if one.alone:
                one.me.refuse(Refused("twin", ALONE))
            if not self.node.moderation.is_muted(id, one.me.owner):
                self._waits[id] = one
                self._send(one, True)

    def _send(self, one: Waits, still: bool) -> None:
        me, tile = one.me, one.twin.tile
        self.broadcast("waits", me.id, me.name, *tile, still, near=(tile, NOTIFY_WITHIN_TILES))

    def _choose(self, plot: Tile) -> Tile | None:
        """Return a random tile near a path of a plot, with open ground all around, or None if none
        was found."""
        places = beside_paths(self.node.terrain, plot, PLACE_TRIES)
        away = FROM_PLAZA_TILES if plot == PLAZA_PLOT else OTHERS_FROM_PLAZA_TILES
        return next((place for place in places if self._fits(*place, away)), None)

    def _fits(self, x: int, y: int, away: int) -> bool:
        """Return whether a gem with its stones can stand around a tile, farther than `away` tiles
        from the plaza."""
        kind = self.node.terrain.kind
        open_ground = x * x + y * y > away**2 and all(
            kind(x + dx, y + dy) in (GRASS, SAND)
            for dx in range(-OPEN_ASIDE_TILES, OPEN_ASIDE_TILES + 1)
            for dy in range(-OPEN_ACROSS_TILES, OPEN_ACROSS_TILES + 1)
        )
        mark = self._landmarks.of(x // PART, y // PART) if open_ground else None
        return open_ground and (mark is None or dist(mark, (x, y)) > FROM_LANDMARK_TILES)


def _is_on(one: PlayerView, stone: Tile) -> bool:
    """Return whether a player stands on a stone."""
    return dist(one.place, (stone[0] + 0.5, stone[1] + 0.5)) <= ON_STONE_TILES
