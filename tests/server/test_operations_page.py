"""docs/operations.md explains every variable, counter and number that there is, and no other."""

import re
from contextlib import closing
from fnmatch import fnmatchcase

from flatlands.brokers.registry import open_broker
from flatlands.server import settings
from flatlands.server.app import Server
from flatlands.server.histogram import MEASURED
from flatlands.server.web.exposition import FROM_ZERO
from flatlands.server.web.metrics import GAUGES
from tests.processes import ROOT

PAGE = ROOT / "docs" / "operations.md"
NUMBERS = ROOT / "server" / "web" / "numbers.md"
ABOUT = ["version", "commit", "game", "node", "worker"]
COUNTED = re.compile(r"stats\[(f?)\"([^\"]+)\"\]")


def counters():
    """Return the names of all counters in the code; what varies in one is a star."""
    names = set()
    for path in (
        *(ROOT / "server").rglob("*.py"),
        *(ROOT / "games").rglob("*.py"),
        *ROOT.glob("brokers/*.py"),
    ):
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


def unexplained(names):
    """Return those of some names of /stats that no row explains."""
    rows = explained()
    return [name for name in names if not any(fnmatchcase(name, row) for row in rows)]


def test_all_that_stats_shows_of_a_server_is_explained():
    server = Server(settings.read(["--port", "0"], {}), open_broker("memory://"))
    with closing(server.broker), closing(server._listener):
        shown = server.show_stats(lambda _seconds: None)
    counted, broker = shown.pop("counted"), shown.pop("broker")
    assert len(shown) > len(GAUGES) and "cpu_ms" in counted and "published" in broker
    assert not unexplained([*shown, *counted, *(f"broker_{name}" for name in broker)])


def test_every_variable_is_in_the_table():
    table = PAGE.read_text().split("\n### Variables\n")[1].split("\n### ")[0]
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(first))) == set(settings.variables())


def test_nothing_is_explained_that_is_not_there():
    there = counters() | {
        *ABOUT,
        "compiled",
        "workers",
        "each",
        "build_info",
        "cpu_ms",
        "times",
        *MEASURED,
        *GAUGES,
    }
    assert not [name for name in explained() if not any(fnmatchcase(name, one) for one in there)]


def test_every_rule_to_watch_is_about_a_metric_that_there_is():
    there = {gauge.metric for gauge in GAUGES.values()}
    there |= {f"flatlands_{re.sub('_[*]$', '', name)}_total" for name in counters()}
    watched = PAGE.read_text().split("### What to watch")[1].split("\n### ")[0]
    names = set(re.findall(r"(?:flatlands|process)_\w+", watched))
    assert len(names) > 10 and names <= there


def test_what_is_shown_before_it_was_counted_exists():
    assert not [name for name in FROM_ZERO if not any(fnmatchcase(name, one) for one in counters())]
