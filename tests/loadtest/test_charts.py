"""The common look of charts."""

from itertools import pairwise

import pytest

from flatlands.loadtest.kit.charts import (
    LABEL_GAP,
    Bar,
    Line,
    apart,
    bar_chart,
    line_chart,
    save,
    short,
    svg,
    tint,
)

LINES = [
    Line("ours & yours", "#c8442f", [1, 2, 4], [10, 20, 30]),
    Line("then", "#1d70a2", [1, 2, 4], [10, 20, 30], is_past=True),
]


def test_text_in_an_svg_is_text():
    text = svg(line_chart(LINES, "A title", "clients", "messages", doubling=True))
    assert text.startswith("<svg")
    for words in ("A title", "clients", "messages", "ours &amp; yours", "then"):
        assert f">{words}</text>" in text


def test_the_same_data_give_the_same_svg():
    one, other = (svg(line_chart(LINES, "A title", "x", "y")) for _ in range(2))
    assert one == other


def test_a_png_and_an_svg_are_written(tmp_path):
    bars = [Bar("redis", "#c8442f", 3.0, "3 s"), Bar("zeromq", "#1d70a2", 1.0, "1 s")]
    text = save(bar_chart(bars, "Bars", "seconds"), tmp_path, "bars")
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "bars.svg").read_text() == text


@pytest.mark.parametrize("heights", [[0, 0, 0], [0, 5, 50, 51, 52, 53], [20, 21, 100], [7]])
def test_labels_do_not_overlap_and_stay_above_the_axis(heights):
    places = apart(heights, 6)
    assert all(above - below >= LABEL_GAP - 1e-9 for below, above in pairwise(places))
    assert places[0] >= 6


def test_labels_with_room_stay_where_they_are():
    assert apart([10, 40, 90], 0) == [10, 40, 90]


def test_numbers_are_short():
    shown = [short(number) for number in (0, 950, 12_000, 1_500_000)]
    assert shown == ["0", "950", "12k", "1.5M"]


def test_a_tint_goes_to_white_and_to_black():
    assert [tint("#204060", amount) for amount in (0, 1, -1)] == ["#204060", "#ffffff", "#000000"]


def test_a_logarithmic_axis_of_less_than_two_powers_has_more_marks_than_those():
    def marks(most):
        lines = [Line("one", "#204060", [1, 2], [1.4, most])]
        return svg(line_chart(lines, "A title", "x", "y", doubling=True, tenfold=True))

    assert all(f">{mark}</text>" in marks(60) for mark in ("2", "5", "10", "20", "50"))
    assert ">1k</text>" in marks(5000) and ">500</text>" not in marks(5000)
