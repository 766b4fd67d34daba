"""One run: starts the swarm's processes, goes through the phases, and returns the result.

The bots join and move for a while that does not count, and then for the measured time. Then they
stand still until everything under way has arrived, and the oracle judges. A run never prints.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection, wait
from tempfile import TemporaryDirectory

import numpy as np

from flatlands.loadtest.kit import signals
from flatlands.loadtest.kit.histogram import Histogram
from flatlands.loadtest.kit.machine import pinned
from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.kit.signals import Interrupted
from flatlands.loadtest.swarm import intent_times
from flatlands.loadtest.swarm import target as targets
from flatlands.loadtest.swarm.generator import HOUSEKEEPING, launch
from flatlands.loadtest.swarm.leader import SILENT_SECONDS, RemoteGenerator, book, settle
from flatlands.loadtest.swarm.measurement import ITSELF, Measurement, ProgressTotals
from flatlands.loadtest.swarm.oracle import judge
from flatlands.loadtest.swarm.process_options import ProcessOptions
from flatlands.loadtest.swarm.reports import Report
from flatlands.loadtest.swarm.result import Options, Progress, Result, Show, figures
from flatlands.loadtest.swarm.scenarios import scenario
from flatlands.loadtest.swarm.screens import look, returns
from flatlands.loadtest.swarm.square_contents import compare
from flatlands.loadtest.swarm.target import Target, Watch
from flatlands.loadtest.swarm.truth import GRAIN, Truth

SECOND = 1_000_000

#: Bots move for this long before the measured time.
WARM_UP_SECONDS = 2.0
#: Bots stand for this long after it.
SETTLE_SECONDS = 3.0

#: The most seconds to wait, after SETTLE_SECONDS, until all last moves are answered and all bots
#: are back.
ANSWERED = 20.0

#: Joining may take so much longer than its own pace asks for.
JOIN_SECONDS = 30.0
#: The report of a process may take this long.
REPORT_SECONDS = 120.0

#: Seconds without any playing bot after which a run is given up.
ALONE = 30.0

#: ms by which the clock of a generator may be wrong: half of what the oracle allows for.
CLOCKS = GRAIN / 2000

#: Seconds within which bots that were cut off must be back.
BACK_WITHIN = 20.0


class _Ended(Exception):
    """The run cannot go on; the text says why. `certain`: it is surely not the swarm's fault."""

    def __init__(self, why: str, *, certain: bool = False) -> None:
        super().__init__(why)
        self.certain = certain


class RunContext:
    """What an injected fault sees of the run, and the orders that it can give."""

    def __init__(self, target: Target, now: Callable[[], int], order: Callable[..., None]) -> None:
        self.target = target
        #: Returns the time by the run's clock, in us.
        self.now = now
        self._order = order

    def close(self, code: int, share: float) -> None:
        """Make a share of the bots close their connections with a code, and come back."""
        self._order("close", code, share)


#: A function that is called in a separate thread when the measured time begins.
Injection = Callable[[RunContext], None]


def run(
    options: Options,
    show: Show,
    injection: Injection | None = None,
    target: Target | None = None,
    remotes: Sequence[RemoteGenerator] = (),
) -> Result:
    """Do one run and return its result. `show` is called with its progress.

    `injection` is done during the measured time, and may end and start the server. `target` is a
    running server; without it, one is started. `remotes` are the generators that play, if they are
    on other machines: `options.processes` counts their processes. Raises Trouble and Interrupted
    only before the server runs. Later failures are in the result, with everything measured before
    them.
    """
    with ExitStack() as stack:
        swarm_cpus: Sequence[int] = ()
        if target is None:
            server_cpus, swarm_cpus = pinned(options.pin, options.workers, options.processes)
            chosen, store = scenario(options.scenario, options.game), options.store
            if not store and chosen.see:
                folder = stack.enter_context(TemporaryDirectory(prefix="flatlands-store-"))
                store = f"sqlite:///{folder}/world.db"
            target = stack.enter_context(
                targets.started(
                    options.broker,
                    options.workers,
                    options.squares or chosen.squares(options.bots),
                    server_cpus,
                    options=("--store", store or "none", *chosen.server),
                    game=options.game,
                )
            )
        return _Run(options, target, swarm_cpus, show, stack, injection, remotes).do()


class _Run:
    def __init__(
        self,
        options: Options,
        target: Target,
        cpus: Sequence[int],
        show: Show,
        stack: ExitStack,
        injection: Injection | None,
        remotes: Sequence[RemoteGenerator],
    ) -> None:
        self._options, self._target, self._show = options, target, show
        #: With an injected fault, the server may end in the middle of the run.
        self._injection = injection
        self._epoch = time.monotonic_ns() // 1000 - SECOND
        self._remotes = remotes
        sizes = {remote.who: remote.processes for remote in remotes} or {ITSELF: options.processes}
        self._latest = ProgressTotals(sizes)
        self._reports: list[Report] = []
        seed = random.getrandbits(32) if options.seed is None else options.seed
        self._result = Result(options, broker=target.url, seed=seed)
        self._shown = 0.0
        self._phase_began: tuple[str, float] = ("", 0.0)
        self._alone_since: float | None = None
        self._injection_failed = ""
        self._ordering = threading.Lock()
        self._nothing = self._latest.each()
        #: What `_progress` shows: all until now, and since it was shown last; and when that was.
        self._measurement = Measurement(self._latest, target, {})
        self._recent, self._told = Measurement(self._latest, target, {}), 0
        chosen = scenario(options.scenario, options.game)
        viewports = (options.viewport,) if options.viewport else chosen.viewports
        rate = chosen.rate if options.rate is None else options.rate
        memory = None if remotes else intent_times.room(options.bots)
        plans = [
            ProcessOptions(
                address=target.address,
                name=target.name,
                tls=target.tls,
                path=target.path,
                login=target.login,
                scenario=options.scenario,
                game=options.game,
                rate=rate,
                viewports=viewports,
                indices=range(number, options.bots, options.processes),
                sample=max(options.bots // max(options.sample, 1), 1),
                joins=options.joins / options.processes,
                epoch=self._epoch,
                cpus=(cpus[number],) if options.pin and cpus else tuple(cpus),
                returns=options.returns,
                bots=options.bots,
                dues=memory,
                elsewhere=bool(remotes),
                seed=self._result.seed,
            )
            for number in range(options.processes)
        ]
        self._pipes: list[Connection | RemoteGenerator] = []
        for remote in remotes:
            first, plans = plans[: remote.processes], plans[remote.processes :]
            remote.begin(first, book(options.scenario, options.game))
            self._pipes.append(remote)
        self._pipes += launch(plans, stack)

    def _now(self) -> int:
        return time.monotonic_ns() // 1000 - self._epoch

    def do(self) -> Result:
        """Go through the phases and return the result."""
        began = time.monotonic()
        try:
            with Watch(self._target, self._now) as watch:
                self._phases(watch)
        except _Ended as ended:
            self._result.error, self._result.certain = str(ended), ended.certain
            if not self._result.measured:
                self._latest.check(self._result, self._nothing, time.monotonic() - began)
        except Trouble as trouble:
            self._result.error, self._result.certain = str(trouble), True
        except Interrupted:
            self._result.error, self._result.certain = "interrupted", True
        for remote in self._remotes:
            with suppress(Trouble):
                # That a generator ended was reported already; the others may play in the next run.
                remote.finish()
        self._result.generators = [remote.told() for remote in self._remotes]
        return self._result

    def _phases(self, watch: Watch) -> None:
        options, result = self._options, self._result
        chosen = scenario(options.scenario, options.game)
        late = chosen.late
        early = sum(index % 100 >= late * 100 for index in range(options.bots))
        # Bots move as they join, so that there are figures soon. In lockstep all must join first.
        if not chosen.lockstep:
            self._order("move")
        self._wait(
            "joining", JOIN_SECONDS + early / options.joins, lambda all: all["joined"] >= early
        )
        if chosen.lockstep:
            self._order("move")
        self._wait("warming up", WARM_UP_SECONDS if options.warm_up is None else options.warm_up)
        # From here on, latencies are those of moves that are due in the measured time.
        self._order("measure")
        self._fresh("warming up")
        window = self._measurement = Measurement(self._latest, self._target, self._target.stats())
        if late:
            self._order("storm")
        injection = threading.Thread(target=self._inject, daemon=True)
        if self._injection is not None:
            injection.start()
        try:
            while (
                left := options.seconds - (self._now() - window.begin) / SECOND
            ) > 0 or injection.is_alive():
                self._wait("measuring", min(1.0 - HOUSEKEEPING / SECOND, max(left, 0.1)))
                self._fresh("measuring")
                result.series.append(window.row())
        finally:
            # If the run ends early, what was measured until then is reported.
            window.sum_up(result, self._target.stats())
            result.failures = self._target.failures()
        self._order("stop")
        self._wait("settling", SETTLE_SECONDS)
        self._wait(
            "settling", ANSWERED, lambda all: not all["unanswered"] + all["away"], ends=False
        )
        self._order("report")
        self._wait("reporting", REPORT_SECONDS, lambda _: len(self._reports) == options.processes)
        result.latency, result.effect = window.latency(), window.effect()
        watch.look()
        for remote in self._remotes:
            remote.finish()
            if (off := remote.told()["uncertain_ms"]) > CLOCKS:
                result.invalid.append(f"the clock of {remote.who} may be {off:.0f} ms off")
        self._sum_up_joining()
        if not result.invalid:
            self._judge((window.begin, window.end), watch)
        if not self._remotes:
            self._order("end")

    def _judge(self, measured: tuple[int, int], watch: Watch) -> None:
        result = self._result
        if self._remotes:
            result.between = settle(self._reports, measured).summary()
        world = Truth(self._reports, measured, watch.losses)
        result.verdict = judge(world)
        result.returns = returns(world, until=world.ended - round(BACK_WITHIN * SECOND))
        compare(world.everybody, result.verdict)
        result.screens = look(world, strangers=self._options.url is not None)

    def _inject(self) -> None:
        assert self._injection is not None
        try:
            self._injection(RunContext(self._target, self._now, self._order))
        except Exception as error:
            self._injection_failed = f"{type(error).__name__}: {error}"

    # Talking to the processes of the swarm.

    def _order(self, *order: object) -> None:
        for pipe in self._pipes:
            try:
                with self._ordering:
                    pipe.send(order)
            except OSError as error:
                raise _Ended("a process of the swarm has died", certain=True) from error

    def _hear(self, pipe: Connection | RemoteGenerator) -> None:
        """Receive a message from a process, and note what it says."""
        who = pipe.who if isinstance(pipe, RemoteGenerator) else ITSELF
        try:
            kind, content, *number = pipe.recv()
        except (EOFError, OSError) as error:
            raise _Ended("a process of the swarm has died", certain=True) from error
        if kind == "report":
            content["who"] = who
            self._reports.append(content)
        else:
            process = number[0] if number else self._pipes.index(pipe)
            self._latest.update(who, process, content)

    def _wait(
        self,
        phase: str,
        seconds: float,
        until: Callable[[dict[str, float]], bool] | None = None,
        *,
        ends: bool = True,
    ) -> None:
        """Receive the processes' progress for `seconds`, or until the condition `until` is true.

        If the condition does not become true in time and `ends` is set, the run ends.
        """
        started = time.monotonic()
        if phase != self._phase_began[0]:
            self._phase_began = phase, started
        while (left := started + seconds - time.monotonic()) > 0:
            signals.check()
            pipes = {pipe.fileno(): pipe for pipe in self._pipes}
            for fd in wait(list(pipes), min(left, 0.25)):
                assert isinstance(fd, int)
                self._hear(pipes[fd])
            for remote in self._remotes:
                if phase != "reporting" and time.monotonic() - remote.heard > SILENT_SECONDS:
                    raise _Ended(
                        f"{remote.who} was silent for {SILENT_SECONDS:.0f} s", certain=True
                    )
            if self._target.died and self._injection is None:
                raise _Ended(f"{self._target.died} during the run", certain=True)
            if self._injection_failed:
                raise _Ended(f"the injected fault failed: {self._injection_failed}", certain=True)
            total = self._latest.total()
            self._progress(phase, time.monotonic() - self._phase_began[1], total)
            self._check_alone(total)
            if until is not None and until(total):
                return
        if until is not None and ends:
            raise _Ended(f"{phase} did not end within {seconds:.0f} seconds")

    def _check_alone(self, total: dict[str, float]) -> None:
        """End the run if no bot plays and none will come back."""
        now = time.monotonic()
        if total["playing"] or not total["lost"] + total["sent_away"]:
            self._alone_since = None
            return
        if self._alone_since is None:
            self._alone_since = now
        patience = ALONE if total["joins"] and self._options.returns else 0.0
        if now - self._alone_since >= patience:
            why = max(self._latest.words("cuts").items(), key=lambda item: item[1])[0]
            raise _Ended(f"all bots have lost their connection: {why}")

    def _fresh(self, phase: str) -> None:
        """Wait until every process has sent its progress again."""
        now = self._now()
        self._wait(phase, REPORT_SECONDS, lambda _: self._latest.all_since(now))

    # What is shown, and what is kept.

    def _progress(self, phase: str, seconds: float, total: dict[str, float]) -> None:
        now, at = time.monotonic(), self._latest.at()
        # The processes may have reported nothing since then.
        if now - self._shown < 0.5 or at == self._told:
            return
        self._shown, self._told = now, at
        options, latest = self._options, self._recent.row()
        latest |= {"swarm_cpu": latest["cpu"], "server_mb": None}
        recent = figures(latest, latest, 1.0, options.processes)
        if self._target.program is None:
            # A server that was running already is asked too seldom for figures of one second.
            recent["server"] = None
        done = self._result.measured > 0
        so_far = self._result if done else self._measurement.sum_up(Result(options))
        self._show(Progress(phase, seconds, int(total["playing"]), recent, so_far))

    def _sum_up_joining(self) -> None:
        lives = [life for report in self._reports for life in report["lives"] if life["ready"]]
        took = np.array([life["ready"] - life["asked"] for life in lives], dtype=np.int64)
        histogram = Histogram()
        histogram.add(took)
        self._result.joining = histogram.summary()
        changes = sum(life["held_changes"] for life in lives)
        self._result.totals["held_changes"] = changes
