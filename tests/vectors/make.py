"""Makes the golden vectors: `make vectors`, or `python -m tests.vectors.make`.

The tests of Python and those of the page, in node and in Chromium (tests/js/checks.js), read the
same files, so that a change on either side is noticed. The trees and other props are made
by the page's own code, since Python has none for them.
"""

import json
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgpack

from tests.model import Model
from world.terrain import CHUNK, LIMIT, Terrain
from world.track import UNIT, Goal, Heading, leg

HERE = Path(__file__).parent

SEEDS = (2013, 0, 7, 4294967295)
CHUNKS = ((0, 0), (-1, -1), (3, -2), (-40, 17), (1000, -1000), (LIMIT // 16 - 1, -LIMIT // 16),
          (LIMIT // 16, 0))  # fmt: skip


def tiles_of(land: Terrain, cx: int, cy: int) -> list[tuple[int, int, int, int]]:
    """Return (kind, height, wood, distance to a path) of the tiles of a chunk, row after row."""
    rows, columns = range(cy * CHUNK, (cy + 1) * CHUNK), range(cx * CHUNK, (cx + 1) * CHUNK)
    return [land.tile(x, y) for y in rows for x in columns]


def terrain() -> list[dict[str, Any]]:
    """Return an entry for each chunk: sums show any difference, the first tiles where to look."""
    vectors = []
    for seed in SEEDS:
        land = Terrain(seed)
        for cx, cy in CHUNKS:
            tiles = tiles_of(land, cx, cy)
            sums = [0, 0, 0, 0]
            for place, tile in enumerate(tiles, 1):
                sums = [total + place * value for total, value in zip(sums, tile, strict=True)]
            first = [list(tile) for tile in tiles[:8]]
            vectors.append({"seed": seed, "chunk": [cx, cy], "sums": sums, "first": first})
    return vectors


def walks() -> list[dict[str, Any]]:
    """Return walks leg by leg, with positions on the way. Every other one begins far away."""
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
    """Return values with their bytes, and bytes that the page must refuse."""
    numbers = [0, 1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**53 - 1]
    numbers += [-1, -32, -33, -128, -129, -32768, -32769, -(2**31), -(2**31) - 1, -(2**53) + 1]
    values: list[Any] = [None, True, False, *numbers, "", "Wren", "Zoë 🦊", "é" * 20, "x" * 300]
    values += [[], [1, [2, [3, "three"]], None], list(range(40)), [7, 2**40, 3]]
    good = [{"value": value, "bytes": msgpack.packb(value).hex()} for value in values]
    # Nothing; cut short; floats, bytes, maps, extensions; a false length; two values; bad UTF-8.
    bad = "9201 cb3ff0000000000000 ca3f800000 c40101 8101 d40000 c1 ddffffffff 0101 a2c328 a541"
    bad += " cfffffffffffffffff d38000000000000000"
    return {"good": good, "bad": ["", *bad.split()]}


def sequences(count: int) -> Iterator[list[tuple[int, list[Any]]]]:
    """Yield sequences of (node time in ms, message), about few players and squares.

    Each message is one that a server could send, but their order is random.
    """
    chance = random.Random(5)
    for _ in range(count):
        messages: list[tuple[int, list[Any]]] = [(10_000, [18, 0, 0, 1, 1])]
        now = 10_000
        for _ in range(60):
            now += chance.choice((0, 5, 300, 1500, 4000))
            square = [chance.randint(0, 2), chance.randint(0, 1)]
            events: list[list[Any]] = []
            for _ in range(chance.randint(1, 3)):
                id, seq = chance.randint(1, 4), chance.randint(1, 40)
                track = [chance.randint(-9, 9) * 100 for _ in range(4)]
                track += [chance.randint(-5, 99), 7]
                events.append(
                    chance.choice(
                        [
                            [0, id, seq, seq // 2, f"P{id}", seq % 3 == 0, *track],
                            [1, id, seq, seq // 2, *track],
                            [2, id, seq, chance.randint(0, 2), chance.randint(0, 1)],
                            [3, id, seq],
                            [4, id, "hello"],
                        ]
                    )
                )
            entries = [event for event in events if event[0] == 0]
            message = chance.choices(
                [
                    [20, *square, 77, len(messages), len(messages) + 1, now - 9, 0, events],
                    [19, *square, now - 9, entries],
                    [18, chance.randint(0, 1), 0, chance.randint(1, 2), chance.randint(0, 1)],
                    [22],
                    [25, [[77, chance.randint(-900, 900)]]],
                ],
                [20, 3, 2, 0.3, 1],
            )[0]
            messages.append((now, message))
            if message == [22]:
                messages.append((now, [18, 0, 0, 1, 1]))
        yield messages


def replica() -> list[dict[str, Any]]:
    """Return messages, and the players that a client knows after them, by docs/protocol.md."""
    vectors = []
    for messages in sequences(60):
        model = Model()
        for now, message in messages:
            model.expire(now)
            if message[0] != 19 or model.holds((message[1], message[2])):
                model.apply(message, now)
        players = [
            [p.id, p.seq, p.ack, p.name, p.dimmed, list(p.track), list(p.square)]
            for _, p in sorted(model.players.items())
        ]
        vectors.append({"messages": messages, "players": players})
    return vectors


def standing() -> Any:
    """Return what stands on the tiles of some chunks: [x, y, name, feet] of each prop."""
    node = shutil.which("node")
    if node is None:
        raise SystemExit("The vectors of what stands where need Node.js: see tests/need.sh.")
    script = "import('./tests/js/standing.js').then((m) => console.log(JSON.stringify(m.make())))"
    command = [node, "--import", "./tests/js/modules.js", "--eval", script]
    made = subprocess.run(command, cwd=HERE.parent.parent, check=True, stdout=subprocess.PIPE)
    return json.loads(made.stdout)


#: Name of a file -> the function that makes its content.
VECTORS: dict[str, Callable[[], Any]] = {
    "terrain": terrain,
    "track": walks,
    "msgpack": codec,
    "replica": replica,
    "standing": standing,
}


def main() -> None:
    for name, make in VECTORS.items():
        path = HERE / f"{name}.json"
        path.write_text(json.dumps(make(), separators=(",", ":")) + "\n")
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
