"""Blooms: where three people dance at the same time for 8 s, their square blooms for a day.

A dance is an emote, which is over in a moment: a player that makes another within GAP dances on.
One record of each square says who dances there, and since when. It is changed by compare-and-take,
so the three may be on three nodes. One step of the store turns it into the record of a bloom, puts
the bloom into the square, and writes a line into each dancer's book: whatever dies, all of it is
done or nothing, and once a day. Nothing looks at players that do not dance, nor at those that dance
where there are fewer than three people.
"""

from typing import Final, NamedTuple

from flatlands import Me, Part, Record, Records, StoreUnavailable, Thing, flag, number, text
from flatlands.games.flatlands.emotes import Emoting
from flatlands.games.flatlands.events import DANCE
from flatlands.games.flatlands.notes import MARK, Note, note
from flatlands.server.messages.protocol import TIME_MOST
from flatlands.server.messages.texts import PLAYER_NAME_LIMIT

#: How many people it takes.
DANCERS: Final = 3

#: ms for which each of them must have danced, and the most ms between two emotes of one dance.
#: The page allows a dance every 1250 ms, and shows each dance for 2600.
LASTS: Final = 8000
GAP: Final = 4000

#: Seconds for which a square blooms.
DAY: Final = 24 * 3600

#: The most people that are known to dance in a square: others take the places of those who stop.
KNOWN: Final = 6


class Bloom(Thing, lasts=DAY):
    """What makes the square in which it lies bloom, `until` a node time in ms. The other fields are
    the names of those who have danced there."""

    until = number(0, TIME_MOST)
    first = second = third = text(0, PLAYER_NAME_LIMIT)


class Dancer(NamedTuple):
    """A player who dances, the mark of its person, and the node times, in ms, of its first dance
    and of its last one."""

    player: int
    mark: str
    since: int
    last: int


class Dance(Record, lasts=DAY):
    """Who dances in a square, as `packed` writes it; or that the square `blooms`."""

    dancers = text(0, KNOWN * 70)
    blooms = flag()

    def all(self) -> list[Dancer]:
        """Return the dancers, in the order in which they began."""
        rows = [row.split() for row in self.dancers.split(";") if row]
        return [Dancer(int(id), mark, int(since), int(last)) for id, mark, since, last in rows]


def packed(dancers: list[Dancer]) -> str:
    """Return dancers in the form that a record keeps."""
    return ";".join(" ".join(map(str, one)) for one in dancers)


def danced(dancers: list[Dancer], player: int, mark: str, now: int) -> list[Dancer]:
    """Return who dances after a player has danced at a node time, in ms; perhaps without the player
    if there are many. A person that comes back, or has two windows, is one dancer."""
    # Without those who have stopped, or whose times a wrong clock gave.
    on = [one for one in dancers if abs(now - one.last) <= GAP]
    since = min([one.since for one in on if one.mark == mark], default=now)
    others = [one for one in on if one.mark != mark]
    return sorted([*others, Dancer(player, mark, since, now)], key=lambda one: one.since)[:KNOWN]


class Blooms(Part):
    """The squares in which three people have danced."""

    things = (Bloom,)
    dances = Records(Dance)
    notes = Records(Note)

    def __init__(self, game: Emoting) -> None:
        super().__init__(game)
        game.emoted.append(self._emoted)

    def _emoted(self, me: Me, emote: int) -> None:
        """Count an emote of a player that is a dance."""
        if emote == DANCE and me.owner:
            try:
                self._dance(me)
            except StoreUnavailable:
                # The dance was seen. A player that dances on is counted once the store answers.
                return

    def _dance(self, me: Me) -> None:
        """Note that a player has danced, and let its square bloom if nothing else was missing."""
        square, now = me.square, self.now()
        names = {one.id: one.name for one in self.players_in(square)}
        blooms = any(isinstance(thing, Bloom) for thing in self.things_in(square))
        if blooms or len(names) < DANCERS:
            return
        id = f"{square[0]}:{square[1]}"

        def how(dance: Dance | None) -> Dance | None:
            before = Dance(id) if dance is None else dance
            after = packed(danced(before.all(), me.id, me.owner[:MARK], now))
            return None if before.blooms or after == before.dancers else Dance(id, dancers=after)

        dance = self.dances.change(id, how)
        assert dance is not None
        long = [one for one in dance.all() if now - one.since >= LASTS and one.player in names]
        if len(long) >= DANCERS:
            self._bloom(me, dance, long[:DANCERS], [names[one.player] for one in long[:DANCERS]])

    def _bloom(self, me: Me, dance: Dance, dancers: list[Dancer], names: list[str]) -> None:
        """Let the square of a player bloom, unless somebody was faster."""
        now, (x, y) = self.now(), me.tile
        left, top = (at * self.side for at in me.square)
        x = min(max(x, left), left + self.side - 1)
        y = min(max(y, top), top + self.side - 1)
        first, second, third = names
        bloom = Bloom((x, y), until=now + DAY * 1000, first=first, second=second, third=third)
        lines = [
            note(one.mark, "bloom", now, who=who, n=DANCERS, x=x, y=y)
            for one, who in zip(dancers, [second, third, first], strict=True)
        ]
        self.dances.forget(dance, [Dance(dance.id, blooms=True), bloom, *lines])
