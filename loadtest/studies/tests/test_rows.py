"""What a row takes in each store, and what a node has: what gives no figure, and a small run."""

import json
import re
import tracemalloc

import pytest

from flatlands.loadtest.kit.processes import Trouble
from flatlands.loadtest.studies import memory, rows
from flatlands.server.node import Node


def test_a_node_that_does_not_do_what_it_is_told_gives_no_figure(monkeypatch):
    monkeypatch.setattr(memory, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(Node, "receive", lambda *_: None)
    with pytest.raises(Trouble, match="a node does not do what it is told"):
        memory.each(20)
    assert not tracemalloc.is_tracing()


def test_missing_rows_give_no_figure(monkeypatch):
    lost = rows.Found(1000, "", 1.0, kept=9)
    monkeypatch.setattr(rows, "WAYS", {"a sieve": lambda _: lost})
    with pytest.raises(Trouble, match="of 1 rows 9 are there"):
        rows._measure("a sieve", rows.made(1))


@pytest.mark.process
def test_the_bytes_of_a_row_are_measured_for_every_way(tmp_path, capsys, left):
    out = tmp_path / "rows.json"
    assert rows.main(["--rows", "2000", "--json", str(out)]) == 0
    written = json.loads(out.read_text())
    found = {one["series"]: one for one in written["points"] if one["kind"] == "way"}
    assert list(found) == list(rows.WAYS) and len(found) == 9
    for name, one in found.items():
        assert one["kept"] == 2000 and one["size"] > 2000 * 20, name
        in_redis = "Redis" in name
        assert (one["server"] is not None) == (one["sampled"] is not None) == in_redis
        if in_redis:
            # One is what the server says of itself, the other what it says of the keys.
            assert one["size"] / 3 < one["sampled"] < one["size"] * 1.5, name
    assert found["Redis: a hash for each row"]["how"] == "listpack"
    assert found["Redis: one hash, rows packed"]["how"] == "hashtable"
    said = capsys.readouterr().out
    assert "MEMORY USAGE a row" in said
    node = {one["series"]: one["bytes"] for one in written["points"] if one["kind"] == "node"}
    assert len(node) == 4
    for name, size in node.items():
        assert re.search(f"^{name} +{size:,}$", said, re.M)
    assert not left("redis-server")
