"""Servers as in tests/inside.py and tests/processes.py, which play Flatlands. They have computer
players only if a test asks for them."""

from functools import partial

from tests import processes
from tests.inside import inside as _inside

FLATLANDS = {"GAME": "flatlands", "WALKERS": "0", "DEER": "0"}

inside = partial(_inside, **FLATLANDS)
serving = partial(processes.serving, **FLATLANDS)
ServerProcess = partial(processes.ServerProcess, **FLATLANDS)
