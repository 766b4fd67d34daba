"""How long it takes until a bot is told of what came of its action."""

import pytest

from flatlands.loadtest.swarm.effects import UNASKED_US, WITHIN_US, Effects

MS = 1000
LATER = 60_000_000


@pytest.fixture
def effects():
    """An hour after the swarm has begun."""
    found = Effects()
    found.begin(LATER)
    return found


def took(effects):
    """Return how many effects were seen, and how many ms the longest took."""
    found = effects.took()
    return found.total, round(found.most)


def test_time_counts_from_when_an_action_was_due(effects):
    due = LATER + MS
    effects.ask(due, due + 50 * MS)
    effects.note(("message", "paid"), due, due + 150 * MS, 1)
    assert took(effects) == (1, 151) and effects.measured == 1


def test_news_that_also_come_unasked_are_no_effects_even_of_earlier_actions(effects):
    due = LATER + MS
    for kind in ("board", "paid"):
        effects.ask(due, due)
        effects.note(("message", kind), due, due + 20 * MS, 1)
    assert took(effects)[0] == 2
    effects.note(("message", "board"), 0, due + UNASKED_US + 1, 1)
    effects.ask(due, due)
    effects.note(("message", "board"), due, due + 20 * MS, 1)
    assert took(effects)[0] == 1


def test_what_a_newcomer_is_told_first_shows_nothing(effects):
    now = LATER + 10 * UNASKED_US
    effects.note(("message", "lines"), 0, now, now - UNASKED_US)
    effects.ask(now, now)
    effects.note(("message", "lines"), now, now + 5 * MS, now - UNASKED_US)
    assert took(effects)[0] == 1


def test_news_that_come_late_or_after_the_first_are_no_effects(effects):
    due = LATER + MS
    effects.ask(due, due)
    effects.note(("ground", 28), due, due + WITHIN_US + 1, 1)
    effects.note(("error", None), 0, due + 5 * MS, 1)
    assert took(effects)[0] == 0 and effects.measured == 1


def test_only_actions_that_are_due_in_the_measured_time_are_measured(effects):
    effects.end(LATER + 100)
    for due in (LATER - 1, LATER, LATER + 99, LATER + 100):
        effects.ask(due, due)
        effects.note(("values", None), due, due + MS, 1)
    assert took(effects)[0] == effects.measured == 2 and effects.actions == 4
