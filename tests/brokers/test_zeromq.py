"""What only ZeroMQ does; test_faults.py has what all brokers do."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, closing, suppress

import gevent
import pytest
import zmq

from flatlands.brokers import link
from flatlands.brokers.base import PAYLOAD_LIMIT, Message, Reset
from flatlands.brokers.registry import open_broker
from flatlands.brokers.zeromq import pair
from flatlands.brokers.zeromq.wire import FRAME_LIMIT, TRAILER, addresses_of
from flatlands.loadtest.kit.brokers import free_ports
from flatlands.loadtest.kit.processes import Program
from flatlands.proxy import Proxy
from tests.brokers.faults import Ledger, await_reset, await_young, drain, exchange, make_live
from tests.brokers.servers import shared
from tests.brokers.zeromq_forwarders import PATIENCE, forwarding, start_forwarder
from tests.processes import ROOT

pytestmark = pytest.mark.process

BOTH = pytest.mark.parametrize("ipc", [False, True], ids=["tcp", "ipc"])


@pytest.fixture
def forwarder():
    return shared(forwarding)


# The forwarder as a process


def frame_of(topic, payload, epoch=1):
    """Return what a broker with the id "stranger" would send."""
    return topic + payload + TRAILER.pack(b"stranger", epoch, time.monotonic())


@BOTH
def test_a_forwarder_tells_its_counts_and_which_address_is_in_use(opened, ipc):
    with forwarding("--stats", "0.1", ipc=ipc) as forwarder:
        with start_forwarder(*forwarder.where) as second:
            assert second.wait(PATIENCE) and second.line() is None
            assert second.process.poll() == 1 and second.errors().count("\n") == 1
            assert re.match("The forwarder cannot listen on .*in use", second.errors())
        broker = opened(forwarder.url)
        make_live(broker, "a")
        first = forwarder.program.line(PATIENCE)
        *_, last = forwarder.stop(signal.SIGINT if ipc else signal.SIGTERM)
        assert first.startswith("forwarded ") and last.startswith("stopped: forwarded ")
        assert last.endswith("late 0, refused 0, brokers 1, overflows 0")


def test_a_forwarder_passes_on_and_ends_while_nobody_reads_its_counts(opened):
    pull, pub = free_ports(2)
    source, full = os.pipe()
    os.set_blocking(full, False)
    with suppress(BlockingIOError):
        while True:
            os.write(full, bytes(4096))
    os.set_blocking(full, True)
    options = ["--pull", str(pull), "--pub", str(pub), "--stats", "0.01"]
    command = [sys.executable, "-m", "brokers.zeromq", *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=full)
    try:
        make_live(opened(f"zeromq://127.0.0.1:{pull}?pub={pub}"), "a")
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        os.close(source)
        os.close(full)


def test_a_forwarder_passes_on_only_what_a_broker_would_send(opened):
    with forwarding() as forwarder, zmq.Context() as context:
        with context.socket(zmq.PUSH) as push:
            push.linger = 1000
            push.connect(addresses_of(forwarder.url).pull)
            for junk in (b"", b"?", b"no NUL in here at all", bytes(1000), b"?\0" + bytes(20)):
                push.send(junk)
            push.send_multipart([b"=a\0", b"several", b"frames"])
            broker = opened(forwarder.url)
            make_live(broker, "a")
            push.send(frame_of(b"?probe\0", b""))
            push.send(frame_of(b"=a\0", b"x" * PAYLOAD_LIMIT))
            assert broker.receive(PATIENCE) == Message("a", b"x" * PAYLOAD_LIMIT)
            push.send(frame_of(b"=a\0", b"x" * FRAME_LIMIT))
            assert broker.receive(0.5) is None
        exchange(broker, "a")
        assert broker.counters.reconnects == 0
        assert "Traceback" not in "".join(forwarder.stop())


def test_a_publisher_that_ends_while_a_forwarder_is_behind_does_not_end_it():
    # libzmq aborts a process whose socket has heartbeats, accepts no more, and loses its peer.
    pull, pub = free_ports(2)
    slow = (
        "import sys, time\n"
        "from flatlands.brokers.zeromq import forwarder\n"
        "forwarder.Relay.pass_on = lambda *_: time.sleep(4)\n"
        "forwarder.main(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", slow, "--pull", str(pull), "--pub", str(pub)]
    with Program(command, "a slow forwarder") as forwarder:
        forwarder.ready("^ready: ")
        with zmq.Context() as context, context.socket(zmq.PUSH) as push:
            push.linger = 0
            push.connect(f"tcp://127.0.0.1:{pull}")
            refused = 0
            while refused < 50:
                try:
                    push.send(bytes(1000), zmq.NOBLOCK)
                    refused = 0
                except zmq.Again:
                    refused += 1
                    time.sleep(0.005)
        assert not forwarder.wait(4)
        forwarder.process.terminate()
        assert forwarder.wait(PATIENCE)
        assert (forwarder.process.poll(), forwarder.errors()) == (0, "")


def test_a_subscriber_that_never_reads_stops_nobody(opened):
    with forwarding("--hwm", "1000") as forwarder, zmq.Context() as context:
        with context.socket(zmq.SUB) as stuck:
            stuck.rcvhwm = 10
            stuck.subscribe(b"")
            stuck.connect(addresses_of(forwarder.url).pub)
            broker = opened(forwarder.url)
            make_live(broker, "a")
            for _ in range(100):
                for n in range(500):
                    broker.publish("a", b"%d" % n + bytes(500))
                for n in range(500):
                    assert broker.receive(PATIENCE) == Message("a", b"%d" % n + bytes(500))


def test_a_broker_without_room_at_the_forwarder_is_told_of_its_loss(opened, monkeypatch):
    with forwarding("--hwm", "100", "--stats", "0.05") as forwarder:
        monkeypatch.setattr(pair, "RECEIVE_LIMIT", 10)
        slow = opened(forwarder.url)
        monkeypatch.undo()
        publisher, idle = opened(forwarder.url), opened(forwarder.url)
        for broker, channel in ((slow, "a"), (idle, "b"), (publisher, "c")):
            make_live(broker, channel)
        gevent.sleep(1.5)
        # Few and large: the kernel holds fewer, and they are little work for the forwarder.
        count = sum(publisher.publish("a", bytes(PAYLOAD_LIMIT)) for _ in range(1000))
        # Nobody reads meanwhile: waiting for the forwarder's output stops all brokers here.
        deadline = time.monotonic() + PATIENCE
        while (said := forwarder.program.line(PATIENCE)).endswith("overflows 0"):
            assert time.monotonic() < deadline, said
        got = []
        while Reset(None) not in got:
            got.append(slow.receive(PATIENCE))
        assert sum(isinstance(item, Message) for item in got) < count
        assert slow.counters.dropped > 0
        make_live(slow, "a")
        assert idle.receive(0.1) is None
        assert idle.counters.dropped == 0


# One broker, no faults


def test_no_wake_up_is_lost(opened, forwarder, monkeypatch):
    # Otherwise the next probe would make up for a lost one.
    monkeypatch.setattr(link, "PROBE_EVERY", 60.0)
    one, other = opened(forwarder.url), opened(forwarder.url)
    for broker in (one, other):
        make_live(broker, "a", "b")
    assert drain(one, 1)
    dice = random.Random(1)
    for turn in range(300):
        count = dice.choice([1, 1, 2, 5, 50, 300])
        for n in range(count):
            one.publish("a", b"%d %d" % (turn, n))
            other.publish("b", b"%d %d" % (turn, n))
            if dice.random() < 0.01:
                # A call on the socket of the messages may use up their signal.
                other.subscribe(f"sq {turn}")
                one.unsubscribe(f"sq {turn}")
        gevent.sleep(dice.choice([0, 0, 0.0002, 0.001, 0.01]))
        for broker in (one, other):
            got = []
            while len(got) < 2 * count and (item := broker.receive(PATIENCE / 4)):
                got.append(item)
            for name in "ab":
                assert [item.payload for item in got if item.channel == name] == [
                    b"%d %d" % (turn, n) for n in range(count)
                ]


def test_a_stall_of_its_own_loop_kills_no_link(opened, forwarder, monkeypatch):
    # The forwarder may be late, but not for five seconds.
    monkeypatch.setattr(link, "PROBE_EVERY", 0.1)
    broker = opened(forwarder.url)
    monkeypatch.setattr(broker._link, "probes_limit", 50)
    make_live(broker, "a")
    time.sleep(6)
    assert drain(broker, 0.5) == []
    await_young(broker, 1)
    assert broker.counters.reconnects == 0


@pytest.mark.parametrize("host, open_to_all", [("127.0.0.1", False), ("0.0.0.0", True)])
def test_a_forwarder_that_others_can_reach_says_what_that_means(host, open_to_all):
    pull, pub = free_ports(2)
    with start_forwarder("--host", host, "--pull", str(pull), "--pub", str(pub)) as forwarder:
        forwarder.ready("^ready: ")
        # What it prints and what it logs are written by different threads.
        forwarder.process.terminate()
        assert forwarder.wait(PATIENCE)
        errors = forwarder.errors()
    assert ("anybody who reaches its ports can read" in errors) == open_to_all
    assert errors.count("\n") == open_to_all


# Faults


@BOTH
def test_a_forwarder_that_is_killed_and_back_at_once_is_noticed(opened, monkeypatch, ipc):
    # The end itself is noticed, and not only missing probes.
    monkeypatch.setattr(link, "PROBE_EVERY", 60.0)
    with forwarding(ipc=ipc) as forwarder:
        names = [f"sq {n}" for n in range(3000)]
        broker = opened(forwarder.url)
        make_live(broker, *names)
        ledger = Ledger(broker)
        forwarder.kill()
        forwarder.start()
        assert await_reset(broker, *names) == set(names)
        exchange(broker, *names)
        await_young(broker, 3)
        assert (broker.counters.reconnects, broker.counters.errors) == (1, 0)
        assert ledger.missing() == 0


@pytest.mark.parametrize("half", ["pull", "pub"])
def test_half_a_link_counts_as_none(opened, half):
    with forwarding() as forwarder, ExitStack() as stack:
        pull, pub = (int(at.rpartition(":")[2]) for at in addresses_of(forwarder.url))
        proxies = {"pull": Proxy(pull), "pub": Proxy(pub)}
        for proxy in proxies.values():
            stack.callback(proxy.close)
        url = f"zeromq://127.0.0.1:{proxies['pull'].port}?pub={proxies['pub'].port}"
        broker = opened(url)
        make_live(broker, "a")
        proxies[half].cut()
        await_reset(broker, "a")
        exchange(broker, "a")
        assert (broker.counters.reconnects, broker.counters.errors) == (1, 0)


def test_a_host_without_an_address_is_tried_again(opened, monkeypatch, caplog):
    with forwarding() as forwarder:
        found, fails = gevent.socket.getaddrinfo, iter([True, True])

        def find(host, *rest, **more):
            if next(fails, False):
                raise OSError("a test")
            return found(host, *rest, **more)

        monkeypatch.setattr("gevent.socket.getaddrinfo", find)
        broker = opened(forwarder.url.replace("127.0.0.1", "localhost"))
        broker.subscribe("a")
        assert broker.publish("a", b"lost") is False
        await_reset(broker, "a")
        exchange(broker, "a")
        assert caplog.text.count("a test") == 1 and broker.counters.errors == 0


def test_a_callback_that_fails_costs_a_link_and_is_counted(forwarder, monkeypatch, caplog):
    with closing(open_broker(forwarder.url)) as broker:
        make_live(broker, "a")
        put, fails = broker._inbox.put, iter([True])

        def fail_once(message):
            if next(fails, False):
                raise RuntimeError("a test")
            put(message)

        monkeypatch.setattr(broker._inbox, "put", fail_once)
        broker.publish("a", b"lost")
        await_reset(broker, "a")
        exchange(broker, "a")
        assert (broker.counters.errors, broker.counters.reconnects) == (1, 1)
        assert "a test" in caplog.text


def test_closing_frees_the_descriptors(forwarder):
    for _ in range(3):
        open_broker(forwarder.url).close()
    gevent.sleep(0.2)
    before = _descriptors()
    for _ in range(10):
        broker = open_broker(forwarder.url)
        broker.subscribe("a")
        assert broker.publish("a", b"1") is True
        broker.close()
    deadline = time.monotonic() + PATIENCE
    while _descriptors() > before + 4 and time.monotonic() < deadline:
        gevent.sleep(0.05)
    assert _descriptors() <= before + 4


def _descriptors():
    return len(os.listdir("/proc/self/fd"))
