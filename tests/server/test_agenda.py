from hypothesis import given
from hypothesis import strategies as st

from flatlands.server.runtime.agenda import SLACK, Agenda, Schedule
from tests.server.harness import Clock, ManualLoop


def test_a_key_that_is_put_meanwhile_is_taken_too():
    schedule = Schedule()
    schedule.put("a", 10)
    taken = []
    for due, key in schedule.pop_due(30):
        taken.append(due)
        schedule.put(key, due + 10)
    assert taken == [10, 20, 30]
    assert schedule.next() == 40


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99) | st.none()), max_size=200))
def test_an_agenda_agrees_with_a_plain_table(steps):
    schedule, table = Schedule(), {}
    for key, due in steps:
        if due is None:
            schedule.drop(key)
            table.pop(key, None)
        else:
            schedule.put(key, due)
            table[key] = due
    assert schedule.next() == min(table.values(), default=None)
    assert len(schedule) == len(table)
    taken = list(schedule.pop_due(50))
    assert sorted(taken) == sorted((due, key) for key, due in table.items() if due <= 50)
    assert [due for due, _ in taken] == sorted(due for due, _ in taken)


def test_a_key_dropped_or_put_again_and_again_is_due_once_and_does_not_fill_the_heap():
    schedule = Schedule()
    for due in range(100_000):
        schedule.put("b", due)
    for _ in range(3 * SLACK):
        schedule.put("a", 10)
        schedule.drop("a")
    schedule.put("a", 10)
    assert len(schedule._heap) <= 2 * 2 + SLACK + 1
    assert list(schedule.pop_due(99_999)) == [(10, "a"), (99_999, "b")]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40) | st.none(), st.integers(0, 9))))
def test_each_key_has_its_turn_at_its_last_time_whatever_was_put_or_dropped_before(steps):
    clock = Clock()
    loop, done, table = ManualLoop(clock), [], {}
    agenda = Agenda(loop, lambda key, due: done.append((key, due, loop.now())))
    expected = []

    def run(ms):
        for _ in range(ms):
            clock.time += 1
            loop.turn()
            for key in [key for key, due in table.items() if due <= clock.time]:
                expected.append((key, table.pop(key), clock.time))

    for key, after, pause in steps:
        if after is None:
            agenda.drop(key)
            table.pop(key, None)
        else:
            table[key] = clock.time + after
            agenda.put(key, table[key])
        run(pause)
    run(50)
    assert sorted(done) == sorted(expected) and loop.next() is None
