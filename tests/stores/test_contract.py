"""The contract of stores/base.py, held against every backend.

A new backend is one more line in BACKENDS.
"""

import time
import uuid
from contextlib import contextmanager
from functools import partial

import gevent
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from flatlands.stores.base import (
    BODY_BYTES_MOST,
    CALL_ITEMS_MOST,
    NAME_CHARACTERS_MOST,
    NEVER_DUE_MS,
    TRANSACTION_BYTES_MOST,
    TRANSACTION_ITEMS_MOST,
    Claimed,
    Item,
    ItemChange,
    Rank,
    Score,
    Swap,
)
from flatlands.stores.registry import open_store
from tests.brokers.redis_servers import Redis, lent, rediscluster_url
from tests.brokers.servers import eventually, run_url, three


@contextmanager
def file(folder):
    yield f"sqlite:///{folder / 'store.db'}"


@contextmanager
def lent_url(**how):
    with lent(**how) as server:
        yield server.url


#: Context managers, started once with a folder for files, that yield a store's URL while they last.
BACKENDS = {
    "sqlite": file,
    "redis": lambda _: lent_url(login=True),
    "rediss": lambda _: lent_url(tls=True, login=True),
    "rediscluster": lambda _: rediscluster_url(),
    "ring of redis": lambda _: three(partial(run_url, Redis)),
}

#: ms of a lease that no test outlives.
LONG = 60_000
#: ms of a lease that ends soon, but not between two requests.
SHORT = 3000


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
def opening(url, monkeypatch):
    """A function that opens a store of one world, a new one for each test."""
    monkeypatch.setattr("flatlands.stores.redis.ANSWER_SECONDS", 20.0)
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


def test_the_oldest_is_claimed_first_and_no_more_than_asked_for(store):
    store.put("q", [item("late", 2), item("b"), item("a")])
    gevent.sleep(0.01)
    assert ids(store.claim("q", 2, LONG)) == ["a", "b"]
    assert ids(store.claim("q", 2, LONG)) == ["late"]
    assert store.claim("q", 2, LONG) == []


def test_a_delayed_item_is_not_due_yet(store):
    store.put("q", [item("later", SHORT), item("never", NEVER_DUE_MS)])
    assert store.claim("q", 9, LONG) == []
    assert ids(eventually(lambda: store.claim("q", 9, LONG), "it is never due")) == ["later"]
    assert store.count("q") == 2


def test_a_lease_that_ends_gives_the_item_to_others(opening):
    one, other = opening(), opening()
    one.put("q", [item()])
    assert one.claim("q", 9, SHORT) == [Claimed("a", b"body", 1)]
    assert other.claim("q", 9, LONG) == []
    claimed = eventually(lambda: other.claim("q", 9, LONG), "the lease does not end")
    assert claimed == [Claimed("a", b"body", 2)]
    assert one.done("q", ["a"]) == 0
    assert other.done("q", ["a"]) == 1
    assert one.count("q") == 0


def test_an_item_that_nobody_else_claimed_can_be_done_after_its_lease(store):
    store.put("q", [item()])
    store.claim("q", 1, 1)
    gevent.sleep(0.02)
    assert store.done("q", ["a"]) == 1


def test_an_item_that_is_renewed_stays_its_callers_with_a_new_body(opening):
    one, other = opening(), opening()
    one.put("q", [item("a"), item("b"), item("c")])
    assert ids(one.claim("q", 2, SHORT)) == ["a", "b"]
    assert one.done("q", ["b"]) == 1
    some = [(id, b"new " + id.encode()) for id in ("a", "b", "c", "unknown")]
    assert other.renew("q", some, LONG) == []
    assert one.renew("q", some, LONG) == ["a"]
    # The first lease is over.
    gevent.sleep(1.1 * SHORT / 1000)
    assert ids(other.claim("q", 9, LONG)) == ["c"]
    assert one.renew("q", [("a", None)], LONG) == ["a"]
    assert one.get("q", ["a"])["a"].body == b"new a"
    assert one.renew("q", [("a", b"")], LONG) == ["a"] and one.get("q", ["a"])["a"].body == b""
    assert one.renew("q", [("a", b"once more\0\xff")], SHORT) == ["a"]
    claimed = eventually(lambda: other.claim("q", 9, LONG), "the lease does not end")
    assert claimed == [Claimed("a", b"once more\0\xff", 2)]
    assert one.renew("q", some, LONG) == [] and one.done("q", ["a"]) == 0
    assert other.renew("q", [], LONG) == []


def at_once(opening, call):
    """Return the results of `call(store, number)` on six stores at the same time."""
    calls = [gevent.spawn(call, one, n) for n, one in enumerate([opening() for _ in range(6)])]
    return [each.get() for each in calls]


def test_of_many_that_take_an_item_at_once_one_gets_it(opening):
    opening().put("apples", [item(str(n), NEVER_DUE_MS) for n in range(20)])
    got = at_once(opening, lambda one, _: [one.take("apples", str(n)) for n in range(20)])
    for bodies in zip(*got, strict=True):
        assert sum(body is not None for body in bodies) == 1


def test_when_many_claim_at_once_each_item_goes_to_one(opening):
    opening().put("q", [item(str(n)) for n in range(200)])
    got = at_once(opening, lambda one, _: [one.claim("q", 7, LONG) for _ in range(8)])
    found = [one.id for some in got for claimed in some for one in claimed]
    assert sorted(found) == sorted(map(str, range(200)))


def test_when_many_change_an_item_at_once_each_change_counts(opening):
    def more(mark):
        return lambda old: item("a", NEVER_DUE_MS, "g", mark if old is None else old.body + mark)

    results = at_once(
        opening, lambda one, n: [one.change("q", "a", more(b"%d" % n)) for _ in range(9)]
    )
    [last] = opening().group("q", "g")
    assert sorted(last.body) == sorted(b"012345" * 9)
    # Each caller is told the value after its own change.
    ends = {result.body for each in results for result in each}
    assert ends == {last.body[: n + 1] for n in range(54)}


def test_an_item_that_is_not_changed_stays_as_it_is(store):
    store.put("q", [item("b", NEVER_DUE_MS, "g")])
    assert store.change("q", "a", lambda old: old) is None
    kept = store.change("q", "b", lambda old: None)
    assert kept.body == b"body" and [each.id for each in store.group("q", "g")] == ["b"]
    alone = item("c", NEVER_DUE_MS)
    assert store.change("q", "c", lambda old: alone) == alone
    assert store.change("q", "c", lambda old: None).body == alone.body
    with pytest.raises(ZeroDivisionError):
        store.change("q", "c", lambda old: 1 // 0)


def test_a_transaction_of_the_largest_size_is_done_as_a_whole_and_then_not_again(store):
    each = TRANSACTION_BYTES_MOST // TRANSACTION_ITEMS_MOST
    changes = [
        ItemChange(f"q{n % 7}", str(n), None, item(str(n), body=bytes(each)))
        for n in range(TRANSACTION_ITEMS_MOST)
    ]
    assert store.transact(changes, [Score("board", "Wren", 2)])
    assert not store.transact(changes, [Score("board", "Wren", 2)])
    assert store.transact([], [Score("board", "Wren", 3), Score("other", "Wren", 1)])
    assert sum(store.count(f"q{n}") for n in range(7)) == TRANSACTION_ITEMS_MOST
    assert store.top("board", 9) == [("Wren", 5)] and store.top("other", 9) == [("Wren", 1)]


def test_of_many_transactions_with_the_same_items_at_once_none_loses_anything(opening):
    opening().put("purses", [item(name, NEVER_DUE_MS, body=b"50") for name in "ab"])

    def pay(store, n):
        """Move a coin from one purse to the other, forty times."""
        giver, taker = ("a", "b") if n % 2 else ("b", "a")
        paid = 0
        while paid < 40:
            there = store.get("purses", "ab")
            has = {id: int(one.body) for id, one in there.items()}
            after = {giver: has[giver] - 1, taker: has[taker] + 1}
            paid += store.transact(
                ItemChange("purses", id, there[id].body, there[id]._replace(body=b"%d" % after[id]))
                for id in "ab"
            )

    at_once(opening, pay)
    purses = opening().get("purses", "ab")
    assert sorted(int(one.body) for one in purses.values()) == [50, 50]


def test_items_are_read_by_their_ids_whatever_group_they_are_in_and_whoever_has_them(store):
    some = [item("a", LONG, "1:2", b"x"), item("b"), item("c", NEVER_DUE_MS, "c"), item("d")]
    store.put("q", some)
    store.put("elsewhere", [item("e")])
    store.claim("q", 1, LONG)
    found = store.get("q", ["c", "a", "b", "a", "e", "nobody"])
    assert set(found) == {"a", "b", "c"} and store.get("q", []) == store.get("none", ["a"]) == {}
    assert [found[id][2:] for id in "abc"] == [each[2:] for each in some[:3]]
    assert all(LONG - 5000 < found[id].delay <= LONG for id in "ab")
    assert NEVER_DUE_MS - 5000 < found["c"].delay <= NEVER_DUE_MS


def test_a_group_is_listed_with_the_soonest_due_first(store):
    some = [
        item("late", LONG, "1:2"),
        item("now", 0, "1:2"),
        item("never", NEVER_DUE_MS, "1:2", b"x"),
    ]
    store.put("q", [*some, item("else", 0, "1:20"), item("none"), item("other", 0, "1:")])
    store.put("elsewhere", [item("far", 0, "1:2")])
    found = store.group("q", "1:2")
    assert ids(found) == ["now", "late", "never"] and found[0].delay == 0
    assert LONG - 5000 < found[1].delay <= LONG
    assert NEVER_DUE_MS - 5000 < found[2].delay <= NEVER_DUE_MS
    assert ids(store.group("q", "1:20", "1:2", "nobody", "1:2"))[2:] == ["late", "never"]
    assert store.group("q", "nobody") == store.group("q") == []


def test_everything_can_be_read_piece_by_piece(opening):
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


def test_a_store_tells_the_sizes_of_its_parts(store):
    before = sum(size.bytes for size in store.sizes())
    for start in range(0, 3000, 1000):
        store.put("q", [item(f"{n:05}", body=b"x" * 100) for n in range(start, start + 1000)])
    store.add(Score("board", "Wren", 1))
    sizes = store.sizes()
    assert max(size.rows for size in sizes) >= 3000 and len({size.name for size in sizes}) >= 4
    assert 100 * 3000 < sum(size.bytes for size in sizes) - before < 1000 * 3000


def test_a_store_tells_the_time_by_which_items_are_due(store):
    before = store.clock()
    store.put("q", [item("soon", 300), item("now")])
    assert abs(before - time.time() * 1000) < 60_000
    assert [one.id for one in store.claim("q", 9, LONG)] == ["now"]
    found = eventually(lambda: store.claim("q", 9, LONG), "the item is not due")
    assert [one.id for one in found] == ["soon"]
    assert store.clock() >= before + 300


def test_worlds_share_nothing(opening):
    here, there = opening(), opening(uuid.uuid4().hex)
    here.put("q", [item()])
    here.add(Score("board", "Wren", 1))
    assert there.claim("q", 9, LONG) == [] and there.top("board", 9) == []
    assert there.put("q", [item()]) == 1


def test_items_outlast_a_store_that_is_closed(opening):
    first = opening()
    first.put("q", [item("claimed"), item("waits")])
    first.claim("q", 1, SHORT)
    first.add(Score("board", "Wren", 4))
    first.close()
    second = opening()
    assert second.top("board", 1) == [("Wren", 4)]
    found = []
    eventually(lambda: found.extend(second.claim("q", 9, LONG)) or len(found) == 2, "one is lost")
    assert {(one.id, one.tries) for one in found} == {("waits", 1), ("claimed", 2)}


def test_only_the_caller_waits(store):
    turns = []
    caller = gevent.spawn(lambda: [store.put("q", [item(str(n))]) for n in range(10)])
    while not caller.ready():
        turns.append(1)
        gevent.sleep(0)
    caller.get()
    assert len(turns) > 10


#: Calls with arguments beyond the limits.
BEYOND = [
    lambda store: store.put("", [item()]),
    lambda store: store.put("q", [item("x" * (NAME_CHARACTERS_MOST + 1))]),
    lambda store: store.put("q", [item("a\0b")]),
    lambda store: store.put("q", [item(group="a\0b")]),
    lambda store: store.put("q", [item(body=b"x" * (BODY_BYTES_MOST + 1))]),
    lambda store: store.put("q", [item(body="text")]),
    lambda store: store.put("q", [item(delay=-1)]),
    lambda store: store.put("q", [item(delay=1.5)]),
    lambda store: store.put("q", [item(delay=NEVER_DUE_MS + 1)]),
    lambda store: store.put("q", [item(str(n)) for n in range(CALL_ITEMS_MOST + 1)]),
    lambda store: store.claim("q", 0, LONG),
    lambda store: store.claim("q", CALL_ITEMS_MOST + 1, LONG),
    lambda store: store.claim("q", 1, 0),
    lambda store: store.renew("q", [("a", b"x")], 0),
    lambda store: store.renew("q", [("a", "text")], LONG),
    lambda store: store.take("q", "a", only="text"),
    lambda store: store.get("q", map(str, range(CALL_ITEMS_MOST + 1))),
    lambda store: store.group("q", *map(str, range(CALL_ITEMS_MOST + 1))),
    lambda store: store.done("q", ["a"] * (CALL_ITEMS_MOST + 1)),
    lambda store: store.done("q", ["a"], [("q", item(delay=-1))]),
    lambda store: store.take("q", "a", [("", item())]),
    lambda store: store.take("q", "a", (), [Score("board", "Wren", 2**31)]),
    lambda store: store.transact([]),
    lambda store: store.transact([ItemChange("", "a", b"body")]),
    lambda store: store.transact([ItemChange("q", "a", "text")]),
    lambda store: store.transact([ItemChange("q", "b", None)]),
    lambda store: store.transact([ItemChange("q", "a", b"body", item("b"))]),
    lambda store: store.transact([ItemChange("q", "a", b"body", item(), stays=True)]),
    lambda store: store.transact([ItemChange("q", "a", b"body"), ItemChange("q", "a", b"body")]),
    lambda store: store.transact([ItemChange("q", "a", b"body")], [Score("board", "Wren", 2**31)]),
    lambda store: store.transact(
        ItemChange("q", str(n), None, item(str(n))) for n in range(TRANSACTION_ITEMS_MOST + 1)
    ),
    lambda store: store.transact(
        ItemChange("q", str(n), None, item(str(n), body=bytes(BODY_BYTES_MOST)))
        for n in range(TRANSACTION_BYTES_MOST // BODY_BYTES_MOST + 1)
    ),
    lambda store: store.add(Score("", "Wren", 1)),
    lambda store: store.top("board", 0),
    lambda store: store.top("board", 1, -1),
    lambda store: store.scan("q", 0),
    lambda store: store.scan("q", CALL_ITEMS_MOST + 1),
]


def test_a_call_beyond_the_limits_is_refused_and_changes_nothing(store):
    store.put("q", [item()])
    for call in BEYOND:
        with pytest.raises(ValueError):
            call(store)
    assert store.count("q") == 1
    assert (
        store.put("q", [item(str(n), body=b"x") for n in range(CALL_ITEMS_MOST)]) == CALL_ITEMS_MOST
    )


QUEUES = ("q", "queue/due")
GROUPS = ("", "1:2", "1:20")
BODIES = (b"", b"one", b"two\0\xff")
CALLER = st.integers(0, 1)
QUEUE = st.sampled_from(QUEUES)
ID = st.sampled_from(["a", "a/b", "c", "\u00e4\n"])
BODY = st.sampled_from(BODIES)
ITEM = st.builds(Item, ID, st.sampled_from([0, 0, NEVER_DUE_MS]), st.sampled_from(GROUPS), BODY)
THEN = st.lists(st.tuples(QUEUE, ITEM), max_size=2)
BOARDS = "board", "board/due"
SCORE = st.builds(Score, st.sampled_from(BOARDS), ID, st.integers(-1, 2))
SCORES = st.lists(SCORE, max_size=3)
CHANGES = st.dictionaries(
    st.tuples(QUEUE, ID),
    st.tuples(st.none() | BODY, st.sampled_from(["put", "gone", "stays"]), ITEM),
    min_size=1,
    max_size=4,
)
SWAPS = st.lists(st.builds(Swap, st.none() | BODY, ITEM, SCORES), max_size=4)


class Queues(RuleBasedStateMachine):
    """Whatever two callers do, a store has for both of them what a dictionary would have.

    Leases never end by themselves, so the dictionary knows who holds what.
    """

    def __init__(self, opening):
        super().__init__()
        self.stores = [opening(uuid.uuid4().hex)]
        self.stores.append(opening(self.stores[0].world))
        #: Queue -> id -> [item, how often it was claimed, who holds it]; and board -> id -> points.
        self.there = {queue: {} for queue in QUEUES}
        self.points = {board: {} for board in BOARDS}

    def put(self, queue, some):
        """Return how many are new, as a store does."""
        before = len(self.there[queue])
        for one in some:
            self.there[queue].setdefault(one.id, [one, 0, None])
        return len(self.there[queue]) - before

    def remove(self, queue, some, then, scores):
        for id in some:
            del self.there[queue][id]
        if some:
            for other, one in then:
                self.put(other, [one])
            for score in scores:
                self.add(score)

    def add(self, score):
        points = self.points[score.board]
        points[score.id] = points.get(score.id, 0) + score.n
        return points[score.id]

    def held(self, caller, queue):
        return {id for id, (_, _, holder) in self.there[queue].items() if holder == caller}

    @rule(caller=CALLER, queue=QUEUE, some=st.lists(ITEM, max_size=5))
    def puts(self, caller, queue, some):
        assert self.stores[caller].put(queue, some) == self.put(queue, some)

    @rule(caller=CALLER, queue=QUEUE, most=st.integers(1, 3))
    def claims(self, caller, queue, most):
        there = self.there[queue]
        due = {id for id, (one, _, holder) in there.items() if holder is None and not one.delay}
        found = self.stores[caller].claim(queue, most, LONG)
        assert len(found) == min(most, len(due)) and set(ids(found)) <= due
        for id, body, tries in found:
            there[id][1:] = there[id][1] + 1, caller
            assert (body, tries) == (there[id][0].body, there[id][1])

    @rule(caller=CALLER, queue=QUEUE, some=st.sets(ID), then=THEN, scores=SCORES)
    def finishes(self, caller, queue, some, then, scores):
        own = some & self.held(caller, queue)
        assert self.stores[caller].done(queue, some, then, scores) == len(own)
        self.remove(queue, own, then, scores)

    @rule(caller=CALLER, queue=QUEUE, id=ID, only=st.none() | BODY, then=THEN, scores=SCORES)
    def takes(self, caller, queue, id, only, then, scores):
        body = self.there[queue][id][0].body if id in self.there[queue] else None
        taken = body if only in (None, body) else None
        assert self.stores[caller].take(queue, id, then, scores, only=only) == taken
        self.remove(queue, [id] if taken is not None else [], then, scores)

    @rule(caller=CALLER, queue=QUEUE, some=SWAPS)
    def swaps(self, caller, queue, some):
        put = []
        for before, one, scores in some:
            there = self.there[queue]
            body = there[one.id][0].body if one.id in there else None
            put.append(body == before)
            if put[-1]:
                there[one.id] = [one, 0, None]
                for score in scores:
                    self.add(score)
        assert self.stores[caller].swap(queue, some) == put

    @rule(caller=CALLER, some=CHANGES, right=st.booleans(), scores=SCORES)
    def transacts(self, caller, some, right, scores):
        changes = []
        for (queue, id), (before, deed, one) in some.items():
            there = self.there[queue].get(id)
            was = None if there is None else there[0].body
            if right:
                before = was
            after = one._replace(id=id) if deed == "put" or before is None else None
            stays = deed == "stays"
            changes.append(ItemChange(queue, id, before, None if stays else after, stays))
        fits = all(
            before == (self.there[queue][id][0].body if id in self.there[queue] else None)
            for queue, id, before, *_ in changes
        )
        assert self.stores[caller].transact(changes, scores) == fits
        if fits:
            for queue, id, _, after, stays in changes:
                if after is not None:
                    self.there[queue][id] = [after, 0, None]
                elif not stays:
                    del self.there[queue][id]
            for score in scores:
                self.add(score)

    @rule(caller=CALLER, queue=QUEUE, some=st.dictionaries(ID, BODY))
    def renews(self, caller, queue, some):
        own = some.keys() & self.held(caller, queue)
        assert set(self.stores[caller].renew(queue, some.items(), LONG)) == own
        for id in own:
            self.there[queue][id][0] = self.there[queue][id][0]._replace(body=some[id])

    @rule(caller=CALLER, score=SCORE)
    def scores(self, caller, score):
        assert self.stores[caller].add(score) == self.add(score)

    def teardown(self):
        for store in self.stores:
            for queue, there in self.there.items():
                items = [(one.group, one.id, one.body) for one, _, _ in there.values()]
                found = [(one.group, one.id, one.body) for one in store.scan(queue, 9)]
                assert found == sorted(items) and store.count(queue) == len(items)
                read = store.get(queue, there).values()
                assert sorted((one.group, one.id, one.body) for one in read) == found
                for some in (GROUPS[:1], GROUPS[1:]):
                    grouped = {one.id for one in store.group(queue, *some)}
                    assert grouped == {id for group, id, _ in items if group in some}
            for board, points in self.points.items():
                places = sorted(((n, id) for id, n in points.items()), reverse=True)
                assert store.top(board, 9, 1) == [(id, n) for n, id in places[1:]]
                for n, id in places:
                    place = 1 + sum(other > n for other, _ in places)
                    assert store.rank(board, id) == Rank(place, len(places), n)
                assert store.rank(board, "nobody") is None


def test_a_store_has_what_a_dictionary_would_have_whatever_is_done(opening):
    few = settings(
        max_examples=25,
        stateful_step_count=30,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(lambda: Queues(opening), settings=few)
