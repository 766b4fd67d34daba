"""What happens in Flatlands beside what happens in every game."""

from flatlands import Event, number
from flatlands.server.messages.protocol import TIME_MOST
from flatlands.server.messages.table import NUMBER


class Emote(Event):
    """A player made an emote."""

    emote = number(1, 255)


class Ember(Event):
    """A player carries the ember since `age` ms, after so many `passes`. Player `before` had it
    before, or nobody (0), and kept it for `kept` ms."""

    passes = number(0, NUMBER)
    age = number(-TIME_MOST, TIME_MOST)
    before = number(0, NUMBER)
    kept = number(0, TIME_MOST)
