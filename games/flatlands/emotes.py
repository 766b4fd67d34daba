"""Emotes: what a player shows without words, and the sparks of two who wave to each other. Only
pages know what each number looks like."""

from collections.abc import Callable

from flatlands import Game, Me, Part, Records, action, number
from flatlands.games.flatlands.events import WAVE, Emote
from flatlands.games.flatlands.notes import LINES, Note, note
from flatlands.server.game.game_node import GameNode
from flatlands.server.messages.protocol import FIRST_PERSON_ID
from flatlands.server.messages.table import NUMBER

#: Two wave to each other if the second waves so soon after the first. Pages allow 3000 ms.
WAVE_MS = 5000
#: Two who are farther apart do not wave to each other.
SPARK_TILES = 16
#: A spark of the same two is noted once in each day.
DAY_MS = 24 * 3600 * 1000


class Emoting(Game):
    """A game with emotes."""

    def __init__(self, node: GameNode, options: object, alone: bool) -> None:
        super().__init__(node, options, alone)
        #: What parts call when a player has made an emote; they may wait.
        self.emoted: list[Callable[[Me, int], None]] = []


class Emotes(Part):
    """Emotes, and the sparks of two who wave to each other. Others may want to know who has made
    which emote: they add to `emoted` of the game."""

    events = (Emote,)
    notes = Records(Note)

    def __init__(self, game: Emoting) -> None:
        super().__init__(game)
        self._emoted = game.emoted
        #: Players that waved here within WAVE_MS, and when, the latest last.
        self._waved: dict[int, int] = {}

    @action(rate=1, burst=5)
    def emote(self, me: Me, emote: int = number(1, 255)) -> None:
        """Make an emote. A muted player makes none."""
        self.node.moderation.check_voice(me.id, me.owner)
        me.emit(Emote(emote=emote))
        if emote == WAVE:
            self._forget_waves()
            self._waved.pop(me.id, None)
            self._waved[me.id] = self.now()
        for hook in self._emoted:
            hook(me, emote)

    @action(rate=0.5, burst=5, address=(1 / 5, 120))
    def spark(self, me: Me, other: int = number(FIRST_PERSON_ID, NUMBER)) -> None:
        """Note that a player and one near it have waved to each other, which its page has seen. Of
        one at another node only the page knows whether it has waved."""
        self._forget_waves()
        here = {me.id, other} & self.node.residents.by_id.keys()
        near = [one for one in self.players_near(me.tile, SPARK_TILES) if one.id == other != me.id]
        if not me.owner or not near or not here <= self._waved.keys():
            me.refund()
            return
        now, (x, y) = self.now(), me.tile
        once = f"{other} {now // DAY_MS}"
        self.notes.add(note(me.owner, "spark", now, who=near[0].name, x=x, y=y, once=once), LINES)

    def _forget_waves(self) -> None:
        """Forget the waves that are too long ago."""
        for player, at in list(self._waved.items()):
            if self.now() - at <= WAVE_MS:
                return
            del self._waved[player]
