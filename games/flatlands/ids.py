"""The ids of computer players."""

from typing import Final

#: Computer players with ids from this one on are deer: page/faces.js has it, too.
DEER_FROM: Final = 2**15
