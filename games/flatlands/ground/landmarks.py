"""Where landmarks stand and what they are called, as functions of the ground.

The page's landmarks.js and regions.js are this module's twins, and also know what is drawn.
tests/vectors/landmarks.json holds both to the same tiles and names. Most parts of the
world, PART tiles each way, have one landmark, on open ground not far from a path. Landmarks stop
nobody.
"""

from math import hypot
from typing import Final

from flatlands.world.lru_cache import LRUCache
from flatlands.world.terrain import GRASS, PATH_FAR, SAND, WATER, WOOD, Terrain, hash32

#: Tiles from the middle of a landmark's tile within which a player is there.
REACH: Final = 7

#: Tiles within which a player that sees a landmark has found it: fewer than lie between it and the
#: border of its part. A page asks from within eleven, once the landmark is on its screen.
FOUND_FROM: Final = 23

#: Tiles across a part of the world, and the fewest from a landmark to the border of its part.
PART: Final = 160
EDGE: Final = 12

#: The number of places that are tried, one after the other.
TRIES: Final = 24

#: A landmark stands farther than this from the middle of a path, in 1/16 tile, and from the plaza,
#: in tiles.
FROM_PATH: Final = 56
FROM_PLAZA: Final = 45

#: How many parts of the world are cached, at about 200 bytes each.
CACHED: Final = 1024

#: Tiles around a landmark in which water is looked for.
SHORE: Final = 7

#: The first words of names, and the last ones: by the water, and in each region.
_FIRST: Final = (
    "Foxglove,Heron,Thistle,Bramble,Lantern,Marigold,Sparrow,Hollow,Juniper,Copper,Otter,Clover,"
    "Raven,Willow,Amber,Merry,Quiet,Crooked,Seven Winds,Moonrise,Hazel,Old Badger,Starling,Honey,"
    "Pepper,Lonely,Kettle,Swallow,Elder,Silver,Nettle,Gull,Tinker,Sunday,Wandering,Fern,Poppy,"
    "Barley,Whistling,Plum"
).split(",")
_BY_THE_WATER: Final = ("Light", "Wreck", "Light")
_LAST: Final = (
    ("Mill", "Stones", "Balloon", "Oak", "Tower"),
    ("Toadstool", "Oak", "Caravan", "Tower", "Mill"),
    ("Stones", "Giant", "Tower", "Stones", "Balloon"),
    ("Toadstool", "Oak", "Caravan", "Toadstool", "Tower"),
    ("Pyramid", "Giant", "Balloon", "Caravan", "Pyramid"),
    ("Igloo", "Tower", "Stones", "Igloo", "Balloon"),
)

# Regions are computed by two noises, as in regions.js.
#: The tiles between two points of the longer noise.
_LENGTH: Final = 256
#: The tiles between two points of the shorter noise.
_SHORT: Final = 64
#: The share of the shorter noise in the sum of both.
_SHORT_SHARE: Final = 0.22
#: By how much woods bend the borders of regions.
_RAGGED: Final = 0.07
#: All is meadows within so many tiles of the plaza.
_GENTLE: Final = 70
#: So many tiles from the plaza the noises count in full.
_WILD: Final = 150
#: The first layer of hashes of each noise: the next layer is that of its shorter noise.
_WARM: Final = 21
_WET: Final = 23

#: These make the hashes of places and of names differ from all others.
_SALT: Final = 0x1A4D3A
_SALT_NAME: Final = 0x1A4D3B
_ACROSS: Final = 0x9E3779B1
_DOWN: Final = 0x85EBCA77
_AROUND: Final = ((-2, 0), (2, 0), (0, -2), (0, 2))


class Landmarks:
    """The landmarks of one world."""

    def __init__(self, terrain: Terrain) -> None:
        self._terrain = terrain
        self._known = LRUCache(self._find, CACHED)
        seed = terrain.seed
        self._salts = {n: hash32(seed + hash32(n)) for n in range(_WARM, _WET + 2)}

    def of(self, i: int, j: int) -> tuple[int, int] | None:
        """Return the tile of the landmark of a part of the world, or None if it has none.

        Finding out takes up to a few ms, once.
        """
        return self._known[i, j]

    def name(self, i: int, j: int) -> str | None:
        """Return the name of the landmark of a part of the world, or None if it has none.

        Finding out takes up to a few ms.
        """
        tile = self.of(i, j)
        if tile is None:
            return None
        x, y = tile
        wet = any(
            self._terrain.kind(x + dx * SHORE, y + dy * SHORE) <= WATER
            for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1))
        )
        last = _BY_THE_WATER if wet else _LAST[self._region(x, y)]
        roll = self._roll(i, j, _SALT_NAME)
        return f"{_FIRST[(roll & 0xFFFF) % len(_FIRST)]} {last[(roll >> 16) % len(last)]}"

    def _region(self, x: int, y: int) -> int:
        """Return the number of the region in which a tile is."""
        ragged = (self._terrain.tile(x, y)[2] / 65536 - 0.5) * _RAGGED
        wild = min(max((hypot(x, y) - _GENTLE) / (_WILD - _GENTLE), 0), 1)
        warm = 0.5 + (self._noise(_WARM, x, y) - 0.5) * wild + ragged
        wet = 0.5 + (self._noise(_WET, x, y) - 0.5) * wild - ragged
        inside = (
            1,
            min(0.44 - warm, wet - 0.45),
            min(0.355 - wet, 0.62 - warm),
            min(wet - 0.655, warm - 0.4),
            min(warm - 0.64, 0.58 - wet),
            0.31 - warm,
        )
        return max(region for region, share in enumerate(inside) if share > 0)

    def _noise(self, layer: int, x: int, y: int) -> float:
        slow, fast = self._value(layer, _LENGTH, x, y), self._value(layer + 1, _SHORT, x, y)
        return slow * (1 - _SHORT_SHARE) + fast * _SHORT_SHARE

    def _value(self, layer: int, length: int, x: int, y: int) -> float:
        i, j, salt = x // length, y // length, self._salts[layer]
        a, b, c, d = (
            hash32(hash32(column * _ACROSS + salt) + row * _DOWN) / 2**32
            for column, row in ((i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1))
        )
        right, lower = _smooth(x / length - i), _smooth(y / length - j)
        upper = a + (b - a) * right
        return upper + (c + (d - c) * right - upper) * lower

    def _roll(self, i: int, j: int, salt: int) -> int:
        return hash32(hash32(i * _ACROSS + hash32(self._terrain.seed + salt)) + j * _DOWN)

    def _find(self, part: tuple[int, int]) -> tuple[int, int] | None:
        i, j = part
        roll = self._roll(i, j, _SALT)
        span = PART - 2 * EDGE
        for _ in range(TRIES):
            x = i * PART + EDGE + (roll & 0xFFFF) % span
            y = j * PART + EDGE + (roll >> 16) % span
            if self._suits(x, y):
                return x, y
            roll = hash32(roll + 1)
        return None

    def _suits(self, x: int, y: int) -> bool:
        """Return whether a landmark can stand on a tile."""
        kind, _, _, path = self._terrain.tile(x, y)
        return (
            kind in (GRASS, SAND)
            and FROM_PATH < path < PATH_FAR
            and x * x + y * y > FROM_PLAZA**2
            and all(self._terrain.kind(x + dx, y + dy) in (GRASS, SAND, WOOD) for dx, dy in _AROUND)
        )


def _smooth(share: float) -> float:
    return share * share * (3 - 2 * share)
