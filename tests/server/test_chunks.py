"""Ground that a game's function makes."""

import random

import pytest

from flatlands.server.game import chunks as module
from flatlands.server.game.chunks import BARRED, PIECE_SIDE, SHOWN_PIECES, PieceFailed, chunks
from flatlands.world.track import UNIT, Goal, Heading, leg


def noise(seed, column, row):
    chance = random.Random(f"{seed} {column} {row}")
    return bytes(chance.choices((0, 7, BARRED, 255), (50, 45, 3, 2), k=PIECE_SIDE**2))


def value(x, y):
    return noise(5, x // PIECE_SIDE, y // PIECE_SIDE)[y % PIECE_SIDE * PIECE_SIDE + x % PIECE_SIDE]


def test_a_tile_blocks_by_its_value_and_a_box_by_its_tiles():
    ground, chance = chunks(noise)(5), random.Random(1)
    for _ in range(300):
        x, y = (chance.randint(-200, 200) for _ in "xy")
        assert ground.blocked(x, y) == (value(x, y) >= BARRED)
        x1, y1 = (n + chance.randint(-9, 9) for n in (x, y))
        box = [
            (column, row)
            for column in range(min(x, x1), max(x, x1) + 1)
            for row in range(min(y, y1), max(y, y1) + 1)
        ]
        assert ground.free(x, y, x1, y1) == (not any(ground.blocked(*tile) for tile in box))
    assert ground.piece(-2, 1) == noise(5, -2, 1)
    assert ground.stamp == chunks(noise)(5).stamp != chunks(noise)(6).stamp


def test_nobody_walks_through_a_blocked_tile():
    ground, chance = chunks(noise)(5), random.Random(2)
    for _ in range(200):
        x, y = (chance.randint(-90 * UNIT, 90 * UNIT) for _ in "xy")
        if ground.blocked(x // UNIT, y // UNIT):
            continue
        for intent in (Heading(1, -1), Goal(x + 9 * UNIT, y + 3 * UNIT), Heading(0, 1)):
            track = leg(ground, x, y, intent, 0)
            for t in range(0, 0 if track is None else min(track.duration, 3000), 20):
                at = [n // UNIT for n in track.at(t)]
                assert not ground.blocked(*at)


def test_a_function_is_called_once_for_each_piece_in_use():
    asked = []

    def once(seed, column, row):
        asked.append((column, row))
        return bytes(PIECE_SIDE**2)

    ground = chunks(once)(1)
    for _ in range(3):
        assert not ground.blocked(3, 3) and ground.free(-1, -1, 1, 1)
    assert sorted(asked) == [(-1, -1), (-1, 0), (0, -1), (0, 0), (0, 0)]
    # Requests for pieces far away do not push out the pieces that players need.
    for column in range(3 * SHOWN_PIECES):
        ground.piece(column, 9)
    asked.clear()
    assert not ground.blocked(3, 3) and asked == []
    for far in (2**24 + 1, -(2**30)):
        with pytest.raises(ValueError, match="no ground so far out"):
            ground.piece(0, far)


@pytest.mark.parametrize("values", [b"", bytes(4095), "x" * 4096, None, [0] * 4096])
def test_a_wrong_first_piece_is_an_error_at_once_and_a_later_one_blocks_the_way(values, caplog):
    with pytest.raises(ValueError, match="<lambda> must return 4096 bytes"):
        chunks(lambda *_: values)(1)
    ground = chunks(lambda _seed, *at: values if at != (0, 0) else bytes(PIECE_SIDE**2))(1)
    assert not ground.blocked(63, 0) and ground.blocked(64, 0)
    assert not ground.free(60, 0, 70, 0)
    with pytest.raises(PieceFailed):
        ground.piece(1, 0)
    assert caplog.text.count("failed for piece 1, 0") == 1


def test_a_piece_that_failed_is_tried_again_after_a_while(monkeypatch):
    time, fails = [100.0], [True]
    monkeypatch.setattr(module, "monotonic", lambda: time[0])

    def make(seed, column, row):
        if column == 1 and fails[0]:
            raise OSError("for a moment")
        return bytes(PIECE_SIDE**2)

    ground = chunks(make)(1)
    assert ground.blocked(64, 0)
    fails[0] = False
    assert ground.blocked(64, 0), "it is not asked again and again"
    time[0] += module.FAILED_AGAIN_S
    assert not ground.blocked(64, 0) and ground.piece(1, 0) == bytes(PIECE_SIDE**2)
