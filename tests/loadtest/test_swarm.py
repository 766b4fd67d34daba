"""The swarm as people run it: what it measures, what it finds, and how it ends."""

import asyncio
import io
import json
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress

import psutil
import pytest

from flatlands.loadtest.kit.processes import children
from flatlands.loadtest.swarm.command import main
from tests.brokers.redis_servers import running
from tests.brokers.servers import QUOTED, certify, free_port, shared
from tests.loadtest import truth
from tests.processes import ROOT, ServerProcess, serving
from tests.quiet import tries

pytestmark = pytest.mark.load

#: Seconds that a run of the swarm may take in addition to what it measures.
PATIENCE = 240


def swarm(options):
    """Start bots.py."""
    command = [sys.executable, "-W", "error", "loadtest/bots.py", *options.split()]
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=ROOT, **told)


def run(*options):
    """Run the command of bots.py in this process; return its exit code and what it said.

    Tests run beside it on the same cores, so neither the server nor the swarm may reserve any.
    """
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        patch.setattr("flatlands.loadtest.swarm.run.WARM_UP_SECONDS", 1.0)
        try:
            code = main(["--no-pin", *options])
        except SystemExit as end:
            code = end.code
    return code, said.getvalue()


def judged(tmp_path, options, server=None):
    """Run bots.py; return its exit code and its only run as kept in JSON.

    `server` makes a context manager that yields the server to run against. A run that says of
    itself that it must not be believed is repeated, in the end while no other test runs.
    """
    path = tmp_path / "runs.json"
    for _ in tries():
        with ExitStack() as stack:
            where = ("--url", url(stack.enter_context(server()))) if server is not None else ()
            code, said = run(*where, *options.split(), "--json", str(path), "--late", "400")
        [result] = json.loads(path.read_text())["runs"]
        assert code != 2, said
        if code != 3:
            break
    return code, result


def all_right(tmp_path, options, server=None):
    """Run bots.py, which must find nothing; return its only run as kept in JSON."""
    code, result = judged(tmp_path, options, server)
    assert (code, result["faults"], result["adds_up"]) == (0, [], True), result["faults"]
    return result


def url(server):
    return f"ws://127.0.0.1:{server.port}/ws"


@contextmanager
def faulty(counts, *options):
    """Run a server that breaks its promises, in each way as often as `counts` says."""
    server = ServerProcess(
        *options, module="tests.loadtest.faulty_server", before=[json.dumps(counts)]
    )
    try:
        yield server
    finally:
        server.close()


ADMIN = "the-admin-token-of-this-test"


@pytest.fixture(scope="module")
def crowd():
    """A server whose newcomers all begin in one square."""
    with serving("--spread", "1", ADMIN_TOKEN=ADMIN) as server:
        yield server


def test_a_server_that_keeps_its_word_is_all_right(tmp_path):
    result = all_right(tmp_path, "--bots 40 --seconds 4 --broker redis:// --scenario march")
    verdict = result["verdict"]
    assert verdict["observers"] == 40 and verdict["expected"] > 500
    assert verdict["expected"] == verdict["delivered"] + verdict["replaced"]
    totals, figures = result["totals"], result["figures"]
    assert 40 < totals["moves"] / result["measured"] < 110
    assert totals["deliveries"] >= verdict["delivered"]
    assert 0 < result["latency"]["p50"] <= result["latency"]["p99"] <= result["latency"]["max"]
    # The kernel counts CPU time in ticks of 10 ms, and Redis may need less for so little.
    assert figures["server"] > 0 and figures["broker"] >= 0 and figures["MB"] > 10
    # A second is longer on a busy machine.
    assert len(result["series"]) >= 2
    # So are other games, played by their own bots.
    code, result = judged(tmp_path, "--bots 30 --seconds 4 --workers 2 --game snake")
    assert (code, result["faults"]) == (0, []) and result["verdict"]["squares"] > 2


def test_a_world_as_make_play_has_it_is_all_right_on_screens_of_several_sizes(tmp_path):
    @contextmanager
    def play():
        store = f"sqlite:///{tmp_path / 'world.db'}"
        of_flatlands = "--game", "flatlands", "--walkers", "20", "--deer", "8"
        with serving(*of_flatlands, "--store", store) as server:
            yield server

    verdict = all_right(tmp_path, "--bots 60 --seconds 4 --scenario mixed", play)["verdict"]
    assert verdict["observers"] == 60 and verdict["expected"] > 2000


#: Options of runs, and what else must be true of their verdicts and totals.
KEPT = [
    # More moves than one batch can carry, and faster than a square may publish: a core's work.
    pytest.param(
        "--bots 150 --seconds 3 --scenario crowd --rate 9 --sample 30",
        # A server that has little CPU time replaces more.
        lambda verdict, _: min(verdict["delivered"], verdict["replaced"]) > 500,
        marks=pytest.mark.alone,
    ),
    # In lockstep nothing may be lost, and nothing is late: a busy machine makes fewer steps.
    (
        "--bots 25 --seconds 4 --scenario life --workers 2",
        lambda verdict, totals: verdict["stalled"] == 0 and totals["steps"] > 25 * 2,
    ),
    # By sketches 10 to 13 bytes for each move, by how many a flush has: by records 25.
    pytest.param(
        "--bots 330 --seconds 4 --scenario crowd --rate 1 --sample 33",
        lambda verdict, totals: (
            (verdict["observers"], verdict["delivered"] > 10_000) == (33, True)
            and totals["bytes"] < 17 * totals["deliveries"]
        ),
        marks=pytest.mark.alone,
    ),
]


@pytest.mark.parametrize(("options", "more"), KEPT, ids=["replaced", "lockstep", "sketches"])
def test_moves_are_accounted_for_one_by_one_however_they_are_told(tmp_path, options, more):
    result = all_right(tmp_path, options)
    told = result["verdict"], result["totals"]
    assert more(*told), told


@pytest.mark.alone
def test_a_move_that_is_left_out_of_a_crowd_is_found(tmp_path):
    code, result = judged(
        tmp_path,
        "--bots 330 --seconds 6 --scenario crowd --rate 1 --sample 110",
        lambda: faulty({"hide": 60}, "--spread", "1"),
    )
    verdict = result["verdict"]
    assert code == 1 and not result["adds_up"]
    # One player in three is an observer, and is told of them.
    assert 5 < verdict["missing"] <= 60
    assert verdict["expected"] == verdict["delivered"] + verdict["replaced"] + verdict["missing"]


def test_each_broken_promise_is_found_and_counted(tmp_path):
    store = "--store", f"sqlite:///{tmp_path / 'world.db'}"
    code, result = judged(
        tmp_path,
        "--bots 30 --seconds 4 --game paint --scenario own",
        lambda: faulty({"blind": 5}, "--game", "paint", *store),
    )
    assert code == 1 and result["verdict"]["differ"] > 0
    assert all("two screens differ in layer 0 of (" in it for it in result["faults"][1:])
    counts = {"drop": 3, "duplicate": 4, "reorder": 5, "delay": 6, "leak": 7}
    code, result = judged(
        tmp_path,
        "--bots 12 --seconds 9 --scenario crowd --rate 1",
        lambda: faulty(counts, "--spread", "1"),
    )
    verdict = result["verdict"]
    assert (verdict["missing"], verdict["duplicate"]) == (3, 4)
    assert verdict["ghosts"] == verdict["unseen"] == verdict["misplaced"] == 0
    # On a busy machine the server may be late itself, which excuses what is late, or from afar.
    assert verdict["stale"] <= 6 <= verdict["late"]
    assert verdict["foreign"] + verdict["lingering"] == 7
    # A batch that is three seconds late comes after later ones.
    assert verdict["reordered"] == 5 + 6
    assert code == 1 and not result["adds_up"]
    assert verdict["expected"] == verdict["delivered"] + verdict["replaced"] + 3


#: A user's file, like the scenario `slow`, but one bot in ten fails at its first turn.
MINE = """
from flatlands.loadtest.swarm.scenarios import wander

PLAN = {"rate": 2, "see": False, "deaf": 0.1, "viewports": ((24, 24),)}


def turn(bot):
    bot.notes["turns"] = bot.notes.get("turns", 0) + 1
    assert bot.index != 3 or bot.notes["turns"] > 1, "the first turn"
    wander(bot)
"""


@pytest.mark.parametrize("scenario", ["mine.py", "flood"])
def test_bots_that_never_read_or_are_rude_harm_nobody(tmp_path, crowd, scenario):
    if scenario == "mine.py":
        scenario = str(tmp_path / scenario)
        (tmp_path / "mine.py").write_text(MINE)
    options = f"--url {url(crowd)} --bots 60 --seconds 4 --scenario {scenario} --sample 6"
    code, result = judged(tmp_path, options)
    if scenario == "flood":
        assert (code, result["faults"]) == (0, [])
        assert result["totals"]["offences"] > 5, result["totals"]
    else:
        # A failure in a turn is reported with its line, and nothing else has failed.
        assert code == 1 and result["adds_up"]
        assert result["faults"] == [f"1 times: {scenario}, line 9: AssertionError: the first turn"]


def test_an_unsuitable_server_gets_a_sentence(crowd):
    code, said = run("--bots", "5", "--seconds", "1", "--url", f"{url(crowd)}/nowhere")
    assert code == 1 and "to the WebSocket handshake" in said


def measuring(process):
    """Wait until a run has measured for a second or so; return what it said until then."""
    said = ""
    deadline = time.monotonic() + PATIENCE
    while "measuring" not in said:
        said += process.stdout.readline()
        assert time.monotonic() < deadline and process.poll() is None, said
    time.sleep(2)
    return said


def test_a_server_that_dies_midway_leaves_a_partial_report(tmp_path):
    path = tmp_path / "runs.json"
    process = swarm(f"--bots 20 --seconds 30 --json {path}")
    measuring(process)
    child(psutil.Process(process.pid), "--spread").kill()
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and "the server ended by signal 9" in said
    assert re.search(r"moves a second +│ +\d", said), said
    [result] = json.loads(path.read_text())["runs"]
    assert result["totals"]["moves"] > 0 and result["verdict"] is None


def test_two_generators_are_one_swarm_and_one_that_dies_fails_it_by_name(tmp_path, crowd):
    path = tmp_path / "runs.json"
    port = free_port()
    led = f"--lead {port} --generators 2 --url {url(crowd)} --json {path} --late 400"
    leader = swarm(f"{led} --bots 20 --seconds 6 --repeat 2")
    one, other = (swarm(f"join 127.0.0.1:{port} --name {name}") for name in ("one", "other"))
    said = ""
    with leader, one, other:
        while "(2 of 2)" not in said:
            said += (line := leader.stdout.readline())
            assert line, said
        measuring(leader)
        other.kill()
        said += leader.communicate(timeout=PATIENCE)[0]
        assert one.wait(PATIENCE) == 0, one.stdout.read()
    assert leader.returncode == 1
    assert "the generator other ended during the run" in said
    whole, broken = json.loads(path.read_text())["runs"]
    assert whole["faults"] == [] and (whole["invalid"] or whole["adds_up"]), said
    assert whole["totals"]["playing"] == 20 and whole["figures"]["deliveries/s"] > 0
    assert sorted(it["name"] for it in whole["generators"]) == ["one", "other"]
    assert broken["totals"]["moves"] > 0 and broken["verdict"] is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_swarm_that_is_ended_reports_if_it_can_and_leaves_no_process(number):
    process = swarm("--bots 20 --seconds 30 --broker zeromq://")
    measuring(process)
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) >= 4
    process.send_signal(number)
    said, _ = process.communicate(timeout=PATIENCE)
    if number == signal.SIGINT:
        assert process.returncode == 130 and "interrupted" in said and "moves a second" in said
        assert "Traceback" not in said
    assert psutil.wait_procs(family, timeout=PATIENCE)[1] == []


def disturbed(tmp_path, disturb, options):
    """Run bots.py, and disturb it while it measures; return its exit code, its only run,
    and what it said. A run that must not be believed is repeated."""
    path = tmp_path / "runs.json"
    for _ in tries():
        process = swarm(f"{options} --json {path} --late 400 --no-pin")
        measuring(process)
        disturb(psutil.Process(process.pid))
        said, _ = process.communicate(timeout=PATIENCE)
        if process.returncode != 3:
            break
    [result] = json.loads(path.read_text())["runs"]
    return process.returncode, result, said


def child(process, word):
    """Return the child of a process that has this word in its command line."""
    [found] = [
        child
        for child, command in children(process).items()
        if any(word in part for part in command)
    ]
    return found


def test_moves_that_a_stalled_server_replaced_across_borders_are_not_missing(tmp_path):
    def stall(process):
        server = child(process, "--spread")
        for _ in range(3):
            server.suspend()
            time.sleep(0.6)
            server.resume()
            time.sleep(0.9)

    code, result, said = disturbed(tmp_path, stall, "--bots 60 --seconds 10")
    assert code == 0, said
    assert result["verdict"]["replaced"] > 100
    # A move in fifty was due in the first tenth of a second of a stall.
    assert result["latency"]["p99"] > 400


def test_moves_in_a_stall_that_outlasts_the_measured_time_count_with_all_of_it(tmp_path):
    def stall(process):
        server = child(process, "--spread")
        server.suspend()
        time.sleep(4)
        server.resume()

    # It begins three seconds or so after the measured time, or later on a busy machine.
    code, result, said = disturbed(tmp_path, stall, "--bots 40 --seconds 6")
    assert code == 0, said
    assert result["latency"]["p90"] > 1000


def test_a_swarm_that_was_starved_says_so_and_judges_nothing(tmp_path):
    path = tmp_path / "runs.json"
    process = swarm(f"--bots 30 --seconds 9 --json {path}")
    measuring(process)
    bots = child(psutil.Process(process.pid), "spawn_main")
    for _ in range(2):
        bots.suspend()
        time.sleep(1.2)
        bots.resume()
        time.sleep(0.3)
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3 and "not valid" in said and "failed" not in said, said
    [result] = json.loads(path.read_text())["runs"]
    assert result["verdict"] is None and result["faults"] == []


def test_a_bot_that_is_sent_away_comes_back_as_itself_to_the_next_server(tmp_path):
    port = free_port()
    secret = {"SECRET_KEY": "a secret of this test, which is long enough"}
    servers = ExitStack()

    def serve():
        return serving("--spread", "4", port=port, **secret)

    def restart(_process):
        servers.close()
        servers.enter_context(serve())

    with servers:
        servers.enter_context(serve())
        # A server may take ten seconds to start.
        options = f"--url ws://127.0.0.1:{port}/ws --bots 30 --seconds 20"
        code, result, said = disturbed(tmp_path, restart, options)
    assert code == 0, said
    found = result["returns"]
    assert found["cuts"] == found["as_themselves"] == 30
    assert 0 < found["away"][0] and all("1012" in why for why in found["why"])


@pytest.mark.outside
def test_beside_a_process_that_takes_a_core_no_run_is_said_to_have_failed(monkeypatch):
    monkeypatch.setattr("flatlands.loadtest.swarm.run.WARM_UP_SECONDS", 1.0)
    result = truth.beside_a_busy_core("redis://,redis://", seconds=2.0)
    assert truth.outcome(result) in ("all right", "not valid")


@pytest.mark.alone
def test_one_message_in_ten_thousand_that_is_lost_is_missed():
    for _ in tries():
        result = truth.losing("memory://")
        if not result.invalid:
            break
    assert truth.outcome(result) == "failed" and result.verdict.missing


STILL = """
from flatlands import Game as Engine, Refused, action, flag, number, plain

class Game(Engine):
    ground, walking, messages = plain(), "none", {"answer": {"n": int}}

    @action(rate=10, burst=10)
    def ask(self, me, n: int = number(0, 1), why: bool = flag()):
        if n == 0:
            raise Refused("no", "not this time")
        me.send("answer", n)
"""


def test_a_game_in_which_nobody_walks_is_measured(tmp_path):
    (tmp_path / "game.py").write_text(STILL)
    (tmp_path / "bot.py").write_text(
        "def turn(bot):\n"
        "    bot.notes['n'] = 1 - bot.notes.get('n', 0)\n"
        "    bot.do('ask', bot.notes['n'], True)\n"
    )
    path = tmp_path / "runs.json"
    for _ in tries():
        code, said = run(
            *("--game", str(tmp_path), "--bots", "6", "--seconds", "2", "--rate", "2"),
            *("--json", str(path), "--late", "400", "--prometheus", str(tmp_path / "prom")),
        )
        if code != 3:
            break
    [result] = json.loads(path.read_text())["runs"]
    assert (code, result["faults"]) == (0, []), said
    totals, figures = result["totals"], result["figures"]
    assert totals["moves"] == 0 and totals["actions"] > 12
    assert 0.3 < totals["refusals"] / totals["actions"] < 0.7
    assert 0.9 < figures["effect seen"] <= 1
    assert 0 < figures["effect p50"] <= figures["effect p95"] <= figures["effect p99"]
    assert "all right: nobody walked; " in said and "until the effect, ms: p50" in said
    told = (tmp_path / "prom").read_text()
    assert 'flatlands_swarm_effect_seconds{bots="6",quantile="0.95"' in told


@pytest.mark.outside
def test_a_server_behind_tls_and_a_proxy_is_reached_below_a_path(tmp_path, crowd):
    key, certificate = certify()
    with tls_proxy((certificate, key), crowd.port, "/flat/lands/") as port:
        options = "--url", f"wss://localhost:{port}/flat/lands/ws", "--bots", "20", "--seconds", "2"
        with_token = *options, "--insecure", "--admin-token", ADMIN
        code, result = judged(tmp_path, " ".join(with_token))
        assert code == 0, result["faults"]
        assert result["verdict"]["expected"] > 50 and result["server"]["joins"] == 0
        assert result["figures"]["server"] > 0 and result["figures"]["MB"] > 10
        assert ADMIN not in (tmp_path / "runs.json").read_text()
        # Without the token the swarm does not ask, since a refusal would raise an alert.
        code, said = run(*options, "--insecure", "--late", "400")
        assert (
            "The server's CPU time and memory are unknown" in said and "server - broker -" in said
        )
        assert json.loads(crowd.get("stats"))["counted"].get("admin_refused", 0) == 0
        code, said = run(*with_token[:-1], "another")
        assert code == 1 and said.count("\n") == 1 and "HTTP Error 401" in said, said
        code, said = run(*options)
        assert code == 1 and said.count("\n") == 1, said
        assert "cannot be verified (self-signed certificate): --insecure accepts" in said


def test_a_broker_behind_tls_is_reached_and_its_password_is_shown_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("BROKER_TLS", str(certify()[1]))
    redis = shared(running, tls=True, login=True)
    options = [
        *("--broker", redis.url.partition("?")[0], "--bots", "10", "--seconds", "2"),
        *("--json", str(tmp_path / "runs.json"), "--report", str(tmp_path), "--late", "400"),
    ]
    monkeypatch.setattr(sys, "argv", ["loadtest/bots.py", *options])
    code, said = run(*options)
    kept = [(tmp_path / name).read_text() for name in ("runs.json", "index.html")]
    assert code in (0, 3) and "moves a second" in said, said
    for text in (said, *kept):
        assert f"rediss://localhost:{redis.port}" in text and QUOTED not in text
    assert all("CPU time is unknown" in text for text in (said, kept[1]))


@contextmanager
def tls_proxy(names, to_port, prefix):
    """Listen with TLS; pass requests below a path on, without it. Yields the port."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*names)
    ready, found = threading.Event(), []

    async def pump(source, sink):
        with suppress(OSError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        sink.close()

    async def serve(reader, writer):
        head = await reader.read(65536)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", to_port)
        head = head.replace(f" {prefix}".encode(), b" /", 1)
        far_writer.write(head.replace(b"\r\n", b"\r\nX-Forwarded-For: 192.0.2.1\r\n", 1))
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))

    async def run():
        over = asyncio.Event()
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        found.extend((server.sockets[0].getsockname()[1], asyncio.get_running_loop(), over))
        ready.set()
        await over.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(others, timeout=5) if others else None

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    assert ready.wait(PATIENCE)
    port, loop, over = found
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
