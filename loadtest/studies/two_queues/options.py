"""The options of the study of the brokers."""

import argparse
from dataclasses import dataclass

from flatlands.brokers.base import PAYLOAD_LIMIT
from flatlands.loadtest.kit.brokers import STARTERS, broker
from flatlands.loadtest.kit.options import amount, names, option, whole
from flatlands.loadtest.studies.two_queues.series import PAST_CLIENTS, SERIES
from flatlands.loadtest.studies.two_queues.stamp import STAMP

#: Clients that a run may have: a publisher's number has 16 bits in each message.
CLIENTS_LIMIT = 1000


def kind_of(url: str) -> str:
    """Return the scheme by which to start a broker that speaks as the one at a URL does."""
    scheme = url.partition("://")[0]
    return {"rediss": "redis", "tls": "nats", "mqtts": "mqtt"}.get(scheme, scheme)


def _clients(text: str) -> tuple[int, ...]:
    """Return the numbers that a text such as "4", "1-4" or "1,2,8" names, in order."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        try:
            found.update(range(int(first), int(last if dash else first) + 1))
        except ValueError:
            found = set()
            break
    if not found or min(found) < 1 or max(found) > CLIENTS_LIMIT:
        raise argparse.ArgumentTypeError(
            f"{text!r} should look like 4, 1-4 or 1,2,8, from 1 to {CLIENTS_LIMIT}"
        )
    return tuple(sorted(found))


def _broker(text: str) -> str:
    known = {series.broker for series in SERIES.values() if series.broker in STARTERS}
    if kind_of(text) not in known or not text.partition("://")[2]:
        urls = ", ".join(f"{one}://HOST" for one in sorted(known))
        raise argparse.ArgumentTypeError(f"{text!r} names no broker that is measured: {urls} do")
    return broker(text)


@dataclass(frozen=True)
class Options:
    """What the user chose for all points.

    `seconds` are measured after `warm_up` seconds, `size` is the bytes of a message, and `rate` the
    messages a second of each publisher (0: as many as it can). redis-py sends a buffer of `buffer`
    messages, or one that is `flush_ms` old. `brokers` are the URLs of running brokers.
    """

    series: tuple[str, ...] = option(
        *("--series", names(SERIES), tuple(SERIES), "NAME,..."),
        f"what to measure: all (the default), or some of {', '.join(SERIES)}",
    )
    clients: tuple[int, ...] = option(
        *("--num-clients", _clients, PAST_CLIENTS, "N,..."),
        "numbers of clients, such as 4, 1-4 or 1,2,8 (those of the article: "
        f"{','.join(map(str, PAST_CLIENTS))})",
    )
    seconds: int = option(
        "--num-seconds", whole(1, 3600), 10, "N", "seconds that are counted for each point"
    )
    warm_up: float = option(
        "--warm-up", amount(0, 3600), 1.0, "SECONDS", "time before that, which is not counted"
    )
    channels: int = option("--num-channels", whole(1, 65536), 50, "N", "number of channels")
    size: int = option(
        *("--message-size", whole(STAMP.size, PAYLOAD_LIMIT), 20, "BYTES", "size of each message")
    )
    rate: int = option(
        *("--rate", whole(1, 10**6), 0, "N"),
        "messages that each publisher sends per second (as many as it can)",
    )
    buffer: int = option(
        *("--buffer", whole(1, 10**6), 1000, "N"),
        "messages that redis-buffered and redis-2013 send together",
    )
    flush_ms: int = option(
        "--flush-ms", whole(1, 60_000), 200, "MS", "time after which they send fewer"
    )
    brokers: tuple[str, ...] = option(
        *("--broker", _broker, (), "URL"),
        "use these running brokers instead of some that are started, each for the series of its "
        "kind; a URL may have a user and a password, and rediss://, tls:// (NATS) and mqtts:// are "
        "over TLS: BROKER_TLS says which certificates to accept, as for the server",
        nargs="+",
    )
