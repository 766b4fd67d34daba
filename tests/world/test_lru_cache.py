from hypothesis import given
from hypothesis import strategies as st

from flatlands.world.lru_cache import LRUCache


def test_a_value_that_is_used_again_and_again_stays_and_the_rest_is_forgotten():
    asked: list[int] = []
    recent = LRUCache(lambda key: asked.append(key) or key * 2, 10)
    for key in range(1, 100):
        assert recent[0] == 0 and recent[key] == key * 2
    assert asked == list(range(100))
    recent[1]
    assert asked[-1] == 1


@given(st.lists(st.integers(0, 30)), st.integers(2, 12))
def test_at_most_the_limit_is_kept_and_the_latest_half_for_sure(keys, most):
    asked: list[int] = []
    recent = LRUCache(lambda key: asked.append(key) or -key, most)
    used: list[int] = []
    for key in keys:
        known = len(asked)
        assert recent[key] == -key
        assert len(recent) + len(recent._older) <= most
        if key in used[-(most // 2) :]:
            assert len(asked) == known
        used = [other for other in used if other != key] + [key]
