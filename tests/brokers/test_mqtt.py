"""What only MQTT does; test_faults.py has what all brokers do."""

import subprocess

import gevent
import pytest
from gevent.event import Event

from flatlands.brokers.base import PAYLOAD_LIMIT, Message, Reset
from flatlands.brokers.mqtt import PACKET_LIMIT, PUBLISH, packet, parse, topic_of
from tests.brokers.faults import await_log, exchange, make_live
from tests.brokers.mosquitto_servers import running
from tests.brokers.servers import PATIENCE, shared

SQUARE = "flatlands/7/1-16/-3:12"


def test_a_topic_is_the_channels_name_and_holds_no_wildcard():
    assert topic_of(SQUARE) == b"\0" + bytes([len(SQUARE)]) + SQUARE.encode()
    for channel in ("a/+", "#", "$SYS/a", "a\0b"):
        assert not {*b"+#$\0"} & set(topic_of(channel)[2:])


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16383, 16384, PACKET_LIMIT])
def test_packets_of_all_sizes_are_found_however_the_stream_is_cut(size):
    bodies = [bytes(size), b"x" * size, b""]
    stream = b"".join(packet(PUBLISH, body) for body in bodies)
    for cut in {1 if len(stream) < 1000 else 999, 3 if len(stream) < 1000 else 997, len(stream)}:
        chunks = (stream[at : at + cut] for at in range(0, len(stream), cut))
        assert list(parse(chunks)) == [(PUBLISH, body) for body in bodies]


@pytest.mark.process
def test_mosquitto_sub_watches_a_square_and_mosquitto_pub_is_heard(opened):
    server = shared(running)
    broker = opened(server.url)
    make_live(broker, SQUARE)
    where = ["-p", str(server.port), "-h", "127.0.0.1", "-t", SQUARE]
    watching = subprocess.Popen(
        ["mosquitto_sub", *where, "-C", "1", "-W", str(PATIENCE)], stdout=subprocess.PIPE
    )
    while watching.poll() is None:
        broker.publish(SQUARE, b"a batch")
        gevent.sleep(0.05)
    assert watching.communicate()[0] == b"a batch\n"
    subprocess.run(["mosquitto_pub", *where, "-m", "hello"], check=True, timeout=PATIENCE)
    while (heard := broker.receive(PATIENCE)) == Message(SQUARE, b"a batch"):
        pass
    assert heard == Message(SQUARE, b"hello")
    too_large = b"x" * (PACKET_LIMIT + 1)
    subprocess.run(["mosquitto_pub", *where, "-s"], input=too_large, check=True, timeout=PATIENCE)
    exchange(broker, SQUARE)
    assert broker.counters.reconnects == 0


def slow_reader(server, opened, monkeypatch, count):
    """Publish large messages to a broker that does not read for a while; return it, and what came.

    Meanwhile the broker goes on sending, its numbers too.
    """
    slow, publisher = opened(server.url), opened(server.url)
    make_live(slow, "a", "b")
    # The broker must not be given up before it reads again.
    monkeypatch.setattr(slow._link, "probes_limit", 60)
    reads, accept = Event(), slow._link._accept

    def wait_first(item):
        reads.wait()
        accept(item)

    monkeypatch.setattr(slow._link, "_accept", wait_first)
    for n in range(count):
        assert publisher.publish("a", n.to_bytes(4) + bytes(PAYLOAD_LIMIT - 4)) is True
        gevent.sleep(0.002)
    # Long enough to send some numbers.
    gevent.sleep(2.5)
    reads.set()
    items = []
    while (item := slow.receive(3)) is not None:
        items.append(item)
    exchange(slow, "a", "b")
    return slow, items


@pytest.mark.process
@pytest.mark.parametrize("drops", [True, False])
def test_a_slow_node_gets_everything_or_notices_by_the_numbers_what_the_server_drops(
    opened, monkeypatch, drops
):
    with running(*["max_queued_messages 20"] * drops) as server:
        slow, items = slow_reader(server, opened, monkeypatch, 400)
    if drops:
        assert any(isinstance(item, Reset) for item in items)
        assert sum(isinstance(item, Message) for item in items) < 400
        assert slow.counters.dropped > 0
    else:
        assert [int.from_bytes(item.payload[:4]) for item in items] == list(range(400))
        assert slow.counters.dropped == slow.counters.reconnects == 0


@pytest.mark.process
def test_a_user_that_may_not_subscribe_is_told_so(opened, caplog, tmp_path):
    (tmp_path / "acl").write_text("topic write flatlands/#\n")
    with running(f"acl_file {tmp_path}/acl") as server:
        broker = opened(server.url)
        assert broker.publish("flatlands/a", b"") is False
        await_log(caplog, "no link to mqtt")
    assert "do not come back" in caplog.text or "refuses a subscription" in caplog.text
