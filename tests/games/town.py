"""Rooms to talk in. A room is a square far away from all others, and keeps its last lines."""

from flatlands import Game as Engine
from flatlands import Me, Refused, action, number, plain, text
from flatlands.games.chat import Chat

#: The rooms lie in a row, so many tiles apart that none is on the screen of another.
APART = 1600
ROOMS = 5


def middle(room: int) -> tuple[int, int]:
    """Return the tile in the middle of a room."""
    return room * APART + 8, 8


class Visitor(Me):
    """Somebody in a room."""

    room = number(0, ROOMS - 1, persist=True)
    mood = number(0, 9, persist=True)


class Game(Engine[Visitor]):
    """Rooms to talk in."""

    ground, me, parts = plain(), Visitor, [Chat]
    walking, presence = "none", True
    messages = {
        "lines": {"lines": list[tuple[int, str, str]]},
        "whispered": {"id": int, "name": str, "text": str},
        "heard": {"yes": bool},
        "online": {"count": int},
    }

    def begin(self):
        return middle(0)

    def on_join(self, me, back):
        if me.square[0] != middle(me.room)[0] // self.side:
            me.teleport(middle(me.room))
        me.send("online", self.online())

    @action(rate=1, burst=3)
    def enter(self, me, room: int = number(0, ROOMS - 1)):
        me.room = room
        me.teleport(middle(room))

    @action(rate=1, burst=5)
    def feel(self, me, mood: int = number(0, 9)):
        me.mood = mood

    @action(rate=1, burst=5)
    def whisper(self, me, to: int = number(0, 2**52), words: str = text(1, 120)):
        if not self.is_online(to):
            raise Refused("away", "This player is not here.")
        me.send("heard", self.deliver(to, "whispered", me.id, me.name, words))
