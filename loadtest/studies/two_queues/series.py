"""The series that are compared, with the figures of the article of 2013."""

from dataclasses import dataclass

from flatlands.loadtest.kit.charts import COLOURS, tint

#: Brokers in a ring.
RING = 2

#: The broker of 2013 in broker_2013.py.
PYTHON_2013 = "python-2013"
#: The broker of 2013 in go/broker.go.
GO_2013 = "go-2013"

#: Numbers of clients in the article.
PAST_CLIENTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16)


@dataclass(frozen=True)
class Series:
    """One curve of the charts.

    `broker` is the scheme of its brokers, PYTHON_2013 or GO_2013, and `brokers` how many there are.
    The curve has the colour of its backend, or for a variant a tint of it, and a marker. `client`
    is how it publishes: a key of clients.PUBLISHERS, or "go" for the worker written in Go. Its
    clients run `together` in one process, or each has two. `is_told` says whether a subscriber that
    loses messages must be told of it. `past` is the label of its curve in the article, and for each
    of PAST_CLIENTS the thousands of messages a second per client that were read from it.
    """

    name: str
    label: str
    broker: str
    colour: str
    marker: str = "o"
    client: str = "broker"
    brokers: int = 1
    together: bool = False
    is_told: bool = True
    past: tuple[str, tuple[float, ...]] | None = None


_REDIS = COLOURS["redis"]
_ZEROMQ = COLOURS["zeromq"]
_RING = COLOURS["ring"]

_UNBUFFERED_2013 = (10.5, 15.8, 18.5, 18.5, 18.9, 19.6, 20.0, 20.0, 18.5, 17.0, 17.7)
_BUFFERED_2013 = (54, 86.5, 91.6, 88.2, 67.8, 60.2, 49.0, 45.5, 40.2, 33.0, 30.7)
_ZEROMQ_2013 = (35, 60.4, 82.3, 96.6, 117.1, 98.5, 71.0, 59.2, 50.1, 40.6, 34.5)
_GO_REDIS_2013 = (225, 181, 151, 135, 119.5, 104, 83.3, 67.1, 57.6, 48.1, 41.4)
_GO_ZEROMQ_2013 = (287, 212, 200, 139, 80, 59.5, 38.6, 26.2, 12.9, 7.1, 6.2)

SERIES = {
    one.name: one
    for one in (
        Series(
            *("redis-unbuffered", "Redis, unbuffered", "redis", tint(_REDIS, 0.45), "s"),
            client="redis-py",
            past=("Redis, unbuffered 2013", _UNBUFFERED_2013),
        ),
        Series(
            *("redis-buffered", "Redis, buffered", "redis", tint(_REDIS, 0.15)),
            client="redis-py-buffered",
        ),
        Series(
            *("redis-2013", "Redis, buffered, as printed", "redis", tint(_REDIS, 0.3), "v"),
            client="redis-2013",
            is_told=False,
            past=("Redis, buffered 2013", _BUFFERED_2013),
        ),
        Series("redis", "Redis, as much as waits", "redis", tint(_REDIS, -0.2)),
        Series(
            *("redis-ring", f"Redis, a ring of {RING}", "redis", tint(_RING, -0.2), "D"),
            brokers=RING,
        ),
        Series("zeromq", "ZeroMQ", "zeromq", _ZEROMQ),
        Series(
            *("zeromq-2013", "ZeroMQ, as printed", PYTHON_2013, tint(_ZEROMQ, 0.35), "v"),
            client="zeromq-2013",
            is_told=False,
            past=("ZeroMQ 2013", _ZEROMQ_2013),
        ),
        Series(
            *("zeromq-ring", f"ZeroMQ, a ring of {RING}", "zeromq", tint(_RING, 0.25), "D"),
            brokers=RING,
        ),
        Series("nats", "NATS", "nats", COLOURS["nats"]),
        Series("mqtt", "MQTT", "mqtt", COLOURS["mqtt"]),
        Series("memory", "memory (one process)", "memory", COLOURS["memory"], together=True),
        Series(
            *("go-redis", "Redis, Go", "redis", tint(_REDIS, -0.5), "^", "go"),
            past=("Redis, Go 2013", _GO_REDIS_2013),
        ),
        Series("go-zeromq", "ZeroMQ, Go", "zeromq", tint(_ZEROMQ, -0.3), "^", "go"),
        Series(
            *("go-zeromq-2013", "ZeroMQ, all in Go", GO_2013, tint(_ZEROMQ, -0.55), "^", "go"),
            is_told=False,
            past=("ZeroMQ, Go 2013", _GO_ZEROMQ_2013),
        ),
    )
}

#: Title and series of each of the article's three charts. The curves of the article are those of
#: the series that have a name in it.
CHARTS = (
    ("Python, as it comes", ("zeromq-2013", "redis-unbuffered", "zeromq")),
    (
        "Python, with Redis buffered",
        ("zeromq-2013", "redis-unbuffered", "redis-2013", "zeromq", "redis-buffered"),
    ),
    (
        "Python and Go",
        ("zeromq-2013", "redis-unbuffered", "redis-2013", "go-zeromq-2013", "go-redis"),
    ),
)
