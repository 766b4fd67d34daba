"""The options of the study of work queues."""

import argparse
from dataclasses import dataclass

from flatlands.loadtest.kit.brokers import broker
from flatlands.loadtest.kit.options import amount, names, option, whole
from flatlands.loadtest.studies.work_queues.series import FILLED_MESSAGES, LASTING, SERIES


def _redis(text: str) -> str:
    if not text.startswith(("redis://", "rediss://")):
        raise argparse.ArgumentTypeError(f"{text!r} does not begin with redis:// or rediss://")
    return broker(text)


@dataclass(frozen=True)
class Options:
    """What the user chose: how often a queue is filled and taken from, the messages of a FIFO
    queue, how many consumers are killed instead (0: none), the URL of a running Redis ("": some are
    started), and the percent of the mean beyond which a turn is rejected (0: none is)."""

    series: tuple[str, ...] = option(
        *("--series", names(SERIES), (), "NAME,..."),
        f"what to measure: all (the default), or some of {', '.join(SERIES)}",
    )
    repeat: int = option(
        *("--repeat", whole(1, 1000), 10, "N"),
        f"how often {FILLED_MESSAGES:,} messages are put and taken in each way",
    )
    threshold: float = option(
        *("--retry-threshold", amount(0, 1000), 0.0, "PERCENT"),
        "repeat a turn whose mean is so far from that of all, as PHPBench does, and print how "
        "often as rejects (0: never, as in 2016)",
    )
    messages: int = option(
        "--messages", whole(1, 10**7), 200_000, "N", "messages that pass through a FIFO queue"
    )
    deaths: int = option(
        *("--kill", whole(1, 1000), 0, "N"),
        "instead: kill N consumers, each after a second, and compare what was handed out again "
        f"with what they held ({', '.join(LASTING)}; 5, if N is not given)",
        nargs="?",
        const=5,
    )
    redis: str = option(
        *("--redis", _redis, "", "URL"),
        "use this running Redis instead of some that are started, which gets keys of this run "
        "alone and loses them again; it may have a user and a password, and rediss:// is over TLS: "
        "the variable BROKER_TLS says which certificates to accept",
    )
