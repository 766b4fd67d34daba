"""The series that are compared, and the figures of the article of 2013."""

from dataclasses import dataclass

#: Brokers in a ring.
RING = 2

#: The brokers of 2013: the one in broker_2013.py, and the one in loadtest/go/broker.go.
PYTHON_2013, GO_2013 = "python-2013", "go-2013"


@dataclass(frozen=True)
class Series:
    """One curve of the charts."""

    name: str
    label: str
    #: The broker's scheme, PYTHON_2013 or GO_2013; and how many brokers there are.
    broker: str
    brokers: int = 1
    #: How it publishes: a key of clients.PUBLISHERS, or "go" for the worker that is written in Go.
    client: str = "broker"
    #: Whether all clients run in one process.
    together: bool = False
    #: Whether a subscriber that loses messages must be told of it.
    is_told: bool = True
    #: Its name in the article of 2013, a key of PAST.
    past: str = ""


SERIES = {
    one.name: one
    for one in (
        Series(
            "redis-unbuffered",
            "Redis, unbuffered",
            "redis",
            client="redis-py",
            past="py_redis",
        ),
        Series("redis-buffered", "Redis, buffered", "redis", client="redis-py-buffered"),
        Series(
            "redis-2013",
            "Redis, buffered, as printed",
            "redis",
            client="redis-2013",
            is_told=False,
            past="py_redis_buffered",
        ),
        Series("redis", "Redis, as much as waits", "redis"),
        Series("redis-ring", f"Redis, a ring of {RING}", "redis", brokers=RING),
        Series("zeromq", "ZeroMQ", "zeromq"),
        Series(
            "zeromq-2013",
            "ZeroMQ, as printed",
            PYTHON_2013,
            client="zeromq-2013",
            is_told=False,
            past="py_zmq",
        ),
        Series("zeromq-ring", f"ZeroMQ, a ring of {RING}", "zeromq", brokers=RING),
        Series("nats", "NATS", "nats"),
        Series("mqtt", "MQTT", "mqtt"),
        Series("memory", "memory (one process)", "memory", together=True),
        Series("go-redis", "Redis, Go", "redis", client="go", past="go_redis"),
        Series("go-zeromq", "ZeroMQ, Go", "zeromq", client="go"),
        Series(
            "go-zeromq-2013",
            "ZeroMQ, all in Go",
            GO_2013,
            client="go",
            is_told=False,
            past="go_zmq",
        ),
    )
}

#: Numbers of clients in the article. For each curve of its charts the label, and the thousands of
#: messages a second per client that were read from it.
PAST_CLIENTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16)
PAST = {
    "py_redis": (
        "Redis, unbuffered 2013",
        (10.5, 15.8, 18.5, 18.5, 18.9, 19.6, 20.0, 20.0, 18.5, 17.0, 17.7),
    ),
    "py_redis_buffered": (
        "Redis, buffered 2013",
        (54, 86.5, 91.6, 88.2, 67.8, 60.2, 49.0, 45.5, 40.2, 33.0, 30.7),
    ),
    "py_zmq": (
        "ZeroMQ 2013",
        (35, 60.4, 82.3, 96.6, 117.1, 98.5, 71.0, 59.2, 50.1, 40.6, 34.5),
    ),
    "go_redis": (
        "Redis, Go 2013",
        (225, 181, 151, 135, 119.5, 104, 83.3, 67.1, 57.6, 48.1, 41.4),
    ),
    "go_zmq": ("ZeroMQ, Go 2013", (287, 212, 200, 139, 80, 59.5, 38.6, 26.2, 12.9, 7.1, 6.2)),
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
