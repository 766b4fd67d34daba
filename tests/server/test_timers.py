from hypothesis import given
from hypothesis import strategies as st

from flatlands.server.runtime.timers import SLACK, DeadlineHeap, TimerQueue
from flatlands.testkit.clock import Clock, ManualLoop


def test_a_key_that_is_put_meanwhile_is_taken_too():
    heap = DeadlineHeap()
    heap.put("a", 10)
    taken = []
    for due, key in heap.pop_due(30):
        taken.append(due)
        heap.put(key, due + 10)
    assert taken == [10, 20, 30]
    assert heap.next() == 40


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99) | st.none()), max_size=200))
def test_a_timer_queue_agrees_with_a_plain_table(steps):
    heap, table = DeadlineHeap(), {}
    for key, due in steps:
        if due is None:
            heap.drop(key)
            table.pop(key, None)
        else:
            heap.put(key, due)
            table[key] = due
    assert heap.next() == min(table.values(), default=None)
    assert len(heap) == len(table)
    taken = list(heap.pop_due(50))
    assert sorted(taken) == sorted((due, key) for key, due in table.items() if due <= 50)
    assert [due for due, _ in taken] == sorted(due for due, _ in taken)


def test_a_key_dropped_or_put_again_and_again_is_due_once_and_does_not_fill_the_heap():
    heap = DeadlineHeap()
    for due in range(100_000):
        heap.put("b", due)
    for _ in range(3 * SLACK):
        heap.put("a", 10)
        heap.drop("a")
    heap.put("a", 10)
    assert len(heap._heap) <= 2 * 2 + SLACK + 1
    assert list(heap.pop_due(99_999)) == [(10, "a"), (99_999, "b")]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40) | st.none(), st.integers(0, 9))))
def test_each_key_has_its_turn_at_its_last_time_whatever_was_put_or_dropped_before(steps):
    clock = Clock()
    loop, done, table = ManualLoop(clock), [], {}
    timers = TimerQueue(loop, lambda key, due: done.append((key, due, loop.now())))
    expected = []

    def run(ms):
        for _ in range(ms):
            clock.time += 1
            loop.turn()
            for key in [key for key, due in table.items() if due <= clock.time]:
                expected.append((key, table.pop(key), clock.time))

    for key, after, pause in steps:
        if after is None:
            timers.drop(key)
            table.pop(key, None)
        else:
            table[key] = clock.time + after
            timers.put(key, table[key])
        run(pause)
    run(50)
    assert sorted(done) == sorted(expected) and loop.next() is None
