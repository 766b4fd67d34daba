"""What the URLs of brokers mean, which are refused, and what is told of a missing server."""

import gevent
import pytest

from flatlands.brokers import stream
from flatlands.brokers.link import LinkedBroker
from flatlands.brokers.registry import BROKER_BACKENDS, check_broker, open_broker
from flatlands.brokers.zeromq.wire import addresses_of
from tests.brokers.servers import PATIENCE, free_port

#: URLs that make no sense, and why. The password, if there is one, must not be told.
REFUSED = [
    *(
        (f"{scheme}://{rest}", why)
        for scheme in ("redis", "nats", "mqtt")
        for rest, why in (
            ("", "is not a host:port"),
            (":secret@host:port", "is not a host:port"),
            (":secret/x@host", "in a password write %2F for /"),
            ("me:12345#secret@host", "%23 for #"),
            (":secret@a:1,b:2", "takes only one host"),
            (":secret@a?ssl_cert_reqs=maybe", "'required' or 'none'"),
            (":secret@a?retry=1", "two options"),
        )
    ),
    *(
        (url, "begins with one of memory://, mqtt://, mqtts://")
        for url in ("", "amqp://here", "memory", "localhost:6379")
    ),
    *((f"{scheme}://me:se@cret@host", "://host'") for scheme in ("amqp", "zeromq", "zeromq+ipc")),
    *(
        (f"zeromq://{rest}", "should look like zeromq")
        for rest in ("", "host:port", "host:99999", "host:65535", "host?pub=x", "host?sub=5562")
    ),
    ("zeromq://host/path", "should look like zeromq"),
    # Names that nobody can have.
    ("redis://a..b", "'a..b' is not a host:port"),
    (f"mqtt://{'h' * 64}", "is not a host:port"),
    (f"rediscluster://a,{'h' * 64}.example", "is not a host:port"),
    ("zeromq://a..b", "should look like zeromq"),
    ("zeromq://user:secret@host", "should look like zeromq"),
    ("zeromq+ipc://host/path", "should look like zeromq"),
    ("zeromq+ipc:///", "should look like zeromq"),
    # Rings, and URLs that a comma does not turn into one.
    ("memory://a,memory://a", "once"),
    *(
        (f"{who}@host:6379{rest}", "no broker is called 'host:6379")
        for who in ("user:secret", ":secret", "me:se@cret", "default:se/cret")
        for rest in ("", "/0", ",other:6379")
    ),
    ("amqp://a,amqp://b", "no broker is called 'amqp://a'"),
    ("redis://a,zeromq://b", "one kind: redis://a,zeromq://b$"),
    ("redis://:secret@a,rediss://:secret@b", "one kind: redis://a,rediss://b$"),
    ("zeromq://user:secret@a,zeromq://a", "once: zeromq://a,zeromq://a$"),
    ("nowhere://a:1,b:2", "nowhere://a:1,b:2"),
]


@pytest.mark.parametrize("url, why", REFUSED)
def test_a_url_that_makes_no_sense_is_refused_without_telling_the_password(url, why):
    for read in (open_broker, check_broker):
        with pytest.raises(ValueError, match=why) as refusal:
            read(url)
        assert "cret" not in str(refusal.value)


@pytest.mark.parametrize("scheme", ["rediss", "valkeys", "tls", "mqtts"])
def test_a_file_without_certificates_is_refused_in_words(tmp_path, scheme):
    (tmp_path / "empty").write_text("nothing")
    for path in (tmp_path / "empty", "/nowhere"):
        with pytest.raises(ValueError, match="nor a file with trusted certificates"):
            open_broker(f"{scheme}://a?ssl_ca_certs={path}")
        with pytest.raises(ValueError, match="nor a file with trusted certificates"):
            check_broker(f"{scheme}://a", str(path))


@pytest.mark.parametrize(
    "url",
    [
        *(f"{scheme}://a:1" for scheme in BROKER_BACKENDS if scheme != "zeromq+ipc"),
        *("valkeys://a", "zeromq+ipc:///a", "rediscluster://:p@a,b:2", "redis://a,redis://b"),
    ],
)
def test_a_url_is_checked_without_asking_a_server(url, monkeypatch):
    monkeypatch.setattr(LinkedBroker, "__init__", pytest.fail)
    assert check_broker(url) is None


def test_a_url_says_where_and_who():
    [one] = stream.endpoints("redis://me:a%3Ab%40c@[::1]:7000/3", "redis", 6379, None)
    assert (one.host, one.port, one.username, one.password) == ("::1", 7000, "me", "a:b@c")
    assert one.tls is None
    [first, second] = stream.endpoints("rediscluster://:p@a,b:2", "redis", 6379, None)
    assert (first.host, first.port, first.username, first.password) == ("a", 6379, "", "p")
    assert (second.host, second.port) == ("b", 2)


@pytest.mark.parametrize(
    "url, pull, pub",
    [
        ("zeromq://host", "tcp://host:5561", "tcp://host:5562"),
        ("zeromq://host:7000", "tcp://host:7000", "tcp://host:7001"),
        ("zeromq://10.0.0.1:7000?pub=80", "tcp://10.0.0.1:7000", "tcp://10.0.0.1:80"),
        ("zeromq://[::1]", "tcp://[::1]:5561", "tcp://[::1]:5562"),
        ("zeromq+ipc:///run/flat", "ipc:///run/flat.pull", "ipc:///run/flat.pub"),
    ],
)
def test_a_url_names_two_addresses(url, pull, pub):
    assert addresses_of(url) == (pull, pub)


@pytest.mark.parametrize("scheme", ["redis", "nats", "mqtt"])
def test_a_server_that_is_not_there_was_never_heard(scheme, opened):
    port = free_port()
    broker = opened(f"{scheme}://:secret@127.0.0.1:{port}")
    # On a busy machine the server may not have been tried yet when the broker is open.
    with gevent.Timeout(PATIENCE):
        while not broker.links()[0].trouble:
            gevent.sleep(0.01)
    [link] = broker.links()
    assert link[:2] == (f"{scheme} 127.0.0.1:{port}", float("inf"))
    assert str(link).startswith(f"no link to {link.name}: ") and "refused" in str(link)
