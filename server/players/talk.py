"""What people of the herd say: greetings, what they say to nobody, and answers by keyword.

An answer tells only what its speaker knows, and never pretends that a person gave it. This module
never decides who speaks.
"""

import math
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from server.players.spots import Place
from world.track import UNIT

#: What they say to nobody now and then.
SAYINGS: Final = (
    "Lovely day for a walk.",
    "The paths go on for ever.",
    "Tick, tock. I never tire.",
    "Ask me where the lake is.",
    "I like it here.",
    "Wave to me, and I wave back.",
)

#: What they say to a newcomer; it has both names.
GREETINGS: Final = (
    "Hello, {guest}! I am {own}, a clockwork walker.",
    "Welcome, {guest}! My name is {own}. I am clockwork.",
    "Good to see you, {guest}! I am {own}, made of clockwork.",
)

#: What is said on the way to the lake: at its beginning, when the guest is far behind, when it did
#: not come, and at the end.
COME: Final = "Come, I will show you the lake!"
WAITING: Final = "This way!"
GIVES_UP: Final = "Another time, then. The lake is {lake} of here."
ARRIVED: Final = "Here it is: the lake. Gems lie near the paths, by the way."

#: The eight directions, from the east on, clockwise.
_COMPASS: Final = (
    "east", "south-east", "south", "south-west", "west", "north-west", "north", "north-east",
)  # fmt: skip


class Facts(NamedTuple):
    """What a speaker knows: its name, and where it is, the lake, the nearest gem that it sees and
    the nearest landmark that it knows, in units, or None. It sees so many people and so many who
    are clockwork like itself."""

    own: str
    here: Place
    lake: Place | None
    gem: Place | None
    landmark: Place | None
    people: int
    clockwork: int


def way(here: Place, there: Place) -> str:
    """Return how many tiles a place is from another one, and in which direction, in words."""
    dx, dy = there[0] - here[0], there[1] - here[1]
    turn = round(math.atan2(dy, dx) / math.tau * 8) % 8
    tiles = round(math.hypot(dx, dy) / UNIT)
    return f"{tiles} {'tile' if tiles == 1 else 'tiles'} {_COMPASS[turn]}"


def _lake(facts: Facts) -> str:
    if facts.lake is None:
        return "I know of no lake near the plaza."
    return f"The nearest lake that I know is {way(facts.here, facts.lake)} of here."


def _gem(facts: Facts) -> str:
    if facts.gem is None:
        return "I see no gem just now. They lie near the paths: walk over one to take it."
    return f"I see a gem {way(facts.here, facts.gem)} of here. Walk over it, and it is yours."


def _plaza(facts: Facts) -> str:
    if math.hypot(*facts.here) < 7 * UNIT:
        return "This is the plaza, the middle of the world. H, or the house, brings you here."
    return f"The plaza is {way(facts.here, (0, 0))} of here. H, or the house, brings you there."


def _landmark(facts: Facts) -> str:
    if facts.landmark is None:
        return "Follow a path to a signpost: it tells what lies where."
    there = way(facts.here, facts.landmark)
    return f"A landmark stands {there} of here. Signposts tell their names."


def _who(facts: Facts) -> str:
    return f"I am {facts.own}. I am clockwork: a computer player."


def _many(facts: Facts) -> str:
    people = "1 person" if facts.people == 1 else f"{facts.people} people"
    return f"I see {people} and {facts.clockwork} clockwork. The map, or O, shows everybody."


def _always(sentence: str) -> Callable[[Facts], str]:
    return lambda _facts: sentence


#: The first one whose words are in a sentence answers it.
_ANSWERS: Final = tuple(
    (re.compile(rf"\b(?:{words})\b", re.IGNORECASE), answer)
    for words, answer in (
        (r"ember|coal|tag|catch", _always("Whom the ember's carrier touches has it next. Run!")),
        (r"lakes?|water|sea|shore|swim", _lake),
        (r"gems?|diamonds?|jewels?|points?|score", _gem),
        (r"cairns?|stones?", _always("C, or its button, leaves a cairn with a line for others.")),
        (r"plaza|home|cent(?:er|re)|spawn|middle", _plaza),
        (r"how many|anybody|anyone|everybody|everyone|others", _many),
        (r"(?:who|what) (?:are|r) (?:you|u)|your name|bots?|robots?|clockwork|computer|npcs?|ai|"
         r"(?:real|human) ?(?:person|player)?|are you (?:real|human|alive|a person)", _who),
        (r"key in your back|wind|key", _always("It winds me up. Nobody has to turn it.")),
        (r"grid|channels?|squares?", _always("G, or the grid button, shows it.")),
        (r"map", _always("O, or a touch on the small map, opens the map of everybody.")),
        (r"deer", _always("The deer are shy. Walk slowly past them, or not at all.")),
        (r"signposts?|landmarks?|mill|lighthouse|tower|wreck|windmill", _landmark),
        (r"night|dark|dusk|what time", _always("A day takes sixteen minutes here.")),
        (r"friends?|invite|alone", _always("I, or the chain, makes a link for a friend.")),
        (r"colou?r|hats?|ears|my name|look like", _always("N, or the face, changes all that.")),
        (r"wave|dance|emotes?|laugh", _always("1 waves, and the hand button has all gestures.")),
        (r"sounds?|music|mute", _always("Q, or the speaker, turns the sounds on and off.")),
        (r"help|how (?:do|can)|what (?:can|do) (?:i|we|you) do|controls?|keys",
         _always("Walk by keys, stick or click. Ask me about the lake, gems or the map.")),
        (r"where", _plaza),
        (r"how are you|how do you do|how is it going", _always("Well wound, thank you!")),
        (r"thanks?|thank you|thx", _always("You are welcome.")),
        (r"sorry", _always("No harm done.")),
        (r"love|nice|cute|cool|great|beautiful|lovely|pretty", _always("It is, is it not?")),
        (r"bye|goodbye|good night|see you|cu", _always("Goodbye! Come back soon.")),
        (r"hello|hi|hey|hallo|hola|good (?:morning|day|evening)|greetings",
         _always("Hello! I am clockwork, but I know my way. Ask me where something is.")),
    )
)  # fmt: skip


def answer(text: str, facts: Facts) -> str | None:
    """Return what to answer to a sentence, or None if nothing is known of what it is about."""
    for words, about in _ANSWERS:
        if words.search(text):
            return about(facts)
    return None
