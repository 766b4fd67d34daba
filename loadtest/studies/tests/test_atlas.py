"""What the map of everybody costs a node: with few players."""

import json

import pytest

from flatlands.loadtest.studies import atlas


@pytest.mark.process
def test_every_figure_of_the_map_is_measured(sets, out, capsys):
    sets(atlas, PLAYERS=300, VIEWERS=8, MEASURED_SECONDS=2, FAR_SQUARES_WIDE=200, MANY_VIEWERS=16)
    assert atlas.main(["--json", str(out)]) == 0
    found = {point["series"]: point["figure"] for point in json.loads(out.read_text())["points"]}
    assert found.keys() == {*atlas.TARGETS, "grains that are shown"}
    assert found.pop("nobody looks: subscriptions and messages") == 0
    assert all(figure > 0 for figure in found.values())
    said = capsys.readouterr()
    assert said.err == "" and "KB/s to a client that sees a part" in said.out
