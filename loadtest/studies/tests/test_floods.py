"""What players notice while strangers flood their server: a small run."""

import json
from types import SimpleNamespace

import msgpack
import pytest

from flatlands.loadtest.studies import floods
from tests.loadtest.test_reader import enter, record, snapshot


@pytest.mark.load
def test_pongs_and_moves_are_measured_before_and_during_each_flood(sets, out, capsys, monkeypatch):
    sets(floods, PLAYERS=5, BEFORE_SECONDS=1.5, DURING_SECONDS=1.5, REST_SECONDS=0.1)
    names = ["keep alive", "join and drop"]
    monkeypatch.setattr(floods, "FLOODS", {name: floods.FLOODS[name] for name in names})
    assert floods.main(["--json", str(out), "--report", str(out.parent)]) == 0
    points = json.loads(out.read_text())["points"]
    assert [point["series"] for point in points] == names
    for point in points:
        assert point["lost"] == 0 and point["gap"] > 0
        assert all(point[of] > 0 for of in ("pong before", "pong", "move before", "move"))
    assert "no pong at all for, ms" in capsys.readouterr().out
    assert "join and drop" in (out.parent / "index.html").read_text()


def test_a_flood_that_players_notice_is_marked():
    row = {"pong before": 1.0, "pong": 51.0, "move before": 2.0, "move": 9.0, "lost": 0}
    assert floods._marks(row) == ""
    assert floods._marks({**row, "move": 53.0, "lost": 2}) == "missed, 2 lost their connection"


def test_a_player_beside_floods_is_found_by_the_slot_that_a_snapshot_shows():
    field = floods.Field.__new__(floods.Field)
    field.moves = []
    player = SimpleNamespace(id=50, flush=0, named=None, moves={7: 1.0})
    field._take(player, snapshot((0, 0), enter(51, 1, 4), enter(50, 1, 3)), 2.0)
    field._take(player, msgpack.packb([21, 1, 1000, [[0, 0, 0, 5, record(4, 2, 7)]]]), 3.0)
    assert player.moves and not field.moves
    field._take(player, msgpack.packb([21, 2, 1000, [[0, 0, 0, 5, record(3, 2, 7)]]]), 4.0)
    assert field.moves == [3.0] and not player.moves
