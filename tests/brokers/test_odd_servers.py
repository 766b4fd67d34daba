"""Servers that break their protocol, because they are faulty, hostile or of another kind."""

import time
from contextlib import ExitStack
from itertools import islice

import gevent
import pytest
from gevent.event import Event

from flatlands.brokers import mqtt, nats
from flatlands.brokers.base import Reset
from flatlands.brokers.redis import wire
from tests.brokers.faults import PATIENCE, await_log
from tests.brokers.odd_servers import mqtt_login, nats_login, odd_server

#: Seconds in which a link comes up and is lost several times.
A_WHILE = 3.0


@pytest.mark.parametrize("length", ["-26", "-1", "+5", "1_0", "1e3", "x", "9" * 30, "1048577"])
def test_a_length_in_nats_consists_of_digits_and_has_a_limit(length):
    stream = [f"MSG some.subject 1 {length}\r\n".encode(), b"rest\r\n"]
    with pytest.raises(ConnectionError, match="does not speak NATS"):
        list(islice(nats.parse(iter(stream)), 10))


@pytest.mark.parametrize(
    "parse, head",
    [
        (nats.parse, b"MSG a 1 1048577\r\n"),
        (nats.parse, b"INFO "),
        (mqtt.parse, b"\x30\xff\xff\xff"),
        (wire.parse, b"$99999999999\r\n"),
        (wire.parse, b"*99999\r\n$5\r\nabcde\r\n"),
    ],
)
def test_no_parser_keeps_bytes_without_bound(parse, head):
    given = 0

    def chunks():
        nonlocal given
        yield head
        while True:
            given += 65536
            assert given < 8 * 1024 * 1024
            yield b"1" * 65536

    with pytest.raises(ConnectionError):
        list(parse(chunks()))


def test_a_false_reply_is_not_mistaken_for_an_incomplete_one():
    assert list(wire.parse(iter([b"#f\r\n+PO", b"NG\r\n"]))) == [False, b"PONG"]


def nats_sends(line):
    def serve(sock):
        nats_login(sock)
        sock.sendall(line)
        while sock.recv(4096):
            pass

    return "nats", serve


def nats_greets(line):
    return "nats", lambda sock: (sock.sendall(line), sock.recv(4096))


def mqtt_sends(packet):
    return "mqtt", lambda sock: (mqtt_login(sock), sock.sendall(packet), sock.recv(4096))


def redis_sends(reply):
    def serve(sock):
        while sock.recv(4096):
            sock.sendall(reply)

    return "redis", serve


def odd_cluster(slots):
    def serve(sock):
        while said := sock.recv(4096):
            sock.sendall(slots if b"SLOTS" in said else b"+PONG\r\n")

    return "rediscluster", serve


#: The kinds of servers, and what serves a connection to one that breaks its protocol.
ODD = [
    nats_sends(b"MSG some.subject 1 -26\r\n"),
    nats_sends(b"MSG 5\r\nabcde\r\n"),
    nats_greets(b"INFO 5\r\n"),
    nats_greets(b"INFO " + b"[" * 100_000 + b"\r\n"),
    nats_greets(b'INFO {"max_payload": "much"}\r\nPONG\r\n'),
    mqtt_sends(b"\x30\x00"),
    mqtt_sends(b"\x90\x00"),
    mqtt_sends(b"\x30\x01\x00"),
    odd_cluster(b"*1\r\n*2\r\n:1\r\n:2\r\n"),
    redis_sends(b"*-5\r\n"),
    redis_sends(b"%0\r\n>1\r\n:1\r\n>0\r\n"),
]


def test_unreadable_bytes_are_logged_once_and_freeze_nothing(opened, caplog):
    with ExitStack() as stack:
        brokers = {}
        for kind, serve in ODD:
            port = stack.enter_context(odd_server(serve))
            brokers[port] = opened(f"{kind}://127.0.0.1:{port}")

        def lines(port):
            said = [record.getMessage() for record in caplog.records]
            return [line for line in said if f"127.0.0.1:{port}" in line]

        until, turns = time.monotonic() + A_WHILE, 0
        while time.monotonic() < until or turns <= 10 or not all(map(lines, brokers)):
            assert time.monotonic() < until + PATIENCE, f"{turns} turns, {caplog.text!r}"
            gevent.sleep(0.01)
            turns += 1
        assert "Traceback" not in caplog.text and not any(r.exc_info for r in caplog.records)
        assert len(caplog.records) == len(ODD), caplog.text
        for port, broker in brokers.items():
            [line] = lines(port)
            assert line.startswith(("no link to ", "no node of the Redis"))
            assert broker.counters.errors == 0


def test_an_error_that_answers_a_probe_is_not_taken_for_the_answer_to_a_message(opened, caplog):
    probed = Event()

    def serve(sock):
        sock.recv(4096)
        sock.sendall(b"%0\r\n")
        said = sock.recv(4096)
        probed.set()
        while b"PUBLISH" not in said:
            said += sock.recv(4096)
        sock.sendall(b"-BUSY with a script\r\n:1\r\n")

    with odd_server(serve) as port:
        broker = opened(f"redis://127.0.0.1:{port}")
        assert probed.wait(PATIENCE) and broker.publish("a", b"")
        await_log(caplog, "no link to redis")
        assert "BUSY with a script" in caplog.text and "refuses messages" not in caplog.text


def test_a_link_that_delivers_nothing_is_replaced(opened):
    logins = []

    def serve(sock):
        # The server never delivers anything, but answers all pings.
        logins.append(nats_login(sock))
        while data := sock.recv(65536):
            sock.sendall(b"PONG\r\n" * data.count(b"PING\r\n"))

    with odd_server(serve) as port:
        broker = opened(f"nats://127.0.0.1:{port}")
        broker.subscribe("a", "b")
        broker.renew("a")
        assert broker.receive(PATIENCE) == Reset(None)
        assert len(logins) == 2 and logins[1].count(b"SUB ") == 2
        assert broker.counters.reconnects == 1
