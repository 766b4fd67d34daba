"""The intents of one client: when each of them is obeyed, and which are not worth obeying.

What an intent does to the player is in server/players/movement.py.
"""

from flatlands.server.loop import Loop
from flatlands.server.messages.protocol import Refused
from flatlands.server.players.movement import INTENT_AGE, Movement
from flatlands.server.players.resident import Resident
from flatlands.world.track import Intent


class Intended:
    """Intent `number`, which its client says began at the time `t`. It replaces so many older
    ones."""

    __slots__ = ("number", "t", "intent", "replaces")

    def __init__(self, number: int, t: int, intent: Intent, replaces: int) -> None:
        self.number = number
        self.t = t
        self.intent = intent
        self.replaces = replaces


class Intents:
    """See the module."""

    __slots__ = ("last", "noted", "_movement", "_loop")

    def __init__(self, movement: Movement, loop: Loop) -> None:
        #: The number of the last intent, 0 before the first.
        self.last = 0
        #: The intent that is obeyed after the messages that came with it, or None.
        self.noted: Intended | None = None
        self._movement = movement
        self._loop = loop

    def number(self, resident: Resident, number: int) -> None:
        """Take the number of the player's next intent. Raises Refused if numbers do not rise."""
        if number <= self.last:
            raise Refused("number", "the numbers of intents must rise")
        self.last = number
        resident.acted = True

    def note(self, resident: Resident, number: int, t: int, intent: Intent) -> None:
        """Note an intent, which is obeyed after the messages that came with it. Raises Refused.

        A server that is late finds several in one read. All but the last of those that are too old
        would take effect at the same moment, so that the last one is enough.
        """
        self.number(resident, number)
        before, replaces = self.noted, 0
        if before is not None:
            if t > self._loop.now() - INTENT_AGE:
                self.obey(resident)
            else:
                t, replaces = max(t, before.t), before.replaces + 1
        self.noted = Intended(number, t, intent, replaces)

    def obey(self, resident: Resident) -> None:
        """Obey the intent that was noted."""
        noted, self.noted = self.noted, None
        assert noted is not None
        self._movement.act(resident, noted.number, noted.t, noted.intent, noted.replaces)
