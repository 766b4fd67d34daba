"""What people of the herd say: greetings, what they say to nobody, and answers by keyword.

What is said to a player contains its name, and nothing else does, except what the almanac says of
it: so a page knows what its own player should read. An answer says only what its speaker
knows, and never pretends that a person gave it. This module never decides who speaks.
"""

import math
import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from flatlands.games.flatlands.ground.landmarks import PART
from flatlands.games.flatlands.notes import Entry
from flatlands.server.players.spots import Position
from flatlands.world.track import UNIT

#: What they say to nobody now and then.
SAYINGS: Final = (
    "Ask me where a gem lies, or a landmark.",
    "Wave to me, and I wave back.",
    "Dance, and I dance along.",
    "A day takes sixteen minutes here.",
)

#: What they say to a newcomer; it has both names.
GREETINGS: Final = (
    "Hello, {guest}! I am {own}, a clockwork walker.",
    "Welcome, {guest}! My name is {own}. I am clockwork.",
    "Good to see you, {guest}! I am {own}, made of clockwork.",
)

#: What they say to a player who comes back.
AGAIN: Final = "Good to see you again, {guest}!"

#: What is said on the way to a sight: at its beginning, when the guest is far behind, when the
#: leader has come back to it, and when it did not follow then. A bubble shows some 40 characters.
COME: Final = "Click me, {guest}: I will show you {sight}."
WAITING: Final = "This way, {guest}!"
CLICK_ME: Final = "Click me to follow me, {guest}."
GIVES_UP: Final = "Another time, {guest}. It is {way} of here."

#: What is said to somebody who waits alone at twin stones, before the walk there, and if something
#: bars the way.
HELPS: Final = "Wait, {guest}: I take the other stone."
IS_BARRED: Final = "I cannot get there, {guest}. Sorry."

#: What is said to a carrier of the ember that is alone, and after it was taken.
OFFERS: Final = "Keep close, {guest}: I carry it for a while."
TAKES: Final = "Take it back, {guest}, when it has shrunk."

#: By the kind of a sight (sight.py): what it is, and what is said when both are there.
SIGHTS: Final = (
    ("a landmark", "Here it is, {guest}. Signposts tell of others."),
    ("a bridge", "Here we are, {guest}: water on both sides."),
    ("where paths meet", "Paths meet here, {guest}. Follow any of them."),
)

#: The eight directions, from the east on, clockwise.
_COMPASS: Final = "east south-east south south-west west north-west north north-east".split()


class Facts(NamedTuple):
    """What a speaker knows: the name of the player that it answers, its own, and where it is; the
    nearest gem that it sees and the nearest landmark that it knows, in units, or None; and how many
    people it sees, and how many who are clockwork like itself."""

    guest: str
    own: str
    here: Position
    gem: Position | None
    landmark: Position | None
    people: int
    clockwork: int


def way(here: Position, there: Position) -> str:
    """Return how many tiles a place is from another one, and in which direction, in words."""
    dx, dy = there[0] - here[0], there[1] - here[1]
    turn = round(math.atan2(dy, dx) / math.tau * 8) % 8
    tiles = round(math.hypot(dx, dy) / UNIT)
    return f"{tiles} {'tile' if tiles == 1 else 'tiles'} {_COMPASS[turn]}"


def quotes(entries: Iterable[Entry]) -> list[str]:
    """Return what is said to nobody about the almanac of a day."""
    return [_QUOTES[one.kind](one) for one in entries if one.kind in _QUOTES]


def _part(one: Entry) -> str:
    """Return in words where the middle of a part of the world is; its landmark stands near it."""
    x, y = ((at * PART + PART // 2) * UNIT for at in (one.x, one.y))
    return way((0, 0), (x, y))


_QUOTES: Final[dict[str, Callable[[Entry], str]]] = {
    "farthest": lambda one: f"{one.who} went farthest: {_part(one)} of the plaza.",
    "loneliest": lambda one: f"The loneliest cairn is {one.who}'s: {one.n} tiles to the next.",
    "oldest": lambda one: f'{one.who} wrote on the oldest cairn: "{one.words}"',
    "hands": lambda one: f"{one.n} hands brought the fire to a landmark.",
}


def _gem(facts: Facts) -> str:
    if facts.gem is None:
        return "I see no gem just now, {guest}. They lie near the paths: walk over one to take it."
    gem = way(facts.here, facts.gem)
    return f"{{guest}}, I see a gem {gem} of here. Walk over it, and it is yours."


def _plaza(facts: Facts) -> str:
    if math.hypot(*facts.here) < 7 * UNIT:
        return "This is the plaza, {guest}: the middle of the world. Press H, or Home, to return."
    plaza = way(facts.here, (0, 0))
    return f"{{guest}}, the plaza is {plaza} of here. Press H, or Home, to go there."


def _landmark(facts: Facts) -> str:
    if facts.landmark is None:
        return "Follow a path to a signpost, {guest}: it says what lies where."
    there = way(facts.here, facts.landmark)
    return f"{{guest}}, a landmark stands {there} of here. Signposts give their names."


def _who(facts: Facts) -> str:
    return f"I am {facts.own}, {{guest}}. I am clockwork: a computer player."


def _many(facts: Facts) -> str:
    people = "1 person" if facts.people == 1 else f"{facts.people} people"
    seen = f"{people} and {facts.clockwork} clockwork"
    return f"{{guest}}, I see {seen}. Press O, or Map, to see everybody."


#: The first entry whose words are in a sentence answers it.
_ANSWERS: Final[tuple[tuple[str, str | Callable[[Facts], str]], ...]] = (
    (
        r"ember|coal|fires?|relay|torch",
        "Take the ember from a fire, {guest}, and wave to me: I help you light a dark landmark.",
    ),
    (r"lakes?|water|sea|shore|swim", "Water is blue on the small map, {guest}."),
    (r"gems?|diamonds?|jewels?|points?|score", _gem),
    (r"cairns?|stones?", "Press C, or Leave a cairn, to leave a line for others, {guest}."),
    (r"plaza|home|cent(?:er|re)|spawn|middle", _plaza),
    (r"how many|anybody|anyone|everybody|everyone|others", _many),
    (
        r"(?:who|what) (?:are|r) (?:you|u)|your name|bots?|robots?|clockwork|computer|npcs?|ai|"
        r"(?:real|human) ?(?:person|player)?|are you (?:real|human|alive|a person)",
        _who,
    ),
    (r"key in your back|wind|key", "It winds me up, {guest}. Nobody has to turn it."),
    (r"grid|channels?|squares?", "Press G to see the squares, {guest}."),
    (r"map", "Press O, or Map, to see where everybody is, {guest}."),
    (r"deer", "The deer are shy, {guest}. Walk past them at a distance."),
    (r"signposts?|landmarks?|mill|lighthouse|tower|wreck|windmill", _landmark),
    (r"night|dark|dusk|what time", "A day takes sixteen minutes here, {guest}."),
    (r"friends?|invite|alone", "Press I, or Invite, {guest}, for a link to send to a friend."),
    (r"colou?r|hats?|ears|my name|look like", "Press N, or Book, then Name and face, {guest}."),
    (r"wave|dance|emotes?|laugh", "1 waves, {guest}, and the hand button has all gestures."),
    (r"sounds?|music|mute", "Press V, or Help, to turn the sounds on or off, {guest}."),
    (
        r"help|how (?:do|can)|what (?:can|do) (?:i|we|you) do|controls?|keys",
        "Walk with keys, stick or clicks, {guest}. Ask me about gems or landmarks.",
    ),
    (r"where", _plaza),
    (r"how are you|how do you do|how is it going", "Well wound, thank you, {guest}!"),
    (r"thanks?|thank you|thx", "You are welcome, {guest}."),
    (r"sorry", "No harm done, {guest}."),
    (r"love|nice|cute|cool|great|beautiful|lovely|pretty", "It is, {guest}, is it not?"),
    (r"bye|goodbye|good night|see you|cu", "Goodbye, {guest}! Come back soon."),
    (
        r"hello|hi|hey|hallo|hola|good (?:morning|day|evening)|greetings",
        "Hello, {guest}! I am clockwork, but I know my way. Ask me where something is.",
    ),
)


def answer(text: str, facts: Facts) -> str | None:
    """Return what to answer to a sentence, or None if nothing is known of what it is about."""
    for words, about in _ANSWERS:
        if re.search(rf"\b(?:{words})\b", text, re.IGNORECASE):
            said = about if isinstance(about, str) else about(facts)
            return said.format(guest=facts.guest)
    return None
