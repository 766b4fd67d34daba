from hypothesis import given, settings
from hypothesis import strategies as st

from flatlands.world import lanes

#: Hypothesis takes long to make so many numbers.
VALUES = st.lists(st.integers(0, 10**6), min_size=lanes.COUNT, max_size=lanes.COUNT)


@settings(max_examples=40)
@given(VALUES, VALUES, st.integers(0, 2**16))
def test_lanes_are_all_computed_at_once(first, second, factor):
    result = lanes.pack(first) * factor + lanes.pack(second)
    expected = [a * factor + b for a, b in zip(first, second, strict=True)]
    assert [lanes.value(result, lane) for lane in range(lanes.COUNT)] == expected


@settings(max_examples=40)
@given(VALUES, VALUES, st.integers(-(10**6), 10**6), st.integers(0, 10**6))
def test_flags_tell_how_lanes_compare_with_a_bound_even_negative_ones(first, second, bound, more):
    result = lanes.pack(first) - lanes.pack(second)
    values = [a - b for a, b in zip(first, second, strict=True)]
    bits = lanes.flag_bits(lanes.at_least(result, bound))
    assert bits == sum((value >= bound) << lane for lane, value in enumerate(values))
    between = lanes.between(result, bound, bound + more) & lanes.FLAGS
    inside = [lane for lane, value in enumerate(values) if bound <= value < bound + more]
    assert between == sum(map(lanes.flag, inside))
    assert list(lanes.numbers_of(lanes.flag_bits(between))) == inside


def test_the_constants_are_the_same_in_all_lanes():
    assert lanes.ALL == lanes.pack([1] * lanes.COUNT)
    assert lanes.LOW_16 == lanes.pack([0xFFFF] * lanes.COUNT)
    assert lanes.FLAGS == sum(map(lanes.flag, range(lanes.COUNT)))
