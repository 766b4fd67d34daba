"""`python -m server.query "SELECT ..."`: asks the world, and prints the answer."""

from flatlands.needs import packages

# This comes before all other imports, so that their sockets and locks are gevent's.
with packages("play"):
    from gevent import monkey

monkey.patch_all()

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

import gevent

with packages("play"):
    from flatlands.brokers.registry import open_broker
    from flatlands.server import settings as options
    from flatlands.server.query import prompt, show
    from flatlands.server.query.ask import Asker, Wrong
    from flatlands.server.query.morph import Unfit, form, from_redis, to_redis
    from flatlands.server.query.tables import TABLES, Source
    from flatlands.server.query.watcher import Silent, Watcher
    from flatlands.stores.base import StoreError
    from flatlands.stores.registry import open_store

DESCRIPTION = """Ask the world in SQL: every player of every server, and what the store keeps.
Without a statement there is a prompt. It changes nothing."""

EPILOG = "docs/query.md has examples. There are the tables " + ", ".join(
    f"{name} ({table.about})" for name, table in TABLES.items()
)


def read(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options that are given; those of the process if `arguments` is None."""
    parser = argparse.ArgumentParser(
        prog="python -m server.query", description=DESCRIPTION, epilog=EPILOG
    )
    option = parser.add_argument
    option("statement", nargs="?", help="what to ask, such as 'SELECT * FROM node'")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--csv", action="store_true", help="print lines with commas")
    shown.add_argument("--json", action="store_true", help="print an object for each row")
    seconds = _number(float, "a number of seconds above 0")
    option(
        "--watch",
        type=seconds,
        metavar="SECONDS",
        help="ask again and again, with so many seconds between, until Ctrl-C",
    )
    option(
        "--to",
        nargs=2,
        metavar=("REDIS", "FORM"),
        help="make objects of the rows, at a Redis such as redis://127.0.0.1: 'hash player:{id}', "
        "'list KEY', 'set KEY' or 'zset KEY', with columns in braces; nothing there is replaced",
    )
    option(
        "--from",
        nargs=2,
        metavar=("REDIS", "FORM"),
        dest="from_redis",
        help="read the objects of a Redis into the table redis, such as 'hash player:*'",
    )
    help = "the most time that a statement may take (default 5)"
    option("--seconds", type=seconds, default=5.0, help=help)
    rows = _number(int, "a whole number from 1 to 999999999")
    option("--rows", type=rows, default=1000, help="the most rows that are shown (default 1000)")
    names = ("broker", "broker_tls", "world", "store", "secret")
    return options.read_some(parser, names, arguments)


def main() -> int:
    """Ask and print; return the exit code."""
    given = read()
    # What goes wrong is told in a sentence, and not in the log of a server.
    logging.getLogger("flatlands").setLevel(logging.CRITICAL)
    try:
        return _ask(given)
    except (Silent, StoreError, Unfit, Wrong) as error:
        print(f"flatlands: {error}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"flatlands: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the rows has seen enough, as `head` does.
        sys.stderr.close()
        return 0


def _ask(given: argparse.Namespace) -> int:
    to = given.to and (given.to[0], form(given.to[1]))
    if to and given.statement is None:
        raise ValueError("--to needs a statement whose rows become objects")
    objects = None
    if given.from_redis is not None:
        objects = from_redis(given.from_redis[0], form(given.from_redis[1]))
    if given.broker in ("", "memory://"):
        raise ValueError(
            "the servers must be joined by a broker that others can reach, and memory:// is inside "
            "one process: give --broker, the same URL as theirs"
        )
    store = None
    if given.store is not None:
        store = open_store(given.store, given.world, given.broker_tls)
    broker = open_broker(given.broker, given.broker_tls, given.secret)
    watcher = Watcher(broker, given.world)
    try:
        watcher.start()
        asker = Asker(Source(watcher, store), given.seconds, given.rows)
        if objects is not None:
            asker.add_table("redis", objects)
        print_answer = show.as_csv if given.csv else show.as_json if given.json else show.as_table
        if given.statement is None:
            prompt.ask_on(asker, print_answer)
            return 0
        while True:
            answer = asker.ask(given.statement)
            if to:
                print(f"{to_redis(*to, answer)} objects were written", file=sys.stderr)
                return 0
            table = print_answer is show.as_table
            if given.watch is not None and table and sys.stdout.isatty():
                print("\033[2J\033[H", end="")
            print_answer(answer)
            sys.stdout.flush()
            if answer.cut and not table:
                print(f"flatlands: {show.count(answer)}", file=sys.stderr)
            if given.watch is None:
                return 0
            gevent.sleep(given.watch)
    finally:
        watcher.stop()
        if store is not None:
            store.close()


def _number(kind: type[int] | type[float], what: str) -> Callable[[str], float]:
    """Return what reads a number above 0, and says of anything else that it is not `what`."""

    def read(text: str) -> float:
        with suppress(ValueError):
            if 0 < (number := kind(text)) < 1e9:
                return number
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")

    return read


if __name__ == "__main__":
    sys.exit(main())
