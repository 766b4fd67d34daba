"""Draws every chart in loadtest/: one colour per backend, and labels beside the curves.

The functions return matplotlib figures and leave its global state alone. `svg` turns a figure into
a string for a page, in which text stays text; `save` writes files. Nothing here knows what the
numbers mean, and nothing is ever fetched: the fonts are the reader's own. matplotlib, which takes a
second to load, is imported where something is drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
    from matplotlib.typing import RcKeyType
else:
    Figure = Axes = object

#: One colour per backend; variants of a backend have a `tint` of it.
COLOURS = {
    "redis": "#c8442f",
    "zeromq": "#1d70a2",
    "nats": "#2a9d8f",
    "mqtt": "#b5832b",
    "memory": "#5c8a3c",
    "null": "#85857f",
    "ring": "#7d5ba6",
}
INK = "#2b2b28"
FAINT = "#8b8b84"
GRID = "#e7e5de"
PAPER = "#fdfcf9"

#: Width and height of a figure in inches.
SIZE = (8.0, 4.5)

#: Dots per inch of a PNG.
DPI = 150

#: The least distance between two labels, in points.
LABEL_GAP = 12.5

#: The background of a label, which hides the curves behind it.
_BEHIND = {"facecolor": PAPER, "alpha": 0.8, "linewidth": 0, "pad": 0.8}

STYLE: "dict[RcKeyType, object]" = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica Neue", "Helvetica", "Arial", "DejaVu Sans"],
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "svg.fonttype": "none",
}


@dataclass(frozen=True)
class Line:
    """A curve. `xs`, `ys` and, if given, `hollow` and `pale` have the same length.

    Points that are `hollow` are drawn as outlines, and those that are `pale` in a lighter colour:
    their values need an explanation in the text. A curve that `is_past` is drawn behind the others,
    thin and dashed.
    """

    label: str
    colour: str
    xs: Sequence[float]
    ys: Sequence[float]
    is_past: bool = False
    marker: str = "o"
    hollow: Sequence[bool] = ()
    pale: Sequence[bool] = ()


@dataclass(frozen=True)
class Bar:
    """A bar with `label` at its left and `text`, its value for people, at its end.

    One that is `hollow` is drawn as an outline: its value needs an explanation in the text.
    """

    label: str
    colour: str
    value: float
    text: str
    hollow: bool = False


def tint(colour: str, amount: float) -> str:
    """Return a colour mixed with white (amount up to 1) or with black (down to -1)."""
    to, share = (1.0, amount) if amount > 0 else (0.0, -amount)
    parts = (part / 255 for part in bytes.fromhex(colour[1:]))
    red, green, blue = (round(255 * (part + (to - part) * share)) for part in parts)
    return f"#{red:02x}{green:02x}{blue:02x}"


def short(number: float) -> str:
    """Return a number in the short form of an axis: 950, 12k, 1.5M."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= unit:
            return f"{number / unit:.3g}{name}"
    return f"{number:.3g}"


def line_chart(
    lines: Sequence[Line],
    title: str,
    x: str,
    y: str,
    ticks: Sequence[float] = (),
    doubling: bool = False,
    tenfold: bool = False,
) -> Figure:
    """Return a chart of curves. `x` and `y` are the labels of the axes, `ticks` the marks on x.

    With `doubling` the x axis is logarithmic with base 2, with `tenfold` the y axis with base 10.
    """
    import matplotlib
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    with matplotlib.rc_context(STYLE):
        figure, axes = blank(title, y)
        for line in lines:
            axes.plot(
                line.xs,
                line.ys,
                color=line.colour,
                linewidth=1.0 if line.is_past else 2.2,
                linestyle=(0, (4, 3)) if line.is_past else "-",
                alpha=0.75 if line.is_past else None,
                marker="" if line.is_past else line.marker,
                markersize=5,
                zorder=2 if line.is_past else 3,
            )
            for at, (is_hollow, is_pale) in enumerate(zip_longest(line.hollow, line.pale)):
                if is_hollow or is_pale:
                    colour = tint(line.colour, 0.65) if is_pale else line.colour
                    axes.plot(
                        line.xs[at],
                        line.ys[at],
                        line.marker,
                        color=colour,
                        markerfacecolor=PAPER if is_hollow else colour,
                        markersize=6.5,
                        markeredgewidth=1.8,
                        zorder=3.5,
                    )
        if doubling:
            axes.set_xscale("log", base=2)
        if tenfold:
            axes.set_yscale("log")
            axes.yaxis.set_minor_locator(NullLocator())
            low, high = axes.get_ylim()
            if high < 100 * low:
                # Powers of ten alone would be one mark, or none.
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.set_xticks(list(ticks) or sorted({x for line in lines for x in line.xs}))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        if not tenfold:
            axes.set_ylim(bottom=0)
        axes.set_xlabel(x)
        axes.grid(axis="y", color=GRID, linewidth=0.8)
        _label_ends(figure, axes, lines)
        return figure


def bar_chart(bars: Sequence[Bar], title: str, x: str) -> Figure:
    """Return a chart of horizontal bars, the first one on top. `x` is the label of their axis."""
    import matplotlib
    from matplotlib.ticker import FuncFormatter

    with matplotlib.rc_context(STYLE):
        figure, axes = blank(title, "", height=1.3 + 0.34 * len(bars))
        names = [bar.label for bar in bars]
        axes.barh(
            names,
            [b.value for b in bars],
            height=0.62,
            color=[PAPER if b.hollow else b.colour for b in bars],
            edgecolor=[b.colour for b in bars],
            linewidth=[1.8 * b.hollow for b in bars],
        )
        axes.invert_yaxis()
        for place, bar in enumerate(bars):
            axes.annotate(
                bar.text,
                (bar.value, place),
                (5, 0),
                textcoords="offset points",
                va="center",
                bbox=_BEHIND,
            )
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        axes.set_xlabel(x)
        axes.margins(x=0.12)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        return figure


def svg(figure: Figure) -> str:
    """Return a figure as an <svg> element. Equal figures give equal texts."""

    import matplotlib

    out, title = StringIO(), figure.get_suptitle()
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": title}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Title": title})
    text = out.getvalue()
    return text[text.index("<svg") :]


def save(figure: Figure, folder: Path, name: str) -> str:
    """Write a figure into a folder, as SVG and as PNG; return the text of the SVG."""

    import matplotlib

    text = svg(figure)
    (folder / f"{name}.svg").write_text(text)
    with matplotlib.rc_context(STYLE):
        figure.savefig(folder / f"{name}.png", dpi=DPI, metadata={"Software": None})
    return text


def blank(title: str, y: str, height: float = SIZE[1]) -> tuple[Figure, Axes]:
    """Return an empty figure and its axes. `y`, the label of the vertical axis, is above it."""
    from matplotlib.figure import Figure as Figure

    figure = Figure(figsize=(SIZE[0], height), layout="constrained")
    figure.suptitle(title, x=0.012, ha="left", fontsize=12.5, fontweight="bold")
    axes = figure.add_subplot()
    axes.set_title(y, loc="left", fontsize=9.5, color=FAINT)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure, axes


def _label_ends(figure: Figure, axes: Axes, lines: Sequence[Line]) -> None:
    """Write the labels of all curves to the right of the longest one, each at the height of the
    last point of its curve; labels that would overlap move apart."""
    figure.draw_without_rendering()
    points_a_pixel = 72 / figure.dpi
    right = max(line.xs[-1] for line in lines)
    column = [(float(axes.transData.transform((right, line.ys[-1]))[1]), line) for line in lines]
    column.sort(key=lambda end: end[0])
    floor = axes.bbox.y0 * points_a_pixel + LABEL_GAP / 2
    places = apart([height * points_a_pixel for height, _ in column], floor)
    for (height, line), place in zip(column, places, strict=True):
        axes.annotate(
            line.label,
            (right, line.ys[-1]),
            (7, place - height * points_a_pixel),
            textcoords="offset points",
            va="center",
            color=tint(line.colour, -0.3),
            fontsize=8.5 if line.is_past else 9.5,
            fontweight="normal" if line.is_past else "bold",
            bbox=_BEHIND,
            zorder=4,
            annotation_clip=False,
        )


def apart(heights: list[float], floor: float) -> list[float]:
    """Return heights in points, given in rising order, moved until they are LABEL_GAP apart.

    No height is moved below `floor`.
    """
    groups: list[list[float]] = []
    for height in heights:
        groups.append([height, 1])
        # A group is [its middle, its size]. Two groups that overlap become one around their mean.
        while len(groups) > 1:
            (below, many), (above, few) = groups[-2:]
            if above - below >= LABEL_GAP * (many + few) / 2:
                break
            groups[-2:] = [[(below * many + above * few) / (many + few), many + few]]
    lowest = floor
    for group in groups:
        group[0] = max(group[0], lowest + LABEL_GAP * (group[1] - 1) / 2)
        lowest = group[0] + LABEL_GAP * (group[1] + 1) / 2
    return [
        middle + LABEL_GAP * (n - (size - 1) / 2)
        for middle, size in groups
        for n in range(int(size))
    ]
