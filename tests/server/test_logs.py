"""What the server writes: lines for people or objects for programs, and not too many of them."""

import json
import logging

import pytest

from flatlands.server.runtime import logs


@pytest.fixture
def clock(monkeypatch):
    """A time in seconds that the test sets; no lines have been written in it yet."""
    now = [1000.0]
    monkeypatch.setattr(logs.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(logs, "_limits", logs._limits.__class__(logs._limits.default_factory))
    return now


def record(message, *arguments, fields=None, error=None):
    given = logging.LogRecord("flatlands", logging.INFO, "f.py", 1, message, arguments, error)
    if fields is not None:
        given.fields = fields
    return given


def logged(caplog):
    return [(line.getMessage(), getattr(line, "fields", None)) for line in caplog.records]


def test_a_limited_number_of_lines_a_second_is_written_and_the_rest_is_counted(caplog, clock):
    caplog.set_level(logging.INFO)
    for player in range(logs.LINES_A_SECOND + 40):
        logs.log_line("join", player=player)
    logs.log_line("leave", player=1)
    assert len(caplog.records) == logs.LINES_A_SECOND + 1, "each sort has lines of its own"
    logs.log_left_out()
    assert len(caplog.records) == logs.LINES_A_SECOND + 1
    clock[0] += 1
    for player in range(logs.LINES_A_SECOND + 1):
        logs.log_line("join", player=player)
    assert logged(caplog)[logs.LINES_A_SECOND + 1 :][:2] == [
        ("suppressed 40 join log lines (limit: 100/s)", None),
        ("join", {"player": 0}),
    ]
    clock[0] += 1
    # The last omission is reported even if nothing more comes, and only once.
    for _ in range(2):
        logs.log_left_out()
    assert len(caplog.records) == 2 * logs.LINES_A_SECOND + 3
    assert logged(caplog)[-1][0] == "suppressed 1 join log lines (limit: 100/s)"


def test_lines_about_strangers_are_cut_and_left_out_and_counted(caplog, clock):
    lines = logs.LimitedLog(logging.getLogger("test"))
    for _ in range(100):
        lines.write(logging.WARNING, "x" * 5000)
    assert len(caplog.messages) == 5
    assert {len(message) for message in caplog.messages} == {200}
    clock[0] += 1
    lines.write(logging.WARNING, "again")
    assert caplog.messages[-1] == "again (95 such lines before it were suppressed)"


def test_lines_that_are_not_wanted_are_not_counted(caplog, clock):
    caplog.set_level(logging.WARNING)
    for player in range(2 * logs.LINES_A_SECOND):
        logs.log_line("join", player=player)
    caplog.set_level(logging.INFO)
    logs.log_line("join", player=1, name=None)
    assert logged(caplog) == [("join", {"player": 1})]


def test_a_long_field_is_cut(caplog, clock):
    caplog.set_level(logging.INFO)
    logs.log_line("request", request="x" * 5000)
    assert logged(caplog) == [("request", {"request": "x" * logs.FIELD_LIMIT})]


def test_a_line_for_people_escapes_what_strangers_choose():
    line = logs.Text(3).format(record("join", fields={"player": 7, "name": "A\n'\x1b[2J\u202eé"}))
    assert line.endswith("""INFO worker 3: join player=7 name="A\\n'\\x1b[2J\\u202eé\"""")
    assert "\n" not in line
    assert " INFO a message of 1" in logs.Text(None).format(record("a message of %d", 1))


def test_a_line_for_programs_is_one_object():
    try:
        raise ValueError("wrong")
    except ValueError as error:
        failed = record("it failed", error=(type(error), error, error.__traceback__))
    text = logs._Json(2).format(failed)
    assert "\n" not in text
    line = json.loads(text)
    assert (line["level"], line["worker"], line["message"]) == ("INFO", 2, "it failed")
    assert line["traceback"].endswith("ValueError: wrong")
    plain = json.loads(logs._Json(None).format(record("join", fields={"name": "A\n\u202e"})))
    assert plain.keys() == {"time", "level", "message", "name"} and plain["name"] == "A\n\u202e"
