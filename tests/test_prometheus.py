"""Prometheus with deploy/rules.yml and what docs/operations.md says of it."""

import json
import re
import subprocess
import urllib.request
from contextlib import ExitStack

import pytest

from flatlands.loadtest.kit.processes import Program, find
from tests.brokers.redis_servers import eventually, free_port
from tests.nginx import in_words
from tests.processes import PATIENCE, ROOT, serving

pytestmark = [pytest.mark.outside, pytest.mark.process]

RULES = ROOT / "deploy" / "rules.yml"
TOKEN = "a-token-of-the-tests"

#: Of two servers one ends after 30 s: two scrapes later it is down for less than a minute.
UNIT = f"""
rule_files: [{RULES}]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - {{ series: 'up{{job="flatlands", instance="a:8000"}}', values: "1 1 0x8" }}
      - {{ series: 'up{{job="flatlands", instance="b:8000"}}', values: "1x10" }}
    alert_rule_test:
      - {{ eval_time: 75s, alertname: FlatlandsDown, exp_alerts: [] }}
      - eval_time: 90s
        alertname: FlatlandsDown
        exp_alerts:
          - exp_labels: {{ severity: page, job: flatlands, instance: "a:8000" }}
            exp_annotations: {{ summary: "SUMMARY" }}
"""


def test_a_server_that_is_down_for_a_minute_wakes_somebody_and_is_told_what_to_do(tmp_path):
    [summary] = re.findall(r'FlatlandsDown\n(?:.*\n)*?.*summary: "(.*)" }', RULES.read_text())
    unit = tmp_path / "unit.yml"
    unit.write_text(UNIT.replace("SUMMARY", summary.replace("{{ $labels.instance }}", "a:8000")))
    command = [find("promtool", "prometheus"), "test", "rules", unit]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_of_three_servers_the_one_that_was_killed_raises_an_alert(tmp_path):
    port = free_port()
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(ADMIN_TOKEN=TOKEN)) for _ in range(3)]
        names = [f"127.0.0.1:{server.port}" for server in servers]
        configure(tmp_path, names)
        options = {"config.file": "prometheus.yml", "storage.tsdb.path": "data"}
        options |= {"web.listen-address": f"127.0.0.1:{port}"}
        command = [find("prometheus", "prometheus"), *(f"--{k}={v}" for k, v in options.items())]
        stack.enter_context(Program(command, "Prometheus", folder=tmp_path))

        def ask(what):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{what}") as answer:
                return json.load(answer)["data"]

        def up():
            try:
                found = ask("query?query=up")["result"]
            except OSError:  # it does not listen yet
                return None
            return {one["metric"]["instance"]: one["value"][1] for one in found}

        eventually(lambda: up() == dict.fromkeys(names, "1"), "Prometheus never saw all three")
        # Before its first look at them, it knew of no server at all.
        eventually(lambda: not firing(ask), "an alert fires though all three are up")
        servers[1].kill()
        eventually(lambda: firing(ask), "no alert fired")
        assert firing(ask) == [("FlatlandsDown", "page", names[1])]


def firing(ask):
    """Return the name, the severity and the server of each alert that fires, apart from the one for
    a loop that is late, as on any busy machine."""
    found = [one["labels"] for one in ask("alerts")["alerts"] if one["state"] == "firing"]
    found = [one for one in found if one["alertname"] != "FlatlandsLoopLate"]
    return [(one["alertname"], one["severity"], one.get("instance")) for one in found]


def configure(folder, targets):
    """Write what the page says for these targets, with all waits short, into a folder."""
    (folder / "admin-token").write_text(TOKEN)
    text = in_words("scrape_configs:")
    for found, put in (
        ("scheme: https", "scheme: http"),
        ("/etc/flatlands/admin-token", "admin-token"),
        ('["play.example.org"]', json.dumps(targets)),
    ):
        assert found in text, found
        text = text.replace(found, put)
    indented = "\n".join(line[4:] for line in text.splitlines())
    times = "global: { scrape_interval: 5s, scrape_timeout: 5s, evaluation_interval: 1s }\n"
    (folder / "prometheus.yml").write_text(f"{times}rule_files: [rules.yml]\n{indented}\n")
    (folder / "rules.yml").write_text(re.sub(r"for: \d+m", "for: 1s", RULES.read_text()))
