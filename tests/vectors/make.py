"""Makes the golden vectors: `make vectors`, or `python -m tests.vectors.make`.

The tests of Python and those of pages (tests/js/checks.js) read the same files, so that a change on
either side is noticed. What a game has on both sides, its own tests make.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgpack

from flatlands.model import RECORD, SKETCH, WIDE, Model
from flatlands.world.sketches import join
from flatlands.world.terrain import CHUNK, GROUND_LIMIT, Terrain
from flatlands.world.track import PACE_LEAST, PACE_MOST, PACE_USUAL, UNIT, Goal, Heading, leg

HERE = Path(__file__).parent

SEEDS = (2013, 0, 7, 4294967295)
CHUNKS = (
    (0, 0),
    (-1, -1),
    (3, -2),
    (-40, 17),
    (1000, -1000),
    (GROUND_LIMIT // 16 - 1, -GROUND_LIMIT // 16),
    (GROUND_LIMIT // 16, 0),
)

#: Seeds, and chunks of their land that have ramps.
RAMPS = (
    (2013, 3, 3),
    (2013, -12, -10),
    (2013, GROUND_LIMIT // 16 - 12, -GROUND_LIMIT // 16 + 9),
    (0, -12, 10),
    (7, -5, -10),
    (4294967295, -9, -7),
)


def tiles_of(land: Terrain, cx: int, cy: int) -> list[tuple[int, int, int, int]]:
    """Return (kind, height, wood, distance to a path) of the tiles of a chunk, row after row."""
    rows, columns = range(cy * CHUNK, (cy + 1) * CHUNK), range(cx * CHUNK, (cx + 1) * CHUNK)
    return [land.tile(x, y) for y in rows for x in columns]


def terrain() -> list[dict[str, Any]]:
    """Return an entry for each chunk: sums reveal a difference, and the first tiles show where."""
    vectors = []
    chunks = [(seed, *chunk) for seed in SEEDS for chunk in CHUNKS]
    for seed, cx, cy in [*chunks, *RAMPS]:
        tiles = tiles_of(Terrain(seed), cx, cy)
        sums = [0, 0, 0, 0]
        for place, tile in enumerate(tiles, 1):
            sums = [total + place * value for total, value in zip(sums, tile, strict=True)]
        first = [list(tile) for tile in tiles[:8]]
        vectors.append({"seed": seed, "chunk": [cx, cy], "sums": sums, "first": first})
    return vectors


def walks() -> list[dict[str, Any]]:
    """Return walks leg by leg, with positions on the way. Every second one begins far away."""
    chance = random.Random(1)
    vectors = []
    land = Terrain(2013)
    while len(vectors) < 200:
        away = (0, 0) if len(vectors) % 2 else (-900_000_000 * UNIT, 700_000_000 * UNIT)
        x = away[0] + chance.randrange(-200 * UNIT, 200 * UNIT)
        y = away[1] + chance.randrange(-200 * UNIT, 200 * UNIT)
        if land.blocked(x // UNIT, y // UNIT):
            continue
        intent: Heading | Goal
        if chance.random() < 0.5:
            heading = chance.choice([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b])
            intent = Heading(*heading)
        else:
            spread = chance.choice((500, 20_000, 300_000))
            intent = Goal(x + chance.randint(-spread, spread), y + chance.randint(-spread, spread))
        t, legs = chance.randrange(2**41), []
        pace = chance.choice((PACE_USUAL, PACE_USUAL, PACE_LEAST, 150, PACE_MOST))
        start = [x, y, t]
        for _ in range(12):
            track = leg(land, x, y, intent, t, pace)
            if track is None:
                break
            ages = sorted(chance.randrange(track.duration + 1) for _ in range(3))
            places = [[a, *track.at(t + a)] for a in ages]
            legs.append({"track": list(track.numbers()), "at": places})
            t = track.end
            x, y = track.at(t)
        kind = "heading" if isinstance(intent, Heading) else "goal"
        wanted = {kind: [intent.x, intent.y]}
        vectors.append({"start": start, "intent": wanted, "pace": pace, "legs": legs})
    return vectors


def codec() -> dict[str, Any]:
    """Return values with their bytes, what else the page must read, and what it must refuse.

    JSON has no bytes, so values that MessagePack calls bin are pairs: (content, message).
    """
    numbers = [0, 1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**53 - 1]
    numbers += [-1, -32, -33, -128, -129, -32768, -32769, -(2**31), -(2**31) - 1, -(2**53) + 1]
    values: list[Any] = [None, True, False, *numbers, "", "Wren", "Zoë 🦊", "é" * 20, "x" * 300]
    values += [[], [1, [2, [3, "three"]], None], list(range(40)), [7, 2**40, 3]]
    good = [{"value": value, "bytes": msgpack.packb(value).hex()} for value in values]
    contents = [bytes(range(size)) for size in (0, 1, 13, 255, 256)]
    bins = [[content.hex(), msgpack.packb(content).hex()] for content in contents]
    # Longer forms than the content needs.
    bins += [["07", "c5000107"], ["07", "c60000000107"]]
    # Nothing; cut short; floats, maps, extensions; a false length; two values; bad UTF-8.
    bad = "9201 cb3ff0000000000000 ca3f800000 c40201 c50001 8101 d40000 c1 ddffffffff 0101 a2c328"
    bad += " a541 cfffffffffffffffff d38000000000000000"
    return {"good": good, "bins": bins, "bad": ["", *bad.split()]}


def sequences(count: int) -> Iterator[list[tuple[int, list[Any]]]]:
    """Yield sequences of (node time in ms, message) about a few players and squares.

    A server could send each of the messages, but not in this random order. No two players ever
    have the same slot.
    """
    chance = random.Random(5)

    def slot(id: int) -> int:
        return (300 if id == 4 else 10 * id) + (chance.random() < 0.1)

    def source() -> int:
        return int(chance.random() < 0.1)

    def newer(number: int) -> int:
        return max(9 * number + chance.choice((-150, -5, 0, 0, 3, 5, 7, 30, 127)), 1)

    def track() -> list[int]:
        place = [chance.randint(-9, 9) * 100 for _ in range(2)]
        way = chance.choice(([0, 0], [chance.randint(-9, 9) * 100 for _ in range(2)], [700, -700]))
        return [*place, *way, chance.randint(-5, 99)]

    def enter(id: int, number: int) -> list[Any]:
        seq = newer(number)
        pace = chance.choice((PACE_USUAL, PACE_USUAL, PACE_LEAST, 150, PACE_MOST))
        state = seq, seq // 2, f"P{id}", seq % 3 == 0, slot(id), *track(), seq % 5, pace
        return [0, id, *state, []]

    def batch(number: int, now: int, written: int) -> list[Any]:
        tracks, wide = b"", b""
        others: list[list[Any]] = []
        for id in chance.sample(range(1, 5), chance.randint(1, 3)):
            seq, kind = newer(number), chance.choice((0, 0, *[1] * 9, 2, 3, 4, 5))
            if kind == 1 and id < 4:
                tracks += RECORD.pack(slot(id), seq % 256, seq // 2 % 256, *track())
            elif kind == 1:
                wide += WIDE.pack(slot(id), seq % 256, seq // 2 % 256, *track())
            else:
                column, row = chance.randint(0, 2), chance.randint(0, 1)
                others.append(
                    {
                        0: enter(id, number),
                        2: [2, id, seq, column, row],
                        3: [3, id, seq],
                        4: [4, id, "hello"],
                        5: [5, id, 2],
                    }[kind]
                )
        square = [chance.choice((0, 0, 0, 1, 2)), chance.choice((0, 0, 1))]
        body: list[Any] = [tracks, others, chance.choice((0, 0, 2)), wide]
        while len(body) > 1 and not body[-1]:
            del body[-1]
        return [*square, source(), written - now + chance.randint(-2, 200), *body]

    def crowd(number: int) -> list[Any]:
        made = []
        for id in chance.sample(range(1, 5), chance.randint(1, 3)):
            seq = newer(number)
            steps = [chance.choice((0, 5, -64, 65, -120)) for _ in range(2)]
            marks = seq % 16 + seq // 2 % 16 * 16
            made.append((slot(id), SKETCH.pack(marks, chance.randrange(256), 200, *steps)))
        square = [chance.choice((0, 0, 0, 1, 2)), chance.choice((0, 0, 1))]
        return [*square, chance.choice((0, 2)), source(), join(made)]

    for _ in range(count):
        messages: list[tuple[int, list[Any]]] = [(10_000, [18, 0, 0, 1, 1])]
        now = 10_000
        for number in range(1, 61):
            now += chance.choice((0, 5, 300, 1500, 4000))
            square = [chance.choice((0, 0, 0, 1, 2)), chance.choice((0, 0, 1))]
            some = chance.sample(range(1, 5), chance.randint(0, 4))
            entries = [[source(), *enter(id, number)] for id in some]
            written = now - chance.randint(0, 20)
            batches = [batch(number, now, written) for _ in range(chance.choice((1, 1, 2)))]
            crowds = [[crowd(number)]] if chance.random() < 0.3 else []
            message = chance.choices(
                [
                    [21, number, written, batches, *crowds],
                    [19, *square, now - 9, entries],
                    [18, chance.choice((0, 0, 1)), 0, chance.randint(1, 2), chance.randint(0, 1)],
                    [22],
                ],
                [20, 3, 1, 0.2],
            )[0]
            messages.append((now, message))
            if message == [22]:
                messages.append((now, [18, 0, 0, 1, 1]))
        yield messages


def replica() -> list[dict[str, Any]]:
    """Return messages, as hexadecimal digits, and the players that a client knows after them."""
    vectors = []
    for messages in sequences(60):
        model = Model()
        for now, message in messages:
            model.expire(now)
            if message[0] != 19 or model.holds((message[1], message[2])):
                model.apply(message, now)
        players = [
            [
                *(p.id, p.seq, p.ack, p.name, p.dimmed, list(p.track), list(p.square)),
                *(p.look, p.pace, p.values),
            ]
            for _, p in sorted(model.players.items())
        ]
        sent = [(now, msgpack.packb(message).hex()) for now, message in messages]
        vectors.append({"messages": sent, "players": players})
    return vectors


#: Name of a file -> the function that makes its content.
VECTORS: dict[str, Callable[[], Any]] = {
    "terrain": terrain,
    "track": walks,
    "msgpack": codec,
    "replica": replica,
}


def main(vectors: dict[str, Callable[[], Any]]) -> None:
    """Write the files of some vectors."""
    for name, make in vectors.items():
        path = HERE / f"{name}.json"
        path.write_text(json.dumps(make(), separators=(",", ":")) + "\n")
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(VECTORS)
