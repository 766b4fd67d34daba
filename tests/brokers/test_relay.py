"""What a forwarder passes on, and what a broker of zeromq:// accepts, in this process."""

import gevent
import pytest
import zmq

from flatlands.brokers.zeromq.forwarder import FORGET_S, LATE_S, Relay
from flatlands.brokers.zeromq.wire import FRAME_LIMIT, TRAILER
from flatlands.loadtest.kit.brokers import free_ports
from tests.brokers.faults import await_log, await_reset, drain, exchange, make_live


def frame(kind, epoch, sent, broker=b"8 bytes.", payload=b"payload"):
    return kind + b"a\0" + payload + TRAILER.pack(broker, epoch, sent)


@pytest.fixture
def relay():
    """A relay that has heard the first probe of link 7, sent at 1000 by the sender's clock."""
    relay = Relay()
    probe = frame(b"?", 7, 1000.0)
    assert relay.pass_on(probe, 50.0) == probe
    return relay


def test_messages_in_time_pass_unchanged_and_late_ones_as_the_mark_of_their_loss(relay):
    for waited in (0.0, LATE_S - 0.1):
        message = frame(b"=", 7, 1010.0)
        assert relay.pass_on(message, 60.0 + waited) == message
    assert (relay.forwarded, relay.late, relay.refused) == (2, 0, 0)
    assert relay.pass_on(frame(b"=", 7, 1010.0), 60.1 + LATE_S) == b"=a\0"
    assert (relay.forwarded, relay.late, relay.refused) == (2, 1, 0)
    # A late probe has no echo.
    assert relay.pass_on(frame(b"?", 7, 1010.0), 60.1 + LATE_S) is None


def test_a_link_that_its_broker_gave_up_brings_nothing_more(relay):
    assert relay.pass_on(frame(b"?", 8, 1001.0), 51.0)
    assert relay.pass_on(frame(b"=", 7, 1001.0), 51.0) == b"=a\0"
    assert relay.pass_on(frame(b"?", 7, 1001.0), 51.0) is None
    assert relay.pass_on(frame(b"=", 8, 1001.0), 51.0) == frame(b"=", 8, 1001.0)


def test_clocks_may_drift_apart(relay):
    for n in range(100_000):
        # The clocks differ by an hour after a hundred thousand seconds.
        assert relay.pass_on(frame(b"?", 7, 1000.0 + n * 0.9991), 50.0 + n)
    message = frame(b"=", 7, 1000.0 + n * 0.9991)
    assert relay.pass_on(message, 50.0 + n) == message


def test_a_frame_that_no_broker_would_send_is_refused_and_counted(relay):
    for junk in (b"", b"x", b"=" + TRAILER.pack(b"", 7, 0), frame(b"=", 7, 0, b"unknown.")):
        assert relay.pass_on(junk, 60.0) is None
    assert relay.refused == 4


def test_a_broker_that_stops_probing_is_forgotten(relay):
    relay.forget(50.0 + FORGET_S)
    assert relay.pass_on(frame(b"=", 7, 1000.0), 50.0)
    relay.forget(50.1 + FORGET_S)
    assert relay.pass_on(frame(b"=", 7, 1000.0), 50.0) is None


def test_a_broker_accepts_only_what_a_forwarder_would_send(opened):
    pull_port, pub_port = free_ports(2)
    with zmq.Context() as context, context.socket(zmq.PULL) as pull, context.socket(zmq.PUB) as pub:
        pull.bind(f"tcp://127.0.0.1:{pull_port}")
        pub.bind(f"tcp://127.0.0.1:{pub_port}")

        def echo():
            while True:
                if pull.poll(0):
                    pub.send(pull.recv())
                else:
                    gevent.sleep(0.01)

        echoing = gevent.spawn(echo)
        broker = opened(f"zeromq://127.0.0.1:{pull_port}?pub={pub_port}")
        make_live(broker, "a")
        pub.send(frame(b"=", 1, 0.0, payload=b"x" * FRAME_LIMIT))
        assert await_reset(broker, "a") == {"a"}
        exchange(broker, "a")
        echoing.kill()


def test_a_missing_forwarder_is_logged_once(opened, caplog):
    pull, pub = free_ports(2)
    broker = opened(f"zeromq://127.0.0.1:{pull}?pub={pub}")
    await_log(caplog, "no forwarder answers")
    assert drain(broker, 1) == []
    assert caplog.text.count("no forwarder answers") == 1


def test_a_channel_name_contains_no_nul(opened):
    broker = opened("zeromq://127.0.0.1:9")
    for call in (broker.subscribe, broker.unsubscribe, lambda name: broker.publish(name, b"")):
        with pytest.raises(ValueError, match="NUL"):
            call("a\0b")
