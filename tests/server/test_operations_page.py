"""docs/operations.md explains every variable, counter and number that exists, and no other."""

import json
import re
from contextlib import closing
from fnmatch import fnmatchcase
from functools import cache

import pytest

from flatlands.brokers.registry import open_broker
from flatlands.server import settings
from flatlands.server.app import Server
from flatlands.server.web.exposition import FROM_ZERO
from flatlands.server.web.metrics import GAUGES
from tests.inside import inside
from tests.processes import BARE, ROOT

PAGE = ROOT / "docs" / "operations.md"
NUMBERS = ROOT / "server" / "web" / "numbers.md"
COUNTED = re.compile(r"stats\[(f?)\"([^\"]+)\"\]")


def counters():
    """Return the names of all counters in the code, with a star for what varies in a name."""
    names = set()
    for pattern in ("server/**/*.py", "games/**/*.py", "brokers/*.py"):
        for path in ROOT.glob(pattern):
            for formatted, name in COUNTED.findall(path.read_text()):
                names.add(re.sub(r"\{.*?\}", "*", name) if formatted else name)
    fields = re.search(r"class Counters:.*?\n\n\n", (ROOT / "brokers/base.py").read_text(), re.S)
    return names | {f"broker_{name}" for name in re.findall(r"^    (\w+): int", fields[0], re.M)}


def explained():
    """Return the counters and numbers that the page has a row for."""
    rows = re.findall(r"^\| (`[^|]+) \| (\w[^|]{9,}\.) \|$", NUMBERS.read_text(), re.M)
    return {name for names, _ in rows for name in re.findall(r"`([^`]+)`", names)}


def test_every_counter_and_gauge_is_explained():
    assert len(counters()) > 30
    assert not (counters() | {"cpu_ms", "workers", *GAUGES}) - explained()


def without(names, rows):
    """Return the names that match none of the rows, in which a star stands for anything."""
    return [name for name in names if not any(fnmatchcase(name, row) for row in rows)]


def test_all_that_stats_shows_of_a_server_is_explained():
    server = Server(settings.read(["--port", "0"], {"GAME": BARE}), open_broker("memory://"))
    with closing(server.node.bus.broker), closing(server._listener):
        shown = server.status.stats(lambda _seconds: None)
    server.node.loop.end()
    counted, broker = shown.pop("counted"), shown.pop("broker")
    assert len(shown) > len(GAUGES) and "cpu_ms" in counted and "published" in broker
    names = [*shown, *counted, *(f"broker_{name}" for name in broker)]
    assert not without(names, explained())


def test_every_variable_is_in_the_help_or_in_the_table(capsys):
    with pytest.raises(SystemExit):
        settings.read(["--help"], {"GAME": BARE})
    table = PAGE.read_text().split("\n### Variables\n")[1].split("\n### ")[0]
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    told = set(re.findall(r"\b[A-Z_]{4,}\b", " ".join([*first, capsys.readouterr().out])))
    assert set(settings.variables(BARE)) <= told


def test_prometheus_shows_the_token_only_over_tls():
    assert re.search(r"\n      - job_name: flatlands\n        scheme: https\n", PAGE.read_text())


def rules():
    """Return name -> expression of the alerts in deploy/rules.yml."""
    text = (ROOT / "deploy" / "rules.yml").read_text()
    found = re.findall(r"- alert: (\w+)\n +expr: (.+)\n", text)
    assert len(found) == text.count("alert:") > 10
    return {name: expression.strip("'") for name, expression in found}


def dashboard():
    """Return the expressions of deploy/grafana.json, and those of the labels that it asks for."""
    board = json.loads((ROOT / "deploy" / "grafana.json").read_text())
    targets = [target for panel in board["panels"] for target in panel["targets"]]
    asked = re.findall(r"label_values\((\w+), (\w+)\)", json.dumps(board))
    assert len(targets) > 20 and asked == [("flatlands_ready", "instance")]
    return [(target["expr"], target["legendFormat"]) for target in targets]


def labels(name):
    """Return the labels of a metric as Prometheus stores it; None if a server that has just started
    does not show it."""
    found = re.findall(rf"^{name}(?:{{(.*)}})? ", fresh(), re.M)
    named = [set(re.findall(r"(\w+)=\"(.*?)\"", each)) for each in found]
    return named or None


@cache
def fresh():
    """Return /metrics of a server that has just started."""
    with inside(GAME="quiet") as server:
        server.get("stats")  # so that an HTTP request was answered
        return server.get("metrics").decode()


@pytest.mark.parametrize("expression", [*rules().values(), *(each for each, _ in dashboard())])
def test_each_alert_and_panel_is_about_metrics_that_a_new_server_shows(expression):
    if job := re.fullmatch(r'up{job="(\w+)"} == 0', expression):
        # Prometheus makes this one itself, with the name that the page gives the job.
        assert f"- job_name: {job[1]}\n" in PAGE.read_text()
        return
    names = re.findall(r"\b((?:flatlands|process)_\w+)(?:{(.*?)})?", expression)
    assert names
    for name, matchers in names:
        there = labels(name)
        if there is None and re.search(r"_(limited|closed)_total$", name):
            # It has no samples before something is closed or refused, but its family is shown.
            assert f"# TYPE {name} counter" in fresh()
            continue
        assert there, name
        for label, how, value in re.findall(r'(\w+)(=~?)"(.*?)"', matchers):
            # Prometheus adds `instance` by itself.
            values = {each for some in there for key, each in some if key == label}
            wanted = value.split("|") if how == "=~" else [value]
            assert label == "instance" or values >= {*wanted}, (name, label)


def test_a_panel_tells_its_lines_apart_by_labels_that_exist():
    for expression, legend in dashboard():
        kept = re.search(r"sum by \((.*?)\)", expression)
        for label in re.findall(r"{{(\w+)}}", legend):
            if kept:
                assert label in kept[1]
            elif label != "instance":
                name = re.search(r"flatlands_\w+", expression)[0]
                assert all(label in dict(each) for each in labels(name)), (label, name)


def test_the_page_says_what_to_do_about_each_alert_and_about_no_other():
    watched = PAGE.read_text().split("### What to watch")[1].split("\n### ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", watched, re.M)
    assert [name for name, _, _ in rows] == [name.removeprefix("Flatlands") for name in rules()]
    for metric in re.findall(r"(?:flatlands|process)_\w+", watched):
        assert labels(metric), metric
    waking = re.search(r"((?:`\w+`,? (?:and )?)+)have the label\s+`severity: page`", watched)
    text = (ROOT / "deploy" / "rules.yml").read_text()
    alerts = re.split(r"- alert: Flatlands", text)[1:]
    page = [one.split("\n")[0] for one in alerts if "labels: { severity: page }" in one]
    assert re.findall(r"\w+(?=`)", waking[1]) == page


def test_every_counter_shown_from_the_start_exists():
    assert not without(FROM_ZERO, counters())
