"""Makes the golden vectors from the Python side: `python -m tests.vectors.make`.

Python's own tests and the browser's read the same files, so that a change of either side shows.
"""

import json
import random
from pathlib import Path
from typing import Any

import msgpack

from world.terrain import LIMIT, Terrain
from world.track import UNIT, Goal, Heading, leg

HERE = Path(__file__).parent

SEEDS = (2013, 0, 7, 4294967295)
CHUNKS = ((0, 0), (-1, -1), (3, -2), (-40, 17), (1000, -1000), (LIMIT // 16 - 1, -LIMIT // 16),
          (LIMIT // 16, 0))  # fmt: skip


def terrain() -> list[dict[str, Any]]:
    """One entry a chunk: the sums tell any difference, the first row tells where to look."""
    vectors = []
    for seed in SEEDS:
        land = Terrain(seed)
        for cx, cy in CHUNKS:
            fields = list(land.fields(cx, cy))
            sums = [0, 0, 0, 0]
            for place, tile in enumerate(fields, 1):
                sums = [total + place * value for total, value in zip(sums, tile, strict=True)]
            first = [list(tile) for tile in fields[:8]]
            vectors.append({"seed": seed, "chunk": [cx, cy], "sums": sums, "first": first})
    return vectors


def walks() -> list[dict[str, Any]]:
    """Walks leg by leg, with positions on the way; every other one begins far from the origin."""
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
        start = [x, y, t]
        for _ in range(12):
            track = leg(land, x, y, intent, t)
            if track is None:
                break
            ages = sorted(chance.randrange(track.duration + 1) for _ in range(3))
            legs.append({"track": list(track), "at": [[a, *track.at(t + a)] for a in ages]})
            t = track.end
            x, y = track.at(t)
        kind = "heading" if isinstance(intent, Heading) else "goal"
        vectors.append({"start": start, "intent": {kind: list(intent)}, "legs": legs})
    return vectors


def codec() -> dict[str, Any]:
    """Values with their bytes, and bytes that are none."""
    numbers = [0, 1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**53 - 1]
    numbers += [-1, -32, -33, -128, -129, -32768, -32769, -(2**31), -(2**31) - 1, -(2**53) + 1]
    values: list[Any] = [None, True, False, *numbers, "", "Wren", "Zoë 🦊", "é" * 20, "x" * 300]
    values += [[], [1, [2, [3, "three"]], None], list(range(40)), [7, 2**40, 3]]
    good = [{"value": value, "bytes": msgpack.packb(value).hex()} for value in values]
    # Nothing; cut short; floats, bytes, maps, extensions; a false length; two values; bad UTF-8.
    bad = "9201 cb3ff0000000000000 ca3f800000 c40101 8101 d40000 c1 ddffffffff 0101 a2c328 a541"
    bad += " cfffffffffffffffff d38000000000000000"
    return {"good": good, "bad": ["", *bad.split()]}


def main() -> None:
    for name, vectors in (("terrain", terrain()), ("track", walks()), ("msgpack", codec())):
        path = HERE / f"{name}.json"
        path.write_text(json.dumps(vectors, separators=(",", ":")) + "\n")
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
