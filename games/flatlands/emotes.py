"""Emotes: what a player shows without words. Only pages know what each number looks like."""

from flatlands import Me, Part, action, number
from flatlands.games.flatlands.events import Emote


class Emotes(Part):
    """Emotes: what a player shows without words."""

    events = (Emote,)

    @action(rate=1, burst=5)
    def emote(self, me: Me, emote: int = number(1, 255)) -> None:
        """Make an emote. A muted player makes none."""
        self.node.orders.check_voice(me.id, me.owner)
        me.emit(Emote(emote=emote))
