"""What a node knows of the things in a square, from news and from reads."""

from hypothesis import given
from hypothesis import strategies as st

from flatlands.server.storage.kinds import declare
from flatlands.world.things import Things
from tests.bare import Apple


def apple(id="a", version=1, x=0):
    return declare(Apple).make(0, id, version, x, 0)


def test_news_says_what_lies_in_the_square():
    things = Things()
    assert things.change([apple("b"), apple("a")], [], 0)
    assert things.all() == [apple("a"), apple("b")] and things.get("a") == apple("a")
    assert things.change([], [("a", 1)], 1)
    assert things.all() == [apple("b")] and things.get("a") is None
    assert things.get("unknown") is None


def test_news_that_comes_again_or_late_changes_nothing():
    things = Things()
    things.change([apple(version=2)], [], 0)
    assert not things.change([apple(version=2)], [], 1)
    assert not things.change([apple(version=1, x=9)], [("a", 1)], 2)
    assert things.all() == [apple(version=2)]
    things.change([], [("a", 2)], 3)
    assert not things.change([apple(version=2)], [], 4) and things.all() == []
    assert things.change([apple(version=3)], [], 5)


def test_a_gem_whose_end_comes_before_its_beginning_does_not_lie_there():
    things = Things()
    assert not things.change([], [("a", 1)], 0)
    assert not things.change([apple(version=1)], [], 1)


def test_a_read_replaces_what_was_known_when_it_began():
    things = Things()
    things.change([apple("lost"), apple("kept")], [("back", 7)], 10)
    assert things.replace([apple("kept"), apple("back", 5), apple("new")], 11)
    assert things.all() == [apple("back", 5), apple("kept"), apple("new")]
    assert not things.replace([apple("new"), apple("kept"), apple("back", 5)], 12)


def test_news_that_came_while_a_read_was_under_way_is_not_lost():
    things = Things()
    things.change([apple("taken"), apple("moved", 1)], [], 10)
    # The read begins at 20.
    things.change([apple("grown"), apple("moved", 2, x=5)], [("taken", 1)], 20)
    assert not things.replace([apple("taken"), apple("moved", 1)], 20)
    assert things.all() == [apple("grown"), apple("moved", 2, x=5)]
    # The read may also have happened after the news.
    assert things.replace([apple("moved", 3), apple("grown")], 20)
    assert things.all() == [apple("grown"), apple("moved", 3)]


@given(st.data())
def test_the_end_is_the_same_in_whatever_order_news_comes(data):
    """The truth is a history for each id: version after version, each put and later gone."""
    history = []
    for id in "abc":
        for version in range(data.draw(st.integers(0, 3))):
            history += [([apple(id, version)], []), ([], [(id, version)])]
        if data.draw(st.booleans()):
            history.append(([apple(id, 9)], []))
    expected, shuffled = Things(), Things()
    for news in history:
        expected.change(*news, 0)
    for news in data.draw(st.permutations(history + history)):
        shuffled.change(*news, 0)
    assert shuffled.all() == expected.all()
