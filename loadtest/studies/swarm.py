"""A run of the swarm as a part of a study."""

from collections.abc import Callable

from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.swarm.result import Options, Progress, Result
from flatlands.loadtest.swarm.run import RunContext, run


def measured(
    options: Options,
    name: str,
    note: Callable[[str], None],
    injection: Callable[[RunContext], None] | None = None,
) -> Result:
    """Do a run of the swarm, and return its result; `note` gets what happens, after its `name`.

    Raises Trouble if nothing was measured, and Interrupted.
    """

    def following(progress: Progress) -> None:
        note(f"{name}: {progress.phase}, {progress.bots:,} players")

    result = run(options, following, injection=injection)
    # A run that was interrupted returns what it has measured.
    signals.check()
    if not result.measured:
        raise Trouble(f"{name}: nothing was measured: {result.error}")
    return result
