"""`python -m server.query "SELECT ..."`: runs a statement, and prints the answer."""

from flatlands.needs import packages

# This comes before all other imports, so that their sockets and locks are gevent's.
with packages("play"):
    from gevent import monkey

monkey.patch_all()

import argparse
import logging
import sys
from contextlib import ExitStack

import gevent

with packages("play"):
    from flatlands.brokers.registry import open_broker
    from flatlands.server.query import options, show
    from flatlands.server.query.ask import QueryError, QueryRunner
    from flatlands.server.query.morph import ConversionError, form, from_redis, to_redis
    from flatlands.server.query.tables import RowSource, tables
    from flatlands.server.query.watcher import NoServerHeard, Watcher
    from flatlands.stores.base import StoreError
    from flatlands.stores.registry import open_store


def main() -> int:
    """Ask and print; return the exit code."""
    given = options.read()
    # An error is printed as a sentence, not logged as a server does.
    logging.getLogger("flatlands").setLevel(logging.CRITICAL)
    try:
        _ask(given)
    except (NoServerHeard, StoreError, ConversionError, QueryError) as error:
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


def _ask(given: argparse.Namespace) -> None:
    if bool(given.statement) == bool(given.into):
        raise ValueError("give a statement, such as 'SELECT * FROM node', or --into FILE")
    to = given.to and (given.to[0], form(given.to[1]))
    if to and given.into:
        raise ValueError("--to needs a statement: its rows become the objects")
    objects = given.from_redis and from_redis(given.from_redis[0], form(given.from_redis[1]))
    if given.broker in ("", "memory://"):
        raise ValueError(
            "the servers need a broker that this program can reach, which memory:// is not: give "
            "--broker the same URL as theirs"
        )
    with ExitStack() as stack:
        store = given.store and open_store(given.store, given.world, given.broker_tls)
        if store:
            stack.callback(store.close)
        broker = open_broker(given.broker, given.broker_tls, given.secret)
        watcher = Watcher(broker, given.world)
        stack.callback(watcher.stop)
        watcher.start()
        source = RowSource(watcher.ground_id, watcher.node.grid, store or None, watcher)
        asker = QueryRunner(source, tables(given.game), given.seconds, given.rows)
        if objects:
            asker.add_table("redis", objects)
        if given.into:
            asker.copy(given.into)
        elif to:
            count = to_redis(*to, asker.ask(given.statement))
            print(f"{count} objects were written", file=sys.stderr)
        else:
            _print(given, asker)


def _print(given: argparse.Namespace, asker: QueryRunner) -> None:
    """Print the answer to the statement that is given, maybe again and again."""
    print_answer = show.as_csv if given.csv else show.as_json if given.json else show.as_table
    table = print_answer is show.as_table
    while True:
        answer = asker.ask(given.statement)
        if given.watch and table and sys.stdout.isatty():
            print("\033[2J\033[H", end="")
        print_answer(answer)
        sys.stdout.flush()
        if answer.cut and not table:
            print(f"flatlands: {show.count(answer)}", file=sys.stderr)
        if not given.watch:
            return
        gevent.sleep(given.watch)


if __name__ == "__main__":
    sys.exit(main())
