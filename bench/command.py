"""What the commands of benchmarks share: how they end when something is missing, and at Ctrl-C.

It measures nothing itself.
"""

from collections.abc import Callable

from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.kit.signals import Interrupted


def run(name: str, work: Callable[[], int], say: Callable[[str], None]) -> int:
    """Do the work and return its exit code.

    What ends it early is reported in one sentence after the command's name: trouble, with exit code
    1, or a signal, with exit code 130.
    """
    with signals.remembered():
        try:
            return work()
        except Trouble as trouble:
            say(f"{name}: {trouble}")
            return 1
        except Interrupted:
            say(f"{name}: interrupted")
            return 130
