"""`python -m server.query "SELECT ..."`: asks the world, and prints the answer."""

from flatlands.needs import packages

# This comes before all other imports, so that their sockets and locks are gevent's.
with packages("play"):
    from gevent import monkey

monkey.patch_all()

import argparse
import logging
import sys

import gevent

with packages("play"):
    from flatlands.brokers.registry import open_broker
    from flatlands.server.query import options, prompt, show
    from flatlands.server.query.ask import Asker, Wrong
    from flatlands.server.query.morph import Unfit, form, from_redis, to_redis
    from flatlands.server.query.tables import Source
    from flatlands.server.query.watcher import Silent, Watcher
    from flatlands.stores.base import StoreError
    from flatlands.stores.registry import open_store


def main() -> int:
    """Ask and print; return the exit code."""
    given = options.read()
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


if __name__ == "__main__":
    sys.exit(main())
