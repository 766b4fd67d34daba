"""The prompt: asks statement after statement, with a history and completion of names.

It never runs a statement itself.
"""

import os
import readline
import sys
from collections.abc import Callable
from functools import partial

import gevent
from gevent.threadpool import ThreadPool

from flatlands.server.query.ask import Answer, Asker, Wrong
from flatlands.server.query.tables import Tables
from flatlands.server.query.watcher import Silent
from flatlands.stores.base import StoreError

#: Where the history is kept, and how many lines of it.
HISTORY, LINES = os.path.join("~", ".flatlands-query"), 1000

#: What is completed besides tables and columns.
WORDS = "SELECT FROM WHERE GROUP ORDER BY LIMIT JOIN USING DESC BETWEEN AND count avg sum min max"


def names(tables: Tables) -> list[str]:
    """Return the words that are completed: tables, their columns, and some of SQL."""
    columns = {column for table in tables.values() for column in table.columns.split(", ")}
    return sorted({*tables, *columns, *WORDS.split()})


def completed(tables: Tables, text: str, number: int) -> str | None:
    """Return completion number `number` of the beginning of a word, or None if there are fewer."""
    found = [name for name in names(tables) if name.lower().startswith(text.lower())]
    return found[number] if text and number < len(found) else None


def ask_on(asker: Asker, show: Callable[[Answer], None]) -> None:
    """Read statements until the end of the input, and show their answers."""
    interactive = sys.stdin.isatty()
    path = os.path.expanduser(HISTORY)
    if interactive:
        print(
            f"Tables: {', '.join(asker.tables)}. A statement ends with the line; Ctrl-D ends this."
        )
        readline.set_completer(partial(completed, asker.tables))
        readline.parse_and_bind("tab: complete")
        readline.set_history_length(LINES)
        if os.path.exists(path):
            readline.read_history_file(path)
    # The world goes on while somebody types: the line is read in another thread.
    reader = ThreadPool(1)
    while True:
        try:
            line = reader.apply(_line, ("flatlands> " if interactive else "",))
        except KeyboardInterrupt:
            line = None
        if line is None:
            break
        if not line.strip():
            continue
        try:
            show(asker.ask(line.strip().removesuffix(";")))
        except (Silent, StoreError, Wrong) as error:
            print(f"{error}", file=sys.stderr)
        gevent.sleep(0)
    if interactive:
        print()
        readline.write_history_file(path)


def _line(prompt: str) -> str | None:
    """Return the next line of the input, or None at its end."""
    try:
        return input(prompt)
    except EOFError:
        return None
