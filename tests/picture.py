"""The three screens in the picture of "A Tale of Two Queues", read from docs/pictures/."""

from typing import NamedTuple
from xml.etree import ElementTree

from flatlands.world.grid import SIDE, Rect
from flatlands.world.track import UNIT
from tests.processes import ROOT

#: The side of a square in pixels of the drawing.
SIDE_PX = 60

#: Width and height, in tiles, of screens that hold as many squares as those in the picture.
SIZES = {"red": (32, 32), "blue": (12, 50), "green": (62, 46)}


class Screen(NamedTuple):
    """A screen: where its player stands in units, its size in tiles, and the squares it holds."""

    at: tuple[int, int]
    size: tuple[int, int]
    squares: Rect


def _elements() -> dict[str, dict[str, int]]:
    """Return the numbers of each element that has an id: id -> attribute -> pixels."""
    drawing = ElementTree.parse(ROOT / "docs" / "pictures" / "three-screens.svg")
    return {
        element.attrib["id"]: {
            name: int(value) for name, value in element.attrib.items() if value.isdigit()
        }
        for element in drawing.iter()
        if "id" in element.attrib
    }


def _place(circle: dict[str, int]) -> tuple[int, int]:
    return circle["cx"] * SIDE * UNIT // SIDE_PX, circle["cy"] * SIDE * UNIT // SIDE_PX


def screens() -> dict[str, Screen]:
    """Return the three screens by their colours."""
    drawn = _elements()
    found = {}
    for name, size in SIZES.items():
        box = {key: drawn[name][key] // SIDE_PX for key in ("x", "y", "width", "height")}
        last = box["x"] + box["width"] - 1, box["y"] + box["height"] - 1
        squares = Rect(box["x"], box["y"], *last)
        found[name] = Screen(_place(drawn[f"{name}-player"]), size, squares)
    return found


def later() -> tuple[int, int]:
    """Return the place to which the green player walks, in units."""
    return _place(_elements()["green-later"])
