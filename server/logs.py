"""What the server writes to standard error: lines for people, or JSON objects for programs.

`tell` writes what players and strangers do, one line each, and no more than LINES a second of one
sort, so that a crowd costs a sentence and not a disk. Warnings and errors are never left out. It
never writes a broker's password or a token: nobody gives it one.
"""

import json
import logging
import sys
import time
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

log = logging.getLogger("flatlands")

#: Lines of one sort that `tell` writes in a second; what comes on top is counted, and the number
#: is told.
LINES = 100

#: Characters of one field in a line.
FIELD_LIMIT = 200


def set_up(level: str, format: str, worker: int | None) -> None:
    """Write this process' log to standard error.

    `format` is "text" or "json"; `worker` is the number of a worker, or None where there is one
    process.
    """
    formatter = _Json(worker) if format == "json" else _Text(worker)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(level=level, handlers=[handler])


def tell(what: str, **fields: Any) -> None:
    """Write an INFO line of something that happened: a word, and its fields that are not None.

    Names and whatever else strangers choose are fields of type str: they are quoted, escaped and
    cut to FIELD_LIMIT.
    """
    if log.isEnabledFor(logging.INFO) and _lines[what].take(time.monotonic(), what):
        log.info("%s", what, extra={"fields": _cut(fields)})


def catch_up() -> None:
    """Tell how many lines were left out, where the second in which they were is over."""
    for what, lines in _lines.items():
        lines.sum_up(time.monotonic(), what)


def _cut(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value[:FIELD_LIMIT] if isinstance(value, str) else value
        for name, value in fields.items()
        if value is not None
    }


class _Lines:
    """Counts the lines of each second, and those left out."""

    def __init__(self) -> None:
        self._second = 0
        self._written = self._left_out = 0

    def take(self, now: float, what: str) -> bool:
        """Say whether one more line may be written."""
        self.sum_up(now, what)
        if self._written >= LINES:
            self._left_out += 1
            return False
        self._written += 1
        return True

    def sum_up(self, now: float, what: str) -> None:
        """Begin a new second, if it is one."""
        if int(now) == self._second:
            return
        left_out, self._left_out = self._left_out, 0
        self._second, self._written = int(now), 0
        if left_out:
            log.info("lines of %s left out: %d (%d a second are written)", what, left_out, LINES)


#: By the word that they begin with.
_lines: dict[str, _Lines] = defaultdict(_Lines)


class _Text(logging.Formatter):
    """2026-11-21 19:17:12,123 INFO worker 2: join player=17 name='Anna' address='192.0.2.1'"""

    def __init__(self, worker: int | None) -> None:
        who = "" if worker is None else f" worker {worker}:"
        super().__init__(f"%(asctime)s %(levelname)s{who} %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        # repr quotes texts, and escapes what is not printable: controls, and what turns text
        # around.
        fields = getattr(record, "fields", {})
        return super().formatMessage(record) + "".join(f" {k}={v!r}" for k, v in fields.items())


class _Json(logging.Formatter):
    """One object a line: time, level, worker where there are several, message, and the fields."""

    def __init__(self, worker: int | None) -> None:
        super().__init__()
        self._worker = {} if worker is None else {"worker": worker}

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            **self._worker,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)
