"""The contract of stores/base.py, held against every backend.

A new backend is one more line in BACKENDS.
"""

import time
import uuid
from contextlib import ExitStack, contextmanager
from functools import partial

import gevent
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from flatlands.stores.base import (
    BATCH_LIMIT,
    BODY_LIMIT,
    NAME_LIMIT,
    NEVER,
    Claimed,
    Item,
    Rank,
    Score,
)
from flatlands.stores.registry import open_store
from tests.brokers.redis_servers import Redis, rediscluster_url
from tests.brokers.servers import PATIENCE, run_url


@contextmanager
def three(url):
    """Start three of a kind and yield the URL of their ring."""
    with ExitStack() as stack:
        yield ",".join(stack.enter_context(url()) for _ in range(3))


@contextmanager
def file(folder):
    yield f"sqlite:///{folder / 'store.db'}"


#: What is started once, with a folder for files, and yields a store's URL for as long as it lasts.
BACKENDS = {
    "sqlite": file,
    "redis": lambda _: run_url(Redis, login=True),
    "rediss": lambda _: run_url(Redis, tls=True, login=True),
    "rediscluster": lambda _: rediscluster_url(),
    "ring of redis": lambda _: three(partial(run_url, Redis)),
}

#: A lease in ms that no test outlives, and a time that is over soon, but not between two requests.
LONG, SHORT = 60_000, 1000


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=() if name == "sqlite" else pytest.mark.process)
        for name in BACKENDS
    ],
)
def url(request, tmp_path_factory):
    with BACKENDS[request.param](tmp_path_factory.mktemp("store")) as started:
        yield started


@pytest.fixture
def opening(url):
    """A function that opens a store of one world, anew in each test."""
    stores = []
    world = uuid.uuid4().hex

    def open_one(name=world):
        tls = "unverified" if url.startswith("rediss:") else "verified"
        stores.append(open_store(url, name, tls))
        # A store connects with its first request, which may take longer than a short lease.
        stores[-1].count("q")
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def store(opening):
    return opening()


def item(id="a", delay=0, group="", body=b"body"):
    return Item(id, delay, group, body)


def ids(claimed):
    return [one.id for one in claimed]


def until(condition, seconds=PATIENCE):
    """Return what a condition becomes, when it is something."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        gevent.sleep(0.01)
    return found


def test_what_is_put_is_claimed_as_it_was(store):
    body = bytes(range(256))
    assert store.put("q", [item("ä\n", body=body)]) == 1
    assert store.claim("q", 9, LONG) == [Claimed("ä\n", body, 1)]


def test_what_is_there_is_left_alone(store):
    assert store.put("q", [item("a", body=b"one"), item("a", body=b"two"), item("b")]) == 2
    assert store.put("q", [item("a", body=b"three"), item("c")]) == 1
    assert store.claim("q", 1, LONG) == [Claimed("a", b"one", 1)]
    assert store.put("q", [item("a", body=b"four")]) == 0
    assert store.claim("q", 9, LONG) == [Claimed("b", b"body", 1), Claimed("c", b"body", 1)]


def test_the_oldest_is_claimed_first_and_no_more_than_asked_for(store):
    store.put("q", [item("late", 2), item("b"), item("a")])
    gevent.sleep(0.01)
    assert ids(store.claim("q", 2, LONG)) == ["a", "b"]
    assert ids(store.claim("q", 2, LONG)) == ["late"]
    assert store.claim("q", 2, LONG) == []


def test_what_is_delayed_is_not_due_yet(store):
    store.put("q", [item("later", SHORT), item("never", NEVER)])
    assert store.claim("q", 9, LONG) == []
    assert ids(until(lambda: store.claim("q", 9, LONG))) == ["later"]
    assert store.count("q") == 2


def test_a_lease_that_ends_gives_the_item_to_others(opening):
    one, other = opening(), opening()
    one.put("q", [item()])
    assert one.claim("q", 9, SHORT) == [Claimed("a", b"body", 1)]
    assert other.claim("q", 9, LONG) == []
    assert until(lambda: other.claim("q", 9, LONG)) == [Claimed("a", b"body", 2)]
    assert one.done("q", ["a"]) == 0
    assert other.done("q", ["a"]) == 1
    assert one.count("q") == 0


def test_what_nobody_else_claimed_is_done_though_the_lease_is_over(store):
    store.put("q", [item()])
    store.claim("q", 1, 1)
    gevent.sleep(0.02)
    assert store.done("q", ["a"]) == 1


def test_only_what_was_claimed_is_done(opening):
    store, other = opening(), opening()
    store.put("q", [item("a"), item("b"), item("c")])
    store.claim("q", 1, LONG)
    other.claim("q", 1, LONG)
    assert store.done("q", ["a", "b", "c", "unknown"]) == 1
    assert store.done("q", ["a"]) == 0
    assert store.count("q") == 2


def test_what_follows_is_put_in_the_same_step_if_anything_was_done(store):
    store.put("q", [item("a"), item("b")])
    store.claim("q", 1, LONG)
    score = Score("board", "Wren", 3)
    then = [("q", item("next")), ("other", item("x", body=b"\0\xff"))]
    assert store.done("q", ["b"], then, score) == 0
    assert store.count("q") == 2 and store.count("other") == 0 and store.top("board", 9) == []
    assert store.done("q", ["a", "b"], then, score) == 1
    assert ids(store.claim("q", 9, LONG)) == ["b", "next"]
    assert store.claim("other", 9, LONG) == [Claimed("x", b"\0\xff", 1)]
    assert store.top("board", 9) == [("Wren", 3)]


def test_an_item_may_be_followed_by_itself(store):
    store.put("q", [item(body=b"one")])
    store.claim("q", 1, LONG)
    assert store.done("q", ["a"], [("q", item(body=b"two"))]) == 1
    assert store.claim("q", 1, LONG) == [Claimed("a", b"two", 1)]


def test_what_is_taken_is_taken_once_due_or_not_with_what_follows(opening):
    one, other = opening(), opening()
    one.put("gems", [item("a", NEVER, body=b"ruby"), item("b", NEVER)])
    then, score = [("again", item("a2"))], Score("board", "Wren", 1)
    assert one.take("gems", "a", then, score) == b"ruby"
    assert other.take("gems", "a", then, score) is None
    assert one.take("gems", "unknown", then, score) is None
    assert one.count("gems") == one.count("again") == 1
    assert one.top("board", 9) == [("Wren", 1)]


def test_only_what_is_as_it_was_expected_is_taken(opening):
    one, other = opening(), opening()
    one.put("gems", [item("a", NEVER, body=b"first\0\xff")])
    then, score = [("gems", item("a", NEVER, body=b"second"))], Score("board", "Wren", 1)
    assert one.take("gems", "a", then, score, only=b"second") is None
    assert one.take("gems", "a", then, score, only=b"") is None
    assert one.take("gems", "a", then, score, only=b"first\0\xff") == b"first\0\xff"
    assert other.take("gems", "a", then, score, only=b"first\0\xff") is None
    assert other.take("gems", "unknown", then, score, only=b"first\0\xff") is None
    assert [one.body for one in other.group("gems", "")] == [b"second"]
    assert one.top("board", 9) == [("Wren", 1)]


def test_what_is_renewed_stays_its_callers_with_another_body(opening):
    one, other = opening(), opening()
    one.put("q", [item("a"), item("b"), item("c")])
    assert ids(one.claim("q", 2, SHORT)) == ["a", "b"]
    assert one.done("q", ["b"]) == 1
    some = [(id, b"new " + id.encode()) for id in ("a", "b", "c", "unknown")]
    assert other.renew("q", some, LONG) == []
    assert one.renew("q", some, LONG) == ["a"]
    gevent.sleep(2 * SHORT / 1000)
    assert ids(other.claim("q", 9, LONG)) == ["c"]
    assert one.renew("q", [("a", b"once more\0\xff")], SHORT) == ["a"]
    gevent.sleep(2 * SHORT / 1000)
    assert other.claim("q", 9, LONG) == [Claimed("a", b"once more\0\xff", 2)]
    assert one.renew("q", some, LONG) == [] and one.done("q", ["a"]) == 0
    assert other.renew("q", [], LONG) == []


def test_of_many_who_take_at_once_one_gets_it(opening):
    stores = [opening() for _ in range(6)]
    stores[0].put("gems", [item(str(n), NEVER) for n in range(20)])
    takers = [
        gevent.spawn(lambda one: [one.take("gems", str(n)) for n in range(20)], store)
        for store in stores
    ]
    got = [taker.get() for taker in takers]
    for bodies in zip(*got, strict=True):
        assert sum(body is not None for body in bodies) == 1


def test_of_many_who_claim_at_once_each_item_has_one(opening):
    stores = [opening() for _ in range(6)]
    stores[0].put("q", [item(str(n)) for n in range(200)])
    claimers = [
        gevent.spawn(lambda one: [one.claim("q", 7, LONG) for _ in range(8)], store)
        for store in stores
    ]
    got = [one.id for claimer in claimers for some in claimer.get() for one in some]
    assert sorted(got) == sorted(map(str, range(200)))


def test_of_many_who_change_an_item_at_once_each_change_counts(opening):
    def more(mark):
        return lambda old: item("a", NEVER, "g", mark if old is None else old.body + mark)

    def change(one, mark):
        return [one.change("q", "a", more(mark), "g") for _ in range(9)]

    stores = [opening() for _ in range(6)]
    changers = [gevent.spawn(change, one, b"%d" % n) for n, one in enumerate(stores)]
    results = [changer.get() for changer in changers]
    [last] = stores[0].group("q", "g")
    assert sorted(last.body) == sorted(b"012345" * 9)
    # Each is told what it is after its own change.
    ends = {result.body for each in results for result in each}
    assert ends == {last.body[: n + 1] for n in range(54)}


def test_what_is_not_changed_stays_as_it_is(store):
    store.put("q", [item("b", NEVER, "g")])
    assert store.change("q", "a", lambda old: old, "g") is None
    kept = store.change("q", "b", lambda old: None, "g")
    assert kept.body == b"body" and [each.id for each in store.group("q", "g")] == ["b"]
    # Without a group the item is alone in one that has its name.
    alone = item("c", NEVER, "c")
    assert store.change("q", "c", lambda old: alone) == alone
    assert store.change("q", "c", lambda old: None).body == alone.body
    with pytest.raises(ZeroDivisionError):
        store.change("q", "c", lambda old: 1 // 0)


def test_a_group_is_all_that_belongs_together_and_nothing_else(store):
    some = [item("late", LONG, "1:2"), item("now", 0, "1:2"), item("never", NEVER, "1:2", b"x")]
    store.put("q", [*some, item("else", 0, "1:20"), item("none"), item("other", 0, "1:")])
    store.put("elsewhere", [item("far", 0, "1:2")])
    found = store.group("q", "1:2")
    assert [(one.id, one.group, one.body) for one in found] == [
        ("now", "1:2", b"body"),
        ("late", "1:2", b"body"),
        ("never", "1:2", b"x"),
    ]
    assert found[0].delay == 0 and LONG - 5000 < found[1].delay <= LONG
    assert NEVER - 5000 < found[2].delay <= NEVER
    store.take("q", "late")
    store.claim("q", 1, LONG)
    assert {one.id for one in store.group("q", "1:2")} == {"now", "never"}
    assert store.group("q", "nobody") == store.group("q") == []
    assert ids(store.group("q", "1:20", "1:2", "nobody", "1:2")) == ["now", "else", "never"]
    assert {one.group for one in store.group("q", "1:20", "")} == {"1:20", ""}
    assert [one.id for one in store.group("q", "")] == ["none"]


def test_all_that_there_is_can_be_looked_through_piece_by_piece(opening):
    store, other = opening(), opening(uuid.uuid4().hex)
    assert store.names() == ([], []) and store.scan("q", 9) == []
    groups = ["", "1:2", "1:20", "a/b", "\u00e9"]
    some = [item(f"{n:02}\u00fc", 0, groups[n % 5], bytes((n, 0, 255))) for n in range(25)]
    store.put("q", some)
    store.put("queue/due", [item()])
    store.add(Score("board", "Wren", 1))
    store.add(Score("more/boards", "Wren", 1))
    other.put("elsewhere", [item()])
    assert store.names() == (["q", "queue/due"], ["board", "more/boards"])
    found = [item("", group="")]
    while piece := store.scan("q", 4, found[-1]):
        found += piece
    assert [(one.group, one.id, one.body) for one in found[1:]] == sorted(
        (one.group, one.id, one.body) for one in some
    )
    assert ids(store.scan("q", 7)) == ids(found[1:8])
    store.claim("q", 25, LONG)
    assert all(LONG - 5000 < one.delay <= LONG for one in store.scan("q", 25))
    assert store.names()[0] == ["q", "queue/due"]
    store.done("q", [one.id for one in some])
    assert store.names()[0] == ["queue/due"]


def test_the_sizes_of_its_parts_are_told(store):
    before = sum(size.bytes for size in store.sizes())
    for start in range(0, 3000, 1000):
        store.put("q", [item(f"{n:05}", body=b"x" * 100) for n in range(start, start + 1000)])
    store.add(Score("board", "Wren", 1))
    sizes = store.sizes()
    assert max(size.rows for size in sizes) >= 3000 and len({size.name for size in sizes}) >= 4
    assert 100 * 3000 < sum(size.bytes for size in sizes) - before < 1000 * 3000


def test_a_board_has_places_and_equal_points_are_equal_places(store):
    for name, n in (("Wren", 2), ("Tit", 5), ("Owl", 2), ("Wren", 1), ("Owl", 1), ("Jay", -1)):
        store.add(Score("gems", name, n))
    assert store.add(Score("gems", "Tit", 2)) == 7
    assert store.top("gems", 2) == [("Tit", 7), ("Wren", 3)]
    assert store.top("gems", 2, 1) == [("Wren", 3), ("Owl", 3)] and store.top("gems", 2, 9) == []
    assert store.top("gems", 9) == [("Tit", 7), ("Wren", 3), ("Owl", 3), ("Jay", -1)]
    assert store.rank("gems", "Tit") == Rank(1, 4, 7)
    assert store.rank("gems", "Owl") == store.rank("gems", "Wren") == Rank(2, 4, 3)
    assert store.rank("gems", "Jay") == Rank(4, 4, -1)
    assert store.rank("gems", "nobody") is None and store.rank("none", "Tit") is None


def test_a_score_of_no_points_is_a_place_on_the_board_however_it_is_added(store):
    store.put("q", [item("a"), item("b")])
    store.claim("q", 1, LONG)
    store.done("q", ["a"], (), Score("board", "done", 0))
    store.take("q", "b", (), Score("board", "taken", 0))
    store.add(Score("board", "added", 0))
    assert store.top("board", 9) == [("taken", 0), ("done", 0), ("added", 0)]


def test_worlds_share_nothing(opening):
    here, there = opening(), opening(uuid.uuid4().hex)
    here.put("q", [item()])
    here.add(Score("board", "Wren", 1))
    assert there.claim("q", 9, LONG) == [] and there.top("board", 9) == []
    assert there.put("q", [item()]) == 1


def test_what_was_put_is_there_after_it_was_closed(opening):
    first = opening()
    first.put("q", [item("claimed"), item("waits")])
    first.claim("q", 1, SHORT)
    first.add(Score("board", "Wren", 4))
    first.close()
    second = opening()
    assert second.top("board", 1) == [("Wren", 4)]
    found = []
    until(lambda: found.extend(second.claim("q", 9, LONG)) or len(found) == 2)
    assert {(one.id, one.tries) for one in found} == {("waits", 1), ("claimed", 2)}


def test_only_who_calls_waits(store):
    turns = []
    caller = gevent.spawn(lambda: [store.put("q", [item(str(n))]) for n in range(50)])
    while not caller.ready():
        turns.append(1)
        gevent.sleep(0)
    caller.get()
    assert len(turns) > 50


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.put("", [item()]),
        lambda store: store.put("q", [item("x" * (NAME_LIMIT + 1))]),
        lambda store: store.put("q", [item("a\0b")]),
        lambda store: store.put("q", [item(group="a\0b")]),
        lambda store: store.put("q", [item(body=b"x" * (BODY_LIMIT + 1))]),
        lambda store: store.put("q", [item(body="text")]),
        lambda store: store.put("q", [item(delay=-1)]),
        lambda store: store.put("q", [item(delay=1.5)]),
        lambda store: store.put("q", [item(delay=NEVER + 1)]),
        lambda store: store.put("q", [item(str(n)) for n in range(BATCH_LIMIT + 1)]),
        lambda store: store.claim("q", 0, LONG),
        lambda store: store.claim("q", BATCH_LIMIT + 1, LONG),
        lambda store: store.claim("q", 1, 0),
        lambda store: store.renew("q", [("a", b"x")], 0),
        lambda store: store.renew("q", [("a", "text")], LONG),
        lambda store: store.take("q", "a", only="text"),
        lambda store: store.group("q", *map(str, range(BATCH_LIMIT + 1))),
        lambda store: store.done("q", ["a"] * (BATCH_LIMIT + 1)),
        lambda store: store.done("q", ["a"], [("q", item(delay=-1))]),
        lambda store: store.take("q", "a", [("", item())]),
        lambda store: store.take("q", "a", (), Score("board", "Wren", 2**31)),
        lambda store: store.add(Score("", "Wren", 1)),
        lambda store: store.top("board", 0),
        lambda store: store.top("board", 1, -1),
        lambda store: store.scan("q", 0),
        lambda store: store.scan("q", BATCH_LIMIT + 1),
    ],
)
def test_what_is_beyond_the_limits_is_refused_and_changes_nothing(store, call):
    store.put("q", [item()])
    with pytest.raises(ValueError):
        call(store)
    assert store.count("q") == 1
    assert store.put("q", [item(str(n), body=b"x") for n in range(BATCH_LIMIT)]) == BATCH_LIMIT


class Accounts(RuleBasedStateMachine):
    """Put = done + waiting + held, no id is done twice, and everybody sees the same queue.

    Two callers; leases never end by themselves, so a model knows who holds what.
    """

    def __init__(self, opening):
        super().__init__()
        self.stores = [opening(uuid.uuid4().hex)]
        self.stores.append(opening(self.stores[0].world))
        self.waiting: set[str] = set()
        self.held: dict[str, int] = {}
        self.put = self.over = 0

    @rule(caller=st.integers(0, 1), some=st.sets(st.sampled_from("abcdefgh"), max_size=5))
    def puts(self, caller, some):
        new = some - self.waiting - self.held.keys()
        assert self.stores[caller].put("q", [item(id) for id in some]) == len(new)
        self.waiting |= new
        self.put += len(new)

    @rule(caller=st.integers(0, 1), most=st.integers(1, 4))
    def claims(self, caller, most):
        some = ids(self.stores[caller].claim("q", most, LONG))
        assert len(some) == min(most, len(self.waiting)) and set(some) <= self.waiting
        self.waiting -= set(some)
        self.held |= dict.fromkeys(some, caller)

    @rule(caller=st.integers(0, 1), some=st.sets(st.sampled_from("abcdefgh"), max_size=5))
    def finishes(self, caller, some):
        own = {id for id in some if self.held.get(id) == caller}
        assert self.stores[caller].done("q", some) == len(own)
        for id in own:
            del self.held[id]
        self.over += len(own)

    @rule(caller=st.integers(0, 1), id=st.sampled_from("abcdefgh"))
    def takes(self, caller, id):
        there = id in self.waiting or id in self.held
        assert (self.stores[caller].take("q", id) is not None) == there
        self.waiting.discard(id)
        self.held.pop(id, None)
        self.over += there

    @initialize()
    def begins(self):
        assert self.stores[0].count("q") == 0

    def teardown(self):
        left = len(self.waiting) + len(self.held)
        assert self.put == self.over + left
        assert [store.count("q") for store in self.stores] == [left, left]


def test_the_account_of_a_queue_is_right_whatever_is_done(opening):
    run_state_machine_as_test(
        lambda: Accounts(opening),
        settings=settings(
            max_examples=15,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
