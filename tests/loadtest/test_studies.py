"""The commands of studies that README names begin, measure and end; loadtest/studies/tests/ has all
other tests of studies."""

import json

import pytest

from flatlands.loadtest.studies.__main__ import STUDIES, main
from flatlands.loadtest.swarm.command import main as swarm
from tests.processes import PATIENCE, ROOT, python


@pytest.mark.load
@pytest.mark.parametrize(
    "command",
    [
        "loadtest/two_queues.py --series memory --num-clients 1 --num-seconds 1 --warm-up 0.1",
        "loadtest/work_queues.py --series store-sqlite,lpop --repeat 1",
        "-m loadtest.studies uniform --seconds 0.01",
    ],
)
def test_a_study_measures(command, out):
    # It starts several programs, one after the other.
    ended = python(*command.split(), "--json", str(out), timeout=5 * PATIENCE)
    assert (ended.returncode, ended.stderr) == (0, "")
    run = json.loads(out.read_text())
    assert run["points"] and not run["troubles"]


@pytest.mark.load
def test_the_scenario_idle_measures(sets, out):
    few = "--scenario idle --ramp 1..4/2 --seconds 1 --rate 50 --late 500".split()
    # A busy machine may be late: the run says so.
    assert swarm([*few, "--json", str(out)]) in (0, 3)
    assert [point["connections"] for point in json.loads(out.read_text())["points"]] == [1, 4]


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_says_what_its_options_are(name, capsys):
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert f"usage: python -m loadtest.studies {name} " in said and "--json FILE" in said


def test_the_studies_are_listed_and_make_and_the_docs_name_them(capsys):
    assert main(["--help"]) == 0 and main(["wonders"]) == main([]) == 2
    assert capsys.readouterr().out.count(f"{{{','.join(STUDIES)}}}") == 3
    pages = [ROOT / "README.md", ROOT / "Makefile", *ROOT.glob("docs/*.md")]
    texts = "\n".join(page.read_text() for page in pages)
    assert [name for name in STUDIES if f"python -m loadtest.studies {name}" not in texts] == []
