"""The options of `python -m server.query`. Reading them opens nothing."""

import argparse
from collections.abc import Callable, Sequence
from contextlib import suppress

from flatlands.server import settings
from flatlands.server.query.tables import tables

#: The command that the options are given to.
QUERY_COMMAND = "python -m server.query"

DESCRIPTION = """Ask the world in SQL: every player of every server, and what the store keeps.
It changes nothing."""


def read(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options that are given; those of the process if `arguments` is None."""
    there = tables(settings.game_of(QUERY_COMMAND, "TABLES", arguments)).items()
    parser = argparse.ArgumentParser(
        prog=QUERY_COMMAND,
        description=DESCRIPTION,
        epilog="docs/query.md has examples. There are the tables "
        + ", ".join(f"{name} ({table.about})" for name, table in there),
    )
    option = parser.add_argument
    option("statement", nargs="?", help="SQL statement, such as 'SELECT * FROM node'")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--csv", action="store_true", help="print comma-separated values")
    shown.add_argument("--json", action="store_true", help="print a JSON object for each row")
    seconds = _number(float, "a number of seconds above 0")
    option(
        "--watch",
        type=seconds,
        metavar="SECONDS",
        help="repeat the statement every SECONDS seconds, until Ctrl-C",
    )
    option(
        "--into",
        metavar="FILE",
        help="write all tables into a new SQLite file instead",
    )
    option(
        "--to",
        nargs=2,
        metavar=("REDIS", "FORM"),
        help="write the rows as objects to a Redis, such as redis://127.0.0.1: 'hash player:{id}', "
        "'list KEY', 'set KEY' or 'zset KEY', with columns in braces; nothing there is replaced",
    )
    option(
        "--from",
        nargs=2,
        metavar=("REDIS", "FORM"),
        dest="from_redis",
        help="read the objects of a Redis into the table redis, such as 'hash player:*'",
    )
    help = "most seconds that the statement may take (default 5)"
    option("--seconds", type=seconds, default=5.0, help=help)
    rows = _number(int, "a whole number from 1 to 999999999")
    option("--rows", type=rows, default=1000, help="most rows to show (default 1000)")
    names = ("game", "broker", "broker_tls", "world", "store", "secret")
    return settings.read_some(parser, names, arguments)


def _number(kind: type[int] | type[float], what: str) -> Callable[[str], float]:
    """Return a function that reads a number above 0, and refuses all else as not `what`."""

    def read(text: str) -> float:
        with suppress(ValueError):
            if 0 < (number := kind(text)) < 1e9:
                return number
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")

    return read
