"""docs/operations.md explains every counter and number that there is, and no other."""

import re

from server.web.metrics import FROM_ZERO, GAUGES
from tests.processes import ROOT

PAGE = ROOT / "docs" / "operations.md"
COUNTED = re.compile(r"stats\[(f?)\"([^\"]+)\"\]")


def counters():
    """Return the names of all counters in the code; what varies in one is a star."""
    names = set()
    for path in (*ROOT.glob("server/**/*.py"), *ROOT.glob("brokers/*.py")):
        for formatted, name in COUNTED.findall(path.read_text()):
            names.add(re.sub(r"\{.*?\}", "*", name) if formatted else name)
    fields = re.search(r"class Counters:.*?\n\n\n", (ROOT / "brokers/base.py").read_text(), re.S)
    return names | {f"broker_{name}" for name in re.findall(r"^    (\w+): int", fields[0], re.M)}


def explained():
    """Return the counters and numbers that the page has a row for."""
    chapter = PAGE.read_text().split("\n## See and act\n")[1].split("\n### ")[0]
    rows = re.findall(r"^\| (`[^|]+) \| (\w[^|]{9,}\.) \|$", chapter, re.M)
    return {name for names, _ in rows for name in re.findall(r"`([^`]+)`", names)}


def test_every_counter_and_gauge_is_explained():
    assert len(counters()) > 30
    assert not (counters() | {"cpu_ms", "workers", *GAUGES}) - explained()


def test_nothing_is_explained_that_is_not_there():
    there = counters() | {"node", "workers", "cpu_ms", *GAUGES}
    assert not explained() - there


def test_every_rule_to_watch_is_about_a_metric_that_there_is():
    there = {gauge.metric for gauge in GAUGES.values()}
    there |= {f"flatlands_{re.sub('_[*]$', '', name)}_total" for name in counters()}
    watched = PAGE.read_text().split("### What to watch")[1].split("\n### ")[0]
    names = set(re.findall(r"(?:flatlands|process)_\w+", watched))
    assert len(names) > 10 and names <= there


def test_what_is_shown_before_it_was_counted_exists():
    assert set(FROM_ZERO) <= counters()
