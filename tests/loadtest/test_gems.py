"""Bots that hunt gems, and the account of all gems: whatever is wrong must be found."""

import sqlite3
import time
from contextlib import ExitStack, contextmanager

import msgpack
import pytest
import redis

from flatlands.loadtest.swarm import hunt, target
from flatlands.loadtest.swarm.gems import FAULTS, Gems, account, differences
from flatlands.loadtest.swarm.hunt import Hunt
from flatlands.loadtest.swarm.hunter import Hunter
from flatlands.loadtest.swarm.oracle import Verdict
from flatlands.loadtest.swarm.result import Options, Result
from flatlands.loadtest.swarm.run import run
from flatlands.loadtest.swarm.scenarios import SCENARIOS
from flatlands.loadtest.swarm.show import figures, gem_rows, praise
from flatlands.loadtest.swarm.store import WORLD, Stored, StoredGem, read
from flatlands.server.scores.board import BOARD, Board
from flatlands.stores.base import Item, Score
from flatlands.stores.registry import open_store
from tests.brokers.redis_servers import Redis, rediscluster_url
from tests.brokers.servers import run_url
from tests.loadtest.test_swarm import PATIENCE, disturbed, judged
from tests.processes import serving

SPAN = 16 * 1024
#: Ids of a cell that has two gems.
A, B = "0:0:0", "0:0:1"


def lies(version, x=SPAN + 5, y=7):
    return StoredGem(f"{x // SPAN}:{y // SPAN}", version, (x, y), 10**15)


def ripens(version, due=10**15):
    return StoredGem("", version, None, due)


def bot(*taken, **more):
    return {
        "key": "k",
        "taken": list(taken),
        "asked": len(taken),
        "refusals": {},
        "cut_off": 0,
        "silent": 0,
        "short": 0,
        **more,
    }


def judge(bots, gems, points=(), *, shown=(), before=None, **more):
    """Judge a run of bots by name, after which the store has these gems, and points by name."""
    found = [gem for each in bots.values() for gem in each["taken"]]
    report = {"hunters": bots, "shown": {*shown, *found}, "rules": (SPAN, 0)}
    points = dict(points)
    after = Stored(gems, points, {name: name for name in points}, now=10**15, **more)
    return account([report], before or Stored(), after, 2)


def wrong(found):
    """The counts that are not 0 of what must not happen."""
    names = [name for name, _, _ in FAULTS]
    return {name: n for name in names if (n := getattr(found, name))}


def test_what_spawned_is_taken_or_there():
    found = judge(
        {"x": bot((A, 5), (B, 9)), "y": bot((A, 6))}, {A: lies(7), B: ripens(10)}, {"x": 2, "y": 1}
    )
    assert found.faults == []
    assert (found.spawned, found.taken, found.lying, found.ripening) == (5, 3, 1, 1)
    assert (found.told, found.untold) == (3, 0)


def test_a_bot_that_was_cut_off_may_have_a_gem_that_it_was_not_told_of():
    gems, shown = {A: lies(6), B: ripens(10)}, [(B, 9), (A, 6)]
    bots = {"x": bot((A, 5), cut_off=1)}
    found = judge(bots, gems, {"x": 2}, shown=shown)
    assert found.faults == [] and (found.untold, found.under_way) == (1, 1)
    # Nobody was cut off, and the point is there all the same.
    found = judge({"x": bot((A, 5))}, gems, {"x": 2}, shown=shown)
    assert wrong(found) == {"unearned": 1}
    assert "x was given 1 gems, and has 2 points" in found.faults


def test_what_was_there_before_is_not_of_this_run():
    before = Stored({A: lies(5), B: lies(9)}, {"x": 40, "old": 7}, {"x": "x", "old": "old"})
    found = judge(
        {"x": bot((A, 5))}, {A: ripens(6), B: lies(9)}, {"x": 41, "old": 7}, before=before
    )
    assert found.faults == [] and (found.spawned, found.taken) == (3, 1)


@pytest.mark.parametrize(
    ("bots", "gems", "points", "faults"),
    [
        # Two bots have the same gem: one point too many, or one point for two.
        (
            {"x": bot((A, 5)), "y": bot((A, 5))},
            {A: lies(6), B: lies(9)},
            {"x": 1, "y": 1},
            {"twice": 1, "unbalanced": 1},
        ),
        (
            {"x": bot((A, 5)), "y": bot((A, 5))},
            {A: lies(6), B: lies(9)},
            {"x": 1},
            {"twice": 1, "uncounted": 1},
        ),
        # A gem is in the store no more; and one was made anew where it was lost.
        ({"x": bot((A, 5))}, {A: lies(6)}, {"x": 1}, {"lost": 1}),
        ({"x": bot((A, 5))}, {B: lies(9)}, {"x": 1}, {"lost": 1}),
        (
            {"x": bot((A, 5), (B, 9))},
            {A: lies(6), B: lies(70)},
            {"x": 1},
            {"uncounted": 1, "unbalanced": 1},
        ),
        # A gem is there twice, under another name or in another square.
        ({"x": bot((A, 5))}, {A: lies(6), B: lies(9), "0:0:2": lies(9)}, {"x": 1}, {"strange": 1}),
        (
            {"x": bot((A, 5))},
            {A: lies(6), B: StoredGem("3:3", 9, (5, 7), 10**15)},
            {"x": 1},
            {"strange": 1},
        ),
        # It was given, and is still there.
        ({"x": bot((A, 5))}, {A: lies(5), B: lies(9)}, {"x": 1}, {"false": 1, "unbalanced": 1}),
        # Points of nobody, and a point that was taken away.
        (
            {"x": bot((A, 5))},
            {A: lies(6), B: lies(9)},
            {"x": 1, "who": 3},
            {"unearned": 3, "unbalanced": 3},
        ),
        ({"x": bot((A, 5))}, {A: lies(6), B: lies(9)}, {"x": 0}, {"uncounted": 1, "unbalanced": 1}),
        # It is ripe for long, and no node has let it lie anywhere.
        ({"x": bot((A, 5))}, {A: ripens(6, 10**15 - 10_001), B: lies(9)}, {"x": 1}, {"overdue": 1}),
        # What bots themselves noticed.
        (
            {"x": bot((A, 5), short=2, silent=1)},
            {A: lies(6), B: lies(9)},
            {"x": 1},
            {"short": 2, "silent": 1},
        ),
    ],
)
def test_what_is_wrong_is_found(bots, gems, points, faults):
    found = judge(bots, gems, points)
    assert wrong(found) == faults
    assert len(found.faults) >= len(faults)


def test_a_run_without_a_gem_shows_nothing():
    assert account([{"hunters": {"x": bot()}}], None, None, 2).faults == ["no bot was given a gem"]


def test_a_store_that_cannot_be_read_leaves_what_bots_were_told():
    bots = {"x": bot((A, 5)), "y": bot((A, 5))}
    found = account([{"hunters": bots}], None, None, 2)
    assert wrong(found) == {"twice": 1} and found.spawned is None


def test_screens_must_show_what_the_store_has():
    stored = Stored({A: lies(5), B: ripens(9), "1:0:0": lies(3, SPAN + 900, 8)})
    there = ((A, 5, SPAN + 5, 7), ("1:0:0", 3, SPAN + 900, 8))
    assert differences({((1, 0), there): 4, ((0, 0), ()): 7}, stored, SPAN) == 0
    # Of a gem that is gone, of one that is missing, and of an old version.
    assert differences({((0, 0), there): 2, ((1, 0), ()): 3}, stored, SPAN) == 5
    old = ((A, 4, SPAN + 5, 7), there[1])
    assert differences({((1, 0), old): 1}, stored, SPAN) == 1


def test_the_board_that_is_shown_is_the_stores():
    stored = Stored(points={"a": 5, "b": 9, "c": 5})
    for board, faults in (
        ([5, 2, 3, [["B", 9, False], ["A", 5, True], ["C", 5, False]]], {}),
        ([0, 0, 0, [["B", 9, False], ["A", 5, False], ["C", 5, False]]], {}),
        ([5, 2, 4, [["B", 9, False], ["A", 5, True], ["C", 5, False]]], {"changed_board": 1}),
        ([5, 2, 3, [["B", 8, False], ["A", 5, True], ["C", 5, False]]], {"changed_board": 1}),
        ([0, 0, 0, []], {"changed_board": 1}),
    ):
        found = Gems(told=1)
        found.check_board(board, stored)
        assert wrong(found) == faults


def test_where_workers_are_killed_only_the_gems_and_the_end_are_judged():
    result = Result(Options(), totals={"lost": 7}, cuts={"the server hung up": 7}, killed=1)
    result.gems = Gems(told=5)
    assert result.faults == []
    result.gems.lost = 2
    assert result.faults == ["2 gems are not in the store any more"]
    # Whatever the swarm does late, each gem is somewhere.
    result.invalid.append("the swarm itself used 95% of its cores")
    assert result.faults == ["2 gems are not in the store any more"]


def kept_run(**more):
    """A run that measured something, with an account of gems."""
    more = {"verdict": Verdict(expected=9, delivered=9), "measured": 10.0, **more}
    gems = Gems(spawned=31, taken=20, lying=10, ripening=1, told=19, asked=25, agreed=1.5)
    return Result(Options(scenario="gems"), gems=gems, **more)


def test_the_account_is_in_the_table():
    rows = gem_rows({"one": [kept_run()], "two": [kept_run(killed=3), kept_run(killed=4)]})
    told = {what: cells for what, *cells in rows}
    assert told["gems that spawned"] == ["31", "62"] and told["workers killed"] == ["0", "7"]
    assert told["screens right after, s"] == ["1.5", "1.5"]
    assert all(told[words] == ["0", "0"] for _, words, _ in FAULTS)
    run = kept_run()
    run.gems.spawned = None
    assert gem_rows({"one": [run]})[1] == ["gems that spawned", "-"]
    assert gem_rows({"one": [Result(Options(), measured=1.0)]}) == []


def test_what_was_not_judged_is_not_praised():
    assert praise([kept_run()]) == (
        "9 of 9 expected deliveries accounted for; 31 of 31 gems accounted for"
    )
    assert praise([kept_run(killed=3)]) == (
        "31 of 31 gems accounted for; screens and players at the end, after 3 workers were killed"
    )
    run = kept_run(killed=3, totals={"deliveries": 900, "server_cpu": 1.0})
    # The CPU time of a killed worker is not known.
    assert figures(run)["server"] == figures(run)["per CPU s"] == 0
    run.killed = 0
    assert figures(run)["per CPU s"] == 900


# What a bot does.


def hunter(gems=(), square=(0, 0)):
    found = Hunter()
    found.hold((-1, -1, 1, 1))
    found.show(square, {f"g{number}": gem for number, gem in enumerate(gems)})
    return found


def test_a_bot_asks_for_what_it_stands_on_once_a_second():
    found = hunter([(1, 3000, 0)])
    assert found.within_reach(3000 - 800, 0, 0) is None
    assert found.within_reach(3000 - 700, 0, 0) == ((0, 0), "g0")
    assert found.within_reach(3000, 0, 900_000) is None
    assert found.within_reach(3000, 0, 1_100_000) == ((0, 0), "g0")


def test_bots_do_not_all_go_to_the_same_gem():
    gems = [(1, 1000 * n, 0) for n in range(1, 7)]
    chosen = {hunter(gems).choose(0, 0) for _ in range(200)}
    assert chosen == {(1000, 0), (2000, 0), (3000, 0)}


def test_a_bot_knows_what_lies_in_the_squares_that_it_holds():
    found = hunter([(1, 3000, 0)])
    assert found.choose(0, 0) == (3000, 0) and found.knows(found.goal)
    assert len(list(found.screen())) == 9
    found.show((5, 5), {"far": (1, 0, 0)})
    assert ((0, 0), (("g0", 1, 3000, 0),)) in list(found.screen())
    found.hold((1, 0, 2, 0))
    assert found.things == {} and not found.knows(found.goal)
    assert list(found.screen()) == [((1, 0), ()), ((2, 0), ())]


def test_a_bot_counts_what_comes_of_its_takes():
    found = hunter()
    for code, is_part_of_the_game in (("missed", True), ("far", True), ("store", False)):
        found.asks("g")
        assert found.refused(code) == is_part_of_the_game and found.awaited is None
    # It is no answer to a take.
    assert not found.refused("missed")
    found.asks("g")
    assert not found.refused("muted") and found.awaited == "g"
    found.cut()
    found.asks("g")
    found.found("g", 7, 1)
    found.asks("h")
    found.found("h", 8, 1)
    told = found.report()
    assert told["taken"] == [("g", 7), ("h", 8)] and told["short"] == 1
    assert (told["asked"], told["cut_off"], told["silent"]) == (6, 1, 0)
    assert told["refusals"] == {"missed": 1, "far": 1, "store": 1}
    assert 16 <= len(told["key"]) <= 64


# What a store has.


def put_name(store, owner, name):
    """Put an owner's name as the game does."""
    [(queue, item)] = Board(None, None, None).entry(owner, 70_000, name)
    assert store.put(queue, [item]) == 1


@contextmanager
def ring(_folder):
    with ExitStack() as stack:
        yield ",".join(stack.enter_context(run_url(Redis)) for _ in range(2))


@contextmanager
def file(folder):
    yield f"sqlite:///{folder / 'store.db'}"


STORES = {
    "sqlite": file,
    "redis": lambda _: run_url(Redis),
    "ring of redis": ring,
    "rediscluster": lambda _: rediscluster_url(),
}
each_store = pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=() if k == "sqlite" else pytest.mark.process) for k in STORES]
)


@each_store
def test_what_the_game_has_stored_is_read(kind, tmp_path):
    with STORES[kind](tmp_path) as url:
        if kind == "sqlite":
            empty = read(url)
            assert empty == Stored(now=empty.now)
        store = open_store(url, WORLD)
        other = open_store(url, "another world")
        owner = Board.owner("0123456789abcdef")
        lying = Item("0:0:0", 5000, "1:-2", msgpack.packb((7, SPAN + 3, -SPAN - 4)))
        ripe = Item("-1:0:19", 0, "", msgpack.packb((8,)))
        begun = time.monotonic()
        for each in (store, other):
            each.put("gem 2013-16", [lying, ripe])
            each.put("herd 2013-16", [Item("5", 0, "", b"")])
            put_name(each, owner, "Zoé")
            each.add(Score(BOARD, owner, 12))
            each.add(Score("another board", owner, 13))
        other.add(Score(BOARD, "x", 1))
        found = read(url)
        took = (time.monotonic() - begun) * 1000
        for each in (store, other):
            each.close()
    assert found.points == {owner: 12} and found.names == {owner: "Zoé"} and found.torn == 0
    assert abs(found.now - time.time() * 1000) < 60_000
    gems = {id: (gem.group, gem.version, gem.place) for id, gem in found.gems.items()}
    assert gems == {"0:0:0": ("1:-2", 7, (SPAN + 3, -SPAN - 4)), "-1:0:19": ("", 8, None)}
    assert 4990 - took < found.gems["0:0:0"].due - found.now <= 5000
    assert -60_000 < found.gems["-1:0:19"].due - found.now <= 0


def test_a_file_whose_tables_are_not_made_yet_has_nothing(tmp_path):
    path = tmp_path / "store.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA user_version = 0")
    found = read(f"sqlite:///{path}")
    connection.close()
    assert found == Stored(now=found.now)


@pytest.mark.process
@pytest.mark.parametrize("part", ["due", "items", "groups"])
def test_a_gem_that_a_redis_has_in_part_is_noticed(part):
    with run_url(Redis) as url:
        store = open_store(url, WORLD)
        store.put("gem 2013-16", [Item(f"0:0:{n}", 0, "", msgpack.packb((8,))) for n in range(3)])
        store.close()
        assert read(url).torn == 0
        key = f"{{{WORLD}}}/queue/gem 2013-16/{part}"
        with redis.Redis.from_url(url) as client:
            client.execute_command(
                *{
                    "due": ("ZADD", key, 5, "0:0:9"),
                    "items": ("HDEL", key, "0:0:1"),
                    "groups": ("ZADD", key, 0, "2:2\0" + "0:0:1"),
                }[part]
            )
        assert read(url).torn


# Whole runs.


def hunting(*options, bots=14, seconds=5):
    return (
        "--scenario",
        "gems",
        "--bots",
        str(bots),
        "--seconds",
        str(seconds),
        "--squares",
        "2",
        *options,
    )


@pytest.mark.load
@pytest.mark.parametrize(
    "options",
    [("--broker", "redis://"), ("--workers", "2", "--kill", "3")],
    ids=["Redis", "a worker of two is killed"],
)
def test_each_gem_is_accounted_for(tmp_path, options):
    code, result = judged(tmp_path, *hunting(*options, seconds=8))
    found = result["gems"]
    assert (code, result["faults"]) == (0, []), found
    assert found["told"] > 5 and found["restarted"]
    assert found["spawned"] == found["taken"] + found["lying"] + found["ripening"]
    assert found["asked"] == sum(found[name] for name in ("told", "missed", "far", "under_way"))
    assert (result["killed"] > 0) == ("--kill" in options)


@pytest.mark.load
def test_of_a_server_that_runs_already_what_bots_were_told_is_judged(tmp_path):
    def server():
        store = f"sqlite:///{tmp_path / 'store.db'}"
        return serving("--spread", "2", "--store", store, *SCENARIOS["gems"].server)

    code, result = judged(tmp_path, *hunting(), server=server)
    found = result["gems"]
    assert (code, result["faults"]) == (0, []), found
    assert found["told"] > 5 and found["spawned"] is None and not found["restarted"]


def spoil(path, *how):
    """Change what a file has stored, once two players have points."""
    connection = sqlite3.connect(path, 30)
    deadline = time.monotonic() + PATIENCE
    while connection.execute("SELECT count(*) FROM score").fetchone()[0] < 2:
        assert time.monotonic() < deadline, "nobody finds a gem"
        time.sleep(0.1)
    with connection:
        for statement in how:
            connection.execute(statement)
    connection.close()


@pytest.mark.load
@pytest.mark.parametrize(
    ("how", "faults"),
    [
        # One that all bots have seen, beside the plaza. A node that reads the store again may put
        # another in its place.
        (
            [
                "DELETE FROM item WHERE queue LIKE 'gem %' AND id = (SELECT min(id) FROM item"
                " WHERE queue LIKE 'gem %' AND \"group\" IN ('0:0', '-1:0', '0:-1', '-1:-1'))"
            ],
            [{"lost": 1, "unbalanced": 1}],
        ),
        (
            [
                "INSERT INTO item SELECT world, queue, id || '0', due, \"group\", holder, tries,"
                " body FROM item WHERE id LIKE '%:19' AND queue LIKE 'gem %' LIMIT 1",
                "UPDATE score SET n = n + 3 WHERE id = (SELECT min(id) FROM score)",
                "UPDATE score SET n = n - 1 WHERE id = (SELECT max(id) FROM score)",
            ],
            [{"strange": 1}, {"unearned": 3}, {"uncounted": 1}],
        ),
    ],
    ids=["a gem removed", "a gem put twice, points given and a point taken away"],
)
def test_a_store_that_was_tampered_with_is_found_out(tmp_path, how, faults):
    path = tmp_path / "store.db"
    code, result, said = disturbed(
        tmp_path, lambda _process: spoil(path, *how), *hunting("--store", f"sqlite:///{path}")
    )
    assert code == 1, said
    for fault in faults:
        assert any(result["gems"][name] == count for name, count in fault.items()), said


@pytest.mark.load
@pytest.mark.parametrize(
    ("fault", "any_of"),
    [
        ("generous", [{"twice", "false", "uncounted"}]),
        # A node that reads the cell again puts another gem in the place of the one that is lost,
        # and that one can be taken as well.
        ("forgetful", [{"lost"}, {"twice"}, {"unearned"}]),
        ("stingy", [{"uncounted"}]),
        ("mute", [{"silent"}]),
    ],
)
def test_a_server_whose_take_is_broken_is_found_out(fault, any_of, monkeypatch):
    # What is never answered need not be waited for so long.
    monkeypatch.setattr("flatlands.loadtest.swarm.run.ANSWERED", 3.0)
    module = ("tests.loadtest.broken_take", fault)
    options = Options(bots=14, seconds=4, scenario="gems", pin=False)
    with target.started(
        "", 1, 2, module=module, store="", options=SCENARIOS["gems"].server
    ) as server:
        result = run(options, lambda _: None, target=server)
    assert result.error is None
    assert any(found <= wrong(result.gems).keys() for found in any_of), result.gems


@pytest.mark.load
def test_the_board_after_a_restart_is_the_board_before(tmp_path, monkeypatch):
    path = tmp_path / "store.db"
    with ExitStack() as stack:
        like = {"broker": "", "workers": 2, "spread": 1}
        served = stack.enter_context(target.started(**like, store=f"sqlite:///{path}"))
        store = open_store(served.store, WORLD)
        for name, n in (("x", 5), ("y", 7)):
            owner = Board.owner(name * 16)
            put_name(store, owner, name)
            store.add(Score(BOARD, owner, n))
        store.close()
        hunters = {name: {"key": name * 16, "taken": []} for name in "xy"}

        def restarted():
            """Restart the server; return what is found, and the server that runs then."""
            again = []

            @contextmanager
            def starting(**options):
                with target.started(**options) as server:
                    again.append(server)
                    yield server

            found, hunted = Gems(told=1), Hunt(served)
            hunted.after = hunted.before
            with monkeypatch.context() as patched:
                patched.setattr(hunt, "started", starting)
                hunted.restart(found, [{"hunters": hunters}], stack, **like)
            assert found.restarted
            return wrong(found), *again

        found, served = restarted()
        assert found == {}
        stop = served.program.process.terminate

        def terminate():
            stop()
            served.program.wait(PATIENCE)
            spoil(path, "UPDATE score SET n = 6 WHERE n = 5")

        monkeypatch.setattr(served.program.process, "terminate", terminate)
        found, _ = restarted()
        assert found == {"changed_board": 2}
