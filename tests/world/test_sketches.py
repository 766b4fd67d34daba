"""Sketches: how rough they are, and that they are read as they were written."""

from hypothesis import given
from hypothesis import strategies as st

from flatlands.model import SKETCH, sketches, units
from flatlands.world.events import Player
from flatlands.world.sketches import NEAR_STEPS, STEP_UNITS, join, sketch
from flatlands.world.track import REACH, UNIT, Track, duration

WAYS = st.integers(-REACH, REACH)
SIDES = st.sampled_from([8, 16, 64])


def player(track, seq=0, ack=0):
    return Player(1, 2**40, seq, ack, "P", False, track)


@given(
    SIDES,
    st.integers(-3, 3),
    st.floats(0, 1, exclude_max=True),
    WAYS,
    WAYS,
    st.integers(-500, 9000),
)
def test_a_sketch_is_as_close_to_the_track_as_it_promises(side, column, part, dx, dy, age):
    span = side * UNIT
    x = column * span + int(part * span)
    track = Track(x, 77, dx, dy, 0, duration(dx, dy))
    real_x, real_y = track.at(age)
    made = sketch(player(track), (column, 0), span, age)
    inside = real_x // span == column and real_y // span == 0
    assert (made is not None) == inside
    if made is None:
        return
    _, px, py, sx, sy = SKETCH.unpack(made)
    place_x, place_y = column * span + (2 * px + 1) * span // 512, (2 * py + 1) * span // 512
    assert abs(place_x - real_x) <= span // 512 and abs(place_y - real_y) <= span // 512
    for place, way, end in (
        (place_x, units(sx), track.x + dx),
        (place_y, units(sy), track.y + dy),
    ):
        near = abs(way) < NEAR_STEPS * STEP_UNITS
        assert abs(place + way - end) <= span // 512 + (STEP_UNITS // 2 if near else 5 * STEP_UNITS)
    if age >= track.end:
        assert (sx, sy) == (0, 0)


def test_a_sketch_has_the_lowest_bits_of_seq_and_ack():
    made = sketch(player(Track(0, 0, 0, 0, 0, 0), seq=0x1234, ack=0xABC), (0, 0), 16 * UNIT, 5)
    assert SKETCH.unpack(made) == (0xC4, 0, 0, 0, 0)


@given(st.sets(st.integers(0, 6000), max_size=300), st.randoms())
def test_sketches_are_read_as_they_were_joined(slots, chance):
    made = [(slot, SKETCH.pack(slot % 256, slot // 256, 0, 0, -1)) for slot in slots]
    chance.shuffle(made)
    assert list(sketches(join(made))) == [
        (slot, (slot % 256, slot // 256, 0, 0, -1)) for slot in sorted(slots)
    ]
    dense = len(slots) and max(slots) < 255
    if dense:
        assert len(join(made)) == 6 * len(slots)
