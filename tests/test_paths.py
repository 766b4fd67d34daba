"""The report of the files that messages pass through (make paths)."""

import re

from tests import paths
from tests.processes import ROOT


def test_each_way_is_told_with_its_files_and_their_calls(capsys):
    paths.main()
    told = capsys.readouterr().out
    ways = re.findall(r"^(\w.*): (\d+) calls, (\d+) files\n((?: +\d+  \S+\n)+)", told, re.M)
    assert [name for name, *_ in ways] == [*paths.WAYS]
    found = []
    for _, calls, files, lines in ways:
        rows = [line.split() for line in lines.splitlines()]
        assert (int(calls), int(files)) == (sum(int(count) for count, _ in rows), len(rows))
        assert all((ROOT / path).is_file() for _, path in rows)
        found.append({path for _, path in rows})
    move, hello, token, step, action = found
    assert {"server/players/movement.py", "server/squares/hub.py"} <= move & step
    assert {"server/clients/admission.py", "server/clients/session.py"} <= hello & token
    assert "games/paint/game.py" in step & action and "games/paint/game.py" not in move
