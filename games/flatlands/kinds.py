"""What several parts of Flatlands know: which computer players are deer, and what a cairn is."""

from typing import Final, NamedTuple

from flatlands.server.messages.peer_protocol import THING_ID, THING_VERSION, Kind, declare
from flatlands.server.messages.table import number

#: The kind of things that are kept by a part itself (gems are declared in gems/gems.py).
CAIRN: Final = 1

#: Of computer players those with ids from DEER_FROM on are deer.
DEER_FROM: Final = 2**15


class CairnThing(NamedTuple):
    """A heap of stones that player `player` has left, under the name `name`, with a line, at a
    position in units from the square's corner."""

    kind: int
    id: str
    version: int
    x: int
    y: int
    player: int
    name: str
    text: str
    stones: int


THINGS: Final[dict[int, Kind]] = {
    CAIRN: declare(CairnThing, THING_ID, THING_VERSION, number("stones", 1, 1000)),
}
