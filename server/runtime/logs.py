"""The server's log on standard error: lines for people, or JSON objects for programs.

`log_line` writes what players do, and a LimitedLog what strangers do wrong. Both limit the lines
per second, so that a crowd or an attack does not fill the disk. Other warnings and errors are
always written. No broker's password and no token ever gets here.
"""

import json
import logging
import time
from collections import defaultdict
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_network
from typing import Any

from flatlands import output
from flatlands.brokers.guard import Throttle

log = logging.getLogger("flatlands")

#: Lines of one kind that `log_line` writes in a second. The others are counted, and their number is
#: logged.
LINES_A_SECOND = 100

#: Characters that a field of a line may have.
FIELD_LIMIT = 200

#: Lines that a LimitedLog writes in a second.
LIMITED_LINES_A_SECOND = 5

#: Characters that each of these lines may have.
LIMITED_LINE_CHARS = 200


def set_up(level: str, format: str, worker: int | None, short_addresses: bool = False) -> None:
    """Write this process' log to standard error, and let nothing that it prints wait.

    `format` is "text" or "json"; `worker` is the number of a worker, or None where there is one
    process. `short_addresses`: see `shown`.
    """
    global _short
    _short = short_addresses
    formatter = _Json(worker) if format == "json" else Text(worker)
    output.install(
        lambda text: formatter.format(logging.makeLogRecord({"levelname": "WARNING", "msg": text}))
    )
    # No line has these, and finding them costs more than the rest of it.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(level=level, handlers=[handler])


def log_line(what: str, **fields: object) -> None:
    """Write an INFO line about something that happened: a word, and the fields that are not None.

    Fields of type str may come from strangers: they are quoted, escaped and cut to FIELD_LIMIT.
    `address` is that of a client: see `shown`.
    """
    if not log.isEnabledFor(logging.INFO):
        return
    now = time.monotonic()
    _log_left_out(what, now)
    if _limits[what].allows(now):
        log.info("%s", what, extra={"fields": _cut(fields)})


def shown(address: str) -> str:
    """Return a client's address as it is logged: shortened to its network, where that is wanted.

    That is the /24 of an IPv4 address, and the /48 of an IPv6 address.
    """
    if not _short or not address:
        return address
    bits = 48 if ":" in address else 24
    return str(ip_network(f"{address.partition('%')[0]}/{bits}", strict=False))


def log_left_out() -> None:
    """Log how many lines were left out in seconds that are over."""
    for what in _limits:
        _log_left_out(what, time.monotonic())


def _log_left_out(what: str, now: float) -> None:
    if left_out := _limits[what].left_out(now):
        log.info("suppressed %d %s log lines (limit: %d/s)", left_out, what, LINES_A_SECOND)


def _cut(fields: dict[str, Any]) -> dict[str, Any]:
    if "address" in fields:
        fields["address"] = shown(fields["address"])
    return {
        name: value[:FIELD_LIMIT] if isinstance(value, str) else value
        for name, value in fields.items()
        if value is not None
    }


#: Whether addresses are shortened.
_short = False

#: The first word of lines -> their limit.
_limits: dict[str, Throttle] = defaultdict(partial(Throttle, LINES_A_SECOND, 1))


class LimitedLog:
    """A logger for what strangers do wrong: it writes some lines a second, cut, and counts others.

    The next line that is written says how many were left out before it.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._limit = Throttle(LIMITED_LINES_A_SECOND, 1)

    def write(self, level: int, text: str) -> None:
        """Log a line, unless there were too many in this second."""
        now = time.monotonic()
        left_out = self._limit.left_out(now)
        if self._limit.allows(now):
            more = f" ({left_out} such lines before it were suppressed)" if left_out else ""
            self._log.log(level, "%s%s", text[:LIMITED_LINE_CHARS], more)


class Text(logging.Formatter):
    """Formats a line for people.

    2026-11-21 19:17:12,123 INFO worker 2: join player=17 name='Anna' address='192.0.2.1'
    """

    def __init__(self, worker: int | None) -> None:
        who = "" if worker is None else f" worker {worker}:"
        super().__init__(f"%(asctime)s %(levelname)s{who} %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        # repr quotes texts and escapes what is not printable, such as control characters and those
        # that reverse the direction of text.
        fields = getattr(record, "fields", {})
        return super().formatMessage(record) + "".join(f" {k}={v!r}" for k, v in fields.items())


class _Json(logging.Formatter):
    """Formats a line as a JSON object: time, level, worker (if there are several), message, and the
    fields."""

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
